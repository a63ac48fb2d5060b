#!/usr/bin/env bats
# Current PyTorch under `srun --distgpu=pytorch`, one process per task.

load frameworks

setup() { need torch torch; }

trains() { in_shape "$1" pytorch pytorch "$python" examples/train.py; }

# bats test_tags=short
@test "pytorch trains on one node" { trains one_node; }
@test "pytorch trains on two nodes without the user's environment" { trains block; }
@test "pytorch trains with ranks dealt out cyclically" { trains cyclic; }
@test "pytorch trains with three ranks on one node and one on the other" { trains uneven; }
@test "pytorch trains with rank 0 on the second node" { trains reversed; }

# A variable of an outer torchrun makes every rank a client of a store that nobody serves.
@test "a leaked TORCHELASTIC_USE_AGENT_STORE hangs torch, but not with distgpu" {
    local leak=TORCHELASTIC_USE_AGENT_STORE=True
    local by_hand='RANK=$SLURM_PROCID WORLD_SIZE=2 LOCAL_RANK=$SLURM_LOCALID \
        MASTER_ADDR=node01 MASTER_PORT=29500 exec python examples/train.py'

    launch "${on_one_node[@]}" bash -c "$by_hand"
    assert_trained "${one_node[@]}"
    hangs "${on_one_node[@]}" --export=ALL,$leak \
        bash -c "$by_hand"

    trains_as one_node pytorch pytorch '2, TORCHELASTIC_* leaked' \
        "${on_one_node[@]}" --export=ALL,$leak --distgpu=pytorch python examples/train.py
}
