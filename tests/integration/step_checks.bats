#!/usr/bin/env bats
# What a framework needs of a step, checked before the launch: exact texts in
# refusals.txt. What srun can know, srun refuses before any task starts.

load cluster

setup_file() {
    cluster_up
    printf '#!/bin/sh\ntouch started.$SLURM_PROCID\n' >"$SCRATCH/program"
    chmod 755 "$SCRATCH/program"
}

# launch ARGUMENT...: srun with the program, inside an allocation of ALLOCATION's options.
launch() {
    rm -f "$SCRATCH"/started.*
    if [[ ${allocation-} ]]; then
        # shellcheck disable=SC2086 # several options
        run submit salloc --quiet $allocation srun "$@" ./program
    else
        run submit srun --quiet "$@" ./program
    fi
}

# srun_refuses NAME ARGUMENT...: srun itself says why, once, and no task's program runs.
srun_refuses() {
    launch "${@:2}"
    [ "$status" -ne 0 ]
    diff <(distgpu_lines) <(said "$1")
    [ "$(grep -c '^srun: error: distgpu: ' <<<"$output")" -eq 1 ]
    run ! compgen -G "$SCRATCH/started.*"
}

# warns NAME TASKS ARGUMENT...: one line, and every task's program runs.
warns() {
    launch "${@:3}"
    [ "$status" -eq 0 ]
    diff <(distgpu_lines) <(said "$1")
    [ "$(compgen -G "$SCRATCH/started.*" | wc -l)" -eq "$2" ]
}

runs() { # TASKS ARGUMENT...
    launch "${@:2}"
    [ "$status" -eq 0 ]
    [ "$output" = "" ]
    [ "$(compgen -G "$SCRATCH/started.*" | wc -l)" -eq "$1" ]
}

# bats test_tags=short
@test "composer wants equal nodes, or to be told" {
    # Two CPUs on one node, one on the other.
    allocation='-N2 -n3'
    srun_refuses composer-unequal -N2 -n2 --ntasks-per-node=1 --distgpu=composer
    allocation='-N2 --ntasks-per-node=2'
    runs 2 -N2 -n2 --ntasks-per-node=1 --distgpu=composer
}

@test "horovod over MPI wants MPI; for ompi a program may only read variables" {
    srun_refuses horovod-without-mpi -N2 -n4 --mpi=none --distgpu=horovod
    runs 4 -N2 -n4 --mpi="$(mpi_type)" --distgpu=horovod
    warns ompi-without-mpi 4 -N2 -n4 --mpi=none --distgpu=ompi
    runs 4 -N2 -n4 --mpi="$(mpi_type)" --distgpu=ompi
}

@test "tasks unlike the GPUs of a node, or of nodes with different numbers" {
    warns idle-gpus-launcher 2 -N2 --ntasks-per-node=1 -c2 --gres=gpu:4 --distgpu=pytorch
    warns one-visible-gpu 4 -N2 --ntasks-per-node=2 -c2 --gpus-per-task=1 --distgpu=accelerate
    warns idle-gpus-uneven 4 -N2 -n4 --ntasks-per-node=2 -c2 --gpus=6 --distgpu=pytorch
}

@test "a heterogeneous step is judged as a whole, and any component may have idle GPUs" {
    # The first component alone has too few tasks for the roles.
    runs 4 -n1 --distgpu=tf,chief=1,ps=1 : -n3 -N2
    local one='-N1 --ntasks-per-node=1 -c2 --distgpu=pytorch'
    # shellcheck disable=SC2086 # several options
    {
        warns idle-gpus-component 2 $one --gres=gpu:1 : $one --gres=gpu:4
        warns idle-gpus-launcher 2 $one --gres=gpu:4 : $one --gres=gpu:1
        runs 2 $one --gres=gpu:1 : $one --gres=gpu:1
    }
}
