#!/usr/bin/env bats
# torchrun and torch.distributed.launch, one launcher per node, under
# `srun --distgpu=torchrun`, with the static and the c10d rendezvous.

load frameworks

setup() { need torch torch; }

# bats test_tags=short
@test "torchrun trains on one node" { in_shape launcher torchrun torchrun,nproc=2 torchrun examples/train.py; }

@test "torchrun trains on two nodes without the user's environment" {
    in_shape launchers torchrun torchrun,nproc=2 --export=NONE "${python%/*}/torchrun" examples/train.py
}

@test "torchrun trains with rank 0 on the second node, asked for as pytorch,per-node" {
    in_shape launchers_reversed torchrun pytorch,per-node,nproc=2 torchrun examples/train.py
}

@test "torchrun with c10d trains on one node" {
    in_shape launcher torchrun torchrun,rdzv=c10d,nproc=2 torchrun examples/train.py
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
    trains_as expected torchrun 'torchrun (launch)' '4 + 4' \
        "${on_each_node[@]}" --distgpu=torchrun bash -c 'python -m torch.distributed.launch \
        --nproc_per_node 4 --nnodes 2 --node_rank $NODE_RANK --master_addr $MASTER_ADDR \
        --master_port $MASTER_PORT train.py'
}

# Without --use_env the launcher gives the local rank as an argument too.
@test "torch.distributed.launch --use_env trains with rank 0 on the second node" {
    trains_as reversed_blocks torchrun 'torchrun (launch --use_env)' 'rank 0 on node02' \
        "${nodes_in_reverse[@]}" --distgpu=torchrun bash -c 'python -m torch.distributed.launch \
        --use_env --nproc_per_node 2 --nnodes 2 --node_rank $NODE_RANK \
        --master_addr $MASTER_ADDR --master_port $MASTER_PORT examples/train.py'
}

@test "torch.distributed.launch trains on one node" {
    trains_as one_node torchrun 'torchrun (launch)' '2' \
        -N1 -n1 --distgpu=torchrun bash -c 'python -m torch.distributed.launch \
        --nproc_per_node 2 --nnodes 1 --node_rank $NODE_RANK --master_addr $MASTER_ADDR \
        --master_port $MASTER_PORT examples/train.py'
}

# What torchrun needs besides MASTER_ADDR and MASTER_PORT, which it does not read.
by_hand='PET_NNODES=2 PET_NODE_RANK=$SLURM_NODEID PET_MASTER_PORT=29500 MASTER_ADDR=node01'

@test "torchrun without PET_NPROC_PER_NODE loses ranks, without PET_MASTER_ADDR it hangs" {
    launch "${on_each_node[@]}" -c2 bash -c \
        "$by_hand PET_MASTER_ADDR=node01 exec torchrun examples/train.py"
    assert_trained '0 node01 0' '1 node02 0'
    hangs "${on_each_node[@]}" -c2 bash -c \
        "$by_hand exec torchrun examples/train.py"

    trains_as block torchrun torchrun '2 + 2, a process for each CPU' \
        "${on_each_node[@]}" -c2 --distgpu=torchrun torchrun examples/train.py
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
    hangs "${on_each_node[@]}" --export=ALL,$leak bash -c \
        "$by_hand PET_MASTER_ADDR=node01 exec torchrun examples/train.py"
}
