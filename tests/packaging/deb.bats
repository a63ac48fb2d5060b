#!/usr/bin/env bats
# What Debian's packages contain and ask for: deb/NAME.txt lists it. Needs `packaging/build deb`.
# shellcheck source=tests/packaging/packages.bash
source "$BATS_TEST_DIRNAME/packages.bash"
# shellcheck source=tests/packaging/hardening.bash
source "$BATS_TEST_DIRNAME/hardening.bash"

file_of() { # PACKAGE
    echo "$packages/$1_$version-1+slurm${slurm}_$(dpkg --print-architecture).deb"
}

# A line a dependency, a maintainer script, a file. The versions of libraries follow from the
# release on which the package was built; documents and examples come and go.
lines_of() { # PACKAGE
    local deb field
    deb=$(file_of "$1")
    for field in Depends Recommends; do
        dpkg-deb --field "$deb" "$field" | sed 's/, /\n/g' |
            sed -e '/^$/d' -e 's/^\(lib.*\) (>= .*)$/\1/' -e "s/^/${field,} /"
    done
    dpkg-deb --ctrl-tarfile "$deb" | tar --list | grep -xE '\./(pre|post)(inst|rm)' |
        sed 's|^\./|script |'
    dpkg-deb --ctrl-tarfile "$deb" | tar --extract --to-stdout ./conffiles 2>/dev/null |
        sed 's/^/conffile /'
    dpkg-deb --contents "$deb" | grep -v '^d' |
        awk '{ $2 = $3 = $4 = $5 = ""; print }' | tr -s ' ' | sed -e 's| \./| /|' -e 's| /lib/| /usr/lib/|' |
        grep -vE ' /usr/share/doc/distgpu/(docs|examples)/'
}

@test "each package holds, asks for and runs what its list says" {
    all_as_listed deb
}

@test "there are no packages but the listed ones and their debugging symbols" {
    local names
    names=$(cd "$packages" && printf '%s\n' *_"$version"-1*.deb | sed 's/_.*//' | grep -v -- -dbgsym)
    [ "$names" = "$(cd "$BATS_TEST_DIRNAME/deb" && printf '%s\n' *.txt | sed 's/\.txt$//')" ]
}

@test "all belongs to root, who alone may write it, and nothing has special rights" {
    local list
    for list in "$BATS_TEST_DIRNAME"/deb/*.txt; do
        list=${list##*/}
        run -0 dpkg-deb --contents "$(file_of "${list%.txt}")"
        # Of a link's rights only its target's count.
        run -1 grep -vE '^(l|[-d]r[-w][-x]r-[-x]r-[-x] root/root )' <<<"$output"
    done
}

@test "its programs and libraries are hardened" {
    local list
    for list in "$BATS_TEST_DIRNAME"/deb/*.txt; do
        list=${list##*/}
        dpkg-deb --extract "$(file_of "${list%.txt}")" "$BATS_TEST_TMPDIR"
    done
    run -0 all_hardened "$BATS_TEST_TMPDIR" "${programs[@]}"
}

# Debian's archive wants its bug named that asked for the package.
@test "lintian finds nothing" {
    run -0 lintian --allow-root --fail-on error,warning \
        --suppress-tags initial-upload-closes-no-bugs \
        "$packages/distgpu_$version-1_$(dpkg --print-architecture).changes"
}
