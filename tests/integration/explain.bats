#!/usr/bin/env bats
# `distgpu explain` beside steps whose wrappers, launchers and ranks change what distgpu gave them.
# shellcheck disable=SC2016 # the shell inside the sandbox expands them
# shellcheck disable=SC2154 # cluster.bash sets sandbox, run sets output and status

load cluster
load binding/cluster

setup_file() {
    binding_cluster_up --nodes 2
    cp "$root/tests/integration/explain/"* "$root/tests/integration/why/ring.py" "$SCRATCH"
}

teardown_file() { cluster_down; }

setup() {
    assert_cluster_clean
    # Both CPUs for each task, so that it can leave one.
    four=(-N2 --ntasks-per-node=2 --overcommit --cpu-bind=none)
    rank=(/usr/bin/python3 rank.py)
}

teardown() {
    submit scancel --quiet --user "$(submit id -un)" || true
    [[ ! ${step-} ]] || wait "$step" || true
    assert_cluster_clean
}

# A step in the background, until all its ranks wait.
begin() { # SRUN_ARGUMENT...
    submit srun --unbuffered "$@" >"$SCRATCH/log" 2>&1 3>&- &
    step=$!
    until_all_wait
}

until_all_wait() {
    for _ in {1..200}; do
        (($(grep -os waits "$SCRATCH/log" | wc -l) < 4)) || break
        sleep 0.1
    done
    job=$(submit squeue --noheader --format=%i)
}

explain() { # ARGUMENT...
    run submit ./distgpu explain "$@"
    echo "$output"
}

# The lines below the one that names these ranks.
below() { # WHO
    sed -n "/^$1:\$/,/^[^ ]/{/^  /p}" <<<"$output"
}

on_node02='[ $SLURMD_NODENAME != node02 ] ||'

