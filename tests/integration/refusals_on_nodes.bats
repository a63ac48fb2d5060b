#!/usr/bin/env bats
# A refusal that only the nodes can find, on 16 of them: it ends the whole step in seconds, wherever
# it is found, is told a few times at most, and does not overrun slurmctld with cancellations.

load cluster

# The plugin, but for a task_init that refuses or throws where the user says so.
refusing=${DISTGPU_REFUSING_PLUGIN:-$root/build/dev/tests/integration/spank_refuses.so}

setup_file() { plugin=$refusing cluster_up --nodes 16 --cpus 2 --conf KillOnBadExit=0; }

# A program that waits for the others for ever, and that no other test runs.
setup() { waiting=(sleep "100000${CLUSTER#test}"); }

# How often slurmctld was asked to cancel a step; sdiag lists no kind that it has never had.
cancellations() {
    local count
    count=$(submit sdiag | grep -oP 'REQUEST_CANCEL_JOB_STEP .*count:\K[0-9]+')
    echo "${count:-0}"
}

# ended SECONDS LINES CANCELLATIONS SAID COMMAND...: the step fails within so many seconds; no more
# than so many lines say SAID, and distgpu says nothing else; and no more cancellations are asked
# for. No program is left on any node.
ended() {
    local seconds=$1 most_lines=$2 most=$3 said=$4 before started
    shift 4
    before=$(cancellations)
    started=$EPOCHREALTIME
    run submit timeout 60 "$@" </dev/null
    took=$(awk -v from="$started" -v to="$EPOCHREALTIME" 'BEGIN { printf "%.1f", to - from }')
    asked=$(($(cancellations) - before))
    told=$(distgpu_lines | wc -l)
    echo "$output"
    echo "# $took s, $told lines, $asked cancellations: $BATS_TEST_DESCRIPTION" >&3
    [ "$status" -ne 0 ]
    [ "$(distgpu_lines | sort -u)" = "$said" ]
    ((told <= most_lines))
    ((asked <= most))
    awk -v took="$took" -v most="$seconds" 'BEGIN { exit !(took < most) }'
    run -1 pgrep -f "${waiting[*]}"
}

all=$(printf 'node%02d ' {1..16})
on_purpose='distgpu: task: refused on purpose'

# srun cancels a step once more when slurmctld has told it that somebody did (step_launch.c).
@test "known to srun: it tells, every node ends by itself, nobody cancels" {
    ended 10 1 0 'distgpu: --distgpu=lightning: the nodes have 1 to 2 tasks, but Lightning needs the same number on every node; use --ntasks-per-node=N' \
        srun -N16 -n17 --distgpu=lightning "${waiting[@]}"
}

# bats test_tags=short
@test "known to every node before its tasks, or to one" {
    without_plugin_on_login
    SLURM_DISTGPU=pytorhc ended 10 3 3 \
        "distgpu: SLURM_DISTGPU=pytorhc: unknown mode; did you mean 'pytorch'?" srun -N16 -n32 "${waiting[@]}"
    with_plugin_on_login
    listen node11 29700
    ended 10 1 2 \
        'distgpu: port 29700 (from port=29700) on node11: already in use; choose another with the key port=N' \
        srun -N16 -n16 --distgpu=tf,port=29700 "${waiting[@]}"
    stop_listening
}

@test "found in task_init, on one node, on all, and by an exception" {
    for host in node01 node09 node16; do
        REFUSE=$host ended 10 1 2 "$on_purpose" srun -N16 -n32 --distgpu=pytorch "${waiting[@]}"
    done
    REFUSE=$all ended 10 3 3 "$on_purpose" srun -N16 -n32 --distgpu=pytorch "${waiting[@]}"
    THROW=node05 ended 10 1 2 'distgpu: task_init: thrown on purpose; please report this' \
        srun -N16 -n32 --distgpu=pytorch "${waiting[@]}"
}

@test "with KillOnBadExit=1 nobody cancels before the word is out" {
    REFUSE=$all ended 10 3 3 "$on_purpose" srun -N16 -n32 -K1 --distgpu=pytorch "${waiting[@]}"
    REFUSE=node16 ended 10 1 3 "$on_purpose" srun -N16 -n32 -K1 --distgpu=pytorch "${waiting[@]}"
}

@test "a heterogeneous step ends whichever component refuses" {
    for host in node01 node02 node03 node04; do
        REFUSE=$host ended 10 1 5 "$on_purpose" srun --quiet --nodelist='node[01-02]' -n4 \
            --distgpu=pytorch "${waiting[@]}" : --nodelist='node[03-04]' -n4 "${waiting[@]}"
    done
}

@test "what every node warns of is told once, and is in every node's log" {
    rm "$SCRATCH/distgpu"
    run submit srun -N4 -n4 --distgpu=pytorch true
    install -m 755 "$command" "$SCRATCH/distgpu"
    [ "$status" -eq 0 ]
    [[ $(distgpu_lines) == 'distgpu: topology of node01: '*"; CPUs, GPUs and network devices stay as Slurm set them" ]]
    for node in node01 node02 node03 node04; do
        grep "distgpu: topology of $node: " "/run/distgpu-sandbox/$CLUSTER/log/slurmd-$node.log"
    done
}

@test "a program that fails by itself is not cancelled" {
    before=$(cancellations)
    run -1 submit srun -N16 -n32 --distgpu=pytorch sh -c 'exit $((SLURM_PROCID == 3))'
    [ "$(cancellations)" -eq "$before" ]
}
