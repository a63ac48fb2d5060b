#!/usr/bin/env bats
# Whose word counts in a container's task: an image, a hook of enroot and pyxis itself put
# variables over those of every task, ranks and GPUs among them.

load containers

setup_file() {
    containers_up before --nodes 2
    have_containers || return 0
    hooks 50-slurm-pytorch.sh 50-slurm-pmi.sh
    image plain
    image pytorch PYTORCH_VERSION=2.9.0
}

# bats test_tags=short
@test "OMP_NUM_THREADS: the CPUs of each task, although enroot's hook for PyTorch sets 1" {
    in_image -0 pytorch -n2 -c4 -- 'echo $OMP_NUM_THREADS'
    [ "$output" = $'1\n1' ]
    in_image -0 pytorch -n2 -c4 --distgpu=pytorch -- 'echo $OMP_NUM_THREADS'
    [ "$output" = $'4\n4' ]
}

# bats test_tags=short
@test "ranks are Slurm's, although the image sets SLURM_PROCID and its like" {
    image ranks SLURM_PROCID=0 SLURM_LOCALID=0 SLURM_NODEID=0 SLURM_JOB_ID=7 SLURM_STEP_ID=7 \
        SLURM_STEP_NUM_TASKS=1 SLURM_STEP_NODELIST=node09 RANK=0 WORLD_SIZE=1 NODE_RANK=9 \
        PYTORCH_VERSION=2.9.0
    local show='echo $RANK $LOCAL_RANK $NODE_RANK $WORLD_SIZE, \
        $SLURM_PROCID $SLURM_LOCALID $SLURM_NODEID $SLURM_STEP_NUM_TASKS $SLURM_STEP_NODELIST'
    in_image -0 ranks -N2 -n2 -- 'echo $SLURM_PROCID'
    [ "$output" = $'0\n0' ]
    in_image -0 ranks -N2 --ntasks-per-node=2 -m cyclic --distgpu=pytorch -- "$show"
    [ "$(sort <<<"$output")" = "0 0 0 4, 0 0 0 4 node[01-02]
1 0 1 4, 1 0 1 4 node[01-02]
2 1 0 4, 2 1 0 4 node[01-02]
3 1 1 4, 3 1 1 4 node[01-02]" ]
    in_image -0 ranks -N2 -n2 --distgpu=torchrun -- \
        'echo $NODE_RANK $PET_NODE_RANK $PET_NNODES ${RANK-none} ${WORLD_SIZE-none}'
    [ "$(sort <<<"$output")" = $'0 0 2 none none\n1 1 2 none none' ]
}

@test "ranks of a heterogeneous step are Slurm's, although the image sets SLURM_PROCID" {
    image ranks SLURM_PROCID=0 SLURM_LOCALID=0 SLURM_NODEID=0
    local task=(--container-image="$images/ranks.sqsh"
        sh -c 'echo $RANK $LOCAL_RANK $NODE_RANK $WORLD_SIZE $(hostname)')
    # The second component is on the first node, and both have the same shape.
    run -0 submit timeout 60 salloc -Q -N2 --ntasks-per-node=4 srun --kill-on-bad-exit=1 \
        -n2 -N1 -w node02 --distgpu=pytorch "${task[@]}" : \
        -n2 -N1 -w node01 --distgpu=pytorch "${task[@]}"
    [ "$(sort <<<"$output")" = "0 0 0 4 node02
1 1 0 4 node02
2 0 1 4 node01
3 1 1 4 node01" ]
}

@test "CUDA_VISIBLE_DEVICES: the step's GPUs, although the image names others" {
    image devices CUDA_VISIBLE_DEVICES=3 SLURM_STEP_GPUS=3
    for spec in pytorch pytorch,gpus=keep; do
        in_image -0 devices -N1 -n2 -c2 --gres=gpu:2 --distgpu=$spec -- \
            'echo $CUDA_VISIBLE_DEVICES $SLURM_STEP_GPUS'
        [ "$output" = $'0,1 0,1\n0,1 0,1' ]
    done
}

@test "the rendezvous is distgpu's or the user's, although the hook for PyTorch sets one" {
    in_image -0 pytorch -N2 -n2 -- 'echo $MASTER_PORT'
    [ "$(grep -cE '^61[0-9]{3}$' <<<"$output")" -eq 2 ]
    in_image -0 pytorch -N2 -n2 --distgpu=pytorch,port=24680 -- 'echo $MASTER_ADDR $MASTER_PORT'
    [ "$output" = $'10.77.1.1 24680\n10.77.1.1 24680' ]
    # Rank 0's node has to know it as its own.
    echo '10.77.1.1 head.example' >>"/run/distgpu-sandbox/$CLUSTER/etc/hosts"
    MASTER_ADDR=head.example MASTER_PORT=24681 \
        in_image pytorch -N2 -n2 --distgpu=pytorch -- 'echo $MASTER_ADDR $MASTER_PORT'
    [ "$status" -eq 0 ]
    [ "$output" = $'head.example 24681\nhead.example 24681' ]
}

@test "NCCL_*, GLOO_*, UCX_*: the user's, then the container's, then distgpu's" {
    image network NCCL_SOCKET_IFNAME=eth9 GLOO_SOCKET_IFNAME=eth9 NCCL_DEBUG=WARN UCX_TLS=tcp
    export NCCL_SOCKET_IFNAME=eth0 NCCL_DEBUG=INFO NCCL_ALGO=Ring
    local show='echo $NCCL_SOCKET_IFNAME $GLOO_SOCKET_IFNAME $NCCL_DEBUG $NCCL_ALGO $UCX_TLS'
    in_image -0 network -N2 -n2 --distgpu=pytorch -- "$show"
    [ "$output" = $'eth0 eth9 INFO Ring tcp\neth0 eth9 INFO Ring tcp' ]
    unset NCCL_SOCKET_IFNAME NCCL_DEBUG NCCL_ALGO
    in_image -0 plain -N2 -n2 --distgpu=pytorch -- "$show"
    [ "$output" = $'=eth0 eth0\n=eth0 eth0' ]
}

@test "verbose names, once, what the container has otherwise" {
    image network NCCL_SOCKET_IFNAME=eth9 GLOO_SOCKET_IFNAME=eth9 NCCL_DEBUG=$'WARN\e[1m' UCX_TLS=tcp
    NCCL_DEBUG=INFO NCCL_SOCKET_IFNAME=eth0 \
        in_image network -N2 -n4 --distgpu=pytorch,verbose -- true
    [ "$status" -eq 0 ]
    [ "$(grep -F 'the container' <<<"$output")" = "distgpu: GLOO_SOCKET_IFNAME: the container sets \
'eth9', distgpu would set 'eth0'; the container's is used, export the variable to choose
distgpu: NCCL_DEBUG: the container sets 'WARN?[1m', you exported another value; yours is used
distgpu: NCCL_SOCKET_IFNAME: the container sets 'eth9', you exported another value; yours is used" ]
    in_image -0 plain -N2 -n4 --distgpu=pytorch,verbose -- true
    run ! grep -F 'the container' <<<"$output"
}

@test "with the hook for PMI: PMIx's ranks and distgpu's agree" {
    in_image -0 plain -N2 --ntasks-per-node=2 -m cyclic --mpi=pmix --distgpu=pytorch -- 'echo $RANK $PMIX_RANK'
    [ "$(sort <<<"$output")" = $'0 0\n1 1\n2 2\n3 3' ]
}

# order.bats has the other order.
@test "slurmd's log has nothing to say of the order in plugstack.conf" {
    in_image -0 plain -n1 --distgpu=pytorch -- 'echo $RANK'
    [ "$output" = 0 ]
    run ! grep -F 'stands before' "/run/distgpu-sandbox/$CLUSTER/log/slurmd-node01.log"
}

@test "a nested step in a container asks anew, and inherits nothing of the container's mark" {
    image network NCCL_DEBUG=WARN
    NCCL_DEBUG=INFO in_image -0 network -n1 --distgpu=pytorch -- 'echo $SLURM_DISTGPU_CONTAINER'
    [ "$output" = NCCL_DEBUG:export ]
    SLURM_DISTGPU_CONTAINER=NCCL_DEBUG:export \
        in_image plain -n1 --distgpu=pytorch -- 'echo ${SLURM_DISTGPU_CONTAINER-none}'
    [ "$status" -eq 0 ]
    [ "$output" = none ]
}
