#!/usr/bin/env bats
# Which GPU is which, on nodes whose GPUs are not numbered in PCI order: what a task is told opens,
# and its CPUs are near it. GPUs 13 and 14 (their PCI bus) are near CPU 1, GPUs 93 and 94 near CPU 0.
# The driver that tells their minors is made up; the device files are real, and so is the control
# group that denies some.

load cluster
load binding/cluster

confined=(--nodes 1 --conf TaskPlugin=task/cgroup
    --cgroup ConstrainCores=yes)
constrained=("${confined[@]}" --cgroup ConstrainDevices=yes)

setup() { two_cpus_here; }

teardown() { cluster_down; }

# Fails unless the tasks of the step print these lines: the GPUs that CUDA gives them, by PCI bus and
# device file, and their CPUs.
tasks_have() { # SRUN_ARGUMENT... -- LINE...
    local arguments=()
    while [[ $1 != -- ]]; do
        arguments+=("$1")
        shift
    done
    shift
    run submit srun "${arguments[@]}" ./cuda_view.sh
    printf '%s:\n%s\n' "${arguments[*]}" "$output"
    [ "$status" -eq 0 ]
    [ "$(distgpu_free_lines | sort)" = "$(printf '%s\n' "$@")" ]
}

# bats test_tags=short
@test "minors 3,2,1,0 in PCI order" {
    binding_cluster_up "${constrained[@]}"
    made_up_driver 3 2 1 0
    # Slurm gives /dev/nvidia0 to 2.
    tasks_have -n2 --gres=gpu:3 --distgpu=pytorch -- \
        '0: 14/nvidia2=yes 93/nvidia1=yes 94/nvidia0=yes CPUs 1' \
        '1: 14/nvidia2=yes 93/nvidia1=yes 94/nvidia0=yes CPUs 0'
    tasks_have -n2 --gres=gpu:3 --distgpu=pytorch,gpus=isolate -- \
        '0: 14/nvidia2=yes CPUs 1' '1: 93/nvidia1=yes 94/nvidia0=yes CPUs 0'
    tasks_have -n2 --gres=gpu:3 --distgpu=pytorch,gpu-ids=uuid -- \
        '0: 14/nvidia2=yes 93/nvidia1=yes 94/nvidia0=yes CPUs 1' \
        '1: 14/nvidia2=yes 93/nvidia1=yes 94/nvidia0=yes CPUs 0'
}

@test "2 of 4 GPUs, whose minors alternate between the sockets" {
    binding_cluster_up "${constrained[@]}"
    made_up_driver 0 2 1 3
    tasks_have -n2 --gres=gpu:2 --distgpu=pytorch -- \
        '0: 13/nvidia0=yes 93/nvidia1=yes CPUs 1' '1: 13/nvidia0=yes 93/nvidia1=yes CPUs 0'
    tasks_have -n2 --gres=gpu:2 --distgpu=pytorch,gpus=isolate,gpu-ids=uuid -- \
        '0: 13/nvidia0=yes CPUs 1' '1: 93/nvidia1=yes CPUs 0'
    # The user's own order: UUIDs mean the same in each.
    CUDA_DEVICE_ORDER=FASTEST_FIRST tasks_have -n2 --gres=gpu:2 --distgpu=pytorch -- \
        '0: 13/nvidia0=yes 93/nvidia1=yes CPUs 1' '1: 13/nvidia0=yes 93/nvidia1=yes CPUs 0'
}

@test "GPUs of two types, the second type's files before the first's" {
    binding_cluster_up "${constrained[@]}" --gres 'Name=gpu Type=a100 File=/dev/nvidia[2-3]' \
        --gres 'Name=gpu Type=h100 File=/dev/nvidia[0-1]'
    tasks_have -n1 -c2 --gres=gpu:h100:2 --distgpu=pytorch -- \
        '0: 13/nvidia0=yes 14/nvidia1=yes CPUs 0,1'
    tasks_have -n1 -c2 --gres=gpu:a100:2 --distgpu=pytorch,gpu-ids=uuid -- \
        '0: 93/nvidia2=yes 94/nvidia3=yes CPUs 0,1'
    tasks_have -n2 --gres=gpu:a100:1,gpu:h100:1 --distgpu=pytorch -- \
        '0: 13/nvidia0=yes 93/nvidia2=yes CPUs 1' '1: 13/nvidia0=yes 93/nvidia2=yes CPUs 0'
}

