#!/usr/bin/env bats
# A task that the kernel kills for lack of memory, where Slurm limits memory by control groups.

load cluster

setup_file() {
    cluster_up --nodes 2 --conf TaskPlugin=task/cgroup --cgroup ConstrainRAMSpace=yes \
        --conf SelectTypeParameters=CR_Core_Memory
}

@test "a rank that was out of memory is named with the limit" {
    run submit srun -N2 -n4 --mem=256M --distgpu=pytorch bash -c \
        '[ $RANK = 3 ] || exec sleep 25; python3 -c "print(len(bytearray(10**9)) and len(b\"x\" * 10**9))"; exit $?'
    echo "$output"
    [[ $output == *'distgpu: rank 3 on node02 failed first: it ended with status 137, out of memory (0.2 of 0.2 GiB); '* ]]
}
