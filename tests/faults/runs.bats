#!/usr/bin/env bats
# `distgpu run` while slurmctld, scontrol, srun, two nodes or itself fail, and when its user ends it.
# shellcheck disable=SC2034 # faults.bash reads what the tests set

load faults

setup_file() {
    faults_up --conf SlurmdTimeout=10
    # The first attempt waits for its fault, the second one ends.
    cat >"$SCRATCH/train.sh" <<'END'
echo "attempt $DISTGPU_RESTART of rank $RANK"
[ "$DISTGPU_RESTART" = 0 ] || exit 0
touch running
until [ -e fail ]; do ./doze 0.1; done
[ "$RANK" = 0 ] || exit 3
./doze 30
END
}

setup_training() { rm -f "$SCRATCH"/{running,fail,distgpu-run-*}; }

# In a job of the first nodes, with a rank on each.
in_job() { # NODES SALLOC_ARGUMENT... -- RUN_ARGUMENT...
    local options=() nodes=$1
    shift
    while [[ $1 != -- ]]; do
        options+=("$1")
        shift
    done
    job=(salloc --quiet --no-kill "-N$nodes" --ntasks-per-node=1 "${options[@]}"
        sh -c 'echo $$ >run.pid; exec ./distgpu run "$@"' run "${@:2}")
}

train=(srun --distgpu=pytorch sh train.sh)

slurmctld() { on login sh -c "kill -$1 \$(cat $(state)/login/slurmctld.pid)"; }

# Starts the job, and waits until its ranks run.
start_training() {
    setup_training
    start "${job[@]}"
    appears "$SCRATCH/running"
    injured
}

assert_second_attempt() { # RANKS
    [ "$status" -eq 0 ]
    [ "$(grep -c '^attempt 1 of rank ' <<<"$output")" -eq "$1" ]
}

@test "slurmctld stopped for a minute, while a rank fails" {
    in_job 2 -w 'node[01-02]' -- -- "${train[@]}"
    start_training
    slurmctld STOP
    touch "$SCRATCH/fail"
    resume 60 slurmctld CONT
    ended 120
    again
    assert_second_attempt 2
    row '`distgpu run`: slurmctld stopped for a minute, while a rank fails' \
        'the restart waits for slurmctld'
}

@test "a scontrol that takes 5 s" {
    printf '#!/bin/sh\nsleep 5\nexec /usr/bin/scontrol "$@"\n' >"$SCRATCH/bin/scontrol"
    chmod 755 "$SCRATCH/bin/scontrol"
    in_job 2 -w 'node[01-02]' -- -- "${train[@]}"
    job=(env "PATH=$SCRATCH/bin:$PATH" "${job[@]}")
    start_training
    touch "$SCRATCH/fail"
    ended 60
    rm "$SCRATCH/bin/scontrol"
    assert_second_attempt 2
    row '`distgpu run`: scontrol takes 5 s' 'the restart waits for it, twice, and the end once'
}

@test "srun that does not start" {
    in_job 2 -w 'node[01-02]' -- --restarts 2 -- srun -n999 true
    launch 60 "${job[@]}"
    [ "$status" -eq 1 ]
    [ "$(grep -c '^distgpu: run: srun ended with status 1; restart [12] of 2$' <<<"$output")" -eq 2 ]
    [[ $output == *'distgpu: run: srun ended with status 1; no restart is left'* ]]
    row '`distgpu run`: srun starts no step' "srun's reason, as often as there are restarts; its status"
}

@test "two nodes are lost at once" {
    in_job 3 -- --spares 2 -- "${train[@]}"
    start_training
    lose node01
    lose node02
    ended 90
    bring_back node01
    bring_back node02
    assert_second_attempt 1
    [[ $output == *'distgpu: run: lost node01, node02; restart 1 of 3 without node01, node02'* ]]
    row '`distgpu run`: two nodes lost at once, with two spares' \
        'a restart without both, after SlurmdTimeout (10 s here)'
}

@test "Ctrl-C, twice" {
    setup_training
    in_job 2 -w 'node[01-02]' -- -- srun --unbuffered --distgpu=pytorch sh train.sh
    launch 60 /usr/bin/python3 "$folder/terminal.py" --interrupt-at 'attempt 0' "${job[@]}"
    [[ $output == *'a signal asked for the end'* && $output != *'; restart '* ]]
    row '`distgpu run`: Ctrl-C, twice' 'the end of the step, and no restart'
}

@test "scancel of its job" {
    setup_training
    printf '%s\n' '#!/bin/bash' "./distgpu run -- ${train[*]}" >"$SCRATCH/job.sh"
    start sbatch --quiet --wait --output=job.log -N2 -w 'node[01-02]' --ntasks-per-node=1 job.sh
    appears "$SCRATCH/running"
    injured
    submit scancel --name job.sh
    ended 60
    cat "$SCRATCH/job.log"
    run ! grep '; restart ' "$SCRATCH/job.log"
    run ! grep 'attempt 1' "$SCRATCH/job.log"
    row '`distgpu run`: scancel of its job' 'the end of the job, and no restart'
}

@test "it is killed itself" {
    in_job 2 -w 'node[01-02]' -- -- "${train[@]}"
    start_training
    kill -KILL "$(<"$SCRATCH/run.pid")"
    ended 60
    [[ $output != *'attempt 1'* ]]
    row '`distgpu run`: it is killed by SIGKILL' 'the end of the step'
}
