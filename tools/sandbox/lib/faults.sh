# `sandbox node` and `sandbox link`: simulate faults of a real cluster.
# Sourced by ../sandbox. Needs: name.
# shellcheck shell=bash
# The files share variables: "Needs" above lists those that other files set.
# shellcheck disable=SC2034,SC2154

need_node() { # NODE -> keeper
    [[ $1 != login ]] || fail login "not a node" "give node01, node02, ..."
    need_host "$1"
}

run_node_command() { # stop|start NODE
    [[ ${1-} =~ ^(stop|start)$ && $# -eq 2 ]] ||
        usage_error node "wrong operands" "give: stop|start NODE"
    need_sandbox
    need_node "$2"
    "$1_node" "$2"
}

slurmd_is_running() {
    local pid
    read -r pid 2>/dev/null <"$state/$1/slurmd.pid" && in_host "$1" kill -0 "$pid" 2>/dev/null
}

stop_node() {
    local try pid
    slurmd_is_running "$1" || fail "$1" "slurmd is not running" "start it with 'sandbox node --name $name start $1'"
    read -r pid <"$state/$1/slurmd.pid"
    in_host "$1" kill -TERM "$pid"
    for ((try = 0; try < 250; try++)); do
        in_host "$1" kill -0 "$pid" 2>/dev/null || return 0
        sleep 0.02
    done
    fail "$1" "slurmd does not stop" "see $state/log/slurmd-$1.log"
}

# Returns when slurmd answers and slurmctld can use the node again.
start_node() {
    local try log=$state/log/slurmd-$1.out
    slurmd_is_running "$1" && fail "$1" "slurmd is running" "stop it with 'sandbox node --name $name stop $1'"
    in_host "$1" slurmd </dev/null >"$log" 2>&1 || fail "$1" "slurmd cannot start" "see $log"
    for ((try = 0; try < 200; try++)); do
        slurmd_answers "$1" && node_is_usable "$1" && return 0
        sleep 0.05
    done
    fail "$1" "does not come back" "see $state/log/slurmctld.log"
}

# slurmd starts to listen some time after it went to the background.
slurmd_answers() {
    in_host "$1" bash -c ': >/dev/tcp/localhost/6818' 2>/dev/null
}

# A * after the state means that slurmctld cannot reach the node.
node_is_usable() {
    local known
    read -r known < <(in_host login sinfo -h -n "$1" -o %T) &&
        [[ $known =~ ^(idle|mixed|allocated|completing|draining|drained|reserved)$ ]]
}

run_link_command() { # cut|restore NODE, slow NODE [RATE]
    [[ ${1-} =~ ^(cut|restore)$ && $# -eq 2 || ${1-} == slow && $# -ge 2 && $# -le 3 ]] ||
        usage_error link "wrong operands" "give: cut|restore NODE, or slow NODE [RATE]"
    need_sandbox
    need_node "$2"
    "$1_link" "$2" "${3-10mbit}" || fail "$2" "$1 failed" "see the message above"
}

# The route to the other hosts disappears and returns with the interface.
cut_link() { in_host "$1" ip link set eth0 down; }

restore_link() {
    in_host "$1" tc qdisc del dev eth0 root 2>/dev/null
    in_host login tc qdisc del dev "$1" root 2>/dev/null
    in_host "$1" ip link set eth0 up
}

# Both directions: what the node sends, and what the bridge sends to it.
slow_link() {
    local shape=(tbf rate "$2" burst 32kb latency 200ms)
    in_host "$1" tc qdisc replace dev eth0 root "${shape[@]}" &&
        in_host login tc qdisc replace dev "$1" root "${shape[@]}"
}
