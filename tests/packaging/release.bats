#!/usr/bin/env bats
# packaging/release in a small repository: what it refuses, and what it leaves to do.
# shellcheck source=tests/packaging/packages.bash
source "$BATS_TEST_DIRNAME/packages.bash"

# As much of a checkout as it reads, where 1.2.3 is ready.
setup() {
    repository=$BATS_TEST_TMPDIR/distgpu
    mkdir "$repository"
    cp -R "$root"/{packaging,cmake,.gitattributes} "$repository"
    cd "$repository" || return
    echo '/build/' >.gitignore
    echo 'project(distgpu VERSION 1.2.3 LANGUAGES C CXX)' >CMakeLists.txt
    printf '# Changes\n\n## 1.2.3 (2030-01-31)\n\n## 1.2.2 (2030-01-01)\n' >CHANGELOG.md
    git init --quiet
    git config user.name tests
    git config user.email none
    commit
}

commit() { git add --all && git commit --quiet --message changed; }

refused() { # MESSAGE
    run --separate-stderr -1 packaging/release 1.2.3
    [ "$stderr" = "packaging/release: $1" ]
    [ ! -e build ]
}

# A file for each kind, in place of the build.
stand_in_build() {
    cat >packaging/build <<'TEXT'
#!/usr/bin/env bash
declare -A files=([tar]=distgpu-1.2.3.tar.gz
    [portable]="distgpu-1.2.3-linux-aarch64.tar.gz nccl-scaling_1.2.3-1_arm64.deb
        spank_distgpu-1.2.3-slurm24.11-aarch64.so spank_distgpu-1.2.3-slurm24.11-aarch64_step.so
        slurm-spank-distgpu_1.2.3-1+slurm24.11_arm64.deb"
    [rpm]="distgpu-1.2.3-1.x86_64.rpm slurm-spank-distgpu-1.2.3-1.x86_64.rpm")
for name in ${files[$1]}; do echo "$1" >"$4/$name"; done
TEXT
    export DISTGPU_CACHE=$BATS_TEST_TMPDIR/cache
    mkdir -p "$DISTGPU_CACHE/portable"
    printf '%s\n' "libc++ 22.1.8" "libc++abi 22.1.8" "libunwind 22.1.8" "compiler_rt 0.17.1" "musl 1.2.5" \
        "hwloc 2.9.0" "libsodium-dev 1.0.17-1" "libfmt-dev 9.1.0" \
        "nlohmann-json3-dev 3.11.2" "libexpected-dev 1.0.0" "libcli11-dev 2.1.2" >"$DISTGPU_CACHE/portable/linked"
    commit
}

