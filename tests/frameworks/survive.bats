#!/usr/bin/env bats
# `distgpu run` with PyTorch, Lightning and Hugging Face's Trainer: a training that is interrupted ends
# with the parameters of one that is not.

load frameworks

setup_file() { frameworks_up --conf SlurmdTimeout=10; }
setup() {
    need torch
    rm -rf "$SCRATCH"/{checkpoint.pt,checkpoints,batch.log,distgpu-run-*}
}

# A batch job of two nodes that runs the words; its output.
run_job() { # [SBATCH_OPTION...] -- WORD...
    local options=()
    while [[ $1 != -- ]]; do
        options+=("$1")
        shift
    done
    printf '%s\n' '#!/bin/bash' "${*:2}" >"$SCRATCH/job.sh"
    batch -N2 --ntasks-per-node=1 -c 2 "${options[@]}" "$SCRATCH/job.sh"
    echo "$output"
}

# With two ranks, of which sums do not depend on the order: DDP's first step after a start has another one.
training() { # OPTION...
    echo "srun --unbuffered --overcommit --distgpu=torchrun,nproc=1 ${python%/*}/torchrun examples/resume.py $*"
}

# Of the last training in the log, to which a requeued job appends.
parameters() { sed -n 's/^trained .*, parameters //p' <<<"$output" | tail -n 1; }

@test "a rank that is killed in the middle, below torchrun" {
    local whole
    run_job -- "$(training --steps 40)"
    whole=$(parameters)
    [ "$whole" ]
    rm "$SCRATCH/checkpoint.pt"
    (
        until_so 60 test -s "$SCRATCH/checkpoint.pt"
        on node02 pkill -KILL -o -f 'python.*-u examples/resume.py'
    ) 3>&- &
    run_job -- ./distgpu run --progress checkpoint.pt -- "$(training --steps 40 --pause 0.2)"
    wait
    grep -q '^distgpu: run: torchrun on node0[12] failed first: .*; restart 1 of 3$' <<<"$output"
    grep -qE '^attempt 1 begins at step [123]0$' <<<"$output"
    [ "$(parameters)" = "$whole" ]
}

@test "a training that needs more than the time limit, in two generations" {
    local whole
    run_job -- "$(training --steps 70)"
    whole=$(parameters)
    rm "$SCRATCH/checkpoint.pt"
    (
        until_so 120 eval 'on login scontrol --oneliner show job | grep -q "Restarts=1 "'
        sleep 2
        on login scontrol update JobId="$(submit squeue --noheader --format=%A)" StartTime=now
    ) 3>&- &
    run_job --time=1 --requeue --open-mode=append -- ./distgpu run --before-limit 25 --requeue \
        --progress checkpoint.pt -- "$(training --steps 70 --pause 0.8)"
    wait
    grep -q '^distgpu: run: the time limit is near, and the training has ended; requeue 1 of 10$' <<<"$output"
    [ "$(grep -c ' begins at step 0$' <<<"$output")" -eq 2 ]
    grep -qE '^saved at step [0-9]+$' <<<"$output"
    [ "$(parameters)" = "$whole" ]
}

# Submits a batch script of examples for two nodes with one rank each.
resume_job() { # SCRIPT [SBATCH_OPTION...] -- OPTION...
    local options=() script=$1
    shift
    while [[ $1 != -- ]]; do
        options+=("$1")
        shift
    done
    PATH=$SCRATCH/bin:$PATH batch -N2 --ntasks-per-node=1 --gres=gpu:1 "${options[@]}" "$script" "${@:2}"
    echo "$output"
}

# Starts the requeued job at once, with time for all that follows. Kills a rank of it after its first
# checkpoint, and leaves a folder like one that the Trainer was writing when the rank was killed.
kill_second_generation() { # PROGRAM CHECKPOINT
    until_so 120 grep -qs 'requeue 1 of 10' "$SCRATCH/batch.log"
    until_so 30 eval '[[ $(submit squeue --noheader --states=PENDING) ]]'
    sleep 2
    touch "$SCRATCH/requeued"
    on login scontrol update JobId="$(submit squeue --noheader --format=%A)" StartTime=now TimeLimit=5
    until_so 60 test "$SCRATCH/$2" -nt "$SCRATCH/requeued"
    submit mkdir -p checkpoints/checkpoint-999
    on node02 pkill -KILL -o -f "python3 examples/$1.py"
}

# Trains without interruption; then up to the time limit, and in a second job with a rank that is killed.
survives() { # PROGRAM CHECKPOINT
    local whole begins
    resume_job "examples/$1.sbatch" --time=10 -- --steps 80
    [ "$status" -eq 0 ]
    whole=$(parameters)
    [ "$whole" ]
    rm -r "$SCRATCH"/{checkpoints,batch.log}
    sed 's/--before-limit 300/--before-limit 25/' "examples/$1.sbatch" >"$SCRATCH/short.sbatch"
    kill_second_generation "$1" "$2" 3>&- &
    resume_job short.sbatch --time=1 -- --steps 80 --every 5 --pause 0.5
    wait
    grep -q '^distgpu: run: the time limit is near, and the training has ended; requeue 1 of 10$' <<<"$output"
    grep -qE '^distgpu: run: rank 1 on node02 failed first: .* signal 9 .*; restart 1 of 5$' <<<"$output"
    mapfile -t begins < <(sed -n 's/^attempt [01] begins at step //p' <<<"$output")
    [ "${#begins[@]}" -eq 3 ]
    [ "${begins[0]}" -eq 0 ]
    grep -qx "saved at step ${begins[1]}" <<<"$output"
    ((begins[2] > begins[1]))
    [ "$(parameters)" = "$whole" ]
}

@test "resume.sbatch" {
    resume_job examples/resume.sbatch --time=10 -- --steps 20
    [ "$status" -eq 0 ]
    [ "$(parameters)" ]
}

@test "lightning_resume.sbatch" { survives lightning_resume checkpoints/last.ckpt; }
@test "transformers_resume.sbatch" { survives transformers_resume checkpoints/last; }
