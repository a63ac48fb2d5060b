#!/usr/bin/env bats
# nccl-scaling under srun, on host memory: a whole run on four nodes, and how it ends where a
# rank is stopped, killed or has wrong data. Rank 0's own exit status counts: srun's is that of
# the tasks that Slurm killed after it.
# shellcheck disable=SC2154 # run sets output and status

load cluster

program=${DISTGPU_SCALING:-$root/build/dev/nccl_scaling/nccl-scaling}

setup_file() {
    # The nodes are one machine with few CPUs: ranks of MPI that wait must not spin there.
    export OMPI_MCA_mpi_yield_when_idle=1
    plugin_arguments+=(cpus=keep)
    cluster_up --switch 's1=node[01-04]'
    install -m 755 "$program" "${program%/*}/libnccl_scaling_mpi.so" "$SCRATCH"
    cat >"$SCRATCH/noted" <<'SCRIPT'
#!/bin/bash
# Runs a program, and notes its process id and its exit status under its rank.
"$@" &
echo $! >"pid.$RANK"
wait $!
status=$?
echo $status >"status.$RANK"
exit $status
SCRIPT
    chmod 755 "$SCRATCH/noted"
}
teardown_file() { cluster_down; }
slowed=() # nodes
teardown() {
    local node
    for node in "${slowed[@]}"; do "$sandbox" link --name "$CLUSTER" restore "$node"; done
    assert_cluster_clean
    rm -f "$SCRATCH"/{pid,status}.* "$SCRATCH"/results.*
}

slow() { # NODE RATE
    "$sandbox" link --name "$CLUSTER" slow "$1" "$2"
    slowed+=("$1")
}

# One rank on each of four nodes; the status is rank 0's.
scaling() { # SRUN_ARGUMENT... -- ARGUMENT...
    local srun=()
    while [[ $1 != -- ]]; do
        srun+=("$1")
        shift
    done
    run submit timeout --kill-after=5 120 srun -N4 --ntasks-per-node=1 --mpi=pmix \
        --distgpu=pytorch "${srun[@]}" ./noted ./nccl-scaling "${@:2}"
    echo "$output"
    status=$(cat "$SCRATCH/status.0")
}

small=(--backend mpi -b 1K -e 64K -f 8 --iterations 3 --warmup 1)

# Long enough for something to happen to it.
endless() { # SRUN_ARGUMENT... -- ARGUMENT...
    scaling "$@" --backend mpi -b 64K -e 64M -i 64K --json results.json
}

# Does something to the process of a rank once the run has results.
once_running() { # SIGNAL RANK
    local have
    for _ in {1..300}; do
        have=$(jq '.measurements | length' "$SCRATCH/results.json" 2>/dev/null) || have=0
        ((have < 3)) || break
        sleep 0.1
    done
    on "node0$(($2 + 1))" kill "-$1" "$(cat "$SCRATCH/pid.$2")"
}

@test "a whole run on four nodes" {
    scaling -- "${small[@]}" --json results.json --csv results.csv --html results.html
    [ "$status" -eq 0 ]
    [[ $output == *"host memory; not a GPU measurement"* ]]
    [[ ${lines[-1]} =~ ^"4 nodes: all-reduce "[0-9.e-]+" GB/s at 64 KiB, "[0-9]+"% of 2 nodes; limiter: " ]]
    # 3 sizes of each form of the seven collectives (7 out of place, all-reduce, all-gather,
    # broadcast and reduce in place, but no broadcast out of place: 10) on 2 and on 4 nodes;
    # 24 rounds of two pairs.
    [ "$(measured_on nodes)" -eq $((3 * 10 * 2)) ]
    [ "$(jq --compact-output .failure "$SCRATCH/results.json")" = null ]
    [ "$(jq --raw-output '[.nodes[].name] | join(",")' "$SCRATCH/results.json")" = \
        node01,node02,node03,node04 ]
    [ "$(wc -l <"$SCRATCH/results.csv")" -eq 109 ]
    grep -q '</html>' "$SCRATCH/results.html"
}

@test "switches that no variable names are asked of slurmctld" {
    local named='["top.s1","top.s1","top.s1","top.s1"]'
    switches() { jq --compact-output '[.nodes[].switches]' "$SCRATCH/results.json"; }
    scaling -- "${small[@]}" --collective reduce --json results.json
    [ "$(switches)" = "$named" ]
    scaling env -u SLURM_TOPOLOGY_ADDR -- "${small[@]}" --collective reduce --json results.json
    [ "$status" -eq 0 ]
    [ "$(switches)" = "$named" ]
    # Without scontrol they are unknown, which shows that the variable was.
    scaling env -u SLURM_TOPOLOGY_ADDR PATH=/none -- "${small[@]}" --collective reduce \
        --json results.json
    [ "$status" -eq 0 ]
    [ "$(switches)" = '["","","",""]' ]
}

