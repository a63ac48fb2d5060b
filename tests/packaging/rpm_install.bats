#!/usr/bin/env bats
# The RPMs through rpm, into a root of their own: installed, upgraded, removed. Slurm and the
# libraries are not there, so that nothing but the files and the scriptlets is tried. The tests
# follow on each other. Needs root and `packaging/build rpm`.
# shellcheck source=tests/packaging/packages.bash
source "$BATS_TEST_DIRNAME/packages.bash"

names=(distgpu distgpu-nccl-scaling slurm-spank-distgpu)
folder=etc/slurm/plugstack.conf.d
sample=./slurm/plugstack.conf.d/zz-distgpu.conf.sample

# The plugin's package of an older version, with an older sample.
make_old() {
    mkdir "$OLD"
    cat >"$OLD/old.spec" <<SPEC
Name: slurm-spank-distgpu
Version: 0.0.9
Release: 1
Summary: Older
License: Apache-2.0
%description
Older.
%install
mkdir -p %{buildroot}/$folder %{buildroot}%{_libdir}/slurm
echo older | tee %{buildroot}/$folder/zz-distgpu.conf.sample >%{buildroot}%{_libdir}/slurm/spank_distgpu.so
%files
%{_libdir}/slurm/spank_distgpu.so
%config(noreplace) /$folder/zz-distgpu.conf.sample
SPEC
    rpmbuild -bb --define "_topdir $OLD" "$OLD/old.spec" >&2
}

setup_file() {
    needs_root
    export ROOT=$BATS_FILE_TMPDIR/root OLD=$BATS_FILE_TMPDIR/old
    make_old
    # What an administrator has: the plugin enabled by a copy of the sample.
    mkdir -p "$ROOT/$folder"
    echo "include /etc/slurm/plugstack.conf.d/*.conf" >"$ROOT/etc/slurm/plugstack.conf"
    echo "required /usr/lib64/slurm/spank_distgpu.so" >"$ROOT/$folder/90-distgpu.conf"
    state_of_etc "$ROOT" >"$BATS_FILE_TMPDIR/before"
    in_root --initdb
}

in_root() { rpm --root "$ROOT" "$@"; }

install_or_upgrade() { in_root --upgrade --nodeps "$@"; }

new_packages() {
    local name
    for name in "${names[@]}"; do
        printf '%s\n' "$packages/$name-$version-1.slurm$slurm.$(uname -m).rpm"
    done
}

@test "installing adds the sample to /etc, and nothing that enables" {
    install_or_upgrade "$OLD"/RPMS/*/*.rpm
    [ "$(changed)" = "$sample" ]
}

@test "an upgrade replaces the files and the sample that nobody changed" {
    local rpms
    mapfile -t rpms < <(new_packages)
    install_or_upgrade "${rpms[@]}"
    [ "$(changed)" = "$sample" ]
    grep -q "^required /usr/lib64/slurm/spank_distgpu.so$" "$ROOT/$folder/zz-distgpu.conf.sample"
    [ "$(in_root --query "${names[@]}" | sed 's/\.[^.]*$//' | sort)" = \
        "$(printf "%s-$version-1.slurm$slurm\n" "${names[@]}" | sort)" ]
    # Files as the packages have them, dependencies aside.
    in_root --verify --nodeps "${names[@]}"
}

@test "what is installed runs" {
    run -0 "$ROOT/usr/bin/distgpu" plan pytorch --nodes 2 --tasks-per-node 1
    run -0 "$ROOT/usr/bin/nccl-scaling" --help
}

@test "Slurm's next release is refused" {
    run ! in_root --upgrade --test "$packages/slurm-spank-distgpu-$version-1.slurm$slurm.$(uname -m).rpm" --replacepkgs
    [[ $output == *"slurm($(rpm --eval '%{_arch}' | tr _ -)) < $next is needed"* ]]
}

@test "removing takes all but what the administrator wrote" {
    in_root --erase "${names[@]}"
    [ -z "$(changed)" ]
    run -0 find "$ROOT/usr" ! -type d
    [ -z "$output" ]
}
