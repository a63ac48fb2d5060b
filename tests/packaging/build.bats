#!/usr/bin/env bats
# What packaging/build asks of the machine: with --no-check nothing that only tests need. Debian's
# tools are stand-ins, so that nothing is built.
bats_require_minimum_version 1.5.0

root=$(readlink -f "$BATS_TEST_DIRNAME/../..")

# dpkg-buildpackage stands in for itself as far as it looks at what is installed: nothing.
setup() {
    mkdir "$BATS_TEST_TMPDIR/bin" "$BATS_TEST_TMPDIR/nothing"
    : >"$BATS_TEST_TMPDIR/nothing/status"
    cat >"$BATS_TEST_TMPDIR/bin/dpkg-buildpackage" <<TEXT
#!/bin/sh
dpkg-checkbuilddeps --admindir="$BATS_TEST_TMPDIR/nothing" 2>"$BATS_TEST_TMPDIR/needed"
echo "\$DEB_BUILD_OPTIONS" >"$BATS_TEST_TMPDIR/options"
cat debian/control debian/changelog >"$BATS_TEST_TMPDIR/metadata"
for name in deb dsc changes buildinfo debian.tar.xz; do : >../stand-in.\$name; done
TEXT
    printf '#!/bin/sh\n' >"$BATS_TEST_TMPDIR/bin/dh"
    chmod +x "$BATS_TEST_TMPDIR"/bin/*
    mkdir -p "$BATS_TEST_TMPDIR/slurm/include/slurm"
    : >"$BATS_TEST_TMPDIR/slurm/include/slurm/slurm_version.h"
}

build() {
    PATH=$BATS_TEST_TMPDIR/bin:$PATH "${checkout-$root}/packaging/build" deb \
        --output "$BATS_TEST_TMPDIR/output" --slurm "$BATS_TEST_TMPDIR/slurm" "$@"
    sed 's/.*dependencies: //' "$BATS_TEST_TMPDIR/needed" | tr ' ' '\n' >"$BATS_TEST_TMPDIR/packages"
}

needs() { # PACKAGE
    grep -qxF "$1" "$BATS_TEST_TMPDIR/packages"
}

@test "a build with its tests needs their packages" {
    build
    needs cmake
    needs bats
    needs libgtest-dev
    run -1 grep nocheck "$BATS_TEST_TMPDIR/options"
}

@test "--no-check needs none of them, and runs no test" {
    build --no-check
    needs cmake
    run -1 grep -xE 'bats|libgmock-dev|libgtest-dev|python3' "$BATS_TEST_TMPDIR/packages"
    grep -w nocheck "$BATS_TEST_TMPDIR/options"
}

@test "a Slurm in a prefix of its own needs no package of Slurm's" {
    build --no-check
    needs cmake
    run -1 needs libslurm-dev
}

# A checkout of its own, of which packaging/owner.bash has these lines.
build_as() { # LINE...
    local checkout=$BATS_TEST_TMPDIR/checkout
    rm -rf "$checkout" "$BATS_TEST_TMPDIR/output"
    git clone --quiet --shared "$root" "$checkout"
    cp -R "$root/packaging" "$checkout"
    printf '%s\n' "$@" >"$checkout/packaging/owner.bash"
    build --no-check >/dev/null 2>&1
    tar -xOf "$BATS_TEST_TMPDIR"/output/*.orig.tar.gz --wildcards 'distgpu-*/distgpu.spec' >>"$BATS_TEST_TMPDIR/metadata"
    grep -E '^(Maintainer|Homepage|URL): |^ -- ' "$BATS_TEST_TMPDIR/metadata" | sed 's/>  .*/>/; s/: */: /'
}

@test "the owner's addresses are in the packages, or root's and no page" {
    run build_as maintainer_address=us@site.test homepage=https://site.test/distgpu
    [ "$output" = "Maintainer: distgpu maintainers <us@site.test>
Homepage: https://site.test/distgpu
 -- distgpu maintainers <us@site.test>
URL: https://site.test/distgpu" ]
    run build_as maintainer_address= homepage=
    [ "$output" = "Maintainer: distgpu maintainers <root@localhost>
 -- distgpu maintainers <root@localhost>" ]
    run -1 grep -rn 'distgpu[.]invalid' "$root/packaging"
}
