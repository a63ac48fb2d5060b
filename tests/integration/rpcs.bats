#!/usr/bin/env bats
# What distgpu asks of slurmctld: nothing where srun can derive the layout, the layout from srun
# otherwise, none from a compute node, none for a step that does not use distgpu.

load cluster

setup_file() {
    cluster_up --conf SlurmctldDebug=debug2
    plain=$CLUSTER
    cluster_name=$CLUSTER-tree cluster_up --conf SlurmctldDebug=debug2 \
        --switch 's1=node[02,04]' --switch 's2=node[01,03]'
    switched=$CLUSTER
    # NodeAddr is a name, as it is if slurm.conf has none.
    local node named_nodes=()
    for node in node01 node02; do
        named_nodes+=(--conf "NodeName=$node NodeAddr=$node Sockets=1 CoresPerSocket=8 ThreadsPerCore=1 RealMemory=65536")
    done
    cluster_name=$plain-named cluster_up --nodes 2 --gpus 0 --conf SlurmctldDebug=debug2 "${named_nodes[@]}"
    export plain switched named=$CLUSTER
    choose "$plain"
}

teardown_file() {
    local each
    for each in "$plain" "$switched" "$named"; do choose "$each" && cluster_down; done
}

choose() { # CLUSTER
    CLUSTER=$1
    SCRATCH=/tmp/distgpu-$CLUSTER
}

# The RPCs of the command's user, and those of anyone that ask about steps, jobs or nodes, in turn.
# Fails where the command does, or where its step is not in the log.
rpcs_of() { # COMMAND...
    local log=/run/distgpu-sandbox/$CLUSTER/log/slurmctld.log user
    user=$(submit id -u)
    assert_cluster_clean || return
    : >"$log"
    submit "$@" true >/dev/null || return
    grep -q 'Processing RPC: REQUEST_JOB_STEP_CREATE from UID=' "$log" || return
    sed -nE 's/.*Processing RPC: REQUEST_([A-Z_]+) from UID=([0-9]+)$/\1 \2/p' "$log" |
        grep -E " $user\$|LAYOUT|NODE_INFO_SINGLE|JOB_INFO|STEP_INFO|CANCEL|KILL|HOSTLIST|ALIAS" |
        sed "s/ $user\$/ user/" | sort
}

# Fails unless the command, with distgpu, makes these RPCs more.
adds() { # RPCS COMMAND...
    echo "$CLUSTER: ${*:2}"
    rpcs_of "${@:2}" >"$SCRATCH/bare"
    rpcs_of env SLURM_DISTGPU=pytorch "${@:2}" >"$SCRATCH/used"
    run diff "$SCRATCH/bare" "$SCRATCH/used"
    echo "$output"
    [ "$(grep '^[<>]' <<<"$output")" = "$1" ]
}

asks_for_layout='> STEP_LAYOUT user'

# bats test_tags=short
@test "none where srun derives the layout: one node, block, cyclic, plane" {
    choose "$plain"
    adds '' srun -n1
    adds '' srun -N4 -n8
    adds '' srun -N4 -n7 -m cyclic
}

@test "none: plane, and a step on all nodes of its allocation" {
    choose "$plain"
    adds '' srun -N1 -n8
    adds '' srun -N4 -n8 -m plane=2
    adds '' srun -N3 -n3 --ntasks-per-node=1
    adds '' salloc -Q -N4 -n8 srun
    adds '' salloc -Q -N4 -n8 srun -m cyclic
    adds '' srun -w node02,node01 -N2 -n4
}

@test "the layout, once, where it cannot: some nodes of an allocation, arbitrary, overcommit, a range" {
    choose "$plain"
    adds "$asks_for_layout" salloc -Q -N4 -n8 srun -N2 -n4
    adds "$asks_for_layout" salloc -Q -N4 --ntasks-per-node=2 srun -w node03 -N1 -n2
    adds "$asks_for_layout" srun -m arbitrary -w node04,node04,node03,node03,node02,node02 -n6
    adds "$asks_for_layout" srun -N2 -n20 -O
    adds "$asks_for_layout" srun -N2-4 -n4
}

# bats test_tags=short
@test "what is asked with SLURM_DISTGPU_ASK=1, and by a cluster with layout=ask" {
    choose "$plain"
    local asks=$asks_for_layout
    # From 23.11 on srun also asks for the current address of rank 0's node.
    [[ $(slurmd -V) == *' 22.05.'* ]] || asks="> NODE_ALIAS_ADDRS user"$'\n'$asks
    adds "$asks" env SLURM_DISTGPU_ASK=1 srun -N4 -n8
    on login sed -i 's/$/ layout=ask/' /etc/slurm/plugstack.conf
    adds "$asks" srun -N4 -n8
    on login sed -i 's/ layout=ask$//' /etc/slurm/plugstack.conf
}

@test "with topology/tree: the layout of a block step from 26.05 on" {
    choose "$switched"
    local asks=''
    ! has_release 26.05 || asks=$asks_for_layout
    adds "$asks" srun -N4 -n8
    adds '' srun -N4 -n8 -m cyclic
    adds '' srun -N1 -n8
}

@test "where NodeAddr is a name: none; with nodes that start when needed: the address, from 23.11 on" {
    choose "$named"
    adds '' srun -N2 -n4
    # srun alone has it.
    on login sh -c 'echo ResumeProgram=/bin/true >>/etc/slurm/slurm.conf'
    local asks=''
    [[ $(slurmd -V) == *' 22.05.'* ]] || asks='> NODE_ALIAS_ADDRS user'
    adds "$asks" srun -N2 -n4
    on login sed -i '/^ResumeProgram/d' /etc/slurm/slurm.conf
}

# bats test_tags=short
@test "a step without it: none" {
    choose "$plain"
    run -0 rpcs_of srun -N4 -n8
    bare=$output
    run -0 rpcs_of env SLURM_DISTGPU=off srun -N4 -n8
    [ "$output" = "$bare" ]
    [[ $bare != *LAYOUT* && $bare != *ALIAS* ]]
}
