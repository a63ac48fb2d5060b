#!/usr/bin/env bats
# The same sources give the same packages, wherever they are built. Takes the time of three builds.
# Needs `packaging/build` of deb, rpm and portable.
# shellcheck source=tests/packaging/packages.bash
source "$BATS_TEST_DIRNAME/packages.bash"

# In a folder whose name has another length and without the build's tests; all is compiled, also
# what the cache knows.
build_again() { # KIND
    mkdir -p "$BATS_TEST_TMPDIR/in/a/folder/of/another/length"
    TMPDIR="$BATS_TEST_TMPDIR/in/a/folder/of/another/length" CCACHE_RECACHE=1 \
        "$root/packaging/build" "$1" --no-check --output "$BATS_TEST_TMPDIR/again" >&2
}

equals_first_build() { # PATTERN
    local again
    for again in "$BATS_TEST_TMPDIR"/again/$1; do cmp "$packages/${again##*/}" "$again"; done
}

@test "Debian's packages" {
    build_again deb
    equals_first_build '*.deb'
    equals_first_build '*.tar.*z'
    equals_first_build '*.dsc'
}

# What is installed. rpmbuild writes the folder of the build into the source package, and that
# package's checksum into the head of the others.
@test "RPMs" {
    build_again rpm
    local again
    for again in "$BATS_TEST_TMPDIR"/again/*."$(uname -m).rpm"; do
        rpm2cpio "$packages/${again##*/}" >"$BATS_TEST_TMPDIR/first"
        rpm2cpio "$again" >"$BATS_TEST_TMPDIR/second"
        cmp "$BATS_TEST_TMPDIR"/{first,second}
    done
}

@test "the portable programs" {
    build_again portable
    equals_first_build 'distgpu-*'
}
