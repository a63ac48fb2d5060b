#!/usr/bin/env bats
# `distgpu why` beside steps of plain Python ranks, of which one does something else.
# tests/frameworks/why.bats has real frameworks.

load cluster
load why/py_spy

setup_file() {
    cluster_up
    cp "$root/tests/integration/why/"{ranks,hostile}.py "$SCRATCH"
}

setup() {
    assert_cluster_clean
    eight=(-N4 -n8 --ntasks-per-node=2 "--distgpu=pytorch,gpus=keep")
}

teardown() { finish_step; }

begin() { # SRUN_ARGUMENT...
    begin_step 8 "$@"
    sleep 0.5
}

browse() { # PAGE
    TMPDIR=$BATS_TEST_TMPDIR run -0 python3 "$root/tests/integration/scaling_page/open_page.py" --judge chromium "$1"
}

why() { # [-STATUS] ARGUMENT...
    local expected=()
    [[ $1 != -[0-9]* ]] || { expected=("$1") && shift; }
    run "${expected[@]}" submit env PATH="$PATH" ./distgpu why "$@"
    echo "$output"
}

# bats test_tags=short
@test "names the rank that is elsewhere, as text and as JSON" {
    with_py_spy
    begin "${eight[@]}" python3 ranks.py load_batch 5
    why -0 "$job"
    # These ranks have no connections that could tell since when they have been silent.
    [[ ${lines[0]} =~ ^"step $job.0: 8 ranks on 4 nodes, sampled for "([789]|1[0-9])\.[0-9]' s'$ ]]
    found='^rank 5 on node03 is in load_batch \(ranks\.py:[0-9]+\), asleep, unchanged for ([789]|1[0-9])\.[0-9] s; 7 ranks are in all_reduce \(ranks\.py:[0-9]+\)$'
    [[ ${lines[1]} =~ $found ]]
    why -0 "$job.0" --repeat 1s --format json
    [ "$(jq -c '[.schema, .kind, .ranks, .missing, [.groups[].ranks]]' <<<"$output")" = \
        '["distgpu.why/1","elsewhere",8,[],[[5],[0,1,2,3,4,6,7]]]' ]
    [ "$(jq -c '[.stacks[] | .. | .ranks? | select(. == [5])] | length > 0' <<<"$output")" = true ]
    # The step goes on, and nothing that looked at it is left.
    kill -0 "$step"
    [ "$(submit squeue --noheader --steps --format=%i | grep -c "^ *$job\.[0-9]*$")" = 1 ]
}

# In windows of 1280 and 390 pixels, light and dark; also who is near the odd rank.
@test "a page fits into the browser and can be read" {
    with_py_spy
    begin "${eight[@]}" python3 ranks.py load_batch 5
    why -0 "$job" --repeat 1 --html page.html
    [ -z "$output" ]
    grep -q '<p class="finding">rank 5 on node03 is in load_batch' "$SCRATCH/page.html"
    browse "$SCRATCH/page.html"
    [ "${lines[0]}" = 'page.html 0 0 0 0 0 0 fits wrong tips: none requests: none errors: none' ]
    [[ ${lines[1]} =~ ^judged\ ([0-9]+)\ pale\ 0\ wide\ 0\ active\ 0\ branches\ ([0-9]+)\  ]]
    ((BASH_REMATCH[1] > 100 && BASH_REMATCH[2] >= 4 * 3))
    # Else none of this could fail.
    sed 's/--faint:#5a6472/--faint:#9aa4b2;width:500px/; s|</body>|<img src="http://127.0.0.1:9/x.png"></body>|' \
        "$SCRATCH/page.html" >"$SCRATCH/faulty.html"
    browse "$SCRATCH/faulty.html"
    [[ ${lines[0]} == *' wide '*'errors: '*'Content Security Policy'* ]]
    [[ ${lines[1]} =~ pale\ [1-9].*\ wide\ [1-9].*\ active\ [1-9] ]]
    why -3 "$job" --html /no/folder/page.html
}

@test "names that are markup are text on the page" {
    with_py_spy
    begin "${eight[@]}" python3 -c "$(cat "$SCRATCH/hostile.py")" '<script>alert(3)</script>'
    why -0 "$job" --repeat 1 --html page.html
    grep -qF '&lt;img src=//127.0.0.1:9/x onerror=alert(1)&gt;' "$SCRATCH/page.html"
    browse "$SCRATCH/page.html"
    [ "${lines[0]}" = 'page.html 0 0 0 0 0 0 fits wrong tips: none requests: none errors: none' ]
    [[ ${lines[1]} =~ \ wide\ 0\ active\ 0\ branches ]]
}

