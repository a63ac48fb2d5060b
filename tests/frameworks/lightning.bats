#!/usr/bin/env bats
# Lightning under `srun --distgpu=lightning`, one process per task, and under
# `--distgpu=lightning,per-node`, where the Trainer starts the processes itself.

load frameworks

setup() { need torch lightning; }

train=examples/lightning_train.py

# bats test_tags=short
@test "lightning trains on one node in a job that hides Slurm by its name" {
    trains_as one_node lightning lightning '2, job named interactive' \
        "${on_one_node[@]}" -J interactive --distgpu=lightning python "$train"
}

@test "lightning trains on two nodes without the user's environment" {
    in_shape block lightning lightning "$python" "$train"
}

# Lightning would number the ranks node by node there.
@test "lightning trains with ranks dealt out cyclically in a job that hides Slurm by its name" {
    trains_as cyclic lightning lightning 'cyclic, job named bash' \
        "${cyclically[@]}" -J bash --distgpu=lightning python "$train"
}

# Slurm sets SLURM_NTASKS_PER_NODE for --ntasks-per-node only. The job's name is not left
# to srun, which takes the command's: Lightning does not look for Slurm in a job `bash`.
@test "lightning refuses a step without --ntasks-per-node, but not with distgpu" {
    launch -1 "${in_reverse[@]}" -J train --export=ALL,MASTER_ADDR=node02,MASTER_PORT=29500 bash -c \
        'RANK=$SLURM_PROCID LOCAL_WORLD_SIZE=2 exec python '"$train"
    [[ $output == *"RuntimeError: You set \`--ntasks=4\` in your SLURM"* ]]

    trains_as reversed lightning lightning 'rank 0 on node02' \
        "${in_reverse[@]}" --distgpu=lightning python "$train"
}

@test "lightning,per-node trains on two nodes without the user's environment" {
    in_shape launchers lightning lightning,per-node --export=NONE "$python" "$train" --devices=2
}

@test "lightning,per-node trains with rank 0 on the second node" {
    in_shape launchers_reversed lightning lightning,per-node python "$train" --devices=2
}

# Lightning takes the task for the only process of the node where it sees Slurm, and
# waits for processes that nobody starts where it finds LOCAL_RANK.
@test "lightning starts no processes by itself in a Slurm job, but with distgpu" {
    local by_hand='MASTER_ADDR=node01 MASTER_PORT=29500 exec python '"$train --devices=2"
    launch -1 -N1 --ntasks-per-node=1 -J train bash -c "$by_hand"
    [[ $output == *'ValueError: You set `devices=2` in Lightning, but'* ]]

    by_hand="SLURM_JOB_NAME=interactive $by_hand"
    launch -N1 -n1 -J train bash -c "$by_hand"
    assert_trained "${one_node[@]}"
    hangs -N1 -n1 -J train --export=ALL,LOCAL_RANK=0 \
        bash -c "$by_hand"

    trains_as one_node lightning lightning,per-node '2, LOCAL_RANK leaked' \
        -N1 --ntasks-per-node=1 -J train --export=ALL,LOCAL_RANK=0 \
        --distgpu=lightning,per-node python "$train" --devices=2
}