# How many measurements there are of groups of a kind.
measured_on() { # KIND
    jq --arg kind "$1" '. as $run | [.measurements[] | $run.groups[.group].kind | select(. == $kind)] | length' \
        "$SCRATCH/results.json"
}

@test "the ranks by name and by switch, where both are the same" {
    scaling -- "${small[@]}" --collective all-reduce --order name,switch
    [ "$status" -eq 0 ]
    [[ $output == *"# order: ranks by switch are in the same order as by name"* ]]
}

@test "what must be asked for: gather, scatter, uneven parts and halves of all nodes" {
    scaling -- "${small[@]}" --json results.json --collective gather,scatter,all-to-all-v,bisection
    [ "$status" -eq 0 ]
    # 3 sizes on 2 and on 4 nodes.
    [ "$(measured_on nodes)" -eq $((3 * 4 * 2)) ]
}

@test "every operation that MPI has, of its own types and of those that it lacks" {
    scaling -- --backend mpi -b 1K -e 1K --iterations 2 --warmup 1 --op sum,max,min,prod \
        --type double,half,bfloat16 --collective all-reduce,reduce-scatter --json results.json
    [ "$status" -eq 0 ]
    # On 2 and on 4 nodes, all-reduce also in place.
    [ "$(measured_on nodes)" -eq $((4 * 3 * 3 * 2)) ]
    scaling -- "${small[@]}" --op avg
    [ "$status" -eq 3 ]
    [[ $output == *": --op avg: the back end has it for none of the collectives asked for; leave it out, "* ]]
}

# 128 KiB take 5 ms at this rate, which the few CPUs of one machine do not blur.
@test "a node whose link has a tenth of the others' rate is the limiter, else none is" {
    local node one=(--backend mpi --collective all-reduce -b 128K -e 128K --iterations 5 --warmup 1)
    for node in node01 node02 node03 node04; do
        slow "$node" 200mbit
    done
    scaling -- "${one[@]}"
    [ "$status" -eq 0 ]
    # A busy machine blurs them all the same, and what it slows for a moment looks like paths.
    [[ ${lines[-1]} =~ "; limiter: "(none$|paths$|"undecided, because equal measurements differ") ]]
    slow node03 20mbit
    scaling -- "${one[@]}"
    [ "$status" -eq 0 ]
    [[ ${lines[-1]} =~ "; limiter: node03"(, paths)?$ ]]
}

# A quick run finds the same; the node meets the others again, with more matches than a tournament has.
@test "a quick run names the slow node, and tries it again" {
    local node
    for node in node01 node02 node03 node04; do slow "$node" 200mbit; done
    slow node02 20mbit
    scaling -- --backend mpi --quick -e 128K --json results.json
    [ "$status" -eq 0 ]
    [[ ${lines[-1]} =~ "; limiter: node02"(, paths)?$ ]]
    # All nodes, 24 rounds of two pairs, and 8 more.
    [ "$(jq '.measurements | length' "$SCRATCH/results.json")" -eq $((1 + 24 * 2 + 8 * 2)) ]
}

@test "a rank that is stopped ends the run at the time-out, by name, with what was measured" {
    once_running STOP 2 &
    SECONDS=0
    # Slurm's own -K also ends the rank that is stopped.
    endless --kill-on-bad-exit -- --timeout 4
    wait
    [ "$status" -eq 4 ]
    [ "$SECONDS" -lt 30 ]
    assert_cluster_clean # the stopped rank is gone as well
    [[ $output == *"distgpu: nccl-scaling: "*": rank 2 on node03: no progress for 4 s"* ]]
    [ "$(jq --compact-output .failure.missing "$SCRATCH/results.json")" = '["rank 2 on node03"]' ]
    [ "$(jq '.measurements | length' "$SCRATCH/results.json")" -ge 3 ]
}

@test "a rank that is killed ends the run at once, by name, with what was measured" {
    once_running KILL 3 &
    endless -- --timeout 60
    wait
    [ "$status" -eq 3 ]
    [[ $output == *"distgpu: nccl-scaling: "*": rank 3 on node04: has died"* ]]
    [ "$(jq --compact-output .failure.missing "$SCRATCH/results.json")" = '["rank 3 on node04"]' ]
}

@test "wrong data is found, by rank and element" {
    DISTGPU_SCALING_CORRUPT=1:7 scaling -- "${small[@]}" --json results.json
    [ "$status" -eq 5 ]
    [[ $output == *": rank 1 on node02: wrong data: element 7 is "* ]]
    [ "$(jq --compact-output .failure.missing "$SCRATCH/results.json")" = '["rank 1 on node02"]' ]
}

