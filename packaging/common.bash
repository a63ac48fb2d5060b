# Shared by the scripts of packaging. Sets root, the checkout.
# shellcheck shell=bash
root=$(readlink -f "${BASH_SOURCE[0]%/*}/..")

# shellcheck source=packaging/owner.bash
source "$root/packaging/owner.bash"

# The version is only in project() of CMakeLists.txt.
project_version() {
    sed -n 's/^project(distgpu VERSION \([0-9.]*\) .*/\1/p' "$root/CMakeLists.txt"
}

# The architectures of the builds for any Linux, and their names in Debian.
# shellcheck disable=SC2034 # packaging/portable reads them
architectures=(x86_64 aarch64)
# shellcheck disable=SC2034
declare -A debian_names=([x86_64]=amd64 [aarch64]=arm64)

# Such as 22.05, from slurm_version.h: #define SLURM_VERSION_NUMBER 0xMMmmuu.
slurm_release() { # PREFIX
    local number
    number=$(sed -n 's/^#define SLURM_VERSION_NUMBER *//p' "$1/include/slurm/slurm_version.h")
    printf '%d.%02d\n' $((number >> 16)) $((number >> 8 & 0xff))
}

fail() { # OBJECT PROBLEM REMEDY [STATUS]
    printf '%s: %s: %s; %s\n' "packaging/${0##*/}" "$1" "$2" "$3" >&2
    exit "${4-1}"
}
