# Shared by packaging/build and packaging/release. Sets root, the checkout.
# shellcheck shell=bash
root=$(readlink -f "${BASH_SOURCE[0]%/*}/..")

# shellcheck source=packaging/owner.bash
source "$root/packaging/owner.bash"

# The version is only in project() of CMakeLists.txt.
project_version() {
    sed -n 's/^project(distgpu VERSION \([0-9.]*\) .*/\1/p' "$root/CMakeLists.txt"
}

fail() { # OBJECT PROBLEM REMEDY [STATUS]
    printf '%s: %s: %s; %s\n' "packaging/${0##*/}" "$1" "$2" "$3" >&2
    exit "${4-1}"
}
