#!/usr/bin/env bats
# Ray, a cluster of the step's own on its nodes and the driver on the first, by
# `srun --distgpu=ray distgpu exec --`.
# shellcheck disable=SC2154 # run and launch set output, status and seconds

load frameworks

setup_file() {
    frameworks_up --cpus 8
    cp "$root/tests/frameworks/programs/ray_driver.py" "$SCRATCH"
    # What each node has for itself: they share the machine's /tmp.
    for node in node01 node02; do on "$node" mount -t tmpfs -o mode=1777 tmpfs /mnt; done
}
teardown_file() { cluster_down; }

setup() {
    need ray
    version=$(version_of ray)
    export RAY_TMPDIR=/mnt launch_limit=170
    distgpu=$SCRATCH/distgpu
}

teardown() {
    assert_cluster_clean
    [ -z "$(rays)" ]
    [ -z "$(on node01 ls /mnt)$(on node02 ls /mnt)" ]
}

# Ray's processes, on all nodes: they are processes of this machine.
rays() { pgrep -f "$(dirname "$(dirname "$python")")/lib/.*ray/" || true; }

on_each_node=(-N2 --ntasks-per-node=1 -c 2)
driver=(python3 ray_driver.py 2)

@test "a driver's tasks run on all nodes, with the step's CPUs, and a token" {
    launch "${on_each_node[@]}" --export=ALL,RANK=3,RAY_ADDRESS=10.9.9.9:6379 --distgpu=ray \
        "$distgpu" exec -- "${driver[@]}"
    echo "$output"
    [ "$status" -eq 0 ]
    [ "$(grep -E '^(task|CPUs|token|nodes)' <<<"$output")" = "task on node01 leaked
task on node02 leaked
CPUs 2.0 2.0
token token 64
nodes 2 of 2" ]
    result ray "$version" ray '2 nodes'
}

# A step in the background, until its driver's tasks ran. Its output is in $log.
start() { # SRUN_ARGUMENT...
    log=$SCRATCH/log.$BATS_TEST_NUMBER.${1-}
    shift
    submit timeout --kill-after=5 "$launch_limit" srun "$@" >"$log" 2>&1 3>&- &
    step=$!
    for _ in {1..900}; do
        ! grep -q '^nodes' "$log" || return 0
        kill -0 "$step" 2>/dev/null || break
        sleep 0.1
    done
    cat "$log"
    return 1
}

# Waits for the step; its status, and how long it took.
ends() {
    local begin=$EPOCHREALTIME
    status=0
    wait "$step" || status=$?
    seconds=$(((${EPOCHREALTIME/[.,]/} - ${begin/[.,]/}) / 1000000))
    cat "$log"
    echo "status $status after $seconds s"
}

@test "the driver's status is the step's, soon after its end" {
    start a "${on_each_node[@]}" --distgpu=ray "$distgpu" exec -- "${driver[@]}" 7
    ends
    [ "$status" -eq 7 ]
    [ "$seconds" -le 6 ]
    [[ $(<"$log") != *'which ends the step'* ]]
}

@test "two jobs of one user at once on the same nodes, of which others see nothing" {
    start a "${on_each_node[@]}" --distgpu=ray "$distgpu" exec -- "${driver[@]}" 0 150
    first=$step first_log=$log
    start b "${on_each_node[@]}" --distgpu=ray "$distgpu" exec -- "${driver[@]}"
    ends
    [ "$status" -eq 0 ]
    address=$(sed -n 's/.*ray: 2 nodes at \([^ ]*\) after.*/\1/p' "$first_log")
    # Root is another user; its driver has no token.
    run on node01 env RAY_ADDRESS="$address" timeout 15 "$python" -c 'import ray; ray.init()'
    [ "$status" -ne 0 ]
    grep -q 'InvalidAuthToken\|Unauthenticated\|AuthenticationError' <<<"$output"
    environment=$(sed -n 's/.*for another step of the job: //p' "$first_log")
    job=$(submit squeue --noheader --format=%A)
    run submit srun --jobid="$job" --overlap -N1 -n1 -w node01 bash -c "$environment && timeout 60 ray status"
    echo "$output"
    [[ $output == *'/4.0 CPU'* ]]
    submit scancel "$job"
    wait "$first" || true
}

@test "Ray that ends on one node ends the step as a failure" {
    start a "${on_each_node[@]}" --distgpu=ray "$distgpu" exec -- "${driver[@]}" 0 100
    for pid in $(pgrep -x raylet); do
        ! tr '\0' '\n' <"/proc/$pid/environ" | grep -qx SLURMD_NODENAME=node02 || kill -KILL "$pid"
    done
    ends
    [ "$status" -eq 1 ]
    [ "$seconds" -le 12 ]
    grep -q '^distgpu: ray on node02: ray ended with status' "$log"
}

@test "scancel ends it" {
    start a "${on_each_node[@]}" --distgpu=ray "$distgpu" exec -- "${driver[@]}" 0 100
    submit scancel --user "$(submit id -un)"
    ends
    [ "$seconds" -le 14 ]
}

@test "a driver that is killed, and options of the user's own" {
    start a "${on_each_node[@]}" --distgpu=ray "$distgpu" exec --head-options=--num-cpus=1 \
        --worker-options='--num-cpus=3 --resources="{\"x\": 1}"' -- "${driver[@]}" 0 100
    grep -qx 'CPUs 1.0 3.0' "$log"
    kill -KILL "$(pgrep -f '^python3 ray_driver.py')"
    ends
    [ "$status" -eq 137 ]
    [ "$seconds" -le 6 ]
}
