# A Debian release in a folder: how it is made, and how a command runs inside.
# shellcheck shell=bash

# Debian's mirror, by this machine's own apt.
mirror() {
    apt-get indextargets --format '$(REPO_URI)' 'Identifier: Packages' | head -n 1
}

# Every release since 2019 is made by the script of sid; an old debootstrap knows only that one.
# In a mount namespace, so that an interrupted debootstrap leaves no mount behind.
make_root() { # RELEASE ROOT
    [[ ! -e $2/made ]] || return 0
    rm -rf --one-file-system "$2"
    unshare --mount --propagation private debootstrap --variant=minbase "$1" "$2" "$(mirror)" \
        /usr/share/debootstrap/scripts/sid || return
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
