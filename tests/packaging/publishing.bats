#!/usr/bin/env bats
# The scripts that only the workflows need: packaging/slurm_headers, packaging/subjects,
# packaging/draft and .ci/debian. curl, docker and gh are stand-ins, and so is Slurm's archive.
# shellcheck source=tests/packaging/packages.bash
source "$BATS_TEST_DIRNAME/packages.bash"

setup() {
    cd "$BATS_TEST_TMPDIR" || return
    mkdir bin
    PATH=$PWD/bin:$PATH
}

stand_in() { # NAME SCRIPT
    printf '#!/bin/sh\n%s\n' "$2" >"bin/$1"
    chmod +x "bin/$1"
}

# Configures and installs as much of Slurm 25.05.8 as packaging/slurm_headers uses. As Slurm's own,
# configure asks for MUNGE, which the headers do not need.
make_slurm_archive() {
    mkdir slurm-25.05.8
    cat >slurm-25.05.8/configure <<'SH'
#!/bin/sh
[ "$3" = --without-munge ] || { echo "configure: error: unable to locate munge installation" >&2; exit 1; }
printf 'install-pkgincludeHEADERS:\n\tmkdir -p %s/include/slurm\n\tcp version.h %s/include/slurm/slurm_version.h\n' \
    "${2#--prefix=}" "${2#--prefix=}" >Makefile
SH
    chmod +x slurm-25.05.8/configure
    echo '#define SLURM_VERSION_NUMBER 0x190508' >slurm-25.05.8/version.h
    tar -cjf archive.tar.bz2 slurm-25.05.8
    sum=$(sha256sum <archive.tar.bz2 | cut -d' ' -f1)
}

headers_refused() { # MESSAGE ARGUMENT...
    run --separate-stderr -1 "$root/packaging/slurm_headers" "${@:2}"
    [ "$stderr" = "packaging/slurm_headers: $1" ]
}

@test "slurm_headers: the headers of an archive are installed" {
    make_slurm_archive
    run --separate-stderr -0 "$root/packaging/slurm_headers" 25.05.8 "$sum" prefix archive.tar.bz2
    [ "$output" = "$PWD/prefix" ]
    [ -f prefix/include/slurm/slurm_version.h ]
}