@test "a wrapper on one node and a rank that left a CPU come first" {
    two_cpus_here
    begin "${four[@]}" --distgpu=pytorch sh -c "$on_node02 export NCCL_ALGO=Tree; ${rank[*]} 1; exit"
    explain "$job"
    [ "$status" -eq 0 ]
    [ "${lines[0]}" = "step $job.0: 4 ranks on 2 nodes, prepared by --distgpu=pytorch" ]
    [ "${lines[1]}" = 'rank 1 on node01:' ]
    [ "$(below 'rank 1 on node01')" = '  runs on CPU 0, and its task began on CPUs 0-1' ]
    [ "$(below 'ranks 2-3 on node02')" = '  NCCL_ALGO is Tree, and was not set when the task began' ]
    [[ $output == *'rank 0 on node01 has what it began with'* ]]
    explain "$job.0" --format json
    [ "$status" -eq 0 ]
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
    explain "$job"
    [ "$status" -eq 0 ]
    [ "$(below 'ranks 2-3 on node02')" = '  LOCAL_RANK is not what distgpu plans; --rank R tells each
  NCCL_SOCKET_IFNAME is lo, but distgpu gave =eth0
  NCCL_ALGO is Tree, but not set for other ranks' ]
    explain "$job" --rank 2
    [ "$status" -eq 0 ]
    [[ $output == *'  LOCAL_RANK '*' 1 '*'distgpu plans: 0'* ]]
    [[ $output == *'  NCCL_ALGO '*' Tree '*'other ranks: not set'* ]]
}

@test "of a rank: its GPUs by address and file, as distgpu bound them" {
    begin "${four[@]}" --gres=gpu:4 --distgpu=pytorch,gpus=isolate "${rank[@]}"
    explain "$job" --rank 3
    [ "$status" -eq 0 ]
    [[ ${lines[0]} == 'rank 3 on node02, local rank 1, task 3: process '*' /usr/bin/python3 rank.py' ]]
    gpus=$(grep -o 'CUDA_VISIBLE_DEVICES .*' <<<"$output" | awk '{print $2}')
    [[ $gpus == *,* ]]
    for gpu in ${gpus//,/ }; do
        buses=(13 14 93 94)
        grep -qxF "  GPU $gpu, 0000:${buses[gpu]}:00.0, /dev/nvidia$gpu, Made-up" <<<"$output"
    done
    explain "$job" --rank 4
    [ "$status" -eq 3 ]
    [ "$output" = "distgpu: --rank 4: no such rank was seen; see distgpu explain $job.0" ]
}

@test "ranks below a launcher: what that gives them is no change, but another order is" {
    begin -N2 --ntasks-per-node=1 --distgpu=torchrun,nproc=2 ./launch.sh "${rank[@]}"
    explain "$job"
    [ "$status" -eq 0 ]
    [[ $output == *'ranks 0-3 on node01, node02 have what they began with'* ]]
    submit scancel "$job"
    wait "$step" || true
    assert_cluster_clean
    begin -N2 --ntasks-per-node=1 --distgpu=torchrun,nproc=2 ./launch.sh --reversed "${rank[@]}"
    explain "$job" --rank 0
    [ "$status" -eq 0 ]
    [[ ${lines[0]} == 'rank 0 on node02, local rank 0, task 1: '* ]]
    [[ ${lines[1]} == '  started by '*'launch.sh'* ]]
    [[ $output == *'  GROUP_RANK '*' 0 '*'distgpu plans: 1'* ]]
}

@test "a step that distgpu did not prepare" {
    begin "${four[@]}" sh -c "$on_node02 export NCCL_ALGO=Tree; exec ${rank[*]}"
    explain "$job"
    [ "$status" -eq 0 ]
    [ "${lines[0]}" = "step $job.0: 4 ranks on 2 nodes, which distgpu did not prepare" ]
    [ "$(below 'ranks 2-3 on node02')" = '  NCCL_ALGO is Tree, but not set for other ranks' ]
}

@test "a component of a heterogeneous step" {
    submit salloc --quiet -N2 --overcommit srun --unbuffered -N1 -n1 --distgpu=pytorch "${rank[@]}" : \
        -N1 -n3 --overcommit --distgpu=pytorch "${rank[@]}" >"$SCRATCH/log" 2>&1 3>&- &
    step=$!
    until_all_wait
    explain "$job.0"
    [ "$status" -ne 0 ]
    [[ $output == *"2 steps of it run; name one of them: $job.0+0, $job.0+1" ]]
    explain "$job.0+1"
    [ "$status" -eq 0 ]
    [[ ${lines[0]} == *': 3 ranks on 1 node, prepared by --distgpu=pytorch' ]]
    [[ $output == *'ranks 1-3 on node02 have what they began with'* ]]
}

@test "a component of a heterogeneous job" {
    printf '%s\n' '#!/bin/sh' '#SBATCH -N1 -n1 -o log' '#SBATCH hetjob' '#SBATCH -N1 -n3 --overcommit' \
        "exec srun --het-group=0,1 --overcommit --unbuffered --distgpu=pytorch ${rank[*]}" >"$SCRATCH/het.sbatch"
    rm "$SCRATCH/log"
    leader=$(submit sbatch --parsable het.sbatch)
    until_all_wait
    explain "$((leader + 1)).0"
    [ "$status" -eq 0 ]
    [[ ${lines[0]} == "step $((leader + 1)).0: 3 ranks on 1 node, prepared by --distgpu=pytorch" ]]
    [[ $output == *'ranks 1-3 on node'*' have what they began with'* ]]
    explain "$leader"
    [[ ${lines[0]} == "step $leader.0: 1 rank on 1 node, prepared by --distgpu=pytorch" ]]
    submit scancel "$leader"
}

@test "a program that lets nobody look into it: the note says so" {
    begin "${four[@]}" --distgpu=pytorch /usr/bin/python3 ring.py forbid 1
    explain "$job"
    [ "$status" -eq 0 ]
    [[ $output == *'the kernel shows nobody the variables of a program that forbids it (PR_SET_DUMPABLE)'* ]]
}

@test "another user's step is Slurm's to refuse" {
    begin "${four[@]}" --distgpu=pytorch "${rank[@]}"
    run "$sandbox" run --name "$CLUSTER" --user daemon -- sh -c \
        "cd /tmp && exec $SCRATCH/distgpu explain $job"
    echo "$output"
    [ "$status" -eq 3 ]
    [ "${lines[-1]}" = "distgpu: $job.0: Slurm lets only the job's own user start a step in it; let that user ask" ]
}

@test "a step that does not run" {
    explain 999
    [ "$status" -eq 3 ]
    [ "$output" = 'distgpu: 999: no such step runs; squeue --me --steps lists yours' ]
}
