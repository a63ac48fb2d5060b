# The packages under test, which `packaging/build` made, and what is expected of them.
# shellcheck shell=bash
# shellcheck disable=SC2034 # the tests use what is set here
bats_require_minimum_version 1.5.0

root=$(readlink -f "${BASH_SOURCE[0]%/*}/../..")
packages=${DISTGPU_PACKAGES:-$root/build/packages}
# Of `packaging/build portable`; its own folder, as `deb` makes packages with the same names.
portable=$packages/portable
version=$(sed -n 's/^project(distgpu VERSION \([0-9.]*\) .*/\1/p' "$root/CMakeLists.txt")
# Asked of dpkg, while the packages take it from the header.
slurm=$(dpkg-query --show --showformat '${source:Upstream-Version}' libslurm-dev | cut -d. -f1,2)
next=${slurm%.*}.$(printf '%02d' $((10#${slurm#*.} + 1)))

needs_root() {
    ((EUID == 0)) || {
        echo "packages: user $(id -un): these tests need root; run them with sudo" >&2
        return 1
    }
}

# Compares what KIND_lines tells of each package with its list, a line each in any order:
# KIND/NAME.txt beside the tests, where comments say why.
all_as_listed() { # KIND
    local list name failed=0
    for list in "$BATS_TEST_DIRNAME/$1"/*.txt; do
        name=$(basename "$list" .txt)
        echo "$name"
        diff <(sed -e '/^#/d' -e '/^$/d' -e "s/VERSION/$version/g" -e "s/SLURM/$slurm/g" \
            -e "s/NEXT/$next/g" -e "s/TRIPLET/$(gcc -print-multiarch)/g" "$list" | sort) \
            <("$1_lines" "$name" | sort) || failed=1
    done
    return "$failed"
}

# What stands below /etc, and with it which services are enabled: modes, owners, contents.
# ldconfig keeps its cache there.
state_of_etc() { # ROOT
    (cd "$1/etc" && find . ! -name ld.so.cache \
        \( -type f -printf '%p %m %u:%g ' -exec sha256sum {} \; -o -printf '%p %m %u:%g %l\n' \)) |
        sort
}

# What of the /etc of $ROOT, which a file sets, differs from $BATS_FILE_TMPDIR/before, a name a line.
# shellcheck disable=SC2153
changed() {
    diff "$BATS_FILE_TMPDIR/before" <(state_of_etc "$ROOT") | sed -n 's/^[<>] \([^ ]*\) .*/\1/p' |
        sort -u
}

# The newest release of glibc of which a program or library of any architecture needs a symbol.
newest_glibc() { # FILE
    readelf --dyn-syms --wide "$1" | sed -n 's/.*@GLIBC_\([0-9.]*\).*/\1/p' | sort -Vu | tail -n 1
}
