#!/usr/bin/env bats
# `distgpu run`: a training that fails is started again, where it left off, and without lost nodes.

load cluster

setup_file() {
    # Slurm 24.11 asks no node for 12 s while it tries to reach a lost one.
    cluster_up --nodes 4 --conf SlurmdTimeout=20
    # Counts steps and saves each; at step 5 of the first FAILS attempts rank 2 fails as the job says,
    # and the others wait for it.
    cat >"$SCRATCH/train.sh" <<'END'
step=$(cat saved 2>/dev/null || echo 0)
[ "$RANK" != 0 ] || echo "attempt $DISTGPU_RESTART from $step with $WORLD_SIZE"
while [ "$step" -lt 10 ]; do
    sleep 0.2
    step=$((step + 1))
    [ "$RANK" != 0 ] || echo "$step" >saved
    if [ "$step" = 5 ] && [ "$DISTGPU_RESTART" = 0 ]; then
        [ "$RANK" != 2 ] || eval "$FAULT"
        exec sleep "${WAIT:-60}"
    fi
done
[ "$RANK" != 0 ] || echo "trained to $step"
END
}

setup() { rm -f "$SCRATCH"/{saved,distgpu-run-*}; }

# The output of a batch job of 4 nodes whose script runs this.
run_job() { # SBATCH_ARGUMENT... COMMAND
    printf '%s\n' '#!/bin/bash' '#SBATCH --no-kill' "${!#}" 'echo "status $?"' >"$SCRATCH/job.sh"
    batch -N4 --ntasks-per-node=1 "${@:1:$#-1}" "$SCRATCH/job.sh"
    echo "$output"
}

train='srun --distgpu=pytorch sh train.sh'

