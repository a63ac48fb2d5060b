#!/usr/bin/env bats
# Lightning under `srun --distgpu=lightning`, one process per task, and under
# `--distgpu=lightning,per-node`, where the Trainer starts the processes itself.
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
    version=$(version_of lightning)
}

train=examples/lightning_train.py

# bats test_tags=short
@test "lightning trains on one node in a job that hides Slurm by its name" {
    launch "${on_one_node[@]}" -J interactive --distgpu=lightning python "$train"
    assert_trained "${one_node[@]}"
    result lightning "$version" lightning '2, job named interactive'
}

@test "lightning trains on two nodes without the user's environment" {
    launch "${in_blocks[@]}" --export=NONE --distgpu=lightning "$python" "$train"
    assert_trained "${block[@]}"
    result lightning "$version" lightning '2 + 2'
}

# Lightning would number the ranks node by node there.
@test "lightning trains with ranks dealt out cyclically in a job that hides Slurm by its name" {
    launch "${cyclically[@]}" -J bash --distgpu=lightning python "$train"
    assert_trained "${cyclic[@]}"
    result lightning "$version" lightning 'cyclic, job named bash'
}

# Slurm sets SLURM_NTASKS_PER_NODE for --ntasks-per-node only. The job's name is not left
# to srun, which takes the command's: Lightning does not look for Slurm in a job `bash`.
@test "lightning refuses a step without --ntasks-per-node, but not with distgpu" {
    launch "${in_reverse[@]}" -J train --export=ALL,MASTER_ADDR=node02,MASTER_PORT=29500 bash -c \
        'RANK=$SLURM_PROCID LOCAL_WORLD_SIZE=2 exec python '"$train"
    [ "$status" -eq 1 ]
    [[ $output == *"RuntimeError: You set \`--ntasks=4\` in your SLURM"* ]]
    assert_cluster_clean

    launch "${in_reverse[@]}" --distgpu=lightning python "$train"
    assert_trained "${reversed[@]}"
    result lightning "$version" lightning 'rank 0 on node02'
}

# Lightning has the same number of devices on every node.
@test "lightning with three ranks on one node and one on the other is refused" {
    launch "${unevenly[@]}" --distgpu=lightning python "$train"
    [ "$status" -ne 0 ]
    [[ $output == *'distgpu: --distgpu=lightning: the nodes have 1 to 3 tasks, but Lightning '* ]]
    [[ $output == *'; use --ntasks-per-node='* ]]
    [[ $output != *Traceback* ]]
}

@test "lightning,per-node trains on two nodes without the user's environment" {
    launch -N2 --ntasks-per-node=1 --export=NONE --distgpu=lightning,per-node \
        "$python" "$train" --devices=2
    assert_trained "${block[@]}"
    result lightning "$version" lightning,per-node '2 + 2'
}

@test "lightning,per-node trains with rank 0 on the second node" {
    launch "${nodes_in_reverse[@]}" --distgpu=lightning,per-node python "$train" --devices=2
    assert_trained "${reversed_blocks[@]}"
    result lightning "$version" lightning,per-node 'rank 0 on node02'
}

# Lightning takes the task for the only process of the node where it sees Slurm, and
# waits for processes that nobody starts where it finds LOCAL_RANK.
@test "lightning starts no processes by itself in a Slurm job, but with distgpu" {
    local by_hand='MASTER_ADDR=node01 MASTER_PORT=29500 exec python '"$train --devices=2"
    launch -N1 --ntasks-per-node=1 -J train bash -c "$by_hand"
    [ "$status" -eq 1 ]
    [[ $output == *'ValueError: You set `devices=2` in Lightning, but'* ]]

    by_hand="SLURM_JOB_NAME=interactive $by_hand"
    assert_cluster_clean
    launch -N1 -n1 -J train bash -c "$by_hand"
    assert_trained "${one_node[@]}"
    assert_cluster_clean
    launch_limit=$((2 * seconds + 5)) launch -N1 -n1 -J train --export=ALL,LOCAL_RANK=0 \
        bash -c "$by_hand"
    [ "$status" -eq 124 ]
    assert_cluster_clean

    launch -N1 --ntasks-per-node=1 -J train --export=ALL,LOCAL_RANK=0 \
        --distgpu=lightning,per-node python "$train" --devices=2
    assert_trained "${one_node[@]}"
    result lightning "$version" lightning,per-node '2, LOCAL_RANK leaked'
}
