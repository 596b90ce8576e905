#!/bin/sh
# Every check and every test, as the continuous integration runs them. The window's tests get a virtual display.
set -eu
cd "$(dirname "$0")/.."
. packaging/system-packages.sh

need_rust
# shellcheck disable=SC2086 # lists of words
need_packages $build_packages $window_packages xvfb xdotool bubblewrap dbus gnome-keyring postgresql nats-server

step() { printf '\n== %s\n' "$*"; }

step "format"
cargo fmt --check

step "lints"
# The server too: from here to the tests there is one set of features, so that everything is compiled once.
cargo clippy --locked --all-targets --features server -- -D warnings

step "the lock files of the benchmarks and of the fuzz targets"
# Each is a workspace of its own: a new dependency of Nod is new to them too.
for part in tests/bench tests/fuzz; do
    cargo metadata --locked --format-version 1 --manifest-path "$part/Cargo.toml" >/dev/null || {
        echo "$part/Cargo.lock is stale: cargo update -w --manifest-path $part/Cargo.toml" >&2
        exit 1
    }
done

step "the library without the window"
cargo check --locked --no-default-features --lib

step "documentation"
RUSTDOCFLAGS="-D warnings" cargo doc --locked --no-deps --lib --features server --document-private-items

step "tests"
# Tests that need what is installed above fail without it instead of passing.
CI=1
export CI
display_file=$(mktemp)
Xvfb -displayfd 3 -screen 0 1280x900x24 +extension GLX -nolisten tcp 3>"$display_file" 2>/dev/null &
xvfb=$!
trap 'kill $xvfb 2>/dev/null || true; rm -f "$display_file"' EXIT
tries=0
while [ ! -s "$display_file" ]; do
    tries=$((tries + 1))
    [ "$tries" -lt 100 ] || { echo "the virtual display did not start" >&2; exit 1; }
    sleep 0.1
done
DISPLAY=":$(cat "$display_file")"
export DISPLAY
unset WAYLAND_DISPLAY

if cargo nextest --version >/dev/null 2>&1; then
    cargo nextest run --locked --features server --no-fail-fast
else
    cargo test --locked --features server --no-fail-fast
fi

step "every adapter against a mock of the vendors' APIs"
sh packaging/peer.sh

step "the server against the client of AG-UI"
sh packaging/agui.sh
