#!/usr/bin/env bats
# Megatron Core under `srun --distgpu=megatron`, one process per task: layers split over
# two ranks each.
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
    version=$(version_of megatron-core)
}

train=examples/megatron_train.py

# bats test_tags=short
@test "megatron trains on one node" {
    launch "${on_one_node[@]}" --distgpu=megatron python "$train"
    assert_trained "${one_node[@]}"
    result megatron "$version" megatron '2'
}

@test "megatron trains on two nodes without the user's environment" {
    launch "${in_blocks[@]}" --export=NONE --distgpu=megatron "$python" "$train"
    assert_trained "${block[@]}"
    result megatron "$version" megatron '2 + 2'
}

# Each pair of ranks that shares a layer then spans both nodes.
@test "megatron trains with ranks dealt out cyclically" {
    launch "${cyclically[@]}" --distgpu=megatron python "$train"
    assert_trained "${cyclic[@]}"
    result megatron "$version" megatron 'cyclic'
}

@test "megatron trains with three ranks on one node and one on the other" {
    launch "${unevenly[@]}" --distgpu=megatron python "$train"
    assert_trained "${uneven[@]}"
    result megatron "$version" megatron '3 + 1'
}

# Without the variables Megatron-LM takes RANK=0 and WORLD_SIZE=1: each process trains on its
# own where it has a node for itself, and two at a time on a node want the same port.
@test "megatron without ranks trains apart or not at all, with distgpu from rank 0 on node02" {
    local by_hand='RANK=0 WORLD_SIZE=1 LOCAL_RANK=0 MASTER_ADDR=localhost MASTER_PORT=29500 \
        exec python '"$train"
    launch -N2 --ntasks-per-node=1 bash -c "$by_hand --tensor-parallel=1"
    [ "$status" -eq 0 ]
    [ "$(grep -c '^1 ranks on 1 node agree: ' <<<"$output")" -eq 2 ]
    assert_cluster_clean
    launch "${on_one_node[@]}" bash -c "$by_hand --tensor-parallel=1"
    [[ $output != *'2 ranks'* ]]
    # Or the first has ended before the second wants the port.
    [[ $output == *EADDRINUSE* ]] ||
        [ "$(grep -c '^1 ranks on 1 node agree: ' <<<"$output")" -eq 2 ]
    assert_cluster_clean

    launch "${in_reverse[@]}" --distgpu=megatron python "$train"
    assert_trained "${reversed[@]}"
    result megatron "$version" megatron 'rank 0 on node02'
}
