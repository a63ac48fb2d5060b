#!/usr/bin/env bats
# Binding where Slurm both binds each task (task/affinity) and hides other GPUs (task/cgroup with
# ConstrainDevices): the table of binding_affinity.bats with GPUs that tasks count from 0.

load cluster
load binding/cluster

setup_file() {
    binding_cluster_up --nodes 1 --conf TaskPlugin=task/affinity,task/cgroup \
        --cgroup ConstrainCores=yes --cgroup ConstrainDevices=yes
}

@test "every request with Slurm's own binding" {
    as_planned --gpus 0,1 -- -n2 --gres=gpu:2
    as_planned --gpus 0,1,2,3 -- -n2 --gres=gpu:4
    [[ $output == *"0: CPUs [0] GPUs 2,0,1,3"*"1: CPUs [1] GPUs 2,0,1,3"* ]]
    as_planned --gpus 0,1 --given -- -n2 --gpus-per-task=1
    [[ $output == *"0: CPUs [0] GPUs 0"*"1: CPUs [1] GPUs 0"* ]]
    as_planned --gpus 2,3 --given -- -n2 --gres=gpu:4 --gpu-bind=map_gpu:2,3
    as_planned -- -n2
}

@test "every request with the user's --cpu-bind" {
    local bind
    for bind in none cores map_cpu:1,0 mask_cpu:0x2,0x1 mask_cpu:0x3,0x3; do
        as_planned --gpus 0,1,2,3 --plan-spec pytorch,cpus=keep -- \
            -n2 --gres=gpu:4 --cpu-bind="$bind"
        as_planned --gpus 0,1 --given --plan-spec pytorch,cpus=keep -- \
            -n2 --gpus-per-task=1 --cpu-bind="$bind"
        as_planned --gpus 2,3 --given --plan-spec pytorch,cpus=keep -- \
            -n2 --gres=gpu:4 --gpu-bind=map_gpu:2,3 --cpu-bind="$bind"
        as_planned --plan-spec pytorch,cpus=keep -- -n2 --cpu-bind="$bind"
    done
}

@test "while another job holds GPUs 0 and 1: GPUs 2 and 3, as 0 and 1" {
    submit srun -n1 --gres=gpu:2 sleep 60 3>&- &
    until [[ $(submit squeue --noheader --states=RUNNING) ]]; do sleep 0.1; done
    as_planned --gpus 2,3 -- -n1 --gres=gpu:2
    [[ $output == *" GPUs 0,1" ]]
    as_planned --gpus 2,3 -- -n2 --overcommit --gres=gpu:2
    submit scancel --user="$(submit id -un)"
    wait
}
