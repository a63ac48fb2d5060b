#!/usr/bin/env bats
# Current PyTorch under `srun --distgpu=pytorch`, one process per task.
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

# bats test_tags=short
@test "pytorch trains on one node" {
    launch "${on_one_node[@]}" --distgpu=pytorch python examples/train.py
    assert_trained "${one_node[@]}"
    result pytorch "$version" pytorch '2'
}

@test "pytorch trains on two nodes without the user's environment" {
    launch "${in_blocks[@]}" --export=NONE --distgpu=pytorch "$python" examples/train.py
    assert_trained "${block[@]}"
    result pytorch "$version" pytorch '2 + 2'
}

@test "pytorch trains with ranks dealt out cyclically" {
    launch "${cyclically[@]}" --distgpu=pytorch python examples/train.py
    assert_trained "${cyclic[@]}"
    result pytorch "$version" pytorch 'cyclic'
}

@test "pytorch trains with three ranks on one node and one on the other" {
    launch "${unevenly[@]}" --distgpu=pytorch python examples/train.py
    assert_trained "${uneven[@]}"
    result pytorch "$version" pytorch '3 + 1'
}

@test "pytorch trains with rank 0 on the second node" {
    launch "${in_reverse[@]}" --distgpu=pytorch python examples/train.py
    assert_trained "${reversed[@]}"
    result pytorch "$version" pytorch 'rank 0 on node02'
}

# A variable of an outer torchrun makes every rank a client of a store that nobody serves.
@test "a leaked TORCHELASTIC_USE_AGENT_STORE hangs torch, but not with distgpu" {
    local leak=TORCHELASTIC_USE_AGENT_STORE=True
    local by_hand='RANK=$SLURM_PROCID WORLD_SIZE=2 LOCAL_RANK=$SLURM_LOCALID \
        MASTER_ADDR=node01 MASTER_PORT=29500 exec python examples/train.py'

    launch "${on_one_node[@]}" bash -c "$by_hand"
    assert_trained "${one_node[@]}"
    assert_cluster_clean
    launch_limit=$((2 * seconds + 5)) launch "${on_one_node[@]}" --export=ALL,$leak \
        bash -c "$by_hand"
    [ "$status" -eq 124 ]
    assert_cluster_clean

    launch "${on_one_node[@]}" --export=ALL,$leak --distgpu=pytorch python examples/train.py
    assert_trained "${one_node[@]}"
    result pytorch "$version" pytorch '2, TORCHELASTIC_* leaked'
}
