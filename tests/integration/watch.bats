#!/usr/bin/env bats
# `--distgpu=MODE,watch`: the step that says itself where it hangs. `watch=1` takes its minute in one
# test; in the others the command that the plugin starts makes six seconds of `watch=2`.

load cluster
load why/py_spy

setup_file() {
    cluster_up --cpus 16
    cp "$root/tests/integration/why/ranks.py" "$SCRATCH"
    # Also which of them were started. No user may add to another's file in a folder such as /tmp.
    mkdir -m 777 "$SCRATCH/notes"
    printf '%s\n' '#!/bin/bash' "[[ \$1 != why ]] || echo \"\$*\" >>$SCRATCH/notes/asked" \
        "exec $SCRATCH/distgpu \"\${@/2m/6s}\"" >"$SCRATCH/hasty"
    chmod 755 "$SCRATCH/hasty"
    plugstack command=hasty
}

# The plugin's line on all hosts.
plugstack() { # command=FILE [ARGUMENT...]
    on_all sh -c 'echo "$1" >/etc/slurm/plugstack.conf' line \
        "required $SCRATCH/${plugin##*/} command=$SCRATCH/${1#command=} ${*:2}"
}

setup() {
    assert_cluster_clean
    : >"$SCRATCH/notes/asked" && chmod 666 "$SCRATCH/notes/asked"
    user=$(submit id -un)
    eight=(-N4 -n8 --ntasks-per-node=2 --unbuffered)
}

teardown() {
    submit scancel --quiet --user "$user" || true
    wait
    assert_cluster_clean
    assert_nothing_left
}

# Of the watch and what it starts, on any node.
assert_nothing_left() {
    local node left
    for node in node0{1..4}; do
        left=$(on "$node" pgrep -u "$user" -af 'distgpu why|py-spy|srun' || true)
        [[ ! $left ]] || { echo "left on $node: $left" >&2 && return 1; }
    done
}

# srun in the background, to $SCRATCH/log, as an ordinary user with py-spy in his PATH.
begin() { # SRUN_ARGUMENT...
    submit env PATH="$PATH" TO="${to-}" timeout --kill-after=5 150 srun "$@" >"$SCRATCH/log" 2>&1 3>&- &
    step=$!
    SECONDS=0
}

# Until the text is there.
await() { # TEXT SECONDS
    until_so "$2" grep -q "$1" "$SCRATCH/log" || { cat "$SCRATCH/log" && return 1; }
}

hang='rank 5 on node03 is in load_batch \(ranks\.py:[0-9]+\), asleep, unchanged for [0-9.]+ s; 7 ranks are in all_reduce'

@test "a minute without movement is told once, and the step goes on" {
    with_py_spy
    begin "${eight[@]}" --label --distgpu=pytorch,gpus=keep,watch=1 python3 ranks.py load_batch 5
    await 'distgpu: watch: nothing moved in 1 min' 100
    told=$SECONDS
    sleep 12
    cat "$SCRATCH/log"
    echo "# told after $told s" >&3
    ((told >= 60))
    [ "$(grep -c 'distgpu: watch:' "$SCRATCH/log")" -eq 1 ]
    [ "$(grep -cE "^0: $hang" "$SCRATCH/log")" -eq 1 ]
    kill -0 "$step"
    # It has ended, also where the step goes on.
    assert_nothing_left
    job=$(submit squeue --noheader --format=%i)
    [ "$(submit squeue --noheader --steps --format=%i | grep -c "^ *$job\.[0-9]*$")" = 1 ]
}

# bats test_tags=short
@test ":end ends the step, with the reason and a status that is not 0, also for a rank beside the watch" {
    with_py_spy
    local rank status
    # The second is where the watch's own looks make it switch.
    for rank in 5 0; do
        begin "${eight[@]}" --distgpu=pytorch,gpus=keep,watch=2:end python3 ranks.py load_batch "$rank"
        status=0
        wait "$step" || status=$?
        echo "# ended with status $status after $SECONDS s" >&3
        cat "$SCRATCH/log"
        ((status != 0 && SECONDS < 40))
        grep '^distgpu: watch: ending the step, as requested by :end$' "$SCRATCH/log"
        if ((rank == 0)); then
            grep -E '^rank 0 on node01 is in load_batch ' "$SCRATCH/log"
        else
            grep -E "^$hang" "$SCRATCH/log"
            [ "$(<"$SCRATCH/notes/asked")" = "why $(sed -n 's/^step \([0-9.]*\): .*/\1/p' "$SCRATCH/log") --watch 2m:end" ]
        fi
    done
}

# What samples of a stack do not show: a rank that gets an answer now and then, and one whose child
# computes.
@test ":end ends no step of which a rank, or a child of one, still does something" {
    with_py_spy
    local way
    for way in serve build; do
        begin "${eight[@]}" --distgpu=pytorch,gpus=keep,watch=2:end python3 ranks.py $way 0
        await waits 10
        sleep 30
        cat "$SCRATCH/log"
        kill -0 "$step"
        run -1 grep 'distgpu: watch' "$SCRATCH/log"
        submit scancel --user "$user"
        wait "$step" || true
        assert_cluster_clean
    done
}