# As below a parent that waits for another of them first.
@test "tells how a process ended that nobody waited for" {
    begin -N4 --ntasks-per-node=1 --distgpu=torchrun,nproc=2 sh -c '
        for local in 0 1; do
            RANK=$((2 * PET_NODE_RANK + local)) WORLD_SIZE=8 /usr/bin/python3 ranks.py die 7 &
        done
        exec sleep 60'
    why -0 "$job" --repeat 1
    [ "${lines[1]}" = 'rank 7 has ended, while 7 ranks still run' ]
    [[ $output =~ '  on node04 process '[0-9]+' python3 was killed by signal 9 (SIGKILL)' ]]
    why "$job" --repeat 1 --format json
    [ "$(jq -c '[.ended[] | .node, .name, .how]' <<<"$output")" = \
        '["node04","python3","was killed by signal 9 (SIGKILL)"]' ]
}

@test "of the odd rank: its launcher, its children and with whom it is connected" {
    with_py_spy
    begin "${eight[@]}" bash -c 'python3 ranks.py connect 6; exit'
    why -0 "$job" --repeat 1
    [[ $output == *'  rank 6 on node04: process '*' python3 ranks.py connect 6'* ]]
    [[ $output =~ '    started by '[0-9]+' '(/usr/bin/|/bin/)?'bash -c python3 ranks.py connect 6; exit' ]]
    [[ $output =~ '    has started '[0-9]+' sleep (S)' ]]
    [[ $output =~ '    connected to 127.0.0.1:'[0-9]+' (7 bytes unread)' ]]
    why "$job" --repeat 1 --format json
    [ "$(jq -c '[.details[0] | .rank, .state, (.connections | map(.unread) | max), (.children | length)]' \
        <<<"$output")" = '[6,"S",7,1]' ]
}

@test "distgpu exec, which polls, and what tells it of signals are not taken for its program" {
    with_py_spy
    printf '#!/bin/sh\necho waits waits\nexec sleep 1000\n' >"$SCRATCH/vllm"
    chmod 755 "$SCRATCH/vllm"
    begin -N4 --ntasks-per-node=1 --distgpu=vllm,gpus=keep ./distgpu exec -- ./vllm serve m
    [ "$(on node01 pgrep -c distgpu-signals)" -ge 1 ]
    why "$job" --repeat 1
    [[ $output != *distgpu-signals* ]]
    why -0 "$job" --repeat 1s --format json
    [ "$(jq -c '[.ranks, [.groups[] | [.ranks, .moved]]]' <<<"$output")" = '[4,[[[0,1,2,3],false]]]' ]
    [ "$(jq -c '[.details[].command] | unique' <<<"$output")" = '["sleep 1000"]' ]
    [[ $(jq -c '[.details[].launchers[]]' <<<"$output") == *'distgpu exec -- ./vllm serve m'* ]]
    run -0 submit ./distgpu explain "$job" --format json
    [ "$(jq -c '[.. | .command? // empty] | unique' <<<"$output")" = '["sleep 1000"]' ]
}

@test "without py-spy it says how to get it, and still tells who is stopped" {
    begin "${eight[@]}" /usr/bin/python3 ranks.py stop 2
    PATH=/usr/bin:/bin why -0 "$job" --repeat 1
    [[ ${lines[1]} == 'rank 2 on node02 is stopped, by a signal such as SIGSTOP or by a debugger'* ]]
    [[ $output == *'py-spy: not found on the node; pip install py-spy, in your environment or on the nodes'* ]]
}