@test "what is below its threshold ends with status 1, and is said before the verdict" {
    printf '%s\n' 'all-reduce, 64K, 4, 100000' 'all-reduce, 1G, 4, 1' >"$SCRATCH/results.limits"
    scaling -- "${small[@]}" --collective all-reduce --threshold results.limits --json results.json
    [ "$status" -eq 1 ]
    [ "$(jq --raw-output .judgement.outcome "$SCRATCH/results.json")" = failed ]
    [[ $output == *"# FAILED: all-reduce float, 64 KiB, 4 nodes: "* ]]
    [[ $output == *"# not measured: all-reduce, 1 GiB, 4 ranks"$'\n'"# thresholds results.limits: \
0 passed, 2 failed, 1 not measured"$'\n'"4 nodes: "* ]]
}

@test "an earlier run is a baseline" {
    scaling -- "${small[@]}" --collective all-reduce --json results.old
    [ "$status" -eq 0 ]
    scaling -- "${small[@]}" --collective all-reduce --baseline results.old --tolerance 100
    [ "$status" -eq 0 ]
    # 3 sizes, in place and out of place, on 2 and on 4 nodes
    [[ $output == *"# baseline results.old, tolerance 100.0 %: 12 passed, 0 failed, 0 not measured"* ]]
    jq --compact-output '.fingerprint[0].value = "another MPI"' "$SCRATCH/results.old" \
        >"$SCRATCH/results.other"
    scaling -- "${small[@]}" --collective all-reduce --baseline results.other --tolerance 100
    [ "$status" -eq 0 ]
    [[ $output == *"# results.other: library is 'another MPI' there, "* ]]
    run "$program" diff "$SCRATCH/results.old" "$SCRATCH/results.other"
    [ "$status" -eq 0 ]
    [[ $output == *"library is '"*" there, 'another MPI' here"* ]]
    [[ ${lines[-1]} == *": 12 passed, 0 failed, 0 not measured" ]]
}

@test "a file of thresholds with a wrong line is refused by that line, on every rank" {
    echo 'all-redcue, 64K, 4, 1' >"$SCRATCH/results.limits"
    scaling -- "${small[@]}" --threshold results.limits
    [ "$status" -eq 2 ]
    [[ $output == *"results.limits, line 1: 'all-redcue' is not a collective; "* ]]
}

@test "NCCL's file counts: its variables are kept with their origin, and name the ports" {
    echo 'NCCL_IB_HCA==mlx5_3:1' >"$SCRATCH/results.conf"
    NCCL_CONF_FILE=$SCRATCH/results.conf \
        scaling -- "${small[@]}" --collective reduce --json results.json
    [ "$status" -eq 0 ]
    [ "$(jq --raw-output '.environment[] | select(.name == "NCCL_IB_HCA") | .value + " " + .origin' \
        "$SCRATCH/results.json")" = "=mlx5_3:1 $SCRATCH/results.conf" ]
    [ "$(jq --compact-output '[.nodes[].rails]' "$SCRATCH/results.json")" = \
        '[["mlx5_3"],["mlx5_3"],["mlx5_3"],["mlx5_3"]]' ]
}

@test "times needs no launcher" {
    run "$program" times 1=100 2=50 4=25
    [ "$status" -eq 0 ]
    [ "${lines[-1]}" = '4 nodes: 400% of linear (weak), 100% (strong); limiter: not measured' ]
    run "$program" times 1=100
    [ "$status" -eq 2 ]
}

@test "without CUDA it says which library was not found, once" {
    scaling -- -b 8
    [ "$status" -eq 3 ]
    [ "$(distgpu_lines)" = "distgpu: libcuda.so.1: cannot open shared object file: No such file \
or directory; run on a node with NVIDIA's driver, or measure host memory with --backend mpi" ]
}

@test "without distgpu it says how to start it" {
    run submit srun -N1 ./nccl-scaling --backend mpi
    [ "$status" -eq 3 ]
    [ "$(distgpu_lines)" = 'distgpu: WORLD_SIZE: not set; start it with srun --distgpu=pytorch nccl-scaling' ]
    [[ $output == *"Exited with exit code 3"* ]]
}

@test "a rank that never comes is named at the time-out" {
    # shellcheck disable=SC2016 # the task's variable
    run submit srun -N4 --distgpu=pytorch sh -c \
        '[ "$RANK" = 2 ] || exec ./noted ./nccl-scaling --backend mpi --timeout 2'
    [ "$(cat "$SCRATCH/status.0")" -eq 4 ]
    [ "$(distgpu_lines | grep ' of 4 ')" = 'distgpu: nccl-scaling: connecting the ranks: rank 2 on node03: only 3 of 4 ranks connected within 2 s' ]
}

@test "a wrong command line ends with status 2" {
    local case
    for case in '-b 5Q' '-b 2M -e 1M' '--collective all-redcue' '--type triple' '--iterations 0' \
        '--backend gloo' '-f 1' '--timeout 0' 'surplus'; do
        # shellcheck disable=SC2086 # words
        run "$program" $case
        echo "$case: $output"
        [ "$status" -eq 2 ]
        [[ $output == "distgpu: "* ]]
    done
}
