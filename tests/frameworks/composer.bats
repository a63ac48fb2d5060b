#!/usr/bin/env bats
# MosaicML Composer, one launcher per node, under `srun --distgpu=composer`.

load frameworks

setup() { need composer mosaicml; }

train=(composer examples/composer_train.py)

@test "it trains on one node" { in_shape launcher composer composer,nproc=2 "${train[@]}"; }

@test "it trains with rank 0 on the second node, without the user's environment" {
    in_shape launchers_reversed composer composer,nproc=2 --export=NONE \
        "$python" "${python%/*}/composer" examples/composer_train.py
}

# Without LOCAL_WORLD_SIZE each launcher starts one process, not two, and the world of four
# stays incomplete. Without WORLD_SIZE each takes its own node for the whole world.
@test "without LOCAL_WORLD_SIZE it hangs, without WORLD_SIZE it fails, but not with distgpu" {
    local by_hand='MASTER_ADDR=node01 MASTER_PORT=29500 NODE_RANK=$SLURM_NODEID'
    trains_as block composer composer '2 + 2, ranks leaked' \
        "${on_each_node[@]}" --export=ALL,RANK=3,LOCAL_RANK=1,WORLD_SIZE=9,BASE_RANK=7 \
        --distgpu=composer,nproc=2 "${train[@]}"

    # Half the processes are ready sooner than the run above ended.
    launch_limit=$((seconds + 5)) launch "${on_each_node[@]}" bash -c \
        "$by_hand WORLD_SIZE=4 exec composer examples/composer_train.py"
    [ "$status" -eq 124 ]

    launch ! "${on_each_node[@]}" --kill-on-bad-exit bash -c \
        "$by_hand LOCAL_WORLD_SIZE=2 exec composer examples/composer_train.py"
    [[ $output == *'node_rank(1) != 0 is not valid in a single-node environment'* ]]
    [[ $output != *'4 ranks'* ]]
}
