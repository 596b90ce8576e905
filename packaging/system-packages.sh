# Sourced by run.sh and test.sh: makes sure that the system packages named as arguments are there.
# Installs what is missing where it may (root, or sudo without a password); otherwise prints the exact line and stops.

need_packages() {
    if ! command -v dpkg-query >/dev/null 2>&1; then
        printf '%s\n' "This is not a Debian or Ubuntu system: please make sure that you have the equivalents of" \
            "    $*" >&2
        return 0
    fi
    missing=""
    for package in "$@"; do
        # Ubuntu 24.04 renamed some libraries to …t64; either name will do.
        status=$(dpkg-query -W -f '${db:Status-Abbrev}\n' "$package" "${package}t64" 2>/dev/null || true)
        case $status in
            *ii*) ;;
            *) missing="$missing $package" ;;
        esac
    done
    [ -n "$missing" ] || return 0

    if [ "$(id -u)" = 0 ]; then
        as_root=""
    elif command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then
        as_root="sudo"
    else
        printf '%s\n' "Nod needs some system packages that are not installed. Please run this line, then start again:" \
            "    sudo apt-get update && sudo apt-get install -y --no-install-recommends$missing" >&2
        exit 1
    fi
    printf '%s\n' "Installing system packages:$missing" >&2
    $as_root apt-get update -q >&2
    # shellcheck disable=SC2086 # a list of words
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends $missing >&2
}

need_rust() {
    if ! command -v cargo >/dev/null 2>&1; then
        printf '%s\n' "Nod is built with Rust 1.95 or newer, which is not installed. Get it from https://rustup.rs, then start again." >&2
        exit 1
    fi
}

# What a build needs, and what a window needs at run time.
build_packages="gcc libc6-dev"
window_packages="libgl1 libegl1 libgl1-mesa-dri libx11-6 libx11-xcb1 libxcursor1 libxi6 libxkbcommon-x11-0 libfontconfig1"
