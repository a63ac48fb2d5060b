# `sandbox up`: starts the hosts, joins them by bridges, starts the daemons and
# waits until every node is idle. Sourced by ../sandbox.
# Needs: the options, sandbox_self, sandbox_lib.
# shellcheck shell=bash
# The files share variables: "Needs" above lists those that other files set.
# shellcheck disable=SC2034,SC2154

up() {
    state=$sandbox_root/$name
    local begin=$EPOCHREALTIME
    umask 022
    need_machine
    host_names "$nodes"
    place_nodes
    local interrupted=0
    # As soon as the folder exists, a signal must undo it.
    trap 'interrupted=130' INT
    trap 'interrupted=143' TERM
    trap 'interrupted=129' HUP
    claim_state
    spawned=()
    trap 'undo_up' EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM
    trap 'exit 129' HUP
    ((interrupted)) && exit "$interrupted"
    choose_user
    read_gres
    write_config || fail "$state" "cannot write" "see the message above"
    printf '%s\n' "$user" >"$state/user"
    cgroups=''
    uses_cgroups && cgroups=distgpu-sandbox-$name
    start_hosts
    start_network
    start_daemons
    trap - EXIT INT TERM HUP
    touch "$state/up"
    LC_ALL=C printf 'sandbox %s: login, %s up in %.1f s\n' "$name" "$(node_range)" \
        "$((${EPOCHREALTIME/[.,]/} - ${begin/[.,]/}))e-6"
}

node_range() {
    ((nodes == 1)) && echo node01 || echo "node[01-${hosts[nodes]#node}]"
}

