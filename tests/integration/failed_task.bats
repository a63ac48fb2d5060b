#!/usr/bin/env bats
# A task that fails while the others run: which one is named, and when the step is ended.

load cluster

setup_file() { cluster_up; }

# Runs a step whose ranks run $1, with the name of the key fail= or none, and prints how long.
step() { # SRUN_ARGUMENT... PROGRAM
    local begin=$SECONDS
    run submit srun -N4 -n4 "${@:1:$#-1}" bash -c "${!#}"
    took=$((SECONDS - begin))
    echo "$output"
    echo "status $status, $took s"
}

told() { grep -E '^distgpu: .* failed first' <<<"$output" || true; }

ended='; the others would wait for it, so the step is ended (fail=wait keeps it)'
fail_in_2='[ $RANK != 2 ] || exit 3; exec sleep 25'

# bats test_tags=short
@test "a rank that fails ends the step, and is named" {
    step --distgpu=pytorch "$fail_in_2"
    [ "$took" -lt 12 ]
    [ "$status" -ne 0 ]
    [ "$(told)" = "distgpu: rank 2 on node03 failed first: it ended with status 3$ended" ]
}

@test "killed by a signal, also below a shell; with how long before the next" {
    step --distgpu=pytorch '[ $RANK != 1 ] || kill -KILL $$; sleep 1; [ $RANK != 3 ] || exit 1; exec sleep 25'
    [[ $(told) =~ ^'distgpu: rank 1 on node02 failed first: it was killed by signal 9 (SIGKILL), '(0.9|1.[01])' s before the next'"$ended"$ ]]
    step --distgpu=pytorch '[ $RANK != 1 ] || { bash -c "kill -SEGV \$\$"; exit $?; }; exec sleep 25'
    [[ $(told) == 'distgpu: rank 1 on node02 failed first: it ended with status 139'* ]]
}

# bats test_tags=short
@test "fail=wait, -K0, --no-kill and Slurm's variables keep the step, and the rank is named" {
    for choice in --distgpu=pytorch,fail=wait '--distgpu=pytorch -K0' '--distgpu=pytorch --no-kill'; do
        # shellcheck disable=SC2086 # of several words
        step $choice '[ $RANK != 2 ] || exit 3; sleep 5; echo done'
        [ "$(grep -c ^done <<<"$output")" -eq 3 ]
        [ "$status" -eq 3 ]
        [ "$(told)" = "distgpu: rank 2 on node03 failed first: it ended with status 3" ]
    done
    SLURM_KILL_BAD_EXIT=0 step --distgpu=pytorch '[ $RANK != 2 ] || exit 3; sleep 5; echo done'
    [ "$(grep -c ^done <<<"$output")" -eq 3 ]
}

@test "with -K1 Slurm ends the step, and the rank is named" {
    step --distgpu=pytorch -K1 "$fail_in_2"
    [ "$took" -lt 12 ]
    [ "$(told)" = "distgpu: rank 2 on node03 failed first: it ended with status 3" ]
}

# bats test_tags=short
@test "the others hear SIGTERM, and have KillWait to save" {
    step --distgpu=pytorch 'trap "sleep 8; echo saved \$RANK; exit 0" TERM
        [ $RANK != 2 ] || exit 3
        for ((i = 0; i < 250; ++i)); do sleep 0.1; done'
    [ "$(grep -c '^saved' <<<"$output")" -eq 3 ]
    [ "$(told)" = "distgpu: rank 2 on node03 failed first: it ended with status 3$ended" ]
}

# bats test_tags=short
@test "once a rank has ended with 0, the training is over: nothing is ended" {
    step --distgpu=pytorch 'case $RANK in
            0) sleep 6; echo saved ;;
            1) exit 0 ;;
            *) sleep 0.5; [ $RANK != 2 ] || kill -SEGV $$ ;;
        esac'
    [[ $output == *saved* ]]
    [ "$(told)" = "distgpu: rank 2 on node03 failed first: it was killed by signal 11 (SIGSEGV)" ]
}

@test "64 tasks that fail at once: one line, and no cancel" {
    run submit srun -N4 -n64 --overcommit --distgpu=pytorch false
    echo "$output"
    [ "$(told | wc -l)" -eq 1 ]
    [[ $(told) == *" failed first: it ended with status 1"* ]]
    [[ $(told) != *"step is ended"* ]]
    [[ $output != *CANCELLED* ]]
}

# bats test_tags=short
@test "no line where nothing failed, in a step of one task, or after scancel" {
    run -0 submit srun -N4 -n8 --distgpu=pytorch true
    [ "$(told)" = "" ]
    run -7 submit srun -N1 -n1 --distgpu=pytorch bash -c 'exit 7'
    [ "$(told)" = "" ]
    step --distgpu=pytorch '[ $RANK != 0 ] || { sleep 1; scancel $SLURM_JOB_ID.$SLURM_STEP_ID; }; exec sleep 25'
    [ "$took" -lt 12 ]
    [ "$(told)" = "" ]
}

@test "a launcher that fails is named by its node" {
    step --distgpu=torchrun,nproc=1 '[ $SLURM_NODEID != 1 ] || exit 1; exec sleep 25'
    [ "$(told)" = "distgpu: torchrun on node02 failed first: it ended with status 1$ended" ]
    # --nnodes=MIN:MAX goes on without it.
    printf '%s\n' '#!/bin/bash' '[ $SLURM_NODEID != 1 ] || exit 1' 'sleep 4; echo done' >"$SCRATCH/torchrun"
    chmod +x "$SCRATCH/torchrun"
    step --distgpu=torchrun,nproc=1,rdzv=c10d './torchrun --nnodes=1:4 train.py'
    [ "$(grep -c ^done <<<"$output")" -eq 3 ]
    [ "$(told)" = "distgpu: torchrun on node02 failed first: it ended with status 1" ]
}

@test "a heterogeneous step, whichever component fails" {
    run submit srun -N1 -n2 --distgpu=pytorch bash -c 'exec sleep 25' : -N1 -n1 --distgpu=pytorch bash -c 'exit 4'
    echo "$output"
    [[ $(told) == "distgpu: rank 2 on node0"*" failed first: it ended with status 4$ended" ]]
}

@test "the administrator's fail=wait, and a user's fail=end" {
    on_all sed -i 's/$/ fail=wait/' /etc/slurm/plugstack.conf
    step --distgpu=pytorch '[ $RANK != 2 ] || exit 3; sleep 4; echo done'
    [ "$(grep -c ^done <<<"$output")" -eq 3 ]
    step --distgpu=pytorch,fail=end "$fail_in_2"
    [ "$took" -lt 12 ]
    on_all sed -i 's/ fail=wait$//' /etc/slurm/plugstack.conf
}

@test "a port of srun that a user forges changes nothing" {
    SLURM_DISTGPU_SRUN='9 x' step --distgpu=pytorch --export=ALL,SLURM_DISTGPU_SRUN="1 y" 'sleep 3; [ $RANK != 2 ] || exit 3; echo done'
    [ "$(grep -c ^done <<<"$output")" -eq 3 ]
}
