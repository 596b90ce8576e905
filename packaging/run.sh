#!/bin/sh
# Builds Nod and opens its window. Arguments are passed on: `packaging/run.sh exec "hello"` runs a command instead.
set -eu
cd "$(dirname "$0")/.."
. packaging/system-packages.sh

need_rust
# shellcheck disable=SC2086 # lists of words
need_packages $build_packages $window_packages
cargo build --release --locked
exec target/release/nod "$@"
