#!/bin/sh
# 1,000 devices on one nod-server for five minutes with 100 calls a second among them, built for release; fails when a call is
# lost or doubled, and prints what a device and a call cost.
#
#     packaging/load.sh [DEVICES [SECONDS [CALLS_A_SECOND]]]
set -eu
cd "$(dirname "$0")/.."
. packaging/system-packages.sh

need_rust
# shellcheck disable=SC2086 # a list of words
need_packages $build_packages

NOD_LOAD_DEVICES=${1:-1000}
NOD_LOAD_SECONDS=${2:-300}
NOD_LOAD_CALLS_A_SECOND=${3:-100}
export NOD_LOAD_DEVICES NOD_LOAD_SECONDS NOD_LOAD_CALLS_A_SECOND
exec cargo test --locked --release --target-dir target/load --no-default-features --features server --test suite -- \
    --exact device_link::load::many_devices_and_many_calls_and_none_is_lost_or_doubled --nocapture