@test "slurm_headers: an archive with another sum is refused, unopened" {
    make_slurm_archive
    local wrong=${sum//[0-9]/0}
    headers_refused "archive.tar.bz2: its SHA-256 is $sum, not $wrong; compare it with SchedMD's list" \
        25.05.8 "$wrong" prefix archive.tar.bz2
    [ ! -e prefix ]
}

@test "slurm_headers: an archive of another version is refused" {
    make_slurm_archive
    headers_refused "$PWD/prefix: its headers are not of Slurm 25.05.9; give the version of the archive" \
        25.05.9 "$sum" prefix archive.tar.bz2
}

@test "slurm_headers: an archive that cannot be downloaded is refused" {
    stand_in curl 'exit 22'
    headers_refused "slurm-25.05.8.tar.bz2: cannot be downloaded; name a copy as the last argument" \
        25.05.8 0 prefix
}

# The list is that of the repository, whose sums the stand-in's archive cannot have.
@test "slurm_headers: --listed downloads what the list names, and checks it" {
    stand_in curl 'for last; do :; done; echo "$last" >>urls; : >archive; while [ "$1" != --output ]; do shift; done; : >"$2"'
    run --separate-stderr -1 "$root/packaging/slurm_headers" --listed folder
    [[ $stderr == *"its SHA-256 is "*", not $(sed -n '2s/.* //p' "$root/packaging/slurm_releases"); "* ]]
    [ "$(cat urls)" = "https://download.schedmd.com/slurm/slurm-$(sed -n '2s/ .*//p' "$root/packaging/slurm_releases").tar.bz2" ]
}

@test "slurm_headers: each listed release has a version and a SHA-256" {
    run -1 grep -vE '^#|^[0-9]{2}\.[0-9]{2}\.[0-9]+ [0-9a-f]{64}$' "$root/packaging/slurm_releases"
}

@test "slurm_headers: wrong usage is refused" {
    run -2 "$root/packaging/slurm_headers"
    run -2 "$root/packaging/slurm_headers" --listed
    run -2 "$root/packaging/slurm_headers" 25.05.8 sum
    run -2 "$root/packaging/slurm_headers" latest sum prefix
}

make_release() {
    mkdir release
    echo one >release/one.deb
    echo two >release/two.whl
    echo '{ "spdxVersion": "SPDX-2.3", "SPDXID": "SPDXRef-DOCUMENT" }' >release/distgpu-1.2.3.spdx.json
    (cd release && sha256sum one.deb two.whl >SHA256SUMS)
}

subjects_refused() { # MESSAGE
    run --separate-stderr -1 "$root/packaging/subjects" release
    [[ $stderr == *"packaging/subjects: $1" ]]
    [[ $output != *SBOM* ]]
}

@test "subjects: the sums and the SBOM are printed" {
    make_release
    run --separate-stderr -0 "$root/packaging/subjects" release
    diff <(printf '%s\n' "$output") <(cat release/SHA256SUMS && echo "SBOM: distgpu-1.2.3.spdx.json")
}

@test "subjects: a changed artifact is refused" {
    make_release
    echo three >release/one.deb
    subjects_refused "release: does not match its SHA256SUMS; build the artifacts again"
}

@test "subjects: an artifact that the sums lack is refused" {
    make_release
    echo three >release/three.rpm
    subjects_refused "release: SHA256SUMS lacks three.rpm; build the artifacts again"
}

@test "subjects: a release without an SBOM, or with another file in its place, is refused" {
    make_release
    echo '{ "spdxVersion": "SPDX-2.3" }' >release/distgpu-1.2.3.spdx.json
    subjects_refused "distgpu-1.2.3.spdx.json: is not an SPDX document; build the artifacts again"
    rm release/distgpu-1.2.3.spdx.json
    subjects_refused "release: has not exactly one *.spdx.json; build the artifacts again"
}

# In a copy, whose changelog is the test's.
@test "draft: gh gets the tag, the files and the changelog's section" {
    make_release
    mkdir checkout
    cp -R "$root/packaging" checkout
    printf '# Changes\n\n## 1.2.4 (2030-02-01)\nnewer\n\n## 1.2.3 (2030-01-31)\n### Added\nthis\n\n## 1.2.2 (2030-01-01)\nolder\n' \
        >checkout/CHANGELOG.md
    stand_in gh 'echo "$@" >arguments; cat >notes'
    checkout/packaging/draft 1.2.3 release
    [ "$(cat arguments)" = "release create v1.2.3 --draft --verify-tag --title distgpu 1.2.3 --notes-file - \
release/SHA256SUMS release/distgpu-1.2.3.spdx.json release/one.deb release/two.whl" ]
    [ "$(cat notes)" = $'### Added\nthis' ]
    run --separate-stderr -1 checkout/packaging/draft 1.2.5 release
    [ "$stderr" = "packaging/draft: CHANGELOG.md: says nothing about 1.2.5; add its section" ]
}

@test "debian: the command runs in a container that has the checkout" {
    stand_in docker 'echo "$@"'
    run -0 "$root/.ci/debian" --install lint --install test tests/run lint --no-install
    [ "$output" = "run --rm --init --privileged --volume $root:$root --workdir $root debian:12 \
.ci/debian --in-container --install lint --install test tests/run lint --no-install" ]
}

@test "debian: wrong usage is refused" {
    stand_in docker 'echo "$@"'
    run -2 "$root/.ci/debian"
    run -2 "$root/.ci/debian" --install
    run -2 "$root/.ci/debian" --instal lint true
}
