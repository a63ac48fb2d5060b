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

# One rank on each of four nodes; the status is rank 0's. Fails unless it is that.
scaling() { # [-STATUS] SRUN_ARGUMENT... -- ARGUMENT...
    local srun=() expected=''
    [[ $1 != -[0-9]* ]] || { expected=${1#-} && shift; }
    while [[ $1 != -- ]]; do
        srun+=("$1")
        shift
    done
    run submit timeout --kill-after=5 120 srun -N4 --ntasks-per-node=1 --mpi=pmix \
        --distgpu=pytorch "${srun[@]}" ./noted ./nccl-scaling "${@:2}"
    echo "$output"
    status=$(cat "$SCRATCH/status.0")
    [[ ! $expected || $status == "$expected" ]]
}

small=(--backend mpi -b 1K -e 64K -f 8 --iterations 3 --warmup 1)

# Long enough for something to happen to it.
endless() { # SRUN_ARGUMENT... -- ARGUMENT...
    scaling "$@" --backend mpi -b 64K -e 64M -i 64K --json results.json
}

# Does something to the process of a rank once the run has results.
once_running() { # SIGNAL RANK
    until_so 30 jq --exit-status '(.measurements | length) >= 3' "$SCRATCH/results.json" >/dev/null 2>&1
    on "node0$(($2 + 1))" kill "-$1" "$(cat "$SCRATCH/pid.$2")"
}

@test "a whole run on four nodes" {
    scaling -0 -- "${small[@]}" --json results.json --html results.html
    [[ $output == *"host memory; not a GPU measurement"* ]]
    [[ ${lines[-1]} =~ ^"4 nodes: all-reduce "[0-9.e-]+" GB/s at 64 KiB, "[0-9]+"% of 2 nodes; limiter: " ]]
    # 3 sizes of each form of the six collectives (6 out of place, all-reduce, all-gather and broadcast in
    # place, but no broadcast out of place: 8) on 2 and on 4 nodes; 24 rounds of two pairs.
    [ "$(measured_on nodes)" -eq $((3 * 8 * 2)) ]
    [ "$(measured_on pair)" -ge 48 ]
    [ "$(jq --compact-output .failure "$SCRATCH/results.json")" = null ]
    [ "$(jq --raw-output '[.nodes[].name] | join(",")' "$SCRATCH/results.json")" = \
        node01,node02,node03,node04 ]
    grep -q '</html>' "$SCRATCH/results.html"
}

@test "the switches above each node are those that Slurm names" {
    scaling -- "${small[@]}" --collective reduce-scatter --json results.json
    [ "$(jq --compact-output '[.nodes[].switches]' "$SCRATCH/results.json")" = '["top.s1","top.s1","top.s1","top.s1"]' ]
}

# How many measurements there are of groups of a kind.
measured_on() { # KIND
    jq --arg kind "$1" '. as $run | [.measurements[] | $run.groups[.group].kind | select(. == $kind)] | length' \
        "$SCRATCH/results.json"
}

@test "every type of the back end mpi, whose sums of 16 bits are this program's" {
    scaling -0 -- --backend mpi -b 1K -e 1K --iterations 2 --warmup 1 --type float,half,bfloat16 \
        --collective all-reduce,reduce-scatter --json results.json
    # On 2 and on 4 nodes, all-reduce also in place.
    [ "$(measured_on nodes)" -eq $((3 * 3 * 2)) ]
}

# 128 KiB take 5 ms at this rate, which the few CPUs of one machine do not blur.
@test "a node whose link has a tenth of the others' rate is the limiter, else none is" {
    local node one=(--backend mpi --collective all-reduce -b 128K -e 128K --iterations 5 --warmup 1)
    for node in node01 node02 node03 node04; do
        slow "$node" 200mbit
    done
    scaling -0 -- "${one[@]}"
    # A busy machine blurs them all the same.
    [[ ${lines[-1]} =~ "; limiter: "(none$|"undecided, because ") ]]
    slow node03 20mbit
    scaling -0 -- "${one[@]}"
    [[ ${lines[-1]} == *"; limiter: node03" ]]
}

# A quick run finds the same; the node meets the others again, with more matches than a tournament has. The
# first probe chooses the size by the slow node; on a machine with so few CPUs only a far slower one stands out.
@test "a quick run names the slow node soon, whatever its speed, and tries it again" {
    local node rate
    for node in node01 node02 node03 node04; do slow "$node" 200mbit; done
    for rate in 20mbit 2mbit; do
        slow node02 "$rate"
        SECONDS=0
        scaling -0 -- --backend mpi --quick -e 8M --json results.json
        [ "$SECONDS" -lt 180 ]
        [[ ${lines[-1]} =~ "; limiter: node02"(, paths)?$ ]]
        [[ $output =~ $'\n# after '[0-9]+" s: node02 at "[0-9.]+" % of its peers" ]]
        # A size that node02 sends in a second at most.
        [ "$(jq '.measurements[-1].bytes' "$SCRATCH/results.json")" -le $((${rate%mbit} * 125000)) ]
        # All nodes, 24 rounds of two pairs, and 8 more.
        [ "$(jq '.measurements | length' "$SCRATCH/results.json")" -eq $((1 + 24 * 2 + 8 * 2)) ]
    done
}

@test "a rank that is stopped ends the run at the time-out, one that is killed at once, by name" {
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
    rm "$SCRATCH"/{pid,status}.* "$SCRATCH/results.json"
    once_running KILL 3 &
    endless -- --timeout 60
    wait
    [ "$status" -eq 3 ]
    [[ $output == *"distgpu: nccl-scaling: "*": rank 3 on node04: has died"* ]]
    [ "$(jq --compact-output .failure.missing "$SCRATCH/results.json")" = '["rank 3 on node04"]' ]
}

@test "wrong data is found, by rank and element" {
    DISTGPU_SCALING_CORRUPT=1:7 scaling -5 -- "${small[@]}" --json results.json
    [[ $output == *": rank 1 on node02: wrong data: element 7 is "* ]]
    [ "$(jq --compact-output .failure.missing "$SCRATCH/results.json")" = '["rank 1 on node02"]' ]
}

@test "what is below the baseline ends with status 1, and is said before the verdict" {
    scaling -0 -- "${small[@]}" --collective all-reduce --json results.old
    # 3 sizes, in place and out of place, on 2 and on 4 nodes
    scaling -0 -- "${small[@]}" --collective all-reduce --baseline results.old --tolerance 100
    [[ $output == *"# baseline results.old, tolerance 100.0 %: 12 passed, 0 failed, 0 not measured"* ]]
    jq --compact-output '.measurements[].time.median /= 1000' "$SCRATCH/results.old" >"$SCRATCH/results.fast"
    scaling -1 -- "${small[@]}" --collective all-reduce --baseline results.fast --json results.json
    [ "$(jq --raw-output .judgement.outcome "$SCRATCH/results.json")" = failed ]
    [[ $output == *"# FAILED: all-reduce float, 64 KiB, 4 nodes: "* ]]
    [[ $output == *"# baseline results.fast, tolerance 5.0 %: 0 passed, 12 failed, 0 not measured"$'\n'"4 nodes: "* ]]
    run -0 "$program" diff "$SCRATCH/results.old" "$SCRATCH/results.fast"
    [[ ${lines[-1]} == *": 12 passed, 0 failed, 0 not measured" ]]
}

@test "the variables that a rank has when its back end has started are kept, and name the ports" {
    NCCL_IB_HCA='=mlx5_3:1' scaling -0 -- "${small[@]}" --collective reduce-scatter --json results.json
    [ "$(jq --raw-output '.environment[] | select(.name == "NCCL_IB_HCA").value' "$SCRATCH/results.json")" = \
        '=mlx5_3:1' ]
    [ "$(jq --compact-output '[.nodes[].rails]' "$SCRATCH/results.json")" = \
        '[["mlx5_3"],["mlx5_3"],["mlx5_3"],["mlx5_3"]]' ]
}

@test "without CUDA and without distgpu it says what is missing, and times needs neither" {
    run "$program" times 1=100 2=50 4=25
    [ "$status" -eq 0 ]
    [ "${lines[-1]}" = '4 nodes: 400% of linear (weak), 100% (strong); limiter: not measured' ]
    scaling -3 -- -b 8
    [ "$(distgpu_lines | grep -v ' failed first: ')" = "distgpu: libcuda.so.1: cannot open shared object file: No such file \
or directory; run on a node with NVIDIA's driver, or measure host memory with --backend mpi" ]
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
