#!/usr/bin/env bats
# MosaicML Composer, one launcher per node, under `srun --distgpu=composer`.
# shellcheck disable=SC2016 # the shell inside the sandbox expands them
# shellcheck disable=SC2154 # run and launch set output, status and seconds

load frameworks

setup_file() { frameworks_up; }
teardown_file() { cluster_down; }
teardown() { assert_cluster_clean; }

setup() {
    need composer
    version=$(version_of mosaicml)
}

on_each_node=(-N2 --ntasks-per-node=1)
train=(composer examples/composer_train.py)

@test "it trains on one node" {
    launch -N1 -n1 --distgpu=composer,nproc=2 "${train[@]}"
    assert_trained "${one_node[@]}"
    result composer "$version" composer '2'
}

@test "it trains with rank 0 on the second node, without the user's environment" {
    launch "${nodes_in_reverse[@]}" --export=NONE --distgpu=composer,nproc=2 \
        "$python" "${python%/*}/composer" examples/composer_train.py
    assert_trained "${reversed_blocks[@]}"
    result composer "$version" composer 'rank 0 on node02'
}

# Without LOCAL_WORLD_SIZE each launcher starts one process, not two, and the world of four
# stays incomplete. Without WORLD_SIZE each takes its own node for the whole world.
@test "without LOCAL_WORLD_SIZE it hangs, without WORLD_SIZE it fails, but not with distgpu" {
    local by_hand='MASTER_ADDR=node01 MASTER_PORT=29500 NODE_RANK=$SLURM_NODEID'
    launch "${on_each_node[@]}" --export=ALL,RANK=3,LOCAL_RANK=1,WORLD_SIZE=9,BASE_RANK=7 \
        --distgpu=composer,nproc=2 "${train[@]}"
    assert_trained "${block[@]}"
    result composer "$version" composer '2 + 2, ranks leaked'

    # Half the processes are ready sooner than the run above ended.
    launch_limit=$((seconds + 5)) launch "${on_each_node[@]}" bash -c \
        "$by_hand WORLD_SIZE=4 exec composer examples/composer_train.py"
    [ "$status" -eq 124 ]

    launch "${on_each_node[@]}" --kill-on-bad-exit bash -c \
        "$by_hand LOCAL_WORLD_SIZE=2 exec composer examples/composer_train.py"
    echo "$output"
    [ "$status" -ne 0 ]
    [[ $output == *'node_rank(1) != 0 is not valid in a single-node environment'* ]]
    [[ $output != *'4 ranks'* ]]
}
