#!/usr/bin/env bats
# `distgpu signal`: which processes of a step get a signal, on a cluster where Slurm's own signals
# reach only the first process of each task.

load cluster

setup_file() {
    cluster_up
    cp "$root/tests/integration/signal/signalled_ranks.py" "$SCRATCH"
}

setup() { assert_cluster_clean; }

teardown() { finish_step; }

send() { # [-STATUS] ARGUMENT...
    local expected=()
    [[ $1 != -[0-9]* ]] || { expected=("$1") && shift; }
    run "${expected[@]}" submit ./distgpu signal "$@"
    echo "$output"
}

# Starts ranks that print what they get.
begin() { # RANKS SRUN_ARGUMENT...
    begin_step 0 "${@:2}"
    until_so 20 has_printed "$1" up || { cat "$SCRATCH/log" && return 1; }
    job=$(submit squeue --noheader --format=%A | sort -n | head -1)
}

has_printed() { [ "$(grep -cs " $2$" "$SCRATCH/log")" = "$1" ]; } # COUNT WORD

# What the ranks have printed besides that they are up, once nothing more can come.
printed() {
    sleep 1
    grep -Ev '^distgpu: | up$' "$SCRATCH/log" | sort -n
}

# bats test_tags=short
@test "below a shell, where scancel's signal ends the task, each rank gets it once" {
    begin 4 -N2 -n4 --ntasks-per-node=2 --distgpu=pytorch,gpus=keep bash -c 'python3 signalled_ranks.py; exit $?'
    send -0 "$job" USR2
    [ "$output" = "step $job.0: ranks 0-3 got SIGUSR2" ]
    [ "$(printed)" = "$(printf '%s USR2\n' {0..3})" ]
    send -0 "$job.0" SIGTERM --ranks 1,3
    [ "$output" = "step $job.0: ranks 1,3 got SIGTERM" ]
    [ "$(printed | grep TERM)" = "$(printf '%s TERM\n' 1 3)" ]
    submit scancel --signal=USR2 "$job.0"
    sleep 1
    [ "$(printed | grep -c USR2)" -eq 4 ]
}

@test "below a launcher, by the ranks that it gave, and neither the launcher nor a worker" {
    begin 4 -N2 --ntasks-per-node=1 --distgpu=torchrun,nproc=2,gpus=keep python3 signalled_ranks.py --launch 2
    send -0 "$job" HUP
    [ "$output" = "step $job.0: ranks 0-3 got SIGHUP" ]
    [ "$(printed)" = "$(printf '%s HUP\n' {0..3})" ]
    send -0 "$job" USR1 --ranks 2
    [ "$(printed | grep USR1)" = '2 USR1' ]
}

@test "a rank without a handler does not get what would end it" {
    begin 3 -n3 --distgpu=pytorch,gpus=keep python3 signalled_ranks.py --deaf 1
    send -1 "$job" USR2
    [ "$output" = "step $job.0: ranks 0,2 got SIGUSR2
not sent to rank 1: it has no handler for SIGUSR2, which would end it" ]
    send -1 "$job" USR2 --ranks 1
    [ "$output" = "step $job.0: no rank got SIGUSR2
not sent to rank 1: it has no handler for SIGUSR2, which would end it" ]
    send -0 "$job" CONT
    [ "$output" = "step $job.0: ranks 0-2 got SIGCONT" ]
    send -1 "$job" TERM --ranks 0,7-9
    [ "$output" = "step $job.0: rank 0 got SIGTERM
not sent to ranks 7-9: not found" ]
    [ "$(printed)" = "$(printf '%s\n' '0 CONT' '0 TERM' '0 USR2' '2 CONT' '2 USR2')" ]
}

# The recipe of docs/reliability.md; scancel --batch signals the script as --signal=B:USR2@300 does.
@test "a batch script passes on the notice of its time limit" {
    cat >"$SCRATCH/job.sh" <<'SCRIPT'
#!/bin/bash
trap './distgpu signal "$SLURM_JOB_ID" USR2' USR2
srun --unbuffered --distgpu=torchrun,nproc=2,gpus=keep python3 signalled_ranks.py --save --launch 2 &
wait $! # until the notice
wait $! # until the ranks have saved
echo "ended with $?"
SCRIPT
    rm -f "$SCRATCH/log" # which the user could not replace
    job=$(submit sbatch --parsable -N2 --ntasks-per-node=1 --output=log job.sh)
    until_so 20 has_printed 4 up
    submit scancel --batch --signal=USR2 "$job"
    until_so 20 grep -q '^ended with 0$' "$SCRATCH/log"
    [ "$(printed | grep ' USR2$')" = "$(printf '%s USR2\n' {0..3})" ]
    grep -q '^step .*: ranks 0-3 got SIGUSR2$' "$SCRATCH/log"
}

@test "a step that distgpu did not prepare, and all components of a heterogeneous one" {
    begin 2 -n2 python3 signalled_ranks.py
    send -0 "$job" INT
    [ "$output" = "step $job.0: ranks 0-1 got SIGINT" ]
    finish_step
    begin 3 -N1 -n1 python3 signalled_ranks.py : -N1 -n2 python3 signalled_ranks.py
    send -0 "$job" INT --ranks 1-2
    [ "$output" = "step $job.0: ranks 1-2 got SIGINT" ]
}

@test "another user's step is refused, and so is what is no signal or no list" {
    begin 1 -n1 python3 signalled_ranks.py
    run -3 "$sandbox" run --name "$CLUSTER" --user daemon -- sh -c \
        "cd /tmp && exec $SCRATCH/distgpu signal $job USR2"
    [ "${lines[-1]}" = "distgpu: $job.0: only the job's owner may start steps in it; run this as that user" ]
    send -2 "$job" KILL
    [[ $output == 'distgpu: KILL: not a signal that a training can catch'* ]]
    send -2 "$job" USR2 --ranks 3-1
    [ "$output" = 'distgpu: --ranks 3-1: not a list of ranks; write it as in --ranks 0-3,8' ]
    send -3 999 USR2
    [[ $output == 'distgpu: 999: '* ]]
    [ -z "$(printed)" ]
}
