#!/usr/bin/env bats
# How a step of Ray ends, whatever ends it: in how many seconds, with which status, and that nothing is
# left: processes, folders, shared memory. The table in docs/serving.md has what this prints.
# DISTGPU_PROCTRACK=cgroup: under Slurm's proctrack/cgroup, where the machine has version 1 of control groups.

load ray

proctrack=${DISTGPU_PROCTRACK:-linuxproc}

setup_file() { ray_up --conf SlurmdTimeout=10 --proctrack "$proctrack"; }

# A step whose driver waits.
start_step() { # SRUN_ARGUMENT...
    start srun "${on_each_node[@]}" "$@" --distgpu=ray "$distgpu" exec -- "${driver[@]}" 0 150
    injured
}

kill_on() { # NODE PGREP_ARGUMENT...
    local pids
    mapfile -t pids < <(pids_on "$@")
    ((${#pids[@]}))
    on "$1" kill -KILL "${pids[@]}" || true # one may end with another
    injured
}

@test "driver ends with status 7" {
    start srun "${on_each_node[@]}" --distgpu=ray "$distgpu" exec -- "${driver[@]}" 7
    injured
    ends 7 6
}

@test "driver killed" {
    start_step
    kill_on node01 -f '^python3 ray_driver.py'
    ends 137 6
}

@test "raylet killed on the second node" {
    start_step
    kill_on node02 -x raylet
    ends 1 12
    grep -q '^distgpu: ray on node02: ray ended with status' "$log"
}

@test "the cluster's store killed on the first node" {
    start_step
    kill_on node01 -x gcs_server
    ends 1 12
    grep -q '^distgpu: ray on node01: ray ended with status' "$log"
}

@test "scancel" {
    start_step
    submit scancel --user "$user"
    ends - 14
    [[ $output != *'which ends the step'* ]]
}

@test "requeue, and the second run" {
    printf '%s\n' '#!/bin/bash' '#SBATCH -N2 --ntasks-per-node=1 -c 2 --requeue --open-mode=append -o requeued' \
        "srun --distgpu=ray $distgpu exec -- ${driver[*]} 0 \$((SLURM_RESTART_COUNT ? 0 : 150))" >"$SCRATCH/job"
    job=$(submit sbatch --parsable --distgpu=ray job)
    until grep -qs '^nodes' "$SCRATCH/requeued"; do sleep 0.1; done
    on login scontrol requeue "$job"
    injured
    until [[ $(submit squeue --noheader --format=%T) == PENDING ]]; do sleep 0.1; done
    seconds=$(since_injury)
    assert_nothing_left
    echo "# $BATS_TEST_DESCRIPTION: requeued after $seconds s" >&3
    until [[ ! $(submit squeue --noheader) ]]; do sleep 0.2; done
    cat "$SCRATCH/requeued"
    [[ $(submit scontrol --oneliner show job "$job") == *' JobState=COMPLETED '*' Restarts=1 '* ]]
    [ "$(grep -cx 'nodes 2 of 2' "$SCRATCH/requeued")" -eq 2 ]
    within 14
}

@test "time limit" {
    start_step --time=1
    until grep -q 'DUE TO TIME LIMIT' "$log"; do
        kill -0 "$step"
        sleep 0.1
    done
    injured
    ends
    [ "$status" -ne 0 ]
    within 14
}

# Its process alone. What it started ends, and the folder that it leaves goes with the next step's.
kill_exec() { # NODE
    start_step
    kill_on "$1" -f "^$distgpu exec"
    ends 137 6
    grep -q "^distgpu: ray: lost the connection to $1, which ends the step\$" "$log"
    for _ in {1..50}; do
        [[ $(pids_on "$1" -u "$user") ]] || break
        sleep 0.1
    done
    [ -z "$(pids_on "$1" -u "$user")" ]
    [ "$(on "$1" ls /mnt | wc -l)" -eq 1 ]
    on "$1" sh -c 'touch -d "2 minutes ago" /mnt/ray-*/.distgpu'
    start srun "${on_each_node[@]}" --distgpu=ray "$distgpu" exec -- "${driver[@]}"
    ends 0
}
@test "distgpu exec killed on the second node" { kill_exec node02; }
@test "distgpu exec killed on the first node" { kill_exec node01; }

# A node without slurmd and all that it ran, as after a power cut.
lose() { # NODE
    local pids
    read -r pids < <(on "$1" cat "/run/distgpu-sandbox/$CLUSTER/$1/slurmd.pid")
    mapfile -t -O 1 pids < <(pids_on "$1" -x slurmstepd; pids_on "$1" -u "$user")
    on "$1" kill -KILL "${pids[@]}" || true # one may have ended since
    injured
}

# The other node is free long before srun knows of the lost one, after SlurmdTimeout (10 s here).
is_free_within() { # SECONDS NODE
    local seconds
    while [[ $(left_on "$2") ]] && ((${EPOCHREALTIME%.*} - ${from%.*} < $1)); do sleep 0.1; done
    [ -z "$(left_on "$2")" ]
    seconds=$(since_injury)
    echo "# $BATS_TEST_DESCRIPTION: nothing left on $2 after $seconds s" >&3
}

# It starts with an empty temp folder.
boot() { # NODE
    [ "$(on "$1" ls -A /mnt | wc -l)" -eq 1 ]
    on "$1" sh -c 'rm -rf /mnt/ray-*'
    "$sandbox" node --name "$CLUSTER" start "$1"
}

@test "second node lost" {
    start_step
    lose node02
    is_free_within 8 node01
    ends
    boot node02
    [ "$status" -ne 0 ]
    grep -q '^distgpu: ray: lost the connection to node02, which ends the step$' "$log"
}

@test "first node lost" {
    start_step
    lose node01
    is_free_within 8 node02
    ends
    boot node01
    [ "$status" -ne 0 ]
}

@test "network of the second node cut" {
    start_step
    "$sandbox" link --name "$CLUSTER" cut node02
    ends
    is_free_within 90 node02
    "$sandbox" link --name "$CLUSTER" restore node02
    [ "$status" -ne 0 ]
    within 75
}
