#!/usr/bin/env bats
# What a framework needs of a step, checked before the launch: exact texts in
# step_checks/NAME.txt. What srun can know, srun refuses before any task starts.
# shellcheck disable=SC2016,SC2154 # a task expands them; run sets output and status

load cluster

setup_file() {
    cluster_up
    printf '#!/bin/sh\ntouch started.$SLURM_PROCID\n' >"$SCRATCH/program"
    chmod 755 "$SCRATCH/program"
}
teardown_file() { cluster_down; }
teardown() { assert_cluster_clean; }

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
    local name=$1
    shift
    launch "$@"
    [ "$status" -ne 0 ]
    diff <(distgpu_lines) "$BATS_TEST_DIRNAME/step_checks/$name.txt"
    [ "$(grep -c '^srun: error: distgpu: ' <<<"$output")" -eq 1 ]
    run ! compgen -G "$SCRATCH/started.*"
}

# warns NAME TASKS ARGUMENT...: one line, and every task's program runs.
warns() {
    local name=$1 tasks=$2
    shift 2
    launch "$@"
    [ "$status" -eq 0 ]
    diff <(distgpu_lines) "$BATS_TEST_DIRNAME/step_checks/$name.txt"
    [ "$(compgen -G "$SCRATCH/started.*" | wc -l)" -eq "$tasks" ]
}

runs() { # TASKS ARGUMENT...
    local tasks=$1
    shift
    launch "$@"
    [ "$status" -eq 0 ]
    [ "$output" = "" ]
    [ "$(compgen -G "$SCRATCH/started.*" | wc -l)" -eq "$tasks" ]
}

@test "lightning wants as many tasks on each node" {
    srun_refuses lightning-unequal -N2 -n4 -m plane=3 --distgpu=lightning
    runs 4 -N2 --ntasks-per-node=2 --distgpu=lightning
}

@test "a launcher is one task on each node" {
    for mode in torchrun torchrun,rdzv=c10d lightning,per-node accelerate,per-node \
        deepspeed,per-node composer,nproc=2; do
        srun_refuses "launcher-tasks-${mode//,/-}" -N2 -n3 --distgpu="$mode"
    done
    runs 2 -N2 -n2 --distgpu=deepspeed,per-node
}

@test "composer wants equal nodes, or to be told" {
    # Two CPUs on one node, one on the other.
    allocation='-N2 -n3'
    srun_refuses composer-unequal -N2 -n2 --ntasks-per-node=1 --distgpu=composer
    runs 2 -N2 -n2 --ntasks-per-node=1 --distgpu=composer,nproc=1
    allocation='-N2 --ntasks-per-node=2'
    runs 2 -N2 -n2 --ntasks-per-node=1 --distgpu=composer
}

@test "tensorflow wants enough tasks for its roles" {
    srun_refuses tensorflow-roles -N2 -n3 --distgpu=tf,chief=1,ps=2,evaluator=1
    srun_refuses tensorflow-no-worker -N2 -n2 --distgpu=tf,chief=1,ps=1
    runs 3 -N2 -n3 --distgpu=tf,chief=1,ps=1
}

@test "TF_CONFIG has to fit into a variable" {
    # 240 bytes of suffix make 130 tasks on each of 4 nodes too many for it.
    allocation=-N4
    srun_refuses tensorflow-too-long -n520 --overcommit \
        --distgpu="tf,master=suffix:$(printf '%0240d' 0)"
}

@test "horovod over MPI wants MPI" {
    srun_refuses horovod-without-mpi -N2 -n4 --mpi=none --distgpu=horovod
    runs 4 -N2 -n4 --mpi="$(mpi_type)" --distgpu=horovod
    runs 4 -N2 -n4 --mpi=none --distgpu=horovod,backend=gloo
}

@test "ompi without MPI is a warning: the program may only read variables" {
    warns ompi-without-mpi 4 -N2 -n4 --mpi=none --distgpu=ompi
    runs 4 -N2 -n4 --mpi="$(mpi_type)" --distgpu=ompi
}

@test "tasks unlike the GPUs of a node" {
    warns idle-gpus 6 -N2 --ntasks-per-node=3 -c2 --gres=gpu:4 --distgpu=deepspeed
    warns idle-gpus-launcher 2 -N2 --ntasks-per-node=1 -c2 --gres=gpu:4 --distgpu=pytorch
    warns missing-gpus 6 -N2 --ntasks-per-node=3 -c2 --gres=gpu:2 --distgpu=megatron
    warns one-visible-gpu 4 -N2 --ntasks-per-node=2 -c2 --gpus-per-task=1 --distgpu=accelerate
    runs 4 -N2 --ntasks-per-node=2 -c2 --gpus-per-task=1 --distgpu=tensorflow
}

@test "GPUs of which the nodes have different numbers" {
    warns idle-gpus-uneven 4 -N2 -n4 --ntasks-per-node=2 -c2 --gpus=6 --distgpu=pytorch
}

@test "more processes of a launcher than GPUs" {
    warns nproc-above-gpus 2 -N2 --ntasks-per-node=1 -c4 --gres=gpu:2 --distgpu=torchrun,nproc=4
    runs 2 -N2 --ntasks-per-node=1 -c4 --gres=gpu:4 --distgpu=torchrun,nproc=4
}

@test "a heterogeneous step is judged as a whole" {
    # The first component alone has too few tasks for the roles.
    runs 4 -n1 --distgpu=tf,chief=1,ps=1 : -n3 -N2
}

@test "idle GPUs of any component of a heterogeneous step" {
    local one='-N1 --ntasks-per-node=1 -c2 --distgpu=pytorch'
    # shellcheck disable=SC2086 # several options
    {
        warns idle-gpus-component 2 $one --gres=gpu:1 : $one --gres=gpu:4
        warns idle-gpus-launcher 2 $one --gres=gpu:4 : $one --gres=gpu:1
        runs 2 $one --gres=gpu:1 : $one --gres=gpu:1
    }
}

@test "the ports of all tasks are checked, on their own nodes" {
    listen node02 29701 127.0.0.1
    launch -N2 --ntasks-per-node=2 --distgpu=tf,port=29700
    stop_listening
    [ "$status" -ne 0 ]
    diff <(distgpu_lines) "$BATS_TEST_DIRNAME/step_checks/worker-port-taken.txt"
    run ! compgen -G "$SCRATCH/started.[23]"
}
