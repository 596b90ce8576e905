#!/bin/sh
# Feeds the parsers what no test thought of. Needs the nightly compiler, and uses it for this alone.
#
#     packaging/fuzz.sh                 every target for a minute
#     packaging/fuzz.sh TARGET          one target for a minute
#     packaging/fuzz.sh TARGET SECONDS  one target for so long
#     packaging/fuzz.sh all SECONDS     every target for so long
#
# A finding is kept in tests/fuzz/artifacts/TARGET, what was learnt in target/fuzz/corpus/TARGET.
set -eu
cd "$(dirname "$0")/.."
. packaging/system-packages.sh

need_rust
# shellcheck disable=SC2086 # lists of words
need_packages $build_packages g++
rustup toolchain list 2>/dev/null | grep -q '^nightly' || rustup toolchain install nightly --profile minimal
version=0.13.1
cargo fuzz --version 2>/dev/null | grep -qF "$version" || cargo install --locked "cargo-fuzz@$version"

targets=$(sed -n 's/^name = "\(.*\)"$/\1/p' tests/fuzz/Cargo.toml | grep -v '^nod-fuzz$')
wanted=${1:-all}
seconds=${2:-60}
[ "$wanted" = all ] || targets=$wanted

for target in $targets; do
    printf '\n== %s, %s seconds\n' "$target" "$seconds"
    corpus="target/fuzz/corpus/$target"
    mkdir -p "$corpus"
    # Recorded answers are a better beginning than nothing.
    seeds="tests/fixtures/provider/$target"
    if [ -d "$seeds" ]; then
        for file in "$seeds"/*/response.*; do
            name=$(basename "$(dirname "$file")")
            # The first byte says into how many packets the rest is cut.
            [ -e "$corpus/$name" ] || { printf '\0'; cat "$file"; } >"$corpus/$name"
        done
    fi
    # Examples that a person wrote are another.
    examples="tests/fuzz/seeds/$target"
    [ -d "$examples" ] || examples=
    # No sanitizer: what is fuzzed is safe Rust. An input may take ten seconds and a gigabyte, not more.
    # shellcheck disable=SC2086 # none or one
    cargo +nightly fuzz run --fuzz-dir tests/fuzz --target-dir target/fuzz --sanitizer none "$target" "$corpus" \
        $examples -- \
        -max_total_time="$seconds" -timeout=10 -rss_limit_mb=1024 -max_len=65536
done
