#!/usr/bin/env bats
# Binding where control groups confine a step (task/cgroup with ConstrainCores and
# ConstrainDevices): its tasks share one mask, which is divided among them, and count GPUs from 0.

load cluster
load binding/cluster

setup_file() {
    binding_cluster_up --nodes 1 --conf TaskPlugin=task/cgroup \
        --cgroup ConstrainCores=yes --cgroup ConstrainDevices=yes
}

# bats test_tags=short
@test "two tasks that share a mask run apart, each beside its GPU, and one that asked for all CPUs keeps them" {
    run -0 submit srun -n2 --gres=gpu:4 ./show_task.sh
    [[ $output == *"node01 0 0,1 0,1,2,3"* && $output == *"node01 1 0,1 0,1,2,3"* ]]
    as_planned --gpus 0,1,2,3 -- -n2 --gres=gpu:4
    [[ $output == *"0: CPUs [1] GPUs 0,2,1,3"*"1: CPUs [0] GPUs 0,2,1,3"* ]]
    as_planned --gpus 0,1 -- -n2 --gres=gpu:2
    as_planned -- -n2
    as_planned --gpus 0,1 --plan-spec pytorch,cpus=keep -- -n1 -c2 --gres=gpu:2
    [[ $output == *"CPUs [0, 1]"* ]]
}

@test "the user's --cpu-bind: none of the masks is touched" {
    local bind
    for bind in none cores map_cpu:1,0 mask_cpu:0x3,0x3; do
        as_planned --gpus 0,1,2,3 --plan-spec pytorch,cpus=keep -- -n2 --gres=gpu:4 --cpu-bind="$bind"
        [[ $output == *"0: CPUs [0, 1]"*"1: CPUs [0, 1]"* ]]
    done
    as_planned --gpus 0,1,2,3 --spec pytorch,cpus=near -- -n2 --gres=gpu:4 --cpu-bind=none
    [[ $output == *"0: CPUs [1]"*"1: CPUs [0]"* ]]
}

@test "GPUs that Slurm bound to tasks: both count from 0, and run beside their own, which the kernel tells" {
    as_planned --gpus 0,1 --given -- -n2 --gpus-per-task=1
    [[ $output == *"0: CPUs "*" GPUs 0"*"1: CPUs "*" GPUs 0"* ]]
    as_planned --gpus 0,1,2,3 --given -- -n2 --gpus-per-task=2
    [[ $output == *"0: CPUs [1] GPUs 0,1"*"1: CPUs [0] GPUs 0,1"* ]]
    as_planned --gpus 2,3 --given -- -n2 --gres=gpu:4 --gpu-bind=map_gpu:2,3
    [[ $output == *" GPUs 0"*" GPUs 0"* ]]
    run -0 submit srun -n2 --gres=gpu:4 --gpu-bind=map_gpu:3,0 --distgpu=pytorch ./show_task.sh
    [[ $output == *"node01 0 0 0"* && $output == *"node01 1 1 0"* ]]
}

@test "two jobs on a node: each within its CPU, the second one's GPUs are 2 and 3 as 0 and 1" {
    submit srun -n1 --gres=gpu:2 --distgpu=pytorch bash -c './show_task.sh >first; sleep 60' 3>&- &
    until [[ -s $SCRATCH/first ]]; do sleep 0.1; done
    as_planned --gpus 2,3 -- -n1 --gres=gpu:2
    local second=$output
    [[ $second == *" GPUs 0,1" ]]
    [[ $(<"$SCRATCH/first") == *" 0,1" ]]
    # One has CPU 0, the other CPU 1.
    [[ $(<"$SCRATCH/first")/$second =~ "node01 0 "([01])" 0,1/node01 0: CPUs ["([01])"]" ]]
    [ "${BASH_REMATCH[1]}" != "${BASH_REMATCH[2]}" ]
    run -0 submit srun -n1 --gres=gpu:2 --distgpu=pytorch,verbose true
    [[ $output == *$'\ndistgpu:    0  node01      0  2,3       mlx5_1:1 PIX  '* ]]
    submit scancel --user="$(submit id -un)"
    wait
}

@test "the device node of a GPU that the step lacks cannot be opened" {
    run -0 submit srun -n1 --gres=gpu:2 --distgpu=pytorch bash -c \
        'for gpu in 0 2; do (exec 3</dev/nvidia$gpu) 2>&1 | grep -o "Operation not permitted" || echo "$gpu may be opened"; done'
    [ "${lines[*]: -2}" = "0 may be opened Operation not permitted" ]
}
