#!/bin/sh
# Runs a turn with tool calls on `nod-server` with the npm client of AG-UI, and holds every event against its schemas. The model
# is a mock that nobody here wrote. Loopback only.
set -eu
cd "$(dirname "$0")/.."
. packaging/system-packages.sh
. packaging/node.sh

need_rust
# shellcheck disable=SC2086 # lists of words
need_packages $build_packages python3 python3-venv

agui=1.0.0
place="$PWD/target/peer/agui-$agui-node-$node_wheel"
fetch_node "$place" "@ag-ui/client@$agui" "@ag-ui/core@$agui" "@copilotkit/aimock@$aimock"
# Beside its modules, where Node looks for them.
cp tests/peer/agui.mjs "$place/agui.mjs"

cargo build --locked --quiet --features server --bin nod-server
server="${CARGO_TARGET_DIR:-target}/debug/nod-server"

folder=$(mktemp -d)
mock=""
serving=""
end() {
    for process in $mock $serving; do
        kill "$process" 2>/dev/null || true
        wait "$process" 2>/dev/null || true
    done
    rm -rf "$folder"
}
trap end EXIT

port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
"$place/node" "$place/node_modules/.bin/llmock" -h 127.0.0.1 -p "$port" -f tests/peer/server.json -l 5 -c 7 --log-level silent &
mock=$!

NOD_SERVER_DATABASE="sqlite:$folder/ledger.db"
PEER_KEY=sk-for-the-mock
export NOD_SERVER_DATABASE PEER_KEY
token=$("$server" token add peer | awk '{ print $NF }')
"$server" serve --listen 127.0.0.1:0 --provider openai --base-url "http://127.0.0.1:$port/v1" --model gpt-4o \
    --api-key-env PEER_KEY >"$folder/ready" 2>"$folder/log" &
serving=$!
tries=0
while ! [ -s "$folder/ready" ] || ! python3 -c "import socket; socket.create_connection(('127.0.0.1', $port)).close()" 2>/dev/null; do
    tries=$((tries + 1))
    [ "$tries" -lt 300 ] || { cat "$folder/log" >&2; echo "the server or the mock did not start" >&2; exit 1; }
    sleep 0.1
done
"$place/node" "$place/agui.mjs" "$(awk '{ print $NF }' "$folder/ready")" "$token" || { tail -n 40 "$folder/log" >&2; exit 1; }
