#!/usr/bin/env bats
# The key report: what a step did, also if it ends badly.

load cluster

setup_file() {
    cluster_up
    install -m 644 "$root/tests/integration/report/loop.py" "$SCRATCH"
}
setup() {
    assert_cluster_clean
    rm -f "$SCRATCH"/*.json*
}
teardown() {
    assert_cluster_clean
    local node
    for node in node0{1..4}; do run -1 on "$node" pgrep -x distgpu-sampler; done
}

# Of a report's file.
report() { # JQ_FILTER [FILE]
    "$SCRATCH/bin/distgpu" report "${2-$(ls "$SCRATCH"/*.json)}" --format json | jq --raw-output "$1"
}

# Of the report, or of what a node has of it.
has_report() { # JQ_FILTER
    local file
    file=$(compgen -G "$SCRATCH/*.json*" | head -n 1) && [[ $(jq "$1" "$file" 2>/dev/null) == true ]]
}

# bats test_tags=short
@test "one file of all nodes, in the step's folder, for the user alone" {
    run -0 submit srun -N2 -n4 --distgpu=pytorch,report python3 loop.py 6
    [ -z "$output" ]
    file=$(ls "$SCRATCH"/*.json*)
    [[ $file =~ /distgpu-[0-9]+\.0\.json$ ]]
    [ "$(stat --format '%a %U' "$file")" = "600 $(submit id -un)" ]
    [ "$(report '[.nodes, .tasks, (.reports | length)] | @text')" = '[2,4,2]' ]
    [ "$(report '[.reports[].ranks[] | .rank, .status] | @text')" = '[0,0,1,0,2,0,3,0]' ]
    [ "$(report 'all(.reports[]; .complete and .seconds > 5 and .seconds < 9)')" = true ]
    [ "$(report 'all(.reports[].ranks[]; .program == "python3" and .cpu_seconds > 0.1)')" = true ]
    run -0 submit "$SCRATCH/bin/distgpu" report "$(basename "$file" .json | cut -d- -f2)"
    [[ ${lines[0]} == 'no GPU; nothing else stands out' ]]
}

@test "never over another file: one line says so, and the step runs" {
    echo mine >"$SCRATCH/mine.json"
    chmod 666 "$SCRATCH/mine.json"
    run -0 submit srun -N1 --distgpu=pytorch,report=./mine.json echo runs
    echo "$output"
    [ "$(sort <<<"$output")" = "distgpu: report=$SCRATCH/mine.json: File exists; the step runs without a report; name a new file in a folder that you can write on all nodes, as in report=\$HOME/%j.json
runs" ]
    [ "$(cat "$SCRATCH/mine.json")" = mine ]
}

@test "a folder that nobody can write: one line of the whole step" {
    run -0 submit srun -N4 --distgpu=pytorch,report=/proc/%j.json true
    [ "$(distgpu_lines | wc -l)" -eq 1 ]
    [[ $output == 'distgpu: report=/proc/'*'the step runs without a report'* ]]
}

@test "a rank fails: its status, who ended first, and the others' end" {
    run submit srun -N2 -n4 --distgpu=pytorch,report python3 loop.py 60 fail
    [ "$status" -ne 0 ]
    [ "$(report '[.reports[].ranks[] | select(.rank == 1)][0].status')" = 1792 ]
    [ "$(report '[.reports[].ranks[]] | min_by(.ended).rank')" = 1 ]
    run -0 "$SCRATCH/bin/distgpu" report "$(ls "$SCRATCH"/*.json)"
    [[ ${lines[0]} == *'rank 1'* ]]
}

@test "a rank is killed" {
    submit srun -N1 -n2 --distgpu=pytorch,report,fail=wait python3 loop.py 12 >"$SCRATCH/log" 2>&1 3>&- &
    sleep 7
    on node01 pkill -KILL -o -f 'loop.py 12'
    wait $! || true
    [ "$(report '[.reports[0].ranks[].status] | sort | @text')" = '[0,9]' ]
}

@test "cancelled: what was seen until then" {
    submit srun -N2 -n4 --distgpu=pytorch,report python3 loop.py 600 >"$SCRATCH/log" 2>&1 3>&- &
    sleep 7
    submit scancel --user "$(submit id -un)"
    wait $! || true
    assert_cluster_clean
    [ "$(report '[.reports[].ranks[] | select(.cpu_seconds > 0.5)] | length' "$(report_name)")" = 4 ]
}

# Its parts may not have been merged.
report_name() { compgen -G "$SCRATCH/*.json*" | head -n 1 | sed 's/\.json.*/.json/'; }

@test "everything on the node is killed at once: the file is whole" {
    submit srun -N1 -n2 --distgpu=pytorch,report python3 loop.py 600 >"$SCRATCH/log" 2>&1 3>&- &
    until_so 20 has_report '.reports | length == 1'
    on node01 pkill -KILL -f 'distgpu-sampler|loop.py 600'
    wait $! || true
    [ "$(report '.reports[0].complete')" = false ]
}

@test "two steps at once, and an array" {
    run -0 batch -N1 -n2 --array=1-2 --wrap 'srun -n1 --exact --distgpu=pytorch,report python3 loop.py 3 & srun -n1 --exact --distgpu=pytorch,report python3 loop.py 3 & wait'
    [ "$(compgen -G "$SCRATCH/*.json" | wc -l)" -eq 4 ]
    for file in "$SCRATCH"/*.json; do
        [ "$(report '.reports[0].complete' "$file")" = true ]
        [[ $(report .job "$file") =~ ^[0-9]+_[12]$ ]]
    done
}

@test "a heterogeneous step has one report" {
    run -0 submit srun -N1 -n2 --distgpu=pytorch,report python3 loop.py 6 : -N1 -n1 python3 loop.py 6
    echo "$output"
    [ "$(report '[.reports[].ranks[] | .rank, .status] | @text')" = '[0,0,1,0,2,0]' ]
}

@test "torchrun: the ranks below the launcher, which outlives them" {
    run -0 submit srun -N2 --distgpu=torchrun,report bash -c 'RANK=$((SLURM_PROCID * 2)) python3 loop.py 8 & RANK=$((SLURM_PROCID * 2 + 1)) python3 loop.py 8 & wait; sleep 6'
    [ "$(report '[.reports[].ranks[] | .rank, .restarts] | @text')" = '[0,0,1,0,2,0,3,0]' ]
}

@test "a disk that is full: the last write stays" {
    on_nodes mkdir -p /run/distgpu/full
    on node01 mount -t tmpfs -o size=64k,mode=1777 full /run/distgpu/full
    submit srun -w node01 -N1 --distgpu=pytorch,report=/run/distgpu/full/r.json python3 loop.py 12 >"$SCRATCH/log" 2>&1 3>&- &
    until_so 10 on node01 test -s /run/distgpu/full/r.json
    on node01 sh -c 'cat /dev/zero >/run/distgpu/full/fill' 2>/dev/null || true
    wait $!
    run on node01 cat /run/distgpu/full/r.json
    on node01 umount /run/distgpu/full
    [ "$(jq .schema <<<"$output")" = '"distgpu.report/1"' ]
}

@test "the site's report=, and a user who wants none" {
    mkdir -m 1777 "$SCRATCH/site"
    mkdir "$SCRATCH/site/$(submit id -un)" && chmod 777 "$SCRATCH/site/$(submit id -un)"
    on_all sed -i "s|\$| report=$SCRATCH/site/%u/%j.%s.json|" /etc/slurm/plugstack.conf
    run -0 submit srun -N1 --distgpu=pytorch true
    run -0 submit srun -N1 --distgpu=pytorch,report=off true
    on_all sed -i 's| report=.*||' /etc/slurm/plugstack.conf
    [ "$(compgen -G "$SCRATCH/site/*/*.json" | wc -l)" -eq 1 ]
}

@test "with the task's parent, and in dry-run none" {
    run -0 submit srun -N1 -n2 --distgpu=pytorch,report,signal python3 loop.py 6
    [ "$(report '[.reports[0].ranks[] | .rank, .status] | @text')" = '[0,0,1,0]' ]
    rm "$SCRATCH"/*.json
    run -0 submit srun -N1 -n2 --distgpu=pytorch,report,dry-run true
    run ! compgen -G "$SCRATCH/*.json"
}

@test "without the program: one line" {
    mv "$SCRATCH/libexec/distgpu/distgpu-sampler" "$SCRATCH/away"
    run submit srun -N2 --distgpu=pytorch,report echo runs
    mv "$SCRATCH/away" "$SCRATCH/libexec/distgpu/distgpu-sampler"
    [ "$status" -eq 0 ]
    [ "$(grep -c '^runs$' <<<"$output")" -eq 2 ]
    [ "$(distgpu_lines)" = "distgpu: report: $SCRATCH/bin/../libexec/distgpu/distgpu-sampler on node01: cannot be started; the step runs without a report; install all files of the package distgpu" ]
}
