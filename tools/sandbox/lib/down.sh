# `sandbox down`: ends the hosts by their keepers and removes the state folder.
# Sourced by ../sandbox. Needs: name, state.
# shellcheck shell=bash
# The files share variables: "Needs" above lists those that other files set.
# shellcheck disable=SC2034,SC2154

down() {
    need_sandbox
    umask 022
    trap '' INT TERM HUP
    remove_sandbox || exit 1
    printf 'sandbox %s: down\n' "$name"
}

# Renames the folder first, so that a keeper that starts meanwhile cannot write its file, and ends.
remove_sandbox() {
    local gone=$sandbox_root/.$name.$$ host
    mv "$state" "$gone" || return 1
    for host in "$gone"/node*; do
        keeper_of "${host##*/}" "$gone" && kill -KILL "$keeper" 2>/dev/null
    done
    end_login "$gone"
    for host in "$gone"/node*; do
        await_end "${host##*/}" "$gone" || return 1
    done
    remove_cgroups
    rm -rf --one-file-system "$gone" || return 1
    # The last sandbox also removes the folder that its hosts mounted over, if it is empty.
    { rmdir "$sandbox_root" && rmdir /run/distgpu; } 2>/dev/null
    return 0
}

await_end() { # HOST STATE
    local try
    for ((try = 0; try < 500; try++)); do
        keeper_of "$1" "$2" || return 0
        sleep 0.02
    done
    print_error "$1" "its processes do not stop" "inspect process $keeper; its files are in $2"
    return 1
}

# login's processes are those in its network namespace. Its keeper ends last:
# until then no other namespace can get the same number. If the keeper is already
# gone, a process must be in login's mount namespace, too.
end_login() { # STATE
    local try pids network mounts keeper
    { read -r network mounts <"$1/login/namespaces"; } 2>/dev/null || return 0
    if keeper_of login "$1"; then mounts='*'; else keeper=0; fi
    for ((try = 0; try < 500; try++)); do
        mapfile -t pids < <(processes_in "$network" "$mounts" | grep -vx "$keeper")
        ((${#pids[@]})) || break
        kill -KILL "${pids[@]}" 2>/dev/null
        sleep 0.02
    done
    keeper_of login "$1" && kill -KILL "$keeper"
    await_end login "$1"
}

# Brackets in a namespace's name would be a pattern, so ? replaces each.
processes_in() { # NETWORK MOUNTS, as net:[4026531840] mnt:[4026531841] or *
    local link
    find /proc -maxdepth 3 -path '/proc/[0-9]*/ns/net' -lname "${1//[\[\]]/?}" 2>/dev/null |
        while read -r link; do
            # shellcheck disable=SC2254
            case $(readlink "${link%net}mnt") in ${2//[\[\]]/?}) echo "${link//[^0-9]/}" ;; esac
        done
}

# When Slurm is killed, its control groups remain.
remove_cgroups() {
    local folder
    for folder in /sys/fs/cgroup/*/"distgpu-sandbox-$name"; do
        [[ -d $folder ]] && find "$folder" -depth -type d -exec rmdir {} +
    done
    return 0
}
