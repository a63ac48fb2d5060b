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

equals_first_build() { # PATTERN [FOLDER]
    local again
    for again in "$BATS_TEST_TMPDIR"/again/$1; do cmp "${2-$packages}/${again##*/}" "$again"; done
}

@test "Debian's packages" {
    build_again deb
    equals_first_build '*.deb'
    equals_first_build '*.tar.*z'
    equals_first_build '*.dsc'
}

@test "RPMs" {
    build_again rpm
    equals_first_build '*.rpm'
}

@test "the programs and plugins for any Linux" {
    build_again portable
    equals_first_build '*' "$portable"
}
