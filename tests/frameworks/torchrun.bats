#!/usr/bin/env bats
# torchrun and torch.distributed.launch, one launcher per node, under
# `srun --distgpu=torchrun`, with the static and the c10d rendezvous.
# shellcheck disable=SC2016 # the shell inside the sandbox expands them
# shellcheck disable=SC2154 # run and launch set output, status and seconds

load frameworks

setup_file() { frameworks_up; }
teardown_file() { cluster_down; }
# Called between launches as well: a job that was ended leaves its node a little later, and
# the next one would wait for it or go to the other node.
teardown() { assert_cluster_clean; }

setup() {
    need torch
    version=$(version_of torch)
}

on_each_node=(-N2 --ntasks-per-node=1)

# bats test_tags=short
@test "torchrun trains on one node" {
    launch -N1 -n1 --distgpu=torchrun,nproc=2 torchrun examples/train.py
    assert_trained "${one_node[@]}"
    result torchrun "$version" torchrun '2'
}

@test "torchrun trains on two nodes without the user's environment" {
    launch "${on_each_node[@]}" --export=NONE --distgpu=torchrun,nproc=2 \
        "${python%/*}/torchrun" examples/train.py
    assert_trained "${block[@]}"
    result torchrun "$version" torchrun '2 + 2'
}

@test "torchrun trains with rank 0 on the second node, asked for as pytorch,per-node" {
    launch "${nodes_in_reverse[@]}" --distgpu=pytorch,per-node,nproc=2 torchrun examples/train.py
    assert_trained "${reversed_blocks[@]}"
    result torchrun "$version" pytorch,per-node 'rank 0 on node02'
}

@test "torchrun with c10d trains on one node" {
    launch -N1 -n1 --distgpu=torchrun,rdzv=c10d,nproc=2 torchrun examples/train.py
    assert_trained "${one_node[@]}"
    result torchrun "$version" torchrun,rdzv=c10d '2'
}

# The launchers agree on the ranks, in the order of their addresses and not of Slurm's
# tasks: only that a node's ranks follow each other is sure.
@test "torchrun with c10d trains with its store on the second node" {
    launch "${nodes_in_reverse[@]}" --distgpu=torchrun,rdzv=c10d,nproc=2 torchrun examples/train.py
    local expected=("${block[@]}")
    [[ $(printed_ranks) == '0 node01 '* ]] || expected=("${reversed_blocks[@]}")
    assert_trained "${expected[@]}"
    result torchrun "$version" torchrun,rdzv=c10d '2 + 2, store on node02'
}

@test "torch.distributed.launch trains eight ranks on two nodes" {
    local rank expected=()
    for rank in {0..7}; do
        expected+=("$rank node0$((rank / 4 + 1)) $((rank % 4))")
    done
    cp "$root/examples/train.py" "$SCRATCH"
    launch "${on_each_node[@]}" --distgpu=torchrun bash -c 'python -m torch.distributed.launch \
        --nproc_per_node 4 --nnodes 2 --node_rank $NODE_RANK --master_addr $MASTER_ADDR \
        --master_port $MASTER_PORT train.py'
    assert_trained "${expected[@]}"
    result torchrun "$version" 'torchrun (launch)' '4 + 4'
}

# Without --use_env the launcher gives the local rank as an argument too.
@test "torch.distributed.launch --use_env trains with rank 0 on the second node" {
    launch "${nodes_in_reverse[@]}" --distgpu=torchrun bash -c 'python -m torch.distributed.launch \
        --use_env --nproc_per_node 2 --nnodes 2 --node_rank $NODE_RANK \
        --master_addr $MASTER_ADDR --master_port $MASTER_PORT examples/train.py'
    assert_trained "${reversed_blocks[@]}"
    result torchrun "$version" 'torchrun (launch --use_env)' 'rank 0 on node02'
}

@test "torch.distributed.launch trains on one node" {
    launch -N1 -n1 --distgpu=torchrun bash -c 'python -m torch.distributed.launch \
        --nproc_per_node 2 --nnodes 1 --node_rank $NODE_RANK --master_addr $MASTER_ADDR \
        --master_port $MASTER_PORT examples/train.py'
    assert_trained "${one_node[@]}"
    result torchrun "$version" 'torchrun (launch)' '2'
}

# What torchrun needs besides MASTER_ADDR and MASTER_PORT, which it does not read.
by_hand='PET_NNODES=2 PET_NODE_RANK=$SLURM_NODEID PET_MASTER_PORT=29500 MASTER_ADDR=node01'

@test "torchrun without PET_NPROC_PER_NODE loses ranks, without PET_MASTER_ADDR it hangs" {
    launch "${on_each_node[@]}" -c2 bash -c \
        "$by_hand PET_MASTER_ADDR=node01 exec torchrun examples/train.py"
    assert_trained '0 node01 0' '1 node02 0'
    assert_cluster_clean
    launch_limit=$((2 * seconds + 5)) launch "${on_each_node[@]}" -c2 bash -c \
        "$by_hand exec torchrun examples/train.py"
    [ "$status" -eq 124 ]
    assert_cluster_clean

    launch "${on_each_node[@]}" -c2 --distgpu=torchrun torchrun examples/train.py
    assert_trained "${block[@]}"
    result torchrun "$version" torchrun '2 + 2, a process for each CPU'
}

# It wins over PET_MASTER_ADDR, and at what it names nobody serves. Left behind by an outer
# torchrun, like the others.
@test "a leaked PET_RDZV_ENDPOINT hangs torchrun, but not with distgpu" {
    local leak=PET_RDZV_ENDPOINT=node02:29400,RANK=3,TORCHELASTIC_USE_AGENT_STORE=True
    launch "${on_each_node[@]}" --export=ALL,$leak --distgpu=torchrun,nproc=1 \
        torchrun examples/train.py
    assert_trained '0 node01 0' '1 node02 0'
    result torchrun "$version" torchrun '1 + 1, PET_RDZV_ENDPOINT leaked'

    # The test before shows that the same line without the leak trains.
    assert_cluster_clean
    launch_limit=$((2 * seconds + 5)) launch "${on_each_node[@]}" --export=ALL,$leak bash -c \
        "$by_hand PET_MASTER_ADDR=node01 exec torchrun examples/train.py"
    [ "$status" -eq 124 ]
}
