# Functions for all commands: messages, the state folder of a sandbox, whether a
# host is alive, and how to enter a host. Sourced by ../sandbox.
# Needs: command, name, user, sandbox_lib.
# shellcheck shell=bash
# The files share variables: "Needs" above lists those that other files set.
# shellcheck disable=SC2034,SC2154

sandbox_root=/run/distgpu-sandbox
default_user=sandbox

print_error() { printf 'sandbox: %s: %s; %s\n' "$1" "$2" "$3" >&2; }
fail() { print_error "$@" && exit 1; }
usage_error() { print_error "$@" && exit 2; }

need_root() {
    ((EUID == 0)) || { print_error "$command" "needs root" "run it as root or with sudo" && exit 3; }
}

load() {
    local part
    for part; do
        # shellcheck disable=SC1090
        source "$sandbox_lib/$part.sh"
    done
}

# Sets `state` to the folder of the sandbox `name`; exits if there is none.
need_sandbox() {
    state=$sandbox_root/$name
    [[ -d $state ]] || fail "$name" "no such sandbox" "start it with 'sandbox up --name $name'"
}

host_names() { # NODES -> hosts
    local i
    hosts=(login)
    for ((i = 1; i <= $1; i++)); do hosts+=("node$(printf '%02d' "$i")"); done
}

# Start time of a process in clock ticks since boot: it makes a process id
# unique. Field 22 of stat, counted after the name, which may contain blanks.
start_time() { # PID -> started
    local line fields
    started=''
    { read -r line <"/proc/$1/stat"; } 2>/dev/null || return 1
    read -ra fields <<<"${line##*) }"
    [[ ${fields[0]} != Z ]] && started=${fields[19]}
}

# The keeper of a host: the process that holds its namespaces.
keeper_of() { # HOST [STATE] -> keeper
    local recorded
    keeper=''
    { read -r keeper recorded <"${2-$state}/$1/keeper"; } 2>/dev/null || return 1
    start_time "$keeper" && [[ $started == "$recorded" ]]
}

need_host() { # HOST -> keeper
    [[ $1 =~ ^[a-z0-9]+$ && -d $state/$1/slurm ]] ||
        fail "$1" "no such host in sandbox '$name'" "see 'sandbox status --name $name'"
    keeper_of "$1" ||
        fail "$1" "its keeper is gone" "end the sandbox with 'sandbox down --name $name'"
}

# login has no separate process namespace, so a command can replace this program and
# gets every signal directly.
enter_login=(-m -n -u -i)
enter_node=(-m -n -u -i -p)

# Closes the caller's files except the standard ones. Signals have their default effect, as below
# systemd: a shell's background command ignores SIGINT, and tasks of 26.05 would inherit that.
in_host() { # HOST COMMAND...
    local host=$1 enter=("${enter_node[@]}")
    shift
    [[ $host == login ]] && enter=("${enter_login[@]}")
    keeper_of "$host" && (
        close_files
        exec env --default-signal nsenter -t "$keeper" "${enter[@]}" "$@"
    )
}

# A daemon that kept the caller's pipes open would make the caller wait for it.
close_files() {
    local file fd
    for file in /proc/self/fd/*; do
        fd=${file##*/}
        ((fd > 2 && fd != 255)) && eval "exec $fd>&-"
    done
    return 0
}

run_on_login() {
    need_sandbox
    need_host login
    [[ $user ]] || read -r user <"$state/user"
    need_user "$user"
    unset SLURM_CONF
    export HOME=$user_home USER=$user LOGNAME=$user SHELL=$user_shell
    exec nsenter -t "$keeper" "${enter_login[@]}" env -C "$PWD" -- \
        setpriv --reuid "$user_id" --regid "$group_id" --init-groups -- "$@"
}

# A command on a node runs in the node's process namespace, as a child of
# nsenter: it gets SIGTERM when nsenter ends.
run_on_host() {
    local host=$1
    shift
    need_sandbox
    need_host "$host"
    unset SLURM_CONF
    [[ $host == login ]] && exec nsenter -t "$keeper" "${enter_login[@]}" env -C "$PWD" -- "$@"
    exec nsenter -t "$keeper" "${enter_node[@]}" env -C "$PWD" -- setpriv --pdeathsig TERM -- "$@"
}

need_user() { # NAME -> user_id, group_id, user_home, user_shell
    local entry
    entry=$(getent passwd "$1") ||
        fail "--user=$1" "no such user" "create it or leave the option out"
    IFS=: read -r _ _ user_id group_id _ user_home user_shell <<<"$entry"
}
