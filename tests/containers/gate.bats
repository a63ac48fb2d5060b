#!/usr/bin/env bats
# `--distgpu=MODE,check` in front of a program in a container, whose image has no distgpu: the check
# is a process of the host, and judges what the container has.

load containers

setup_file() {
    need_containers
    containers_up before --nodes 2 --gpus 2
    # An image with its own idea of ranks and NCCL, and variables with which the host's command would
    # not even start.
    image plain
    image own NCCL_ALGO=Ring LD_LIBRARY_PATH=/nowhere SLURM_PROCID=0 SLURM_LOCALID=0 SLURM_NODEID=0 RANK=0
}

@test "all is well in a container: one line, and the program runs" {
    for name in plain own; do
        run -0 submit srun -N2 -n4 --ntasks-per-node=2 --container-image="$images/$name.sqsh" \
            --distgpu=pytorch,gpus=keep,check sh -c 'echo "$RANK runs"'
        [[ $output == *'distgpu: check: 4 ranks on 2 nodes ready in '* ]]
        [ "$(grep -c '^[0-3] runs$' <<<"$output")" -eq 4 ]
    done
}

@test "what is wrong ends the step before its program starts" {
    run -1 submit env NCCL_SOCKET_IFNAME=ib srun -N2 -n4 --ntasks-per-node=2 \
        --container-image="$images/plain.sqsh" --distgpu=pytorch,check sh -c 'echo "$RANK runs"'
    [[ $output == *"distgpu: check: ranks 0-3 on node[01-02]: NCCL_SOCKET_IFNAME: no interface 'ib' is up on this node"* ]]
    [[ $output == *$'\ndistgpu: check: not ready'* ]]
    [[ $output != *' runs'* ]]
}
