#!/usr/bin/env bats
# What the RPMs contain and ask for: rpm/NAME.txt lists it. Needs `packaging/build rpm`.
# shellcheck source=tests/packaging/packages.bash
source "$BATS_TEST_DIRNAME/packages.bash"
# shellcheck source=tests/packaging/hardening.bash
source "$BATS_TEST_DIRNAME/hardening.bash"

file_of() { # PACKAGE
    echo "$packages/$1-$version-1.slurm$slurm.$(uname -m).rpm"
}

# A line a dependency, a scriptlet, a file. rpmbuild adds which versions of a library's symbols
# are used, which follows from the release on which the package was built, what it needs of rpm,
# and links for debuggers, and may compress manual pages; documents and examples come and go.
lines_of() { # PACKAGE
    local rpm
    rpm=$(file_of "$1")
    rpm --query --requires --package "$rpm" | grep -vE '^(rpmlib\(|ld-linux)' |
        sed -e 's/^\(lib.*\.so\.[0-9]*\)(.*/\1/' -e 's/^/requires /' | sort -u
    rpm --query --recommends --package "$rpm" | sed 's/^/recommends /'
    rpm --query --scripts --triggers --filetriggers --package "$rpm" | sed 's/^/script /'
    rpm --query --configfiles --package "$rpm" | sed 's/^/config /'
    rpm --query --queryformat '[%{FILEMODES:perms} %{FILENAMES} -> %{FILELINKTOS}\n]' \
        --package "$rpm" | sed -e 's/ -> $//' -e 's|\(/man/.*\)\.gz$|\1|' |
        grep -vE ' (/usr/share/doc/distgpu/(docs|examples)/|/usr/lib/\.build-id)'
}

@test "each package holds, asks for and runs what its list says" {
    all_as_listed rpm
}

@test "there are no packages but the listed ones and their debugging symbols" {
    local names
    names=$(rpm --query --queryformat '%{NAME}\n' --package "$packages"/*"-$version-1."*.rpm |
        grep -vE -- '-debug(info|source)$' | sort -u)
    [ "$names" = "$(cd "$BATS_TEST_DIRNAME/rpm" && printf '%s\n' *.txt | sed 's/\.txt$//' | sort)" ]
}

@test "all belongs to root, who alone may write it, and nothing has special rights" {
    local list
    for list in "$BATS_TEST_DIRNAME"/rpm/*.txt; do
        list=${list##*/}
        run -0 rpm --query --package "$(file_of "${list%.txt}")" --queryformat \
            '[%{FILEMODES:perms} %{FILEUSERNAME}/%{FILEGROUPNAME} %{FILENAMES}\n]'
        # Of a link's rights only its target's count.
        run -1 grep -vE '^(l|[-d]r[-w][-x]r-[-x]r-[-x] root/root )' <<<"$output"
    done
}

@test "its programs and libraries are hardened" {
    local list
    for list in "$BATS_TEST_DIRNAME"/rpm/*.txt; do
        list=${list##*/}
        rpm2cpio "$(file_of "${list%.txt}")" |
            (cd "$BATS_TEST_TMPDIR" && cpio --extract --make-directories --quiet)
    done
    run -0 all_hardened "$BATS_TEST_TMPDIR" "${programs[@]}"
}

@test "the source package holds the archive and the spec, and builds nothing from elsewhere" {
    run -0 rpm --query --list --package "$packages/distgpu-$version-1.slurm$slurm.src.rpm"
    [ "$output" = "distgpu-$version.tar.gz
distgpu.spec" ]
}