@test "all is built and described, tagging and pushing are left" {
    stand_in_build
    run --separate-stderr -0 packaging/release 1.2.3
    [ "$stderr" = "packaging/release: packaging/owner.bash: names no maintainer or no homepage; fill it \
in, or the packages lack them" ]
    [[ $output == *"git tag --sign --message 'distgpu 1.2.3' v1.2.3 $(git rev-parse HEAD)"* ]]
    [[ $output == *"git push origin v1.2.3"* ]]
    [ -z "$(git tag)" ]
    cd build/release-1.2.3
    [ "$(printf '%s\n' *)" = "SHA256SUMS
distgpu-1.2.3-1.x86_64.rpm
distgpu-1.2.3-linux-aarch64.tar.gz
distgpu-1.2.3.spdx.json
distgpu-1.2.3.tar.gz
nccl-scaling_1.2.3-1_arm64.deb
slurm-spank-distgpu-1.2.3-1.x86_64.rpm
slurm-spank-distgpu_1.2.3-1+slurm24.11_arm64.deb
spank_distgpu-1.2.3-slurm24.11-aarch64.so
spank_distgpu-1.2.3-slurm24.11-aarch64_step.so" ]
    sha256sum --strict --check SHA256SUMS
    [ "$(wc -l <SHA256SUMS)" -eq 9 ]
}

# FILE: the names and versions of what it is linked with.
linked() {
    jq -r --arg file "$1" '
        (.packages[] | select(.name == $file).SPDXID) as $id | .packages as $all |
        .relationships[] | select(.spdxElementId == $id and .relationshipType == "STATIC_LINK") |
        .relatedSpdxElement as $other | $all[] | select(.SPDXID == $other) | "\(.name) \(.versionInfo)"' \
        distgpu-1.2.3.spdx.json | sort
}

names_linked() { linked "$1" | cut -d' ' -f1 | paste -sd' '; } # FILE

@test "the SBOM names what each file is linked with: zig's libraries or this machine's" {
    stand_in_build
    packaging/release 1.2.3 --output "$BATS_TEST_TMPDIR/first"
    packaging/release 1.2.3 --output "$BATS_TEST_TMPDIR/second"
    diff -r "$BATS_TEST_TMPDIR"/{first,second}
    cd "$BATS_TEST_TMPDIR/first"
    [ "$(linked distgpu-1.2.3-linux-aarch64.tar.gz)" = "compiler_rt 0.17.1
hwloc 2.9.0
libc++ 22.1.8
libc++abi 22.1.8
libcli11-dev 2.1.2
libexpected-dev 1.0.0
libfmt-dev 9.1.0
libsodium-dev 1.0.17-1
libunwind 22.1.8
musl 1.2.5
nlohmann-json3-dev 3.11.2" ]
    local plugin=slurm-spank-distgpu_1.2.3-1+slurm24.11_arm64.deb
    [ "$(names_linked "$plugin")" = "compiler_rt libc++ libc++abi libexpected-dev libfmt-dev libunwind nlohmann-json3-dev" ]
    [ "$(names_linked spank_distgpu-1.2.3-slurm24.11-aarch64_step.so)" = "$(names_linked "$plugin")" ]
    [ "$(names_linked spank_distgpu-1.2.3-slurm24.11-aarch64.so)" = "" ]
    [ "$(names_linked nccl-scaling_1.2.3-1_arm64.deb)" = "compiler_rt libc++ libc++abi libcli11-dev libexpected-dev \
libfmt-dev libsodium-dev libunwind nlohmann-json3-dev" ]
    [ "$(names_linked slurm-spank-distgpu-1.2.3-1.x86_64.rpm)" = "libexpected-dev libfmt-dev libgcc-12-dev \
libstdc++-12-dev nlohmann-json3-dev" ]
    [ "$(linked distgpu-1.2.3-1.x86_64.rpm | grep ^libc6)" = \
        "libc6-dev $(dpkg-query --show --showformat '${Version}' libc6-dev)" ]
    [ -z "$(linked distgpu-1.2.3.tar.gz)" ]
    diff <(jq -r '.packages[] | select(.checksums) | "\(.checksums[0].checksumValue)  \(.name)"' distgpu-1.2.3.spdx.json) \
        <(grep -v spdx SHA256SUMS)
}

@test "an older release of the folder is refused" {
    mkdir build build/release-1.2.3
    run --separate-stderr -1 packaging/release 1.2.3
    [[ $stderr == *"build/release-1.2.3: already exists; remove it or "* ]]
}

@test "the source archive has what the commit has, and the spec with its version" {
    packaging/build tar
    local archive=build/packages/distgpu-1.2.3.tar.gz
    [ "$(gzip -dc "$archive" | git get-tar-commit-id)" = "$(git rev-parse HEAD)" ]
    diff <({ echo distgpu.spec && git ls-files; } | sed 's|^|distgpu-1.2.3/|' | sort) \
        <(tar -tf "$archive" | grep -v '/$' | sort)
    [ "$(tar -xOf "$archive" distgpu-1.2.3/cmake/commit.txt)" = "$(git rev-parse HEAD)" ]
    tar -xOf "$archive" distgpu-1.2.3/distgpu.spec | grep -q '^Version: *1\.2\.3$'
}

@test "another version than CMake's is refused" {
    sed -i s/1.2.3/1.2.4/ CMakeLists.txt
    commit
    refused "CMakeLists.txt: its version is 1.2.4, not 1.2.3; change project()"
}

@test "a changelog that has it not, or has it unreleased, is refused" {
    local heading today
    today=$(date --utc +%F)
    for heading in "1.2.4 (2030-02-01)" "1.2.3 (unreleased)" "1.2.3"; do
        printf '# Changes\n\n## %s\n\n## 1.2.3 (2030-01-31)\n' "$heading" >CHANGELOG.md
        commit
        refused "CHANGELOG.md: its newest heading is '## $heading'; write '## 1.2.3 ($today)'"
    done
}

@test "changes that are not committed are refused" {
    touch new
    refused "$repository: has uncommitted changes; commit them"
}

@test "a version whose tag names another commit is refused" {
    git tag v1.2.3
    touch new
    commit
    refused "tag v1.2.3: already exists for another commit; release another version"
}

@test "the tagged commit can be built, into a chosen folder" {
    stand_in_build
    git tag --annotate --message 1.2.3 v1.2.3
    packaging/release 1.2.3 --output "$BATS_TEST_TMPDIR/output"
    [ -f "$BATS_TEST_TMPDIR/output/distgpu-1.2.3.tar.gz" ]
}

@test "the source archive of a changed checkout has the change, and the repository has nothing new" {
    touch new
    local objects
    objects=$(git count-objects)
    packaging/build tar --output "$BATS_TEST_TMPDIR"
    tar -tf "$BATS_TEST_TMPDIR/distgpu-1.2.3.tar.gz" | grep -qx distgpu-1.2.3/new
    [ "$(git count-objects)" = "$objects" ]
    [ "$(git status --porcelain)" = "?? new" ]
}

@test "wrong usage is told from what can be put right" {
    run -2 packaging/release
    run -2 packaging/release 1.2
    run -2 packaging/release 1.2.3 --output
    run -2 packaging/build
    run -2 packaging/build zip
    run -2 packaging/build tar --slurm
    run -3 packaging/build deb --slurm "$BATS_TEST_TMPDIR"
}
