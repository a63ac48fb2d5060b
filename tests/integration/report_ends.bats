#!/usr/bin/env bats
# The key report where a step ends badly: what was written until then can be read, and says why.

load cluster

setup_file() {
    cluster_up --nodes 2 --conf TaskPlugin=task/cgroup --cgroup ConstrainRAMSpace=yes \
        --conf SelectTypeParameters=CR_Core_Memory --conf SlurmdTimeout=10 --conf KillWait=5
    install -m 644 "$root/tests/integration/report/loop.py" "$SCRATCH"
}
setup() {
    assert_cluster_clean
    rm -f "$SCRATCH"/r.json*
}
teardown() {
    submit scancel --quiet --user "$(submit id -un)" || true
    assert_cluster_clean
    local node
    for node in node0{1,2}; do run -1 on "$node" pgrep -x distgpu-sampler; done
}

report() { # JQ_FILTER
    "$SCRATCH/bin/distgpu" report "$SCRATCH/r.json" --format json | jq --raw-output "$1"
}

verdict() {
    run -0 "$SCRATCH/bin/distgpu" report "$SCRATCH/r.json"
    echo "$output"
    verdict=$(sed '/^ \|^$/Q' <<<"$output" | paste -sd' ')
}

# A step of two ranks on each of two nodes in the background, as $step, which began five seconds ago.
begin() { # [SRUN_ARGUMENT...] -- PROGRAM...
    local arguments=()
    while [[ $1 != -- ]]; do
        arguments+=("$1")
        shift
    done
    submit srun -N2 -n4 --ntasks-per-node=2 "${arguments[@]}" --distgpu=pytorch,report="$SCRATCH/r.json" "${@:2}" \
        >"$SCRATCH/log" 2>&1 3>&- &
    step=$!
    until_so 20 test -e "$SCRATCH/r.json.node02"
    sleep 6
    job=$(submit squeue --noheader --format=%i)
}

@test "a rank is out of memory" {
    run ! submit srun -N2 -n4 --ntasks-per-node=2 --mem=256M --distgpu=pytorch,report="$SCRATCH/r.json" python3 loop.py 60 fill
    verdict
    [[ $verdict =~ ^"no GPU; rank 3 on node02 failed first, after "[0-9]+" s: it was killed by signal 9 (SIGKILL), out of memory (0.2 of 0.2 GiB)"$ ]]
    [ "$(report '[.reports[].complete] | @text')" = '[true,true]' ]
    [ "$(report '.reports[1].ranks[1] | .rank, .memory_peak > 8e7' | xargs)" = '3 true' ]
}

@test "at the time limit" {
    run ! submit srun -N2 -n4 --ntasks-per-node=2 --time=1 --distgpu=pytorch,report="$SCRATCH/r.json" python3 loop.py 600
    verdict
    [ "$verdict" = 'no GPU; nothing else stands out' ]
    [ "$(report '[.reports[].ranks[] | select(.cpu_seconds > 5 and .status == 15)] | length')" = 4 ]
    [ "$(report 'all(.reports[]; .seconds > 50 and .complete)')" = true ]
}

# A minute later they would write anyway: any signal makes them.
write_now() {
    on_nodes pkill -USR1 -x distgpu-sampler
    until_so 10 eval '[[ $(report "[.reports[].cost.writes] | @text") == "[2,2]" ]]'
}

# With proctrack/cgroup only SIGKILL reaches the samplers.
@test "cancelled, with a program that goes on until it is killed" {
    begin -- sh -c 'trap "" TERM; exec python3 loop.py 600'
    write_now
    submit scancel "$job"
    wait "$step" || true
    assert_cluster_clean
    verdict
    [[ $verdict =~ ^("last written after "[0-9]+" s, before the step's end: ")?'no GPU; nothing else stands out'$ ]]
    [ "$(report '[.reports[].ranks[] | select(.cpu_seconds > 0.5)] | length')" = 4 ]
}

# Kills slurmd of node02, with all that it has started, as a power cut would.
lose_node() {
    on node02 sh -c 'kill -KILL $(cat "$1") $(pgrep -x slurmstepd) $(pgrep -x distgpu-sampler) \
        $(pgrep -f "loop[.]py 600")' sh "/run/distgpu-sandbox/$CLUSTER/node02/slurmd.pid" || true
}

@test "a node is lost" {
    begin -- python3 loop.py 600
    write_now
    lose_node
    wait "$step" || true
    "$sandbox" node --name "$CLUSTER" start node02
    assert_cluster_clean
    verdict
    # Slurm killed the ranks on node01.
    [[ $verdict =~ ^"last written after "[0-9]+" s, before the step's end: no GPU; nothing else stands out"$ ]]
    [ "$(report '[.reports[] | .node, .complete] | @text')" = '["node01",true,"node02",false]' ]
    [ "$(report '[.reports[1].ranks[] | .rank, .cpu_seconds > 0.5] | @text')" = '[2,true,3,true]' ]
}

# With other proctrack plugins and with scancel --full they reach all processes.
@test "signals for the program do not end the sampler, nor what reads the GPUs" {
    begin -- python3 loop.py 20
    on_nodes pkill -USR2 -f -- '--read-gpus'
    write_now
    wait "$step"
    [ "$(report 'all(.reports[]; .complete and .notes == [])')" = true ]
}

@test "a folder that is read-only: one line, and the step runs" {
    on_nodes mkdir -p /run/distgpu/fixed
    on_nodes mount -t tmpfs -o ro fixed /run/distgpu/fixed
    run -0 submit srun -N2 --distgpu=pytorch,report=/run/distgpu/fixed/r.json echo runs
    on_nodes umount /run/distgpu/fixed
    echo "$output"
    [ "$(grep -c '^runs$' <<<"$output")" -eq 2 ]
    [ "$(distgpu_lines)" = "distgpu: report=/run/distgpu/fixed/r.json.node01: Read-only file system; the step runs without a report; name a new file in a folder that you can write on all nodes, as in report=\$HOME/%j.json" ]
}
