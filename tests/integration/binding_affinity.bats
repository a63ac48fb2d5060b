#!/usr/bin/env bats
# Binding where task/affinity gives each task CPUs of its own, and nothing hides GPUs: tasks get
# what `distgpu plan` says of the same topology, masks and GPUs. The sandbox's GPUs are device
# nodes without a driver, so what is compared is their order.

load cluster
load binding/cluster

setup_file() { binding_cluster_up --nodes 2 --conf TaskPlugin=task/affinity; }

# bats test_tags=short
@test "tasks that Slurm bound to cores: the GPUs are put into their order, unless Slurm chose them" {
    as_planned --gpus 0,1 -- -w node01 -n2 --gres=gpu:2
    as_planned --gpus 0,1,2,3 -- -w node01 -n2 --gres=gpu:4
    [[ $output == *"0: CPUs [0] GPUs 2,0,1,3"*"1: CPUs [1] GPUs 2,0,1,3"* ]]
    as_planned --gpus 0,1,2,3 -- -N2 -n4 --gres=gpu:4
    as_planned --gpus 0,1,2,3 -- -w node01 -n1 -c2 --gres=gpu:4
    as_planned --gpus 0,1 --given -- -w node01 -n2 --gpus-per-task=1
    [[ $output == *"0: CPUs [0] GPUs 0"*"1: CPUs [1] GPUs 1"* ]]
    as_planned --gpus 2,3 --given -- -w node01 -n2 --gres=gpu:4 --gpu-bind=map_gpu:2,3
    [[ $output == *"0: CPUs [0] GPUs 2"*"1: CPUs [1] GPUs 3"* ]]
    as_planned -- -w node01 -n2
    [[ $output == *"0: CPUs [0] GPUs none"* ]]
}

@test "while another job holds GPUs 0 and 1: the other two" {
    submit srun -w node01 -n1 --gres=gpu:2 sleep 60 3>&- &
    until [[ $(submit squeue --noheader --states=RUNNING) ]]; do sleep 0.1; done
    as_planned --gpus 2,3 -- -w node01 -n1 --gres=gpu:2
    [[ $output == *"GPUs 2,3" ]]
    as_planned --gpus 2,3 -- -w node01 -n2 --overcommit --gres=gpu:2
    submit scancel --user="$(submit id -un)"
    wait
}

@test "the user's --cpu-bind, also in a heterogeneous step: CPUs stay, GPUs follow them" {
    local bind
    for bind in none cores sockets map_cpu:1,0 mask_cpu:0x2,0x1 mask_cpu:0x3,0x3 mask_cpu:0x2,0x2; do
        as_planned --gpus 0,1,2,3 --plan-spec pytorch,cpus=keep -- \
            -w node01 -n2 --gres=gpu:4 --cpu-bind="$bind"
        as_planned --gpus 0,1 --given --plan-spec pytorch,cpus=keep -- \
            -w node01 -n2 --gpus-per-task=1 --cpu-bind="$bind"
        as_planned --plan-spec pytorch,cpus=keep -- -w node01 -n2 --cpu-bind="$bind"
    done
    as_planned --gpus 0,1,2,3 -- -w node01 -n2 --gres=gpu:4 --cpu-bind=map_cpu:1,0
    [[ $output == *"0: CPUs [1] GPUs 0,2,1,3"*"1: CPUs [0] GPUs 0,2,1,3"* ]]
    local bind=--cpu-bind=mask_cpu:0x3,0x3 expected
    expected=$(printf '%s\n' 'node01 0 0,1 none' 'node01 1 0,1 none' 'node02 0 0,1 none' 'node02 1 0,1 none')
    run -0 submit srun --quiet -w node01 -n2 $bind --distgpu=pytorch ./show_task.sh : -w node02 -n2 $bind ./show_task.sh
    [ "$(grep ^node <<<"$output" | sort)" = "$expected" ]
    run -0 submit salloc --quiet -N2 -n4 srun --quiet -N1 -n2 $bind --distgpu=pytorch ./show_task.sh : -N1 -n2 $bind ./show_task.sh
    [ "$(grep ^node <<<"$output" | sort)" = "$expected" ]
}

