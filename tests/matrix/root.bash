# A Debian release in a folder: how it is made, and how a command runs inside.
# shellcheck shell=bash

# Debian's mirror, by this machine's own apt.
mirror() {
    apt-get indextargets --format '$(REPO_URI)' 'Identifier: Packages' | head -n 1
}

# Every release since 2019 is made by the script of sid; an old debootstrap knows only that one.
# In a mount namespace, so that an interrupted debootstrap leaves no mount behind. The packages of
# another architecture than the machine's are unpacked, but not configured; PACKAGE is one more.
make_root() { # RELEASE ROOT [ARCHITECTURE [PACKAGE]]
    [[ ! -e $2/made ]] || return 0
    rm -rf --one-file-system "$2"
    unshare --mount --propagation private debootstrap --variant=minbase ${3:+--foreign "--arch=$3"} \
        ${4:+"--include=$4"} "$1" "$2" "$(mirror)" \
        /usr/share/debootstrap/scripts/sid || return
    # debootstrap itself unpacks only the packages that every system has.
    [[ ! ${4-} ]] || find "$2/var/cache/apt/archives" -name '*.deb' -exec dpkg-deb --extract {} "$2" \; || return
    # The way to the mirror.
    cp /etc/hosts /etc/resolv.conf "$2/etc" || return
    apt-config dump | grep -E '^Acquire::(https?::Proxy|Check-)' >"$2/etc/apt/apt.conf.d/90machine"
    touch "$2/made"
}

# In namespaces of its own: when the command ends, or this shell, its mounts and processes are
# gone. unshare, which ignores SIGTERM, is killed for that.
in_root() { # ROOT CCACHE COMMAND...
    setpriv --pdeathsig KILL unshare --mount --pid --fork --kill-child --propagation private \
        bash "${BASH_SOURCE[0]%/*}/enter" "$@"
}

# A program of aarch64 in such a root, by qemu. It starts other programs only by /qemu too, because
# the kernel is not asked to do so: that would concern the whole machine.
in_arm_root() { # ROOT PROGRAM ARGUMENT...
    cp /usr/bin/qemu-aarch64-static "$1/qemu"
    # shellcheck disable=SC2016 # bash expands it
    unshare --mount --propagation private bash -e -c 'mount --rbind /proc "$0/proc"
        mount --rbind /sys "$0/sys"
        mount --rbind /dev "$0/dev"
        exec chroot "$0" /qemu "$@"' "$@"
}