@test "GPUs that Slurm bound to tasks, dealt in its own order" {
    binding_cluster_up "${constrained[@]}"
    made_up_driver 3 2 1 0
    export CUDA_DEVICE_ORDER=PCI_BUS_ID # of Slurm's own numbers
    # Task 0 gets /dev/nvidia0 and 1, task 1 the others.
    tasks_have -n2 --gpus-per-task=2 --distgpu=pytorch -- \
        '0: 93/nvidia1=yes 94/nvidia0=yes CPUs 0' '1: 13/nvidia3=yes 14/nvidia2=yes CPUs 1'
    tasks_have -n2 --gres=gpu:4 --gpu-bind=map_gpu:3,0 --distgpu=pytorch -- \
        '0: 13/nvidia3=yes CPUs 1' '1: 94/nvidia0=yes CPUs 0'
    # Without a binding of the GPUs: all of them, for both.
    tasks_have -n2 --gres=gpu:4 --gpu-bind=mask_gpu:0xf,0xf --distgpu=pytorch -- \
        '0: 13/nvidia3=yes 93/nvidia1=yes 14/nvidia2=yes 94/nvidia0=yes CPUs 1' \
        '1: 13/nvidia3=yes 93/nvidia1=yes 14/nvidia2=yes 94/nvidia0=yes CPUs 0'
}

@test "without ConstrainDevices everything opens, and a number is a place in PCI order" {
    binding_cluster_up "${confined[@]}"
    made_up_driver 3 2 1 0
    tasks_have -n2 --gres=gpu:4 --distgpu=pytorch -- \
        '0: 13/nvidia3=yes 93/nvidia1=yes 14/nvidia2=yes 94/nvidia0=yes CPUs 1' \
        '1: 13/nvidia3=yes 93/nvidia1=yes 14/nvidia2=yes 94/nvidia0=yes CPUs 0'
    tasks_have -n1 -c2 --gres=gpu:2 --distgpu=pytorch,gpu-ids=uuid -- \
        '0: 13/nvidia3=yes 14/nvidia2=yes CPUs 0,1'
    export CUDA_DEVICE_ORDER=PCI_BUS_ID
    tasks_have -n2 --gres=gpu:4 --gpu-bind=map_gpu:3,0 --distgpu=pytorch -- \
        '0: 94/nvidia0=yes CPUs 0' '1: 13/nvidia3=yes CPUs 1'
}

# GPUs and CPUs as Slurm set them, and one line that says why.
stays_as_slurm_set_it() { # WHY
    tasks_have -n2 --gres=gpu:2 --distgpu=pytorch -- '0: 0 1 CPUs 0,1' '1: 0 1 CPUs 0,1'
    local line="distgpu: --distgpu=pytorch: $1; GPUs and CPUs stay as Slurm set them"
    [ "$(grep -cF "$line" <<<"$output")" -eq 1 ]
}

@test "a GPU that gres.conf does not list opens for everybody: it is unclear which are the step's" {
    binding_cluster_up "${constrained[@]}" --gres 'Name=gpu File=/dev/nvidia[1-3]'
    on node01 mknod -m 666 /dev/nvidia0 c 120 0
    stays_as_slurm_set_it \
        'GPUs: the task can open 3, but Slurm gave it 2; list every GPU of the node in gres.conf'
}

@test "a user's CUDA_DEVICE_ORDER where the driver does not tell the UUIDs" {
    binding_cluster_up "${constrained[@]}"
    sed -i 's/NVIDIAUUID/Unknown/' "$TOPOLOGY"
    sed -i 's/^GPU UUID.*/GPU UUID: GPU-????????/' "$SCRATCH"/driver/nvidia/gpus/*/information
    export CUDA_DEVICE_ORDER=FASTEST_FIRST
    stays_as_slurm_set_it "CUDA_DEVICE_ORDER: your value numbers the GPUs differently from PCI_BUS_ID, and the driver does not report the UUID of every GPU"
}
