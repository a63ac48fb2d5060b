# What packaging/build and packaging/release share. Sets root, the checkout.
# shellcheck shell=bash
root=$(readlink -f "${BASH_SOURCE[0]%/*}/..")

# shellcheck source=packaging/owner.bash
source "$root/packaging/owner.bash"

# The one place of the version is project() in CMakeLists.txt.
project_version() {
    sed -n 's/^project(distgpu VERSION \([0-9.]*\) .*/\1/p' "$root/CMakeLists.txt"
}

fail() { # OBJECT PROBLEM REMEDY [STATUS]
    printf '%s: %s: %s; %s\n' "packaging/${0##*/}" "$1" "$2" "$3" >&2
    exit "${4-1}"
}
