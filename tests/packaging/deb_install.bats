#!/usr/bin/env bats
# A release's packages for Debian through dpkg, in a root of this machine's release with Slurm:
# installed, upgraded, taken away by another Slurm, removed, purged. The tests follow on each other.
# Needs root and `packaging/build portable`.
# shellcheck source=tests/packaging/packages.bash
source "$BATS_TEST_DIRNAME/packages.bash"

all=(distgpu nccl-scaling slurm-spank-distgpu)
old=0.0.9-1
new=$version-1
sample=./slurm/plugstack.conf.d/zz-distgpu.conf.sample

# Made once for all runs; a copy of it is the root.
base_root() {
    local codename base
    codename=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
    base=${DISTGPU_CACHE:-/var/cache/distgpu}/packaging/$codename
    if [[ ! -d $base ]]; then
        rm -rf "$base.part"
        mkdir -p "${base%/*}"
        debootstrap --variant=minbase \
            --include=python3,slurm-client,slurmd,systemd \
            "$codename" "$base.part" >&2
        rm -f "$base.part"/var/cache/apt/archives/*.deb
        mv "$base.part" "$base"
    fi
    echo "$base"
}

# Only the plugin's version names its Slurm.
new_deb() { echo "$portable/$1_$new$([[ $1 != slurm-* ]] || echo "+slurm$slurm")_$(dpkg --print-architecture).deb"; } # NAME

# The same packages with an older version: what an upgrade replaces.
make_old() {
    local name
    for name in "${all[@]}"; do
        dpkg-deb --raw-extract "$(new_deb "$name")" "$ROOT/old/$name"
        sed -i "s/${new//./\\.}/$old/" "$ROOT/old/$name/DEBIAN/control"
        dpkg-deb --root-owner-group --build "$ROOT/old/$name" "$ROOT/old" >&2
    done
}

# Slurm of another release, as far as dpkg looks.
make_next_slurm() {
    mkdir -p "$ROOT/slurm/DEBIAN"
    printf '%s\n' "Package: slurm-wlm-basic-plugins" "Version: $next.1-1" "Architecture: all" \
        "Maintainer: none" "Description: none" >"$ROOT/slurm/DEBIAN/control"
    dpkg-deb --build "$ROOT/slurm" "$ROOT/slurm.deb" >&2
}

setup_file() {
    needs_root
    export ROOT=$BATS_FILE_TMPDIR/root
    cp -a "$(base_root)" "$ROOT"
    mkdir "$ROOT"/{old,new}
    local name
    for name in "${all[@]}"; do cp "$(new_deb "$name")" "$ROOT/new"; done
    make_old
    make_next_slurm
    # What an administrator has: the plugin enabled by a copy of the sample.
    sed 's/^required .*/& ports=20000-21000/' "$root/packaging/plugstack/zz-distgpu.conf.sample.in" \
        >"$ROOT/etc/slurm/plugstack.conf.d/90-distgpu.conf"
    state_of_etc "$ROOT" >"$BATS_FILE_TMPDIR/before"
}

in_root() { chroot "$ROOT" env --ignore-environment PATH=/usr/sbin:/usr/bin:/sbin:/bin \
        DEBIAN_FRONTEND=noninteractive "$@"; }

versions() {
    in_root dpkg-query --show --showformat '${db:Status-Abbrev}${Version}\n' "${all[@]}" | sort -u
}

@test "installing adds the sample to /etc, and enables nothing" {
    in_root bash -c 'dpkg --install /old/*.deb'
    [ "$(versions)" = "ii $old
ii $old+slurm$slurm" ]
    [ "$(changed)" = "$sample" ]
}

@test "an upgrade leaves /etc as it is" {
    in_root bash -c 'dpkg --install /new/*.deb'
    [ "$(versions)" = "ii $new
ii $new+slurm$slurm" ]
    [ "$(changed)" = "$sample" ]
}

@test "what is installed runs, and what the sample names is there" {
    run -0 in_root distgpu plan pytorch --nodes 2 --tasks-per-node 1
    run -0 in_root nccl-scaling --help
    run -0 sed -n 's/^required //p' "$ROOT/etc/slurm/plugstack.conf.d/zz-distgpu.conf.sample"
    [ -f "$ROOT$output" ]
    # Slurm's own plugins lie there: `required spank_distgpu.so` is enough.
    [ -f "$ROOT${output%/*}/auth_munge.so" ]
    run -0 in_root distgpu check-config "/etc/slurm/plugstack.conf.d/zz-distgpu.conf.sample"
    [ -z "$output" ]
}

@test "a unit that the administrator enabled stays so in an upgrade" {
    in_root systemctl enable distgpu-topology
    in_root bash -c 'dpkg --install /old/*.deb && dpkg --install /new/*.deb'
    [ "$(in_root systemctl is-enabled distgpu-topology)" = enabled ]
    in_root systemctl disable distgpu-topology
    [ "$(changed)" = "$sample" ]
}

@test "with another release of Slurm the plugin goes, the command stays" {
    run -0 in_root apt-get --simulate install /slurm.deb
    [[ $output == *"Inst slurm-wlm-basic-plugins [$slurm"*" ($next.1-1 "* ]]
    [[ $output == *"Remv slurm-spank-distgpu "* ]]
    [[ $output != *"Remv distgpu "* ]]
}

@test "removing leaves the sample, purging nothing, and neither what the administrator wrote" {
    in_root dpkg --remove "${all[@]}"
    [ "$(changed)" = "$sample" ]
    run -0 find "$ROOT/usr" -name '*distgpu*' -o -name 'nccl-scaling*'
    [ -z "$output" ]
    in_root dpkg --purge "${all[@]}"
    [ -z "$(changed)" ]
}
