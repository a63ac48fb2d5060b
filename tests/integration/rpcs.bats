#!/usr/bin/env bats
# What distgpu asks of slurmctld: the layout from srun for a step that uses it,
# none from a compute node, none for a step that does not.

load cluster

setup_file() { cluster_up --conf SlurmctldDebug=debug2; }

# Counts the RPCs of a step by kind and user id, without those of the daemons'
# own life (registration, ping). Fails where the step does, or is not in the log.
rpcs_of() {
    local log=/run/distgpu-sandbox/$CLUSTER/log/slurmctld.log
    assert_cluster_clean || return
    : >"$log"
    submit srun -n8 "$@" true || return
    grep -q 'Processing RPC: REQUEST_JOB_STEP_CREATE from UID=' "$log" || return
    grep -oE 'Processing RPC: REQUEST_[A-Z_]+ from UID=[0-9]+' "$log" |
        grep -E 'LAYOUT|NODE_INFO_SINGLE|JOB_INFO|STEP_INFO|CANCEL|KILL|HOSTLIST|ALIAS' | sort | uniq -c |
        sed -E 's/^ +//; s/Processing RPC: //'
}

# From 23.11 on srun also asks for the current address of rank 0's node.
questions() {
    [[ $(submit srun --version) == *' 22.05.'* ]] || echo "1 REQUEST_NODE_ALIAS_ADDRS from UID=$user"
    echo "1 REQUEST_STEP_LAYOUT from UID=$user"
}

# bats test_tags=short
@test "a step asks for its layout once, from the user's srun, also in an order that nodes could not derive" {
    user=$(submit id -u)
    run -0 rpcs_of -N4 --distgpu=pytorch
    [ "$output" = "$(questions)" ]
    user=$(submit id -u)
    run -0 rpcs_of --distgpu=pytorch -m arbitrary -w node04,node04,node03,node03,node02,node02,node01,node01
    [ "$output" = "$(questions)" ]
}

@test "a step without it: none" {
    run -0 rpcs_of -N4 --distgpu=off
    [ "$output" = "" ]
    run -0 rpcs_of -N4
    [ "$output" = "" ]
}
