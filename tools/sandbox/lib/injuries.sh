# `sandbox node` and `sandbox link`: what breaks in a real cluster, on purpose.
# Sourced by ../sandbox. Needs: name.
# shellcheck shell=bash
# The files share variables: "Needs" above names what others set.
# shellcheck disable=SC2034,SC2154

need_node() { # NODE -> keeper
    [[ $1 != login ]] || fail login "not a node" "give node01, node02, ..."
    need_host "$1"
}

injure_node() { # stop|start NODE
    [[ ${1-} =~ ^(stop|start)$ && $# -eq 2 ]] ||
        usage_error node "wrong operands" "give: stop|start NODE"
    need_sandbox
    need_node "$2"
    "$1_node" "$2"
}

slurmd_runs() {
    local pid
    read -r pid 2>/dev/null <"$state/$1/slurmd.pid" && in_host "$1" kill -0 "$pid" 2>/dev/null
}

stop_node() {
    local try pid
    slurmd_runs "$1" || fail "$1" "slurmd is not running" "start it with 'sandbox node --name $name start $1'"
    read -r pid <"$state/$1/slurmd.pid"
    in_host "$1" kill -TERM "$pid"
    for ((try = 0; try < 250; try++)); do
        in_host "$1" kill -0 "$pid" 2>/dev/null || return 0
        sleep 0.02
    done
    fail "$1" "slurmd does not stop" "see $state/log/slurmd-$1.log"
}

# Done when slurmd answers and slurmctld counts on the node again.
start_node() {
    local try log=$state/log/slurmd-$1.out
    slurmd_runs "$1" && fail "$1" "slurmd is running" "stop it with 'sandbox node --name $name stop $1'"
    in_host "$1" slurmd </dev/null >"$log" 2>&1 || fail "$1" "slurmd cannot start" "see $log"
    for ((try = 0; try < 200; try++)); do
        slurmd_answers "$1" && counted_on "$1" && return 0
        sleep 0.05
    done
    fail "$1" "does not come back" "see $state/log/slurmctld.log"
}

# slurmd listens some time after it went to the background.
slurmd_answers() {
    in_host "$1" bash -c ': >/dev/tcp/localhost/6818' 2>/dev/null
}

# A * after the state means that slurmctld does not reach the node.
counted_on() {
    local known
    read -r known < <(in_host login sinfo -h -n "$1" -o %T) &&
        [[ $known =~ ^(idle|mixed|allocated|completing|draining|drained|reserved)$ ]]
}

injure_link() { # cut|restore NODE, slow NODE [RATE]
    [[ ${1-} =~ ^(cut|restore)$ && $# -eq 2 || ${1-} == slow && $# -ge 2 && $# -le 3 ]] ||
        usage_error link "wrong operands" "give: cut|restore NODE, or slow NODE [RATE]"
    need_sandbox
    need_node "$2"
    "$1_link" "$2" "${3-10mbit}" || fail "$2" "$1 failed" "see the message above"
}

# The route to the other hosts goes with the interface and comes back with it.
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
