#!/usr/bin/env bats
# `distgpu explain` beside steps whose wrappers, launchers and ranks change what distgpu gave them.

load cluster
load binding/cluster

setup_file() {
    binding_cluster_up --nodes 2
    cp "$root/tests/integration/"{explain/*,why/ranks.py} "$SCRATCH"
}

setup() {
    assert_cluster_clean
    # Both CPUs for each task, so that it can leave one.
    four=(-N2 --ntasks-per-node=2 --overcommit --cpu-bind=none)
    rank=(/usr/bin/python3 ranks.py wait)
}

teardown() { finish_step; }

begin() { begin_step 4 "$@"; } # SRUN_ARGUMENT...

explain() { # [-STATUS] ARGUMENT...
    local expected=()
    [[ $1 != -[0-9]* ]] || { expected=("$1") && shift; }
    run "${expected[@]}" submit ./distgpu explain "$@"
    echo "$output"
}

# The lines below the one that names these ranks.
below() { # WHO
    sed -n "/^$1:\$/,/^\([^ ]\|\$\)/{/^  /p}" <<<"$output"
}

on_node02='[ $SLURMD_NODENAME != node02 ] ||'

# bats test_tags=short
@test "a wrapper on one node and a rank that left a CPU come first" {
    two_cpus_here
    begin "${four[@]}" --distgpu=pytorch sh -c "$on_node02 export NCCL_ALGO=Tree; /usr/bin/python3 ranks.py one_cpu 1; exit"
    explain -0 "$job"
    [ "${lines[0]}" = "step $job.0: 4 ranks on 2 nodes, prepared by --distgpu=pytorch" ]
    [ "${lines[1]}" = 'rank 1 on node01:' ]
    [ "$(below 'rank 1 on node01')" = '  runs on CPU 0, and its task began on CPUs 0-1' ]
    [ "$(below 'ranks 2-3 on node02')" = '  NCCL_ALGO is Tree, and was not set when the task began' ]
    [[ $output == *'rank 0 on node01 is unchanged since it began'* ]]
    explain -0 "$job.0" --format json
    [ "$(jq -c '[.schema, .spec, [.groups[].ranks], .silent]' <<<"$output")" = \
        '["distgpu.explain/1","pytorch",[[1],[2,3],[0]],[]]' ]
    [ "$(jq -c '.ranks[1].facts | [.cpus, .cpus_then, (.launchers | length)]' <<<"$output")" = '["0","0-1",1]' ]
    # The step goes on, and nothing that looked at it is left.
    kill -0 "$step"
    [ "$(submit squeue --noheader --steps --format=%i | grep -c "^ *$job\.[0-9]*$")" = 1 ]
}

@test "a wrapper that becomes the program is known by what distgpu gave, plans, and by the others" {
    begin "${four[@]}" --distgpu=pytorch sh -c "$on_node02 export NCCL_ALGO=Tree \
        NCCL_SOCKET_IFNAME=lo LOCAL_RANK=\$((1 - LOCAL_RANK)); exec ${rank[*]}"
    explain -0 "$job"
    [ "$(below 'ranks 2-3 on node02')" = '  LOCAL_RANK is not what distgpu plans; see each rank with --rank R
  NCCL_SOCKET_IFNAME is lo, but distgpu gave =eth0
  NCCL_ALGO is Tree, but not set for other ranks' ]
    explain -0 "$job" --rank 2
    [[ $output == *'  LOCAL_RANK '*' 1 '*'distgpu plans: 0'* ]]
    [[ $output == *'  NCCL_ALGO '*' Tree '*'other ranks: not set'* ]]
}

@test "of a rank: its GPUs by address and file, as distgpu bound them" {
    begin "${four[@]}" --gres=gpu:4 --distgpu=pytorch,gpus=isolate "${rank[@]}"
    explain -0 "$job" --rank 3
    [[ ${lines[0]} == 'rank 3 on node02, local rank 1, task 3: process '*' /usr/bin/python3 ranks.py wait' ]]
    gpus=$(grep -o 'CUDA_VISIBLE_DEVICES .*' <<<"$output" | awk '{print $2}')
    [[ $gpus == *,* ]]
    for gpu in ${gpus//,/ }; do
        buses=(13 14 93 94)
        grep -qxF "  GPU $gpu, 0000:${buses[gpu]}:00.0, /dev/nvidia$gpu, Made-up" <<<"$output"
    done
    explain -3 "$job" --rank 4
    [ "$output" = "distgpu: --rank 4: no such rank was seen; see distgpu explain $job.0" ]
}

@test "a wrapper that gives every rank the same GPU, or none" {
    gave='usually a wrapper script around the program sets it'
    begin "${four[@]}" --gres=gpu:2 --distgpu=pytorch,gpus=isolate sh -c "exec env CUDA_VISIBLE_DEVICES=0 ${rank[*]}"
    explain -0 "$job"
    shares='  shares GPU 0 with 1 other rank, but the step has 2 GPUs on the node'
    [ "$(below 'ranks 1,3 on node01, node02')" = "  CUDA_VISIBLE_DEVICES is 0, but distgpu gave 1; $gave
$shares" ]
    [ "$(below 'ranks 0,2 on node01, node02')" = "$shares" ]
    [[ $output != *unchanged* ]]
    finish_step
    # The program's own list, in the order that distgpu gave to all.
    begin "${four[@]}" --gres=gpu:2 --distgpu=pytorch sh -c "$on_node02 export CUDA_VISIBLE_DEVICES=; exec ${rank[*]}"
    explain -0 "$job"
    [ "$(below 'ranks 2-3 on node02')" = "  CUDA_VISIBLE_DEVICES is empty, but distgpu gave 0,1; $gave
  sees no GPU, because CUDA_VISIBLE_DEVICES is empty, but the step has 2 GPUs on the node" ]
    [[ $output == *'ranks 0-1 on node01 are unchanged since they began'* ]]
    [[ $output =~ 'ranks 2-3'\ +node02\ .*\ none\  ]]
    [[ $output != */dev/* ]]
    finish_step
    # What distgpu left as Slurm set it.
    begin "${four[@]}" --gres=gpu:2 --distgpu=pytorch,gpus=keep sh -c "export CUDA_VISIBLE_DEVICES=1; exec ${rank[*]}"
    explain -0 "$job"
    [[ $(below 'ranks 0-3 on node01, node02') == '  CUDA_VISIBLE_DEVICES is 1, and was 0,1 when the task began'* ]]
}

@test "a wrapper that gives every rank the same HCA" {
    begin "${four[@]}" --export=ALL,UCX_NET_DEVICES=mlx5_1:1 --distgpu=pytorch sh -c \
        "export UCX_NET_DEVICES=mlx5_0:1 NCCL_IB_HCA=mlx5_0; exec ${rank[*]}"
    explain -0 "$job"
    [ "$(below 'ranks 0-3 on node01, node02')" = '  NCCL_IB_HCA is mlx5_0, and was not set when the task began
  UCX_NET_DEVICES is mlx5_0:1, and was mlx5_1:1 when the task began' ]
}

@test "ranks that have ended, and a node on which none is left" {
    begin "${four[@]}" --kill-on-bad-exit=0 --distgpu=pytorch /usr/bin/python3 ranks.py die 3
    until_so 10 grep -q Killed "$SCRATCH/log"
    explain -0 "$job"
    [ "${lines[0]}" = "step $job.0: 3 of 4 ranks on 2 nodes, prepared by --distgpu=pytorch" ]
    [ "${lines[1]}" = 'rank 3 on node02 has ended' ]
    [ "${lines[2]}" = 'ranks 0-2 on node01, node02 are unchanged since they began' ]
    explain -3 "$job" --rank 3
    [ "$output" = "distgpu: --rank 3: no process of it was seen; see distgpu explain $job.0" ]
    explain -0 "$job" --format json
    [ "$(jq -c .missing <<<"$output")" = '[{"rank":3,"node":"node02","ended":true,"how":null}]' ]
    finish_step
    begin "${four[@]}" --kill-on-bad-exit=0 --distgpu=pytorch sh -c \
        "[ \$SLURMD_NODENAME != node02 ] || { echo waits; exit 0; }; exec ${rank[*]}"
    until_so 10 on node02 sh -c '! pgrep -f "slurmstepd: \[[0-9]+\.0\]"'
    explain -0 "$job"
    [ "${lines[1]}" = 'ranks 2-3: no process of the step runs on node02' ]
}

@test "how a process ended that its launcher has not waited for" {
    begin -N2 --ntasks-per-node=1 --distgpu=torchrun,nproc=2 sh -c '
        for local in 0 1; do
            RANK=$((2 * PET_NODE_RANK + local)) WORLD_SIZE=4 /usr/bin/python3 ranks.py die 3 &
        done
        exec sleep 60'
    explain -0 "$job"
    [ "${lines[1]}" = 'rank 3: no process of it was seen' ]
    [[ ${lines[2]} =~ ^'on node02 process '[0-9]+' python3 was killed by signal 9 (SIGKILL)'$ ]]
}

@test "ranks below a launcher: what that gives them is no change, but another order is" {
    begin -N2 --ntasks-per-node=1 --distgpu=torchrun,nproc=2 ./launch.sh "${rank[@]}"
    explain -0 "$job"
    [[ $output == *'ranks 0-3 on node01, node02 are unchanged since they began'* ]]
    finish_step
    begin -N2 --ntasks-per-node=1 --distgpu=torchrun,nproc=2 ./launch.sh --reversed "${rank[@]}"
    explain -0 "$job" --rank 0
    [[ ${lines[0]} == 'rank 0 on node02, local rank 0, task 1: '* ]]
    [[ ${lines[1]} == '  started by '*'launch.sh'* ]]
    [[ $output == *'  GROUP_RANK '*' 0 '*'distgpu plans: 1'* ]]
}

@test "a step that distgpu did not prepare, and a program that lets nobody look into it" {
    begin "${four[@]}" sh -c "$on_node02 export NCCL_ALGO=Tree; exec ${rank[*]}"
    explain -0 "$job"
    [ "${lines[0]}" = "step $job.0: 4 ranks on 2 nodes, which distgpu did not prepare" ]
    [ "$(below 'ranks 2-3 on node02')" = '  NCCL_ALGO is Tree, but not set for other ranks' ]
    finish_step
    begin "${four[@]}" --distgpu=pytorch /usr/bin/python3 ranks.py forbid 1
    explain -0 "$job"
    [[ $output == *'variables cannot be read, because the program forbids it (PR_SET_DUMPABLE)'* ]]
}

@test "all components of a heterogeneous step and of a heterogeneous job, and one of them" {
    submit salloc --quiet -N2 --overcommit srun --unbuffered -N1 -n1 --distgpu=pytorch "${rank[@]}" : \
        -N1 -n3 --overcommit --distgpu=pytorch "${rank[@]}" >"$SCRATCH/log" 2>&1 3>&- &
    step=$!
    ranks_wait 4
    job=$(submit squeue --noheader --format=%i)
    explain -0 "$job.0"
    [[ ${lines[0]} == "step $job.0: 4 ranks on 2 nodes, prepared by --distgpu=pytorch" ]]
    explain -0 "$job.0+1"
    [[ ${lines[0]} == *': 3 ranks on 1 node, prepared by --distgpu=pytorch' ]]
    [[ $output == *'ranks 1-3 on node02 are unchanged since they began'* ]]
    finish_step
    printf '%s\n' '#!/bin/sh' '#SBATCH -N1 -n1 -o log' '#SBATCH hetjob' '#SBATCH -N1 -n3 --overcommit' \
        "exec srun --het-group=0,1 --overcommit --unbuffered --distgpu=pytorch ${rank[*]}" >"$SCRATCH/het.sbatch"
    rm "$SCRATCH/log"
    leader=$(submit sbatch --parsable het.sbatch)
    ranks_wait 4
    explain -0 "$((leader + 1)).0"
    [[ ${lines[0]} == "step $leader+1.0: 3 ranks on 1 node, prepared by --distgpu=pytorch" ]]
    [[ $output == *'ranks 1-3 on node'*' are unchanged since they began'* ]]
    explain "$leader"
    [[ ${lines[0]} == "step $leader.0: 4 ranks on 2 nodes, prepared by --distgpu=pytorch" ]]
    submit scancel "$leader"
}
