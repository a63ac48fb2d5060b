#!/usr/bin/env bats
# Hugging Face Accelerate and the Trainer of Transformers under `srun --distgpu=accelerate`,
# one process per task, and `accelerate launch` under `--distgpu=accelerate,per-node`.
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
    version=$(version_of accelerate)
}

train=examples/accelerate_train.py
# On each node, for GPUs and CPUs alike: with --cpu it would start one process only.
launcher='exec accelerate launch --multi_gpu --num_machines $SLURM_NNODES \
    --num_processes $((SLURM_NNODES * 2)) --machine_rank $NODE_RANK \
    --main_process_ip $MASTER_ADDR --main_process_port $MASTER_PORT '"$train"

# bats test_tags=short
@test "accelerate trains on one node" {
    launch "${on_one_node[@]}" --distgpu=accelerate python "$train"
    assert_trained "${one_node[@]}"
    result accelerate "$version" accelerate '2'
}

@test "accelerate trains on two nodes without the user's environment" {
    launch "${in_blocks[@]}" --export=NONE --distgpu=accelerate "$python" "$train"
    assert_trained "${block[@]}"
    result accelerate "$version" accelerate '2 + 2'
}

@test "accelerate trains with ranks dealt out cyclically" {
    launch "${cyclically[@]}" --distgpu=accelerate python "$train"
    assert_trained "${cyclic[@]}"
    result accelerate "$version" accelerate 'cyclic'
}

@test "accelerate trains with three ranks on one node and one on the other" {
    launch "${unevenly[@]}" --distgpu=accelerate python "$train"
    assert_trained "${uneven[@]}"
    result accelerate "$version" accelerate '3 + 1'
}

@test "accelerate trains with rank 0 on the second node" {
    launch "${in_reverse[@]}" --distgpu=accelerate python "$train"
    assert_trained "${reversed[@]}"
    result accelerate "$version" accelerate 'rank 0 on node02'
}

@test "the Trainer of transformers trains on one node" {
    launch "${on_one_node[@]}" --distgpu=transformers python examples/transformers_train.py
    assert_trained "${one_node[@]}"
    result transformers "$(version_of transformers)" transformers '2'
}

@test "the Trainer of transformers trains on two nodes without the user's environment" {
    launch "${in_blocks[@]}" --export=NONE --distgpu=transformers \
        "$python" examples/transformers_train.py
    assert_trained "${block[@]}"
    result transformers "$(version_of transformers)" transformers '2 + 2'
}

@test "the Trainer of transformers trains with ranks dealt out cyclically" {
    launch "${cyclically[@]}" --distgpu=transformers python examples/transformers_train.py
    assert_trained "${cyclic[@]}"
    result transformers "$(version_of transformers)" transformers 'cyclic'
}

@test "the Trainer of transformers trains with rank 0 on the second node" {
    launch "${in_reverse[@]}" --distgpu=transformers python examples/transformers_train.py
    assert_trained "${reversed[@]}"
    result transformers "$(version_of transformers)" transformers 'rank 0 on node02'
}

@test "the Trainer of transformers trains with three ranks on one node and one on the other" {
    launch "${unevenly[@]}" --distgpu=transformers python examples/transformers_train.py
    assert_trained "${uneven[@]}"
    result transformers "$(version_of transformers)" transformers '3 + 1'
}

@test "accelerate launch trains on two nodes without the user's environment" {
    launch -N2 --ntasks-per-node=1 --export=NONE --distgpu=accelerate,per-node \
        /bin/bash -c "PATH=${python%/*}:/usr/bin:/bin; $launcher"
    assert_trained "${block[@]}"
    result accelerate "$version" accelerate,per-node '2 + 2'
}

@test "accelerate launch trains with rank 0 on the second node" {
    launch "${nodes_in_reverse[@]}" --distgpu=accelerate,per-node bash -c "$launcher"
    assert_trained "${reversed_blocks[@]}"
    result accelerate "$version" accelerate,per-node 'rank 0 on node02'
}

# `accelerate launch` is torchrun below: what a torchrun around it left, it reads.
@test "a leaked PET_NNODES hangs accelerate launch, but not with distgpu" {
    local by_hand="NODE_RANK=0 MASTER_ADDR=node01 MASTER_PORT=29500; $launcher"
    launch -N1 -n1 bash -c "$by_hand"
    assert_trained "${one_node[@]}"
    assert_cluster_clean
    launch_limit=$((2 * seconds + 5)) launch -N1 -n1 --export=ALL,PET_NNODES=2 bash -c "$by_hand"
    [ "$status" -eq 124 ]
    assert_cluster_clean

    launch -N1 -n1 --export=ALL,PET_NNODES=2 --distgpu=accelerate,per-node bash -c "$launcher"
    assert_trained "${one_node[@]}"
    result accelerate "$version" accelerate,per-node '2, PET_NNODES leaked'
}
