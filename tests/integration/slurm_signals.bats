#!/usr/bin/env bats
# The key signal: what Slurm sends to a step reaches each rank that catches it once, below whatever
# started it, whichever processes of a step Slurm signals; and the task ends as its program did.

load cluster

setup() { cp "$BATS_TEST_DIRNAME/signal/signalled_ranks.py" "$BATS_TEST_TMPDIR"; }
teardown() { cluster_down; }

raise() { # SANDBOX_ARGUMENT...
    cluster_up --nodes 2 "$@"
    install -m 644 "$BATS_TEST_TMPDIR/signalled_ranks.py" "$SCRATCH"
}

# Starts ranks that print what they get.
begin() { # RANKS SRUN_ARGUMENT...
    submit srun --unbuffered "${@:2}" >"$SCRATCH/log" 2>&1 3>&- &
    step=$!
    until_so 20 has_printed "$1" up || { cat "$SCRATCH/log" && return 1; }
    job=$(submit squeue --noheader --format=%A)
}

has_printed() { [ "$(grep -cs " $2$" "$SCRATCH/log")" -ge "$1" ]; } # COUNT WORD

# Fails unless each rank has printed each word this often, and nothing else that a signal causes.
assert_each_got() { # RANKS TIMES WORD...
    local expected word rank
    expected=$(for word in "${@:3}"; do
        for ((rank = 0; rank < $1; ++rank)); do
            printf "$rank $word\n%.0s" $(seq "$2")
        done
    done | sort)
    until_so 10 eval '[ "$(signals_got | wc -l)" -ge '"$(wc -l <<<"$expected")"' ]' || true
    sleep 0.7 # longer than another one would take
    diff <(echo "$expected") <(signals_got)
}

# Slurm itself signals a DataLoader's worker with proctrack/linuxproc.
signals_got() { grep -Ev '^(distgpu|srun|slurmstepd): | up$|^worker' "$SCRATCH/log" | sort; }

assert_signals_arrive_once() { # SANDBOX_ARGUMENT...
    raise "$@"
    ranks_get_each_once -n4 --distgpu=pytorch,signal python3 signalled_ranks.py
    ranks_get_each_once -n4 --distgpu=pytorch,signal bash -c 'python3 signalled_ranks.py; exit $?'
    ranks_get_each_once -n2 --distgpu=torchrun,nproc=2,signal python3 signalled_ranks.py --launch 2
}

ranks_get_each_once() { # SRUN_ARGUMENT...
    local word
    begin 4 -N2 "$@"
    for word in USR2 HUP USR2; do
        submit scancel --signal=$word "$job.0"
        sleep 0.7
    done
    assert_each_got 4 1 USR2 HUP USR2
    submit scancel --signal=KILL "$job.0"
    wait "$step" || true
}

# bats test_tags=short
@test "proctrack/cgroup, which signals the task's parent alone" {
    assert_signals_arrive_once
}

@test "proctrack/linuxproc, which signals every process" {
    assert_signals_arrive_once --proctrack linuxproc
}

@test "the task ends as its program, which has its standard input, process ID and group" {
    raise
    local program with without
    # shellcheck disable=SC2016 # the task's variables
    for program in 'exit 7' 'kill -KILL $$' 'kill -SEGV $$' 'kill -TERM $$' 'kill -USR2 0' \
        'sleep 300 & exit 0' 'cat; [ $SLURM_TASK_PID = $$ ] && ulimit -c && exit 3'; do
        without=$(ends_with fail=wait "$program")
        with=$(ends_with fail=wait,signal "$program")
        # srun's own lines come before or after those of the task.
        diff <(sort <<<"$without") <(sort <<<"$with")
    done
    # Nothing of them is left, also of a program whose child outlives it.
    run -1 on node01 pgrep -u sandbox
}

ends_with() { # KEYS PROGRAM
    local status=0 said
    said=$(submit srun -N1 -n1 "--distgpu=pytorch,$1" bash -c "$2" <<<input 2>&1) || status=$?
    sed 's/StepId=[0-9.]*/StepId=N/; s/node0[12]/NODE/' <<<"$said"
    echo "status $status"
}

@test "a terminal is the program's" {
    raise
    # shellcheck disable=SC2016 # the task's variables
    run -0 script --quiet --return --command "$sandbox run --name $CLUSTER -- srun -n1 --pty \
        --distgpu=pytorch,signal bash -c 'tty; trap \"echo got INT\" INT; kill -INT 0; sleep 1'" /dev/null
    echo "$output"
    [[ $output == *'/dev/pts/'*'got INT'* ]]
}

# As TotalView and DDT start srun: its table of tasks has the program's process.
@test "a parallel debugger finds the program" {
    raise
    printf '%s\n' 'set pagination off' starti 'set *(int*)&MPIR_being_debugged = 1' \
        'break MPIR_Breakpoint' continue \
        'printf "%d of %d\n", *(int*)(*(char**)&MPIR_proctable + 16), *(int*)&MPIR_proctable_size' \
        'shell sleep 2' continue >"$SCRATCH/gdb"
    (until_so 50 on node01 pgrep -x sleep && on node01 ps -u sandbox -o comm=) >"$BATS_TEST_TMPDIR/seen" 3>&- &
    run submit timeout 60 gdb --batch --command="$SCRATCH/gdb" --args srun -N1 -n1 -w node01 \
        --distgpu=pytorch,signal sleep 1
    echo "$output"
    wait
    grep -qE '^[1-9][0-9]* of 1$' <<<"$output"
    [[ $output == *'exited normally'* && $(tail -n +2 "$BATS_TEST_TMPDIR/seen") == sleep ]]
}