@test ":end ends a step of which a rank only polls, but none that a signal stopped" {
    with_py_spy
    begin "${eight[@]}" --distgpu=pytorch,gpus=keep,watch=2:end python3 ranks.py poll 5
    wait "$step" || true
    cat "$SCRATCH/log"
    ((SECONDS < 40))
    grep -E '^rank 5 on node03 is in poll \(ranks\.py:[0-9]+\), polling, without progress for [0-9.]+ s; 7 ranks are in' "$SCRATCH/log"
    grep '^distgpu: watch: ending the step, as requested by :end$' "$SCRATCH/log"
    assert_cluster_clean
    begin "${eight[@]}" --distgpu=pytorch,gpus=keep,watch=2:end bash -c 'python3 ranks.py all & p=$!
        sleep 3; kill -STOP $p; echo stopped; wait'
    await stopped 15
    await 'not ending the step, because all its ranks are stopped, as by scancel --signal=STOP' 30
    kill -0 "$step"
    submit scancel --signal=KILL --user "$user"
    wait "$step" || true
}

@test "a step that moves is not told, nor one that sends, from rank 0's node or between others" {
    with_py_spy
    local to
    for to in train node01 node04; do
        if [[ $to == train ]]; then
            begin "${eight[@]}" --distgpu=pytorch,gpus=keep,watch=2:end python3 ranks.py train
        else
            begin "${eight[@]}" --distgpu=pytorch,gpus=keep,watch=2:end python3 ranks.py send 5
        fi
        await waits 10
        sleep 18
        cat "$SCRATCH/log"
        kill -0 "$step"
        run -1 grep distgpu: "$SCRATCH/log"
        submit scancel --user "$user"
        wait "$step" || true
        assert_cluster_clean
    done
}

@test "without py-spy a line says early that no hang can be seen, without the command that it cannot start" {
    PATH=/usr/bin:/bin begin -N1 -n1 --distgpu=pytorch,gpus=keep,watch=2:end /usr/bin/python3 ranks.py load_batch 0
    await 'cannot detect hangs' 5
    [ "$(grep distgpu: "$SCRATCH/log")" = 'distgpu: watch: cannot detect hangs on node01: py-spy: not found on the node; pip install py-spy, in your environment or on the nodes' ]
    sleep 14
    kill -0 "$step"
    [ "$(grep -c distgpu: "$SCRATCH/log")" -eq 1 ]
    plugstack command=nothing
    run submit srun -N2 -n4 --distgpu=pytorch,watch=2 echo runs
    plugstack command=hasty
    [ "$status" -eq 0 ]
    [ "$(grep -c "distgpu: watch=2: $SCRATCH/nothing on node01: cannot be started; the step runs without a watch" <<<"$output")" -eq 1 ]
    [ "$(grep -c '^runs$' <<<"$output")" -eq 4 ]
}

@test "where a program other than Python has neither eu-stack nor gdb, a line says so" {
    local tool
    for tool in eu-stack gdb; do
        [[ ! -e /usr/bin/$tool ]] || on node01 mount --bind /dev/null "/usr/bin/$tool"
    done
    begin -N1 -n1 -w node01 --distgpu=pytorch,gpus=keep,watch=2:end sleep 1000
    await 'watch: cannot detect hangs on node01: eu-stack and gdb: not found on the node; install elfutils there' 15
    sleep 14
    for tool in eu-stack gdb; do
        [[ ! -e /usr/bin/$tool ]] || on node01 umount "/usr/bin/$tool"
    done
    kill -0 "$step"
    [ "$(grep -c distgpu: "$SCRATCH/log")" -eq 1 ]
}

@test "the program has no child of ours, no file, and the step ends with it" {
    local watched
    for watched in watch=2 watch=off; do
        SECONDS=0
        local begun=$EPOCHREALTIME
        run submit srun -N2 -n4 --distgpu=pytorch,$watched python3 -c 'import os, time
try: print(os.waitpid(-1, os.WNOHANG))
except ChildProcessError: print("no child", sorted(int(fd) for fd in os.listdir("/proc/self/fd"))[:3])
time.sleep(1)'
        echo "# $watched: $(awk -v a="$begun" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.2f", b - a }') s" >&3
        [ "$status" -eq 0 ]
        [ "$(grep -c '^no child \[0, 1, 2\]$' <<<"$output")" -eq 4 ]
        ((SECONDS < 5))
        assert_nothing_left
    done
    [ "$(grep -c . "$SCRATCH/notes/asked")" -eq 1 ]
}