@test "cpus=near outdoes --cpu-bind, SLURM_CPU_BIND is --cpu-bind, and --cpu-bind=verbose chooses nothing" {
    as_planned --gpus 0,1,2,3 --spec pytorch,cpus=near -- \
        -w node01 -n2 --gres=gpu:4 --cpu-bind=mask_cpu:0x3,0x3
    [[ $output == *"0: CPUs [1] GPUs 0,2,1,3"*"1: CPUs [0] GPUs 0,2,1,3"* ]]
    run -0 submit env SLURM_CPU_BIND=mask_cpu:0x3,0x3 \
        srun -N1 -n2 --gres=gpu:4 --distgpu=pytorch ./show_task.sh
    [[ $output == *"0 0,1 0,2,1,3"* ]]
    run -0 submit srun -N1 -n2 --cpu-bind=mask_cpu:0x3,0x3,verbose --distgpu=pytorch ./show_task.sh
    [[ $output == *"0 0,1 none"* ]]
}

@test "isolate, keep and bind=none, and gpu-ids=uuid, which names the same GPUs" {
    run -0 submit srun -N1 -n2 --gres=gpu:4 --distgpu=pytorch,gpus=isolate ./show_task.sh
    [[ $output == *"0 0 2,3"* && $output == *"1 1 0,1"* ]]
    for spec in pytorch,gpus=keep pytorch,bind=none; do
        run -0 submit srun -N1 -n2 --gres=gpu:4 --distgpu=$spec ./show_task.sh
        [[ $output == *"0 0 0,1,2,3"* && $output == *"1 1 0,1,2,3"* ]]
    done
    run -0 submit srun -N1 -n1 --gres=gpu:2 --distgpu=pytorch,gpu-ids=uuid ./show_task.sh
    # As the driver tells them, and not the XML, which may be of another node.
    [[ $output == *" GPU-13,GPU-14" ]]
}

@test "the near port and the node's interface, unless the user set them" {
    local show='echo $SLURM_PROCID $UCX_NET_DEVICES $NCCL_SOCKET_IFNAME $GLOO_SOCKET_IFNAME'
    run -0 submit srun -N2 -n4 --gres=gpu:4 --distgpu=pytorch bash -c "$show"
    [ "$(distgpu_free_lines | sort)" = "0 mlx5_1:1 =eth0 eth0
1 mlx5_0:1 =eth0 eth0
2 mlx5_1:1 =eth0 eth0
3 mlx5_0:1 =eth0 eth0" ]
    run -0 submit env UCX_NET_DEVICES=own NCCL_SOCKET_IFNAME=lo GLOO_SOCKET_IFNAME=lo \
        srun -N2 -n2 --gres=gpu:4 --distgpu=pytorch bash -c "$show"
    [ "$(distgpu_free_lines | sort)" = "0 own lo lo
1 own lo lo" ]
    # A step inside a task takes no value of the outer one for the user's.
    run -0 submit salloc -N2 -n4 --gres=gpu:4 srun -n1 -N1 --overlap --distgpu=pytorch \
        srun -N2 -n4 --overlap --gres=gpu:4 --distgpu=pytorch bash -c "$show"
    [[ $(distgpu_free_lines) == *"1 mlx5_0:1 =eth0 eth0"* ]]
}

# bats test_tags=short
@test "dry-run tells each task's place" {
    run -0 submit srun -w node01 -n2 --gres=gpu:4 --distgpu=pytorch,dry-run true
    local gpus='GPUs 2 (GH100 [H200 SXM 141GB], 0000:93:00.0), 3 (GH100 [H200 SXM 141GB], 0000:94:00.0)'
    local line="distgpu: rank 0 on node01, local rank 0 of 2, node rank 0: CPUs 0, $gpus, mlx5_1:1 (PIX)"
    [[ $output == *"$line"* ]]
    [ "$(grep -c 'distgpu: pytorch: world size 2' <<<"$output")" -eq 1 ]
}
