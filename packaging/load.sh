#!/bin/sh
# 1,000 devices on one nod-server for five minutes with 100 calls a second among them, built for release; fails when a device
# loses its connection or a call is lost or doubled, and prints what a device and a call cost. Shares its build with bench.sh.
#
#     packaging/load.sh [DEVICES [SECONDS [CALLS_A_SECOND]]]
set -eu
cd "$(dirname "$0")/.."
. packaging/system-packages.sh

need_rust
# shellcheck disable=SC2086 # a list of words
need_packages $build_packages

exec cargo run --quiet --locked --release --manifest-path tests/bench/Cargo.toml --target-dir target/bench \
    --features server --bin load -- "$@"