@test "a program may send signals to its group, and Slurm to the step; the watch ends with the task" {
    begin -N1 -n1 --distgpu=pytorch,watch=2 bash -c 'trap : USR1 TERM; kill -TERM 0; echo waits; sleep 60 & wait; kill $!; exit 3'
    await waits 10
    until_so 5 on node01 pgrep -f 'why .* --watch'
    job=$(submit squeue --noheader --format=%i)
    submit scancel --signal=USR1 "$job.0"
    wait "$step" || status=$?
    [ "$status" -eq 3 ]
}

@test "a watch that a signal stopped does not hold the step" {
    begin -N1 -n1 --distgpu=pytorch,watch=2 bash -c 'echo waits; sleep 4'
    await waits 10
    until_so 3 on node01 pgrep -o -f 'why .* --watch'
    on node01 kill -STOP "$(on node01 pgrep -o -f 'why .* --watch')"
    wait "$step"
    ((SECONDS < 15))
    assert_nothing_left
}

@test "every task with the key lets others look into it, and none without" {
    local key traces=/tmp/distgpu-watch-traces$$ tracer
    mkdir "$traces"
    for key in watch watch=2 watch=off check=off; do
        on node01 strace --follow-forks --trace=prctl --output="$traces/$key" \
            --attach="$(<"/run/distgpu-sandbox/$CLUSTER/node01/slurmd.pid")" 2>"$traces/strace" 3>&- &
        until grep -qs attached "$traces/strace"; do sleep 0.1; done
        run submit srun -N1 -n3 --distgpu=pytorch,$key true
        assert_cluster_clean
        tracer=$(on node01 sed -n 's/^TracerPid:\t//p' "/proc/$(<"/run/distgpu-sandbox/$CLUSTER/node01/slurmd.pid")/status")
        on node01 kill "$tracer"
        wait
        rm "$traces/strace"
        [ "$status" -eq 0 ]
    done
    grep PR_SET_PTRACER "$traces"/*
    [ "$(grep -c 'prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY' "$traces/watch")" -eq 3 ]
    [ "$(grep -c 'prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY' "$traces/watch=2")" -eq 3 ]
    run -1 grep PR_SET_PTRACER "$traces/watch=off" "$traces/check=off"
    # And a process is started for minutes alone, once.
    [ "$(<"$SCRATCH/notes/asked")" = "$(grep 2m "$SCRATCH/notes/asked")" ]
    rm -r "$traces"
}

@test "why shows what NCCL says, by a stand-in for it, and which files torch wrote" {
    begin -N2 -n4 --unbuffered --distgpu=pytorch,watch /usr/bin/python3 ranks.py offer
    ranks_wait 4
    sleep 0.5
    job=$(submit squeue --noheader --format=%i)
    run -0 submit ./distgpu why "$job" --repeat 1
    [[ $output == *$'\nNCCL status of the job:\n  3 ranks are missing\n'* ]]
    [[ $output == *"torch's flight recorder wrote 4 files: torchfrtrace $SCRATCH/ --prefix distgpu-$job.0-rank_"* ]]
    run submit ./distgpu why "$job" --repeat 1 --format json
    [ "$(jq -c '[.nccl, (.records | length)]' <<<"$output")" = '["3 ranks are missing\n",4]' ]
}

@test "what the site asks for, what it cannot be, and what a user takes back" {
    plugstack command=hasty watch=2
    run submit srun -n2 --distgpu=pytorch true
    [ "$(wc -l <"$SCRATCH/notes/asked")" -eq 1 ]
    run submit srun -n2 --distgpu=pytorch,watch=off true
    run submit srun -n1 --distgpu=vllm sleep 0
    # Components are watched by nobody.
    run -0 submit srun --quiet -w node01 -n1 --distgpu=pytorch sleep 2 : -w node02 -n1 sleep 2
    plugstack command=hasty
    [ "$(wc -l <"$SCRATCH/notes/asked")" -eq 1 ]
    run ! submit srun --quiet -w node01 -n1 --distgpu=pytorch,watch=2 true : -w node02 -n1 true
    [[ $output == *'distgpu: watch=2: not supported in a heterogeneous step; write watch alone'* ]]
    [ "$(wc -l <"$SCRATCH/notes/asked")" -eq 1 ]
    run submit srun -n1 --distgpu=vllm,watch=2 true
    [[ $output == *'distgpu: watch=2: vllm may be idle for that long; write watch without minutes, and run distgpu why yourself'* ]]
}

@test "per-node launchers, --pty and distgpu exec are watched too" {
    run -0 submit srun -N2 --ntasks-per-node=1 --distgpu=torchrun,nproc=2,watch=2 sleep 1
    run -0 submit script --quiet --return --command \
        "srun -n1 --pty --distgpu=pytorch,watch=2 bash -c 'sleep 1; echo ends'" /dev/null
    [[ $output == *ends* ]]
    [ "$(wc -l <"$SCRATCH/notes/asked")" -eq 2 ]
    with_py_spy
    begin -N2 -n4 "$SCRATCH/distgpu" exec pytorch,gpus=keep,watch=2 -- python3 ranks.py load_batch 1
    await waits 10
    until_so 5 on node01 pgrep -f 'why .* --watch 2m'
}
