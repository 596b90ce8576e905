#!/bin/sh
# Plays a tool turn with every adapter against a mock of the vendors' APIs that nobody here wrote. Loopback only.
set -eu
cd "$(dirname "$0")/.."
. packaging/system-packages.sh
. packaging/node.sh

need_rust
# shellcheck disable=SC2086 # lists of words
need_packages $build_packages python3 python3-venv

place="$PWD/target/peer/aimock-$aimock-node-$node_wheel"
fetch_node "$place" "@copilotkit/aimock@$aimock"

cargo build --locked --quiet --bin nod
exec python3 tests/peer/aimock.py "${CARGO_TARGET_DIR:-target}/debug/nod" "$place/node" "$place/node_modules/.bin/llmock"