# bats test_tags=short
@test "a rank that fails: the training goes on from what it saved, and the log says why" {
    FAULT='exit 3' run_job "./distgpu run -- $train"
    # Rank 0 may save step 5 a moment later.
    [ "$(grep -E '^(attempt|trained|status)' <<<"$output" | sed 's/from [45] /from X /')" = 'attempt 0 from 0 with 4
attempt 1 from X with 4
trained to 10
status 0' ]
    grep -qx 'distgpu: run: rank 2 on node03 failed first: it ended with status 3; restart 1 of 3' <<<"$output"
    run -0 submit ./distgpu run --summary "$SCRATCH"/distgpu-run-*.jsonl
    [[ ${lines[0]} =~ ^'attempt 0 on node[01-04]: '.*', status 143: rank 2 on node03 failed first: it ended with status 3; restart 1 of 3'$ ]]
    [[ ${lines[1]} =~ ^'attempt 1 on node[01-04]: '.*', status 0: the training has ended'$ ]]
    [ "${#lines[@]}" -eq 2 ]
}

@test "killed, out of attempts, status 93, no progress" {
    FAULT='kill -KILL $$' run_job "./distgpu run -- $train"
    [[ $output == *'it was killed by signal 9 (SIGKILL); restart 1 of 3'*'trained to 10'* ]]
    run_job './distgpu run --restarts 2 -- srun --distgpu=pytorch,fail=wait sh -c "exit 3"'
    [ "$(grep -c '^distgpu: run: ' <<<"$output")" -eq 3 ]
    [[ $output == *'; no restart is left'*'status 3'* ]]
    run_job './distgpu run -- srun --distgpu=pytorch,fail=wait sh -c "exit 93"'
    [ "$(grep '^distgpu: run: ' <<<"$output" | grep -c 'status 93 asks for no restart')" -eq 1 ]
    [[ $output == *'status 93' ]]
    run_job './distgpu run --progress saved -- srun --distgpu=pytorch,fail=wait sh -c "exit 4"'
    [ "$(grep -c '^distgpu: run: ' <<<"$output")" -eq 2 ]
    [[ $output == *'; no progress in two attempts'*'status 4' ]]
}

@test "a lost node is replaced by the spare" {
    (
        until [[ $(cat "$SCRATCH/saved" 2>/dev/null) == 5 ]]; do sleep 0.05; done
        on node02 pkill -KILL slurmd
        on node02 pkill -KILL slurmstepd
    ) 3>&- &
    FAULT='sleep 100' run_job "./distgpu run --spares 1 -- $train"
    wait
    "$sandbox" node --name "$CLUSTER" start node02
    [ "$(grep -E '^(trained|status)' <<<"$output")" = 'trained to 10
status 0' ]
    grep -qx 'distgpu: run: lost node02; restart 1 of 3 without node02' <<<"$output"
    grep -qE '^attempt 1 from [0-9]+ with 3$' <<<"$output"
}

# Slurm 22.05 then keeps the step, and what it has on the other nodes, until the end of the job.
@test "a lost node whose peers fail at once, with GPUs" {
    (
        until [[ $(cat "$SCRATCH/saved" 2>/dev/null) == 5 ]]; do sleep 0.05; done
        on node02 pkill -KILL slurmd
        on node02 pkill -KILL slurmstepd
        touch "$SCRATCH/died"
    ) 3>&- &
    FAULT='until [ -e died ]; do sleep 0.1; done; exit 1' run_job --gres=gpu:4 \
        "./distgpu run --spares 1 -- ${train/srun/srun --gres=gpu:4}"
    wait
    rm "$SCRATCH/died"
    "$sandbox" node --name "$CLUSTER" start node02
    [[ $output == *'distgpu: run: lost node02; restart 1 of 3 without node02'*'trained to 10'*'status 0' ]]
}

@test "a node on which Slurm cannot start a program, though it does not say so, is left out" {
    (
        until [[ $(cat "$SCRATCH/saved" 2>/dev/null) == 5 ]]; do sleep 0.05; done
        on node02 pkill -KILL slurmd
        on node03 pkill -KILL -f '^sleep 60$'
    ) 3>&- &
    FAULT='exec sleep 60' run_job "./distgpu run --spares 1 -- $train"
    wait
    "$sandbox" node --name "$CLUSTER" start node02
    [[ $output == *'distgpu: run: lost node02; restart 1 of 3 without node02'*'trained to 10'*'status 0' ]]
    [ "$(jq -r .nodes "$SCRATCH"/distgpu-run-*.jsonl)" = $'node[01-03]\nnode[01,03-04]' ]
}

@test "a node where two attempts in a row fail first is left out" {
    run_job './distgpu run --spares 1 -- srun --distgpu=pytorch sh -c "sleep 1; [ \$SLURMD_NODENAME != node03 ] || exit 5"'
    [ "$(grep -c '^distgpu: run: rank 2 on node03 failed first: .*; restart 1 of 3$' <<<"$output")" -eq 1 ]
    [[ $output == *'rank 2 on node03 failed first: it ended with status 5'*'; restart 2 of 3 without node03'*'status 0' ]]
}

@test "a node that the check finds unfit is left out" {
    on node03 ip link set eth0 mtu 576
    "$sandbox" link --name "$CLUSTER" slow node03
    run_job "./distgpu run --spares 1 -- srun --distgpu=pytorch,check sh train.sh"
    "$sandbox" link --name "$CLUSTER" restore node03
    [[ $output == *'distgpu: run: check: rank 2 on node03: '*'; restart 1 of 3 without node03'*'trained to 10'*'status 0' ]]
}

@test "a rank that hangs, with watch=1:end" {
    WAIT=300 FAULT="exec sleep 1000" run_job "./distgpu run -- srun --distgpu=pytorch,watch=1:end sh train.sh"
    [[ $output == *'distgpu: run: nothing moved in 1 min: '*'; restart 1 of 3'*'trained to 10'*'status 0' ]]
}

@test "each element of an array by itself" {
    printf '%s\n' '#!/bin/bash' '#SBATCH --array=3-4' 'mkdir -p $SLURM_ARRAY_TASK_ID; cd $SLURM_ARRAY_TASK_ID' \
        "FAULT='exit 3' ../distgpu run --spares 1 -- srun --distgpu=pytorch sh ../train.sh" \
        'echo "status $? of $SLURM_ARRAY_TASK_ID" >>../statuses' >"$SCRATCH/job.sh"
    batch -N2 --no-kill --ntasks-per-node=1 "$SCRATCH/job.sh"
    cat "$SCRATCH/statuses"
    [ "$(sort "$SCRATCH/statuses")" = $'status 0 of 3\nstatus 0 of 4' ]
    [ "$(cat "$SCRATCH"/[34]/distgpu-run-*.jsonl | wc -l)" -eq 2 ]
}

@test "without --no-kill it says that a spare would not help, and a signal ends it" {
    printf '%s\n' '#!/bin/bash' './distgpu run --spares 1 -- srun --distgpu=pytorch sleep 100 &' 'pid=$!' \
        'sleep 3; kill -TERM $pid; wait $pid; echo "status $?"' >"$SCRATCH/job.sh"
    batch -N4 "$SCRATCH/job.sh"
    echo "$output"
    [[ $output == *'distgpu: --spares: the script has no #SBATCH --no-kill; unless sbatch had it, a lost node ends the job; add it'* ]]
    [[ $output == *'a signal asked for the end'* ]]
}

@test "at the time limit the job is requeued, and goes on from what it saved" {
    cat >"$SCRATCH/long.py" <<'END'
import os, pathlib, signal, sys, time

saved = pathlib.Path("saved")
begin = step = int(saved.read_text()) if saved.exists() else 0
is_first = os.environ["RANK"] == "0"

def save(number, frame):
    if is_first:
        saved.write_text(str(step))
        print(f"saved {step} of generation {os.environ.get('SLURM_RESTART_COUNT', 0)}", flush=True)
    sys.exit(0)

signal.signal(signal.SIGUSR2, save)
while step < 50:
    time.sleep(1)
    step += 1
if is_first:
    print(f"trained from {begin} to {step}", flush=True)
END
    printf '%s\n' '#!/bin/bash' '#SBATCH --requeue --open-mode=append' \
        './distgpu run --before-limit 30 --requeue --progress saved -- srun --unbuffered --distgpu=pytorch bash -c "python3 long.py; exit \$?"' >"$SCRATCH/job.sh"
    (
        until_so 120 eval 'on login scontrol --oneliner show job | grep -q "Restarts=1 "'
        sleep 2
        on login scontrol update JobId="$(submit squeue --noheader --format=%A)" StartTime=now
    ) 3>&- &
    batch -N2 --ntasks-per-node=1 --time=1 "$SCRATCH/job.sh"
    wait
    echo "$output"
    grep -qx 'distgpu: run: the time limit is near, and the training has ended; requeue 1 of 10' <<<"$output"
    [[ $output =~ 'saved '([0-9]+)' of generation 0' ]]
    grep -qx "trained from ${BASH_REMATCH[1]} to 50" <<<"$output"
}

@test "without the plugin, by distgpu exec" {
    FAULT='exit 3' run_job './distgpu run -- srun --distgpu=off --kill-on-bad-exit=1 ./distgpu exec pytorch -- sh train.sh'
    grep -qx 'attempt 1 from [45] with 4' <<<"$output"
    [[ $output == *'trained to 10'*'status 0' ]]
    grep -qE '^distgpu: run: srun ended with status (3|143); restart 1 of 3$' <<<"$output"
}
