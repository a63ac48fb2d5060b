#!/usr/bin/env bats
# What the packages of each kind contain and ask for: deb/NAME.txt and rpm/NAME.txt list it. Needs
# `packaging/build` of deb and rpm.
# shellcheck source=tests/packaging/packages.bash
source "$BATS_TEST_DIRNAME/packages.bash"
# shellcheck source=tests/packaging/hardening.bash
source "$BATS_TEST_DIRNAME/hardening.bash"

deb_file() { echo "$packages/$1_$version-1+slurm${slurm}_$(dpkg --print-architecture).deb"; } # PACKAGE
rpm_file() { echo "$packages/$1-$version-1.slurm$slurm.$(uname -m).rpm"; }

# A line a dependency, a maintainer script, a file. The versions of libraries follow from the
# release on which the package was built; documents and examples come and go.
deb_lines() { # PACKAGE
    local deb field
    deb=$(deb_file "$1")
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

# A line a dependency, a scriptlet, a file. rpmbuild adds which versions of a library's symbols
# are used, which follows from the release on which the package was built, what it needs of rpm,
# and links for debuggers, and may compress manual pages; documents and examples come and go.
rpm_lines() { # PACKAGE
    local rpm
    rpm=$(rpm_file "$1")
    rpm --query --requires --package "$rpm" | grep -vE '^(rpmlib\(|ld-linux)' |
        sed -e 's/^\(lib.*\.so\.[0-9]*\)(.*/\1/' -e 's/^/requires /' | sort -u
    rpm --query --recommends --package "$rpm" | sed 's/^/recommends /'
    rpm --query --scripts --triggers --filetriggers --package "$rpm" | sed 's/^/script /'
    rpm --query --configfiles --package "$rpm" | sed 's/^/config /'
    rpm --query --queryformat '[%{FILEMODES:perms} %{FILENAMES} -> %{FILELINKTOS}\n]' \
        --package "$rpm" | sed -e 's/ -> $//' -e 's|\(/man/.*\)\.gz$|\1|' |
        grep -vE ' (/usr/share/doc/distgpu/(docs|examples)/|/usr/lib/\.build-id)'
}

# Names of the packages that are there, without those of debugging symbols.
deb_names() { (cd "$packages" && printf '%s\n' *_"$version"-1*.deb) | sed 's/_.*//' | grep -v -- -dbgsym; }
rpm_names() {
    rpm --query --queryformat '%{NAME}\n' --package "$packages"/*"-$version-1."*.rpm |
        grep -vE -- '-debug(info|source)$'
}

# A line a file, with its rights and its owner.
deb_rights() { dpkg-deb --contents "$1"; } # FILE
rpm_rights() {
    rpm --query --package "$1" --queryformat '[%{FILEMODES:perms} %{FILEUSERNAME}/%{FILEGROUPNAME} %{FILENAMES}\n]'
}

# Into this folder.
deb_unpack() { dpkg-deb --extract "$1" .; } # FILE
rpm_unpack() { rpm2cpio "$1" | cpio --extract --make-directories --quiet; }

# The listed packages of a kind.
listed() { (cd "$BATS_TEST_DIRNAME/$1" && printf '%s\n' *.txt | sed 's/\.txt$//' | sort); } # KIND

each_as_listed() { # KIND
    local name
    all_as_listed "$1"
    [ "$("$1_names" | sort -u)" = "$(listed "$1")" ]
    mkdir "$BATS_TEST_TMPDIR/$1"
    cd "$BATS_TEST_TMPDIR/$1" || return
    for name in $(listed "$1"); do
        run -0 "$1_rights" "$("$1_file" "$name")"
        # Of a link's rights only its target's count.
        run -1 grep -vE '^(l|[-d]r[-w][-x]r-[-x]r-[-x] root/root )' <<<"$output"
        "$1_unpack" "$("$1_file" "$name")"
    done
    run -0 all_hardened . "${programs[@]}"
}

@test "Debian's packages, and no others, have what their lists say, root's alone to write, and hardened" { each_as_listed deb; }
@test "RPMs, and no others, have what their lists say, root's alone to write, and hardened" { each_as_listed rpm; }

# Debian's archive wants its bug named that asked for the package.
@test "lintian finds nothing" {
    run -0 lintian --allow-root --fail-on error,warning \
        --suppress-tags initial-upload-closes-no-bugs \
        "$packages/distgpu_$version-1_$(dpkg --print-architecture).changes"
}
