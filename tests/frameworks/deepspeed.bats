#!/usr/bin/env bats
# DeepSpeed under `srun --distgpu=deepspeed`, one process per task, and its launcher under
# `--distgpu=deepspeed,per-node`.
# shellcheck disable=SC2016 # the shell inside the sandbox expands them
# shellcheck disable=SC2154 # run and launch set output, status and seconds

load frameworks

setup_file() {
    frameworks_up
    deepspeed_operator
}
teardown_file() { cluster_down; }
# Called between launches as well: a job that was ended leaves its node a little later, and
# the next one would wait for it or go to the other node.
teardown() { assert_cluster_clean; }

setup() {
    need torch
    version=$(version_of deepspeed)
    # Of the user's environment that by which DeepSpeed finds the operator and its ninja.
    only=PATH=${python%/*}:/usr/bin:/bin,TORCH_EXTENSIONS_DIR=$TORCH_EXTENSIONS_DIR
}

train=examples/deepspeed_train.py
# The launcher takes the nodes from a file, of which --no_ssh uses the order and the numbers.
hosts='for ((i = 0; i < SLURM_NNODES; i++)); do echo "node$i slots=2"; done \
    >$HOSTNAME.hosts'
launcher="$hosts; "'exec deepspeed --hostfile $HOSTNAME.hosts --no_ssh --node_rank $NODE_RANK \
    --master_addr $MASTER_ADDR --master_port $MASTER_PORT '"$train"

# Of the ways in which DeepSpeed finds the others only Azure's cannot take such an address.
# bats test_tags=short
@test "deepspeed trains on one node with an IPv6 address" {
    launch "${on_one_node[@]}" --export=ALL,MASTER_ADDR=::1 --distgpu=deepspeed python "$train"
    assert_trained "${one_node[@]}"
    result deepspeed "$version" deepspeed '2, MASTER_ADDR=::1'
}

@test "deepspeed trains on two nodes without the user's environment" {
    launch "${in_blocks[@]}" --export="$only" --distgpu=deepspeed python "$train"
    assert_trained "${block[@]}"
    result deepspeed "$version" deepspeed '2 + 2'
}

@test "deepspeed trains with ranks dealt out cyclically" {
    launch "${cyclically[@]}" --distgpu=deepspeed python "$train"
    assert_trained "${cyclic[@]}"
    result deepspeed "$version" deepspeed 'cyclic'
}

@test "deepspeed trains with three ranks on one node and one on the other" {
    launch "${unevenly[@]}" --distgpu=deepspeed python "$train"
    assert_trained "${uneven[@]}"
    result deepspeed "$version" deepspeed '3 + 1'
}

# Ranks of an mpirun around the job: DeepSpeed wants LOCAL_RANK to be the same.
@test "a leaked OMPI_COMM_WORLD_LOCAL_RANK ends deepspeed, but not with distgpu" {
    local leak=OMPI_COMM_WORLD_LOCAL_RANK=7
    launch "${on_one_node[@]}" --export=ALL,$leak bash -c 'RANK=$SLURM_PROCID WORLD_SIZE=2 \
        LOCAL_RANK=$SLURM_LOCALID MASTER_ADDR=node01 MASTER_PORT=29500 exec python '"$train"
    [ "$status" -eq 1 ]
    [[ $output == *'AssertionError: LOCAL_RANK'*'OMPI_COMM_WORLD_LOCAL_RANK'* ]]
    assert_cluster_clean

    launch "${in_reverse[@]}" --export=ALL,$leak --distgpu=deepspeed python "$train"
    assert_trained "${reversed[@]}"
    result deepspeed "$version" deepspeed 'rank 0 on node02, OMPI_* leaked'
}

@test "the deepspeed launcher trains on one node" {
    launch -N1 -n1 --distgpu=deepspeed,per-node bash -c "$launcher"
    assert_trained "${one_node[@]}"
    result deepspeed "$version" deepspeed,per-node '2'
}

@test "the deepspeed launcher trains on two nodes without the user's environment" {
    launch -N2 --ntasks-per-node=1 --export="$only" --distgpu=deepspeed,per-node \
        bash -c "$launcher"
    assert_trained "${block[@]}"
    result deepspeed "$version" deepspeed,per-node '2 + 2'
}

@test "the deepspeed launcher trains with rank 0 on the second node" {
    launch "${nodes_in_reverse[@]}" --distgpu=deepspeed,per-node bash -c "$launcher"
    assert_trained "${reversed_blocks[@]}"
    result deepspeed "$version" deepspeed,per-node 'rank 0 on node02'
}