need_machine() {
    local entry program package missing=''
    for entry in slurmctld:slurmctld slurmd:slurmd srun:slurm-client sinfo:slurm-client \
        munged:munge ip:iproute2 unshare:util-linux nsenter:util-linux setpriv:util-linux \
        useradd:passwd hostname:hostname find:findutils; do
        program=${entry%:*} package=${entry#*:}
        type -P "$program" >/dev/null && continue
        [[ " $missing " == *" $package "* ]] || missing+=" $package"
    done
    [[ -z $missing ]] || fail "up" "programs are missing" "apt-get install$missing"
    [[ -d /etc/slurm ]] || fail "/etc/slurm" "no such folder" "mkdir /etc/slurm"
    [[ -f /etc/hosts ]] || fail "/etc/hosts" "no such file" "touch /etc/hosts"
    local plugin
    for plugin in "${plugins[@]}"; do
        [[ -f ${plugin%% *} ]] ||
            fail "--plugin=$plugin" "no file ${plugin%% *}" "build it or correct the path"
    done
    return 0
}

# The `down` of the last sandbox removes the parent folder: if that happens meanwhile, creates it again.
claim_state() {
    local try
    for try in 1 2 3 4 5; do
        mkdir -p "$sandbox_root" && mkdir "$state" 2>/dev/null && return
        [[ -d $state ]] && fail "$name" "this sandbox exists" "end it with 'sandbox down --name $name'"
    done
    fail "$state" "cannot create (tried $try times)" "check that /run is writable"
}

choose_user() {
    if [[ -z $user ]]; then
        user=$default_user
        exec {lock}<"$sandbox_self"
        flock "$lock"
        getent passwd "$user" >/dev/null || useradd --system --user-group --create-home \
            --home-dir "/var/lib/distgpu-sandbox" --shell /bin/bash "$user"
        exec {lock}<&-
    fi
    need_user "$user"
}

# Ends what an interrupted or failed `up` had started; finally the keepers that
# had not yet written their file.
undo_up() {
    local status=$?
    trap '' INT TERM HUP
    trap - EXIT
    remove_sandbox
    ((${#spawned[@]})) && kill -KILL "${spawned[@]}" 2>/dev/null
    exit "$status"
}

start_hosts() {
    local host
    for host in "${hosts[@]}"; do
        local flags=(--net --uts --mount --ipc --propagation slave)
        [[ $host == login ]] || flags+=(--pid --fork --kill-child)
        (
            close_files
            cd / && exec setsid unshare "${flags[@]}" \
                bash "$sandbox_lib/keeper.sh" "$state" "$host" "${gpu_files[*]}" "$cgroups" \
                </dev/null >"$state/log/keeper-$host.log" 2>&1
        ) &
        spawned+=($!)
        disown
    done
    for host in "${hosts[@]}"; do
        wait_for 30 "$host" "does not come up" "keeper-$host" host_ready "$host"
    done
}

host_ready() {
    [[ -e $state/$1/ready ]] && keeper_of "$1"
}

# Every interface is created inside a host: none is ever in the machine's namespace.
start_network() {
    local host pid
    keeper_of login
    pid=$keeper
    {
        printf 'link add br0 type bridge\nlink set br0 up\n'
        switch_links
        printf 'link add login type veth peer name eth0\nlink set login master br0 up\n'
        for host in "${hosts[@]:1}"; do
            keeper_of "$host"
            bridge_of "$host"
            printf 'link add %s type veth peer name eth0 netns %d\n' "$host" "$keeper"
            printf 'link set %s master %s up\n' "$host" "$bridge"
        done
    } | nsenter -t "$pid" -n ip -batch - ||
        fail "network" "cannot be made" "check that the kernel has bridge and veth"
    for host in "${hosts[@]}"; do
        keeper_of "$host"
        address_of "$host"
        printf 'link set lo up\naddress add %s/16 dev eth0\nlink set eth0 up\n' "$address" |
            nsenter -t "$keeper" -n ip -batch - ||
            fail "$host" "its network cannot be made" "see the message above"
    done
    limit_uplinks || fail "--uplink=$uplink" "tc refused it" "see the message above"
}

start_daemons() {
    local host log=$state/log
    in_host login munged --force --num-threads=4 --socket="$state/munge/socket" \
        --key-file="$state/munge/key" --pid-file="$state/munge/pid" \
        --seed-file="$state/munge/seed" --log-file="$log/munged.log" \
        </dev/null >"$log/munged.out" 2>&1 ||
        daemon_failed munged "cannot start" munged
    local preload=()
    if ((slurmctld_delay)); then
        cc -shared -fPIC -O2 -o "$state/delay.so" "$sandbox_lib/delay.c" ||
            fail "--slurmctld-delay" "cannot compile delay.c" "apt-get install gcc libc6-dev"
        preload=(env LD_PRELOAD="$state/delay.so" DISTGPU_SANDBOX_DELAY="$slurmctld_delay")
    fi
    in_host login "${preload[@]}" slurmctld </dev/null >"$log/slurmctld.out" 2>&1 ||
        daemon_failed slurmctld "cannot start" slurmctld
    wait_for 20 slurmctld "does not answer" slurmctld in_host login scontrol ping
    for host in "${hosts[@]:1}"; do
        in_host "$host" slurmd </dev/null >"$log/slurmd-$host.out" 2>&1 ||
            daemon_failed "slurmd on $host" "cannot start" "slurmd-$host"
    done
    wait_for 60 "nodes" "do not become idle" "slurmctld" all_idle
}

# sinfo prints a line for each partition of a node.
all_idle() {
    (($(in_host login sinfo -h -N -o '%N %T' | sort -u | grep -c ' idle$') == nodes))
}

# Tries a command every 20 ms, for up to SECONDS.
wait_for() { # SECONDS OBJECT PROBLEM LOG COMMAND...
    local end=$((${EPOCHREALTIME/[.,]/} + $1 * 1000000)) object=$2 problem=$3 log=$4
    shift 4
    until "$@" >/dev/null 2>&1; do
        ((${EPOCHREALTIME/[.,]/} < end)) || daemon_failed "$object" "$problem" "$log"
        sleep 0.02
    done
}

# Shows the end of the log, which has the cause, because the log is about to be removed.
daemon_failed() { # OBJECT PROBLEM LOG
    tail -q -n 12 "$state/log/$3".{out,log} 2>/dev/null | sed 's/^/  /' >&2
    fail "$1" "$2" "see the end of its log above"
}
