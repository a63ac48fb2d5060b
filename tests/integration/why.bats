#!/usr/bin/env bats
# `distgpu why` beside steps of plain Python ranks, of which one does something else.
# tests/frameworks/why.bats has real frameworks.
# shellcheck disable=SC2016 # the shell inside the sandbox expands them
# shellcheck disable=SC2154 # cluster.bash sets sandbox, run sets output and status

load cluster

setup_file() {
    cluster_up
    cp "$root/tests/integration/why/ring.py" "$SCRATCH"
}

teardown_file() { cluster_down; }

setup() {
    assert_cluster_clean
    eight=(-N4 -n8 --ntasks-per-node=2 "--distgpu=pytorch,gpus=keep")
}

teardown() {
    submit scancel --quiet --user "$(submit id -un)" || true
    [[ ! ${step-} ]] || wait "$step" || true
    assert_cluster_clean
}

with_py_spy() {
    local python
    python=$("$root/tests/frameworks/environment" pyspy 3>&-) || skip "py-spy cannot be had here"
    PATH=${python%/*}:$PATH
}

# A step in the background, until all its ranks wait.
begin() { # SRUN_ARGUMENT...
    submit srun --unbuffered "$@" >"$SCRATCH/log" 2>&1 3>&- &
    step=$!
    for _ in {1..200}; do
        (($(grep -o waits "$SCRATCH/log" | wc -l) < 8)) || break
        sleep 0.1
    done
    sleep 0.5
    job=$(submit squeue --noheader --format=%i)
}

why() { # ARGUMENT...
    run submit env PATH="$PATH" ./distgpu why "$@"
    echo "$output"
}

@test "names the rank that is elsewhere, as text and as JSON" {
    with_py_spy
    begin "${eight[@]}" python3 ring.py load_batch 5
    why "$job"
    [ "$status" -eq 0 ]
    [[ ${lines[0]} =~ ^"step $job.0: 8 ranks on 4 nodes, looked at for 3."[0-9]' s'$ ]]
    found='^rank 5 on node03 is in load_batch \(ring\.py:[0-9]+\), asleep, unchanged for 3\.[0-9] s; 7 ranks are in all_reduce \(ring\.py:[0-9]+\)$'
    [[ ${lines[1]} =~ $found ]]
    why "$job.0" --repeat 1s --format json
    [ "$status" -eq 0 ]
    [ "$(jq -c '[.schema, .kind, .ranks, .missing, [.groups[].ranks]]' <<<"$output")" = \
        '["distgpu.why/1","elsewhere",8,[],[[5],[0,1,2,3,4,6,7]]]' ]
    [ "$(jq -c '[.stacks[] | .. | .ranks? | select(. == [5])] | length > 0' <<<"$output")" = true ]
    # The step goes on, and nothing that looked at it is left.
    kill -0 "$step"
    [ "$(submit squeue --noheader --steps --format=%i | grep -c "^ *$job\.[0-9]*$")" = 1 ]
}

@test "without py-spy it says how to get it, and still tells who is stopped" {
    begin "${eight[@]}" /usr/bin/python3 ring.py stop 2
    PATH=/usr/bin:/bin why "$job" --repeat 1
    [ "$status" -eq 0 ]
    [[ ${lines[1]} == 'rank 2 on node02 is stopped, by a signal such as SIGSTOP or by a debugger'* ]]
    [[ $output == *'py-spy: not found on the node; pip install py-spy, in your environment or on the nodes'* ]]
}

@test "a rank that was killed is missing" {
    begin "${eight[@]}" --kill-on-bad-exit=0 /usr/bin/python3 ring.py die 7
    why "$job" --repeat 1
    [ "$status" -eq 0 ]
    [ "${lines[1]}" = 'rank 7 on node04 has ended, while 7 ranks still run' ]
}

@test "a program that lets nobody look into it: the note says so" {
    with_py_spy
    begin "${eight[@]}" python3 ring.py forbid 1
    why "$job" --repeat 1
    [ "$status" -eq 0 ]
    [[ ${lines[1]} == 'nobody can tell where 8 ranks are; '* ]]
    [[ $output == *'stacks: the kernel lets nobody look into the program, which forbids it itself'* ]]
}

@test "from within the batch job" {
    with_py_spy
    printf '%s\n' '#!/bin/bash' "PATH=$PATH" \
        'srun --distgpu=pytorch,gpus=keep python3 ring.py load_batch 1 &' 'sleep 3' \
        './distgpu why "$SLURM_JOB_ID" --repeat 1' 'scancel --signal=KILL "$SLURM_JOB_ID.0"' >"$SCRATCH/why.sh"
    batch -N2 --ntasks-per-node=2 "$SCRATCH/why.sh"
    echo "$output"
    grep -E '^rank 1 on node01 is in load_batch .*; 3 ranks are in all_reduce' <<<"$output"
}

@test "another user's step is Slurm's to refuse" {
    begin "${eight[@]}" /usr/bin/python3 ring.py load_batch 5
    run "$sandbox" run --name "$CLUSTER" --user daemon -- sh -c \
        "cd /tmp && exec $SCRATCH/distgpu why $job --repeat 1"
    echo "$output"
    [ "$status" -eq 3 ]
    [ "${lines[-1]}" = "distgpu: $job.0: Slurm lets only the job's own user start a step in it; let that user ask" ]
}

@test "a step that does not run, what is no step, and a wrong time" {
    why 999
    [ "$status" -eq 3 ]
    [ "$output" = 'distgpu: 999: no such step runs; squeue --me --steps lists yours' ]
    why my-job
    [ "$status" -eq 3 ]
    [ "$output" = 'distgpu: my-job: not a step; write JOB or JOB.STEP, as in 4711.0' ]
    for time in 0 11m 5h x ''; do
        why 999 --repeat "$time"
        [ "$status" -eq 2 ]
        [ "$output" = "distgpu: --repeat $time: not a time of up to 10 minutes; write it as in --repeat 30s" ]
    done
}
