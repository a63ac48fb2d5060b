#!/usr/bin/env bats
# DeepSpeed under `srun --distgpu=deepspeed`, one process per task, and its launcher under
# `--distgpu=deepspeed,per-node`.

load frameworks

setup_file() {
    frameworks_up
    deepspeed_operator
}

setup() {
    need torch deepspeed
    # Of the user's environment that by which DeepSpeed finds the operator and its ninja.
    only=PATH=${python%/*}:/usr/bin:/bin,TORCH_EXTENSIONS_DIR=$TORCH_EXTENSIONS_DIR
}

train=examples/deepspeed_train.py
trains() { in_shape "$1" deepspeed deepspeed "$python" "$train"; }

# Of the ways in which DeepSpeed finds the others only Azure's cannot take such an address.
# bats test_tags=short
@test "deepspeed trains on one node with an IPv6 address" {
    trains_as one_node deepspeed deepspeed '2, MASTER_ADDR=::1' \
        "${on_one_node[@]}" --export=ALL,MASTER_ADDR=::1 --distgpu=deepspeed python "$train"
}

@test "deepspeed trains on two nodes without the user's environment" {
    trains_as block deepspeed deepspeed '2 + 2' \
        "${in_blocks[@]}" --export="$only" --distgpu=deepspeed python "$train"
}

@test "deepspeed trains with ranks dealt out cyclically" { trains cyclic; }
@test "deepspeed trains with three ranks on one node and one on the other" { trains uneven; }

# Ranks of an mpirun around the job: DeepSpeed wants LOCAL_RANK to be the same.
@test "a leaked OMPI_COMM_WORLD_LOCAL_RANK ends deepspeed, but not with distgpu" {
    local leak=OMPI_COMM_WORLD_LOCAL_RANK=7
    launch -1 "${on_one_node[@]}" --export=ALL,$leak bash -c 'RANK=$SLURM_PROCID WORLD_SIZE=2 \
        LOCAL_RANK=$SLURM_LOCALID MASTER_ADDR=node01 MASTER_PORT=29500 exec python '"$train"
    [[ $output == *'AssertionError: LOCAL_RANK'*'OMPI_COMM_WORLD_LOCAL_RANK'* ]]

    trains_as reversed deepspeed deepspeed 'rank 0 on node02, OMPI_* leaked' \
        "${in_reverse[@]}" --export=ALL,$leak --distgpu=deepspeed python "$train"
}

launcher_trains() { in_shape "$1" deepspeed deepspeed,per-node "${@:2}" bash -c "$deepspeed_launch"; }

@test "the deepspeed launcher trains on one node" { launcher_trains launcher; }
@test "the deepspeed launcher trains on two nodes without the user's environment" {
    launcher_trains launchers --export="$only"
}
@test "the deepspeed launcher trains with rank 0 on the second node" { launcher_trains launchers_reversed; }
