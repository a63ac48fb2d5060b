#!/usr/bin/env bats
# Megatron Core under `srun --distgpu=megatron`, one process per task: layers split over
# two ranks each.

load frameworks

setup() { need torch megatron-core; }

train=examples/megatron_train.py

trains() { in_shape "$1" megatron megatron "$python" "$train"; }

# bats test_tags=short
@test "megatron trains on one node" { trains one_node; }
@test "megatron trains on two nodes without the user's environment" { trains block; }

# Each pair of ranks that shares a layer then spans both nodes.
@test "megatron trains with ranks dealt out cyclically" { trains cyclic; }
@test "megatron trains with three ranks on one node and one on the other" { trains uneven; }

# Without the variables Megatron-LM takes RANK=0 and WORLD_SIZE=1: each process trains on its
# own where it has a node for itself, and two at a time on a node want the same port.
@test "megatron without ranks trains apart or not at all, with distgpu from rank 0 on node02" {
    local by_hand='RANK=0 WORLD_SIZE=1 LOCAL_RANK=0 MASTER_ADDR=localhost MASTER_PORT=29500 \
        exec python '"$train"
    launch -0 -N2 --ntasks-per-node=1 bash -c "$by_hand --tensor-parallel=1"
    [ "$(grep -c '^1 ranks on 1 node agree: ' <<<"$output")" -eq 2 ]
    launch "${on_one_node[@]}" bash -c "$by_hand --tensor-parallel=1"
    [[ $output != *'2 ranks'* ]]
    # Or the first has ended before the second wants the port.
    [[ $output == *EADDRINUSE* ]] ||
        [ "$(grep -c '^1 ranks on 1 node agree: ' <<<"$output")" -eq 2 ]

    trains_as reversed megatron megatron 'rank 0 on node02' \
        "${in_reverse[@]}" --distgpu=megatron python "$train"
}
