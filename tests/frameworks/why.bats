#!/usr/bin/env bats
# `distgpu why` beside real frameworks of which one rank hangs: 16 ranks on 4 nodes.
# DISTGPU_WHY_ROUNDS: how often each (1), every time with another rank.

load frameworks

rounds=${DISTGPU_WHY_ROUNDS:-1}

setup_file() {
    # More ranks than CPUs: one that waits in MPI must let the others run.
    export OMPI_MCA_mpi_yield_when_idle=1
    frameworks_up --nodes 4 --cpus 8
    cp "$root/tests/frameworks/programs/"hang*.py "$SCRATCH"
}

setup() {
    need pyspy
    tools=${python%/*}
    user=$(submit id -un)
}

teardown() {
    submit scancel --quiet --user "$user" || true
    [[ ! ${step-} ]] || wait "$step" || true
    on node03 umount --lazy /mnt/dead 2>/dev/null || true
    assert_cluster_clean
    assert_nothing_left
}

# Of the user's processes on the nodes.
assert_nothing_left() {
    until_so 5 eval '[[ ! $(left) ]]' || { left && return 1; }
}

left() { for node in node0{1..4}; do on "$node" ps -o pid=,args= -u "$user" || true; done; }

# Two ranks may share a line.
with_three_steps() { grep -o 'three steps' "$SCRATCH/log" | wc -l; }

# A step in the background, until COUNT ranks have taken three steps and one went astray.
begin() { # COUNT SRUN_ARGUMENT...
    assert_cluster_clean
    submit timeout --kill-after=5 170 srun --unbuffered "${@:2}" >"$SCRATCH/log" 2>&1 3>&- &
    step=$!
    until_so 120 eval "((\$(with_three_steps) == $1))" || { cat "$SCRATCH/log" && return 1; }
    sleep 1
    job=$(submit squeue --noheader --format=%i)
}

end() {
    submit scancel "$job"
    wait "$step" || true
    step=
}

# As after `run`, with the seconds that it took in $took.
why() {
    local begun=$EPOCHREALTIME
    run submit env PATH="$tools:$PATH" ./distgpu why "$job"
    took=$(awk -v a="${begun/,/.}" -v b="${EPOCHREALTIME/,/.}" 'BEGIN { printf "%.1f", b - a }')
    echo "$took s: $output"
    echo "# $BATS_TEST_DESCRIPTION: $took s: ${lines[1]-}" >&3
}

four_on_each=(-N4 -n16 --ntasks-per-node=4)

# In each round another rank goes astray. FINDING, a regular expression, may hold RANK and NODE.
finds() { # ENVIRONMENT FINDING COMMAND...; RANK stands in both
    local finding=$2 rank node
    need "$1"
    shift 2
    for ((round = 0; round < rounds; round++)); do
        rank=$((1 + RANDOM % 15))
        node=node0$((rank / 4 + 1))
        begin 16 "${@//RANK/$rank}"
        why
        [ "$status" -eq 0 ]
        finding_here=${finding//RANK/$rank}
        [[ ${lines[1]} =~ ^${finding_here//NODE/$node}$ ]]
        end
    done
}

torch=("${four_on_each[@]}" --distgpu=pytorch python3 hang.py)
rest='15 ranks wait in all_reduce \(hang\.py:[0-9]+\)'
# As long as it takes until the silence between the ranks is certain.
unchanged='unchanged for [0-9.]+ s'

# bats test_tags=short
@test "torch: a rank that sleeps" {
    finds torch "rank RANK on NODE is in load_batch \(hang\.py:[0-9]+\), asleep, $unchanged; $rest" \
        "${torch[@]}" load_batch RANK
}

@test "torch: a rank that computes" {
    finds torch "nothing hangs: 1 of 16 ranks made progress in [0-9.]+ s; rank RANK on NODE is in compute \(hang\.py:[0-9]+\), \
running; $rest" \
        "${torch[@]}" compute RANK
}

@test "torch: a DataLoader whose worker blocks" {
    finds torch "rank RANK on NODE is in .*__next__ \(hang\.py:[0-9]+\), .*, and waits for its worker process \
[0-9]+, which is in read_from_a_dead_disk \(hang\.py:[0-9]+\), asleep; $rest" "${torch[@]}" dataloader RANK
}

@test "torch: a rank that SIGSTOP stopped" {
    finds torch 'rank RANK on NODE is stopped, by a signal such as SIGSTOP or by a debugger, in stop \(hang\.py:[0-9]+\)' \
        "${torch[@]}" stop RANK
}

@test "torch: a rank that was killed, and the others wait" {
    finds torch 'rank RANK on NODE has ended, while 15 ranks still run' \
        "${four_on_each[@]}" --kill-on-bad-exit=0 --distgpu=pytorch python3 hang.py die RANK
}

@test "torch: a rank in another collective" {
    finds torch "rank RANK on NODE is in broadcast \(hang\.py:[0-9]+\), but 15 ranks are in all_reduce \(hang\.py:[0-9]+\): \
they wait for each other in different collectives" "${torch[@]}" other_collective RANK
}

@test "torch: a rank in the kernel, whose child by vfork goes on" {
    finds torch "rank RANK on NODE waits in the kernel \([a-z_]+\), in vfork \(hang\.py:[0-9]+\), $unchanged" \
        "${torch[@]}" vfork RANK
}

# As of a file server that is away: nobody answers the kernel.
dead_mount='import ctypes, os, signal
fuse = os.open("/dev/fuse", os.O_RDWR)
os.makedirs("/mnt/dead", exist_ok=True)
options = f"fd={fuse},rootmode=40000,user_id=0,group_id=0,allow_other"
if ctypes.CDLL(None).mount(b"dead", b"/mnt/dead", b"fuse", 0, options.encode()): raise SystemExit(1)
print("mounted", flush=True)
signal.pause()'

@test "torch: a rank that waits for a dead mount" {
    need torch
    on node03 /usr/bin/python3 -c "$dead_mount" >"$SCRATCH/mounted" 3>&- &
    local server=$!
    until_so 5 test -s "$SCRATCH/mounted"
    for ((round = 0; round < rounds; round++)); do
        rank=$((8 + RANDOM % 4))
        begin 16 "${torch[@]}" dead_mount "$rank"
        why
        [[ ${lines[1]} =~ ^rank\ $rank\ on\ node03\ waits\ in\ the\ kernel\ \([a-z_0-9.]+\),\ in\ .*\(hang\.py:[0-9]+\),\ $unchanged$ ]]
        end
    done
    kill "$server"
}

@test "torch: ranks that take slow steps move" {
    finds torch 'nothing hangs: (9|1[0-6]) of 16 ranks made progress in [0-9.]+ s' "${torch[@]}" slow RANK
}

@test "torchrun: a rank that sleeps" {
    finds torch "rank RANK on NODE is in load_batch \(hang\.py:[0-9]+\), asleep, $unchanged; $rest" \
        -N4 --ntasks-per-node=1 --distgpu=torchrun,nproc=4 torchrun hang.py load_batch RANK
}

@test "accelerate: a rank that sleeps" {
    finds torch "rank RANK on NODE is in load_batch \(hang\.py:[0-9]+\), asleep, $unchanged; $rest" \
        -N4 --ntasks-per-node=1 --distgpu=accelerate,per-node bash -c 'exec accelerate launch --multi_gpu \
        --num_machines $SLURM_NNODES --num_processes $((SLURM_NNODES * 4)) --machine_rank $SLURM_NODEID \
        --main_process_ip $MASTER_ADDR --main_process_port $MASTER_PORT hang.py load_batch RANK'
}

@test "JAX: a rank that sleeps" {
    finds jax "rank RANK on NODE is in load_batch \(hang_elsewhere\.py:[0-9]+\), asleep, $unchanged; \
15 ranks wait in process_allgather \(hang_elsewhere\.py:[0-9]+\)" \
        "${four_on_each[@]}" --distgpu=jax python3 hang_elsewhere.py jax RANK
}

@test "Horovod over MPI: a rank that sleeps" {
    finds horovod "rank RANK on NODE is in load_batch \(hang_elsewhere\.py:[0-9]+\), asleep, $unchanged; \
15 ranks wait in allreduce \(hang_elsewhere\.py:[0-9]+\)" \
        "${four_on_each[@]}" --mpi=pmix --distgpu=horovod python3 hang_elsewhere.py horovod RANK
}

@test "MPI: a rank that sleeps" {
    finds jax "rank RANK on NODE is in load_batch \(hang_elsewhere\.py:[0-9]+\), asleep, $unchanged; \
15 ranks wait in [A-Za-z_:]+ \(hang_elsewhere\.py:[0-9]+\)" \
        "${four_on_each[@]}" --mpi=pmix --distgpu=ompi python3 hang_elsewhere.py mpi RANK
}

# The loss of a training that is looked at all the time is that of one that is not.
@test "a training goes on unharmed" {
    need torch
    launch_limit=170 launch -0 -N2 --ntasks-per-node=2 --distgpu=pytorch python3 examples/train.py
    alone=$(grep -o 'agree: loss.*' <<<"$output")
    submit timeout 170 srun -N2 --ntasks-per-node=2 --distgpu=pytorch python3 examples/train.py \
        >"$SCRATCH/log" 2>&1 3>&- &
    step=$!
    until_so 10 eval 'job=$(submit squeue --noheader --format=%i) && [[ $job ]]'
    looks=0
    while kill -0 "$step" 2>/dev/null; do
        run submit env PATH="$tools:$PATH" ./distgpu why "$job" --repeat 1
        ((status != 0)) || ((++looks))
    done
    wait "$step"
    ((looks >= 3))
    [ "$(grep -o 'agree: loss.*' "$SCRATCH/log")" = "$alone" ]
}

@test "a training that is watched goes on unharmed" {
    need torch
    local key loss=
    for key in check=off watch=1; do
        launch_limit=170 launch -0 -N2 --ntasks-per-node=2 --distgpu=pytorch,$key python3 examples/train.py
        [[ $output != *'distgpu: watch'* ]]
        [[ ! $loss || $loss == $(grep -o 'agree: loss.*' <<<"$output") ]]
        loss=$(grep -o 'agree: loss.*' <<<"$output")
    done
}