# Programs called py-spy, eu-stack and gdb, wherever a process that is looked at could name a folder.
set_traps() {
    local folder tool
    mkdir -p "$SCRATCH/trap/bin"
    mkdir -m 1777 "$SCRATCH/open"
    for folder in trap trap/bin open; do
        for tool in py-spy eu-stack gdb; do
            printf '%s\n' '#!/bin/sh' "echo \"\$0 as \$(id -u)\" >>$SCRATCH/caught" >"$SCRATCH/$folder/$tool"
        done
        chmod 755 "$SCRATCH/$folder"/*
    done
    install -m 755 "$(readlink -f /usr/bin/python3)" "$SCRATCH/open/python3"
    : >"$SCRATCH/caught" && chmod 666 "$SCRATCH/caught"
}

@test "runs no program that a looked-at process names, and looks at no other user's" {
    set_traps
    local way
    for way in "exec -a $SCRATCH/trap/python3 /usr/bin/python3" "$SCRATCH/open/python3" \
        "exec -a $SCRATCH/trap/sleep /bin/sleep 600 #"; do
        begin "${eight[@]}" bash -c "echo waits; export PATH=$SCRATCH/trap:/proc/\$\$/root$SCRATCH/trap \
            VIRTUAL_ENV=$SCRATCH/trap; $way ranks.py load_batch 5"
        PATH=/usr/sbin:/sbin:/usr/bin:/bin why -0 "$job" --repeat 1
        [ "$(<"$SCRATCH/caught")" = "" ]
        for command in 'why --node --repeat 1' 'explain --node'; do
            # shellcheck disable=SC2086 # words
            run -3 on node03 env PATH="$SCRATCH/trap:$PATH" "$SCRATCH/distgpu" $command "$job.0"
            [ "$output" = "distgpu: step $job.0: its tasks on this node belong to user $(submit id -u), and this is user 0; run this as the user who started it" ]
            [ "$(<"$SCRATCH/caught")" = "" ]
        done
        finish_step
    done
}

@test "takes the tools beside the program of an environment" {
    local name
    with_py_spy
    name=$(dirname "$(command -v py-spy)")
    install -d "$SCRATCH/conda/bin"
    install -m 755 "$(readlink -f /usr/bin/python3)" "$SCRATCH/conda/bin/python3"
    printf '%s\n' '#!/bin/sh' "exec $name/py-spy \"\$@\"" >"$SCRATCH/conda/bin/py-spy"
    chmod 755 "$SCRATCH/conda/bin/py-spy"
    PATH=/usr/bin:/bin begin "${eight[@]}" "$SCRATCH/conda/bin/python3" ranks.py load_batch 5
    PATH=/usr/bin:/bin why "$job" --repeat 1
    [[ ${lines[1]} == 'rank 5 on node03 is in load_batch (ranks.py:'* ]]
}

@test "finds the processes where slurmd does not list them" {
    with_py_spy
    mkdir "$SCRATCH/away"
    # shellcheck disable=SC2016 # the parameters of that script
    printf '%s\n' '#!/bin/sh' '[ "$1" != listpids ] || exec sleep 60' \
        "exec $(command -v scontrol) \"\$@\"" >"$SCRATCH/away/scontrol"
    chmod 755 "$SCRATCH/away/scontrol"
    begin "${eight[@]}" python3 ranks.py load_batch 5
    PATH=$SCRATCH/away:$PATH why "$job" --repeat 1
    [[ ${lines[1]} == 'rank 5 on node03 is in load_batch (ranks.py:'* ]]
    [[ $output == *"scontrol listpids $job node0"[1-4]': no answer within 5 s'* ]]
}

@test "a rank that was killed is missing, and a program may let nobody look into it" {
    begin "${eight[@]}" --kill-on-bad-exit=0 /usr/bin/python3 ranks.py die 7
    why -0 "$job" --repeat 1
    [ "${lines[1]}" = 'rank 7 on node04 has ended, while 7 ranks still run' ]
    finish_step
    with_py_spy
    begin "${eight[@]}" python3 ranks.py forbid 1
    why -0 "$job" --repeat 1
    [[ ${lines[1]} == 'cannot tell where 8 ranks are; '* ]]
    [[ $output == *'stacks: the program does not allow other processes to trace it'* ]]
}

@test "from within the batch job" {
    with_py_spy
    printf '%s\n' '#!/bin/bash' "PATH=$PATH" \
        'srun --distgpu=pytorch,gpus=keep python3 ranks.py load_batch 1 &' 'sleep 3' \
        './distgpu why "$SLURM_JOB_ID" --repeat 1' 'scancel --signal=KILL "$SLURM_JOB_ID.0"' >"$SCRATCH/why.sh"
    batch -N2 --ntasks-per-node=2 "$SCRATCH/why.sh"
    grep -E '^rank 1 on node01 is in load_batch .*; 3 ranks are in all_reduce' <<<"$output"
}

@test "another user's step is Slurm's to refuse; what is no step, and a wrong time" {
    begin "${eight[@]}" /usr/bin/python3 ranks.py load_batch 5
    run -3 "$sandbox" run --name "$CLUSTER" --user daemon -- sh -c \
        "cd /tmp && exec $SCRATCH/distgpu why $job --repeat 1"
    [ "${lines[-1]}" = "distgpu: $job.0: only the job's owner may start steps in it; run this as that user" ]
    why -3 999
    [ "$output" = 'distgpu: 999: no job 999 is known to Slurm; squeue --me lists yours' ]
    why -2 999 --repeat 11m
    [ "$output" = 'distgpu: --repeat 11m: not a time of up to 10 minutes; write it as in --repeat 30s' ]
    for time in 30 86401s 30m:stop :end 30m:end:end; do
        why -2 999 --watch="$time"
        [ "$output" = "distgpu: --watch $time: not a time of up to a day; write it as in --watch 30m or --watch 30m:end" ]
    done
}
