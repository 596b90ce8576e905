#!/bin/sh
# The benchmarks: each prints a table with a peer in the same run, and fails when its target is missed.
#
#     packaging/bench.sh            all of them
#     packaging/bench.sh 13_ingest  one
set -eu
cd "$(dirname "$0")/.."
. packaging/system-packages.sh

need_rust
# shellcheck disable=SC2086 # a list of words
need_packages $build_packages

wanted=${1:-$(sed -n 's/^name = "\([0-9].*\)"$/\1/p' tests/bench/Cargo.toml)}
missed=0
for benchmark in $wanted; do
    features=""
    [ "$benchmark" != 14_link ] || features="server"
    cargo run --quiet --locked --release --manifest-path tests/bench/Cargo.toml --target-dir target/bench \
        --features "$features" --bin "$benchmark" || missed=1
done
exit "$missed"
