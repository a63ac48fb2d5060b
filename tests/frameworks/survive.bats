#!/usr/bin/env bats
# `distgpu run` with real PyTorch: a training that is interrupted ends with the parameters of one that
# is not.

load frameworks

setup_file() { frameworks_up --conf SlurmdTimeout=10; }
setup() {
    need torch
    rm -f "$SCRATCH"/{checkpoint.pt,distgpu-run-*}
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