@test "what looks at the ranks sees the program and not its parent" {
    raise
    begin 4 -N2 -n4 --distgpu=pytorch,signal bash -c 'python3 signalled_ranks.py; exit $?'
    run submit ./distgpu signal "$job" USR2 --dry-run
    [ "$output" = "step $job.0: ranks 0-3 would get SIGUSR2" ]
    run -0 submit ./distgpu signal "$job" USR2 --dry-run --quiet
    [ -z "$output" ]
    run submit ./distgpu explain "$job"
    echo "$output"
    [[ $output == *'0-3'* && $output != *distgpu-task* ]]
    run -0 submit ./distgpu signal "$job" USR2
    assert_each_got 4 1 USR2
    submit scancel --signal=KILL "$job.0"
    wait "$step" || true
}

# Until the parent handles signals, one to the process group would end it, and with it the program.
@test "a signal to the process group before the parent runs ends nothing" {
    raise
    local parent=$SCRATCH/libexec/distgpu/distgpu-task
    mv "$parent" "$parent.late"
    cc -o "$parent" -x c - <<C
#include <unistd.h>
int main(int argc, char** argv) { usleep(400000); return execv("$parent.late", argv); }
C
    # shellcheck disable=SC2016 # the task's variables
    run -0 submit srun -N1 -n1 --distgpu=pytorch,signal \
        bash -c 'trap "echo got INT" INT; kill -INT 0; sleep 1; echo ends'
    [ "$output" = $'got INT\nends' ]
}

@test "without its file the program starts, and one line says so" {
    raise
    mv "$SCRATCH/libexec" "$SCRATCH/away"
    run -0 submit srun -N2 -n4 --distgpu=pytorch,signal echo runs
    [ "$(grep -c runs <<<"$output")" -eq 4 ]
    [ "$(distgpu_lines)" = "distgpu: signal: $SCRATCH/bin/../libexec/distgpu/distgpu-task on node01: not \
found; install all files of the package distgpu; the program starts without it, and Slurm's signals do \
not reach its ranks" ]
}

@test "distgpu exec does the same without the plugin" {
    raise
    ranks_get_each_once -n4 --distgpu=off ./distgpu exec pytorch,signal -- bash -c 'python3 signalled_ranks.py; exit $?'
}

@test "sbatch says when the job's --signal reaches no rank" {
    raise
    printf '%s\n' '#!/bin/bash' '#SBATCH --signal=USR2@60' 'srun --distgpu=pytorch bash -c "true; true"' >"$SCRATCH/job.sh"
    run -0 submit sbatch --output=/dev/null "$SCRATCH/job.sh"
    [ "$(distgpu_lines)" = "distgpu: $SCRATCH/job.sh: --signal=USR2@60: on most sites it reaches only bash in line 3, and \
ends it, but no rank; write --signal=USR2@60, and add signal to --distgpu=" ]
    sed -i 's/pytorch/&,signal/' "$SCRATCH/job.sh"
    run -0 submit sbatch --output=/dev/null "$SCRATCH/job.sh"
    [ -z "$(distgpu_lines)" ]
    assert_cluster_clean
}

@test "a minute after the start, the ranks that do not catch the signal are named" {
    raise
    begin 3 -N2 -n4 --distgpu=pytorch,signal=USR2 bash -c 'python3 signalled_ranks.py --deaf 3; exit $?'
    until_so 80 grep -q '^step .*: rank 3 would not get SIGUSR2: it has no handler for it$' "$SCRATCH/log"
    submit scancel --signal=KILL "$job.0"
    wait "$step" || true
    [ "$(grep -c '^step ' "$SCRATCH/log")" -eq 1 ]
}

# The kernel lets only the same user and root signal a process.
@test "what a user does to the parent, or has below it, ends at the task" {
    raise
    local parent
    # The end of the parent is that of the program.
    begin 1 -n1 -N1 -w node01 --distgpu=pytorch,signal,fail=wait bash -c 'python3 signalled_ranks.py; exit $?'
    parent=$(on node01 pgrep -o -x distgpu-task)
    on node01 kill -STOP "$parent"
    on node01 kill -CONT "$parent"
    on node01 kill -TERM "$parent" # of no one whom Slurm is
    sleep 0.7
    [ -z "$(signals_got)" ]
    on node01 kill -KILL "$parent"
    wait "$step" || status=$?
    [ "$status" -eq 137 ]
    run -1 on node01 pgrep -u sandbox
    assert_cluster_clean
    # Thousands of processes.
    begin 1 -n1 -N1 -w node01 --distgpu=pytorch,signal bash -c \
        'python3 signalled_ranks.py & for i in {1..3000}; do sleep 100 & done; wait'
    submit scancel --signal=USR2 "$job.0"
    assert_each_got 1 1 USR2
    submit scancel --signal=KILL "$job.0"
    wait "$step" || true
    assert_cluster_clean
}
