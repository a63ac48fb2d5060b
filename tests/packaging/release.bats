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

@test "the archive is built, tagging and pushing are left" {
    run --separate-stderr -0 packaging/release 1.2.3
    [[ $output == *"git tag --sign --message 'distgpu 1.2.3' v1.2.3 $(git rev-parse HEAD)"* ]]
    [[ $output == *"git push origin v1.2.3"* ]]
    [ -z "$(git tag)" ]
    # It has what the commit has, its hash, and the spec with its version.
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
    git tag --annotate --message 1.2.3 v1.2.3
    packaging/release --output "$BATS_TEST_TMPDIR/output" 1.2.3
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
    run -2 packaging/build
    run -2 packaging/build zip
    run -2 packaging/build tar --slurm
    run -3 packaging/build deb --slurm "$BATS_TEST_TMPDIR"
}
