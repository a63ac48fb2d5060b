#!/usr/bin/env bats
# What a hostile user can try against the plugin in root's slurmstepd. Every variable of a step can
# be forged, here by an srun without the plugin; only what SPANK says is Slurm's word.

load cluster

setup_file() {
    cluster_up --conf SlurmctldDebug=debug2 --conf PrivateData=jobs
    on login sh -c ': >/etc/slurm/plugstack.conf'
    cc -std=gnu11 -Wall -Wextra -Werror -shared -fPIC -o "$SCRATCH/forge.so" \
        "$BATS_TEST_DIRNAME/attacks/forge.c"
}

# A step of an allocation with forged variables, in whose values %j is the job's number, whatever
# srun itself sets.
forged() { # VARIABLE=VALUE... -- SRUN_ARGUMENT...
    submit salloc --quiet -N1 -n1 -w node01 bash -c '
        while [[ $1 != -- ]]; do
            forged+="${1//%j/$SLURM_JOB_ID}"$'"'\\37'"'
            shift
        done
        LD_PRELOAD=./forge.so FORGED=$forged SLURM_DISTGPU=${SLURM_DISTGPU-pytorch} \
            srun --kill-on-bad-exit=0 "${@:2}"' - "$@"
}

sent() { # WORDS: as srun's plugin would send them
    echo "SLURM_DISTGPU_STEP=v2 %j.0 $1"
}

# KiB: the most that a slurmstepd of a training step on node01 ever had until the file appears.
most_memory_until() { # FILE
    on node01 bash -c '
        most=0
        until [[ -e $1 ]]; do
            for status in /proc/[0-9]*/status; do
                while read -r key value _; do
                    [[ $key != Name: || $value == slurmstepd ]] || break
                    [[ $key != VmHWM: ]] || { ((value <= most)) || most=$value; break; }
                done 2>/dev/null <"$status"
            done 2>/dev/null
        done
        echo "$most"' - "$1"
}

# KiB of slurmstepd in the step that `forged` makes of the arguments.
memory_of() {
    local done=$SCRATCH/done
    rm -f "$done"
    most_memory_until "$done" >"$SCRATCH/most" &
    forged "$@" >&2 || true
    touch "$done"
    wait $!
    assert_cluster_clean
    cat "$SCRATCH/most"
}

@test "a forged address of this node is not looked up unless it is a number or the host's own name" {
    local layout='layout=node01 0.1.1.1'
    local show='echo $PET_LOCAL_ADDR'
    export SLURM_DISTGPU=torchrun
    own=$(forged X=1 -- sh -c "$show")
    [[ $own =~ ^[0-9.]+$ ]]
    [ "$(forged "$(sent "addresses=evil.example $layout")" -- sh -c "$show")" = "$own" ]
    [ "$(forged "$(sent "addresses=10.255.0.1 $layout")" -- sh -c "$show")" = 10.255.0.1 ]
    [ "$(forged "$(sent "addresses=node01 $layout")" -- sh -c "$show")" = node01 ]
}

# bats test_tags=short
@test "no forged number decides how much memory slurmstepd takes" {
    skip_if_sanitized "take memory of their own"
    local row most unforged rows=(
        'layout=node01 0.1.268435456.1'
        'layout=node01 0.1.1073741824.1'
        'layout=node01,b[1-4000000] 0.4000001.1.1'
        'layout=a[1-512]b[1-512] 0.262144.1.1'
        "layout=node01 $(printf '0.1.1.1,%.0s' {1..15000})0.1.1.1"
        'layout=node01 0.1.1.1 b[1-16000000]'
        'addresses=b[1-16000000] layout=node01 0.1.1.1'
        "x=$(printf '[%.0s' {1..100000})"
    )
    # Slurm itself copies the variables of a step: the unforged step has one that is as long.
    unforged=$(memory_of "X=$(printf 'x%.0s' {1..120000})" -- sleep 1)
    ((unforged > 1000))
    for row in "${rows[@]}"; do
        most=$(memory_of "$(sent "$row")" -- sleep 1)
        echo "# ${row:0:60}: $most KiB, unforged $unforged KiB" | tee -a /dev/fd/3
        ((most <= unforged + 1024))
    done
    for row in 'SLURM_STEP_NODELIST=node01,b[1-4000000]' 'SLURM_STEP_TASKS_PER_NODE=1(x4000000)' \
        SLURM_STEP_NUM_TASKS=1073741824 'SLURM_STEP_RESV_PORTS=1-65535' \
        'SLURM_JOB_CPUS_PER_NODE=8(x1000000000)' CUDA_VISIBLE_DEVICES=0-1000000000 \
        SLURM_STEP_GPUS=0-1000000000 SLURM_CPUS_ON_NODE=4000000000; do
        most=$(memory_of "$row" -- sleep 1)
        echo "# ${row:0:60}: $most KiB, unforged $unforged KiB" | tee -a /dev/fd/3
        ((most <= unforged + 1024))
    done
}

# Of the kinds that the plugin could send, by the user id that asked: "3 REQUEST_STEP_LAYOUT 0".
rpcs() {
    grep -oE 'Processing RPC: REQUEST_(STEP_LAYOUT|JOB_INFO_SINGLE|JOB_STEP_INFO|CANCEL_JOB_STEP|NODE_INFO_SINGLE) from UID=[0-9]+' \
        "/run/distgpu-sandbox/$CLUSTER/log/slurmctld.log" |
        sed -E 's/.*RPC: (.*) from UID=(.*)/\1 \2/' | sort | uniq -c | sed -E 's/^ +//'
}

@test "a step with 3,000 forged components asks at most 128 times, and never as root" {
    local groups=() i
    for ((i = 0; i < 3000; ++i)); do groups+=("SLURM_JOB_ID_HET_GROUP_$i=%j"); done
    : >"/run/distgpu-sandbox/$CLUSTER/log/slurmctld.log"
    run forged "${groups[@]}" SLURM_STEP_NUM_TASKS=3000 -- sh -c 'echo rank=$RANK'
    rpcs | sed 's/^/# /' >&3
    [ "$status" -ne 0 ]
    [[ $output != *rank=* && $output == *"distgpu: "* ]]
    [ "$(rpcs | awk '$2 ~ /LAYOUT|INFO/ && $3 == 0' | wc -l)" -eq 0 ]
    [ "$(rpcs | awk '$2 ~ /LAYOUT/ {sum += $1} END {print sum}')" -le 128 ]
}

@test "a hidden job of another user is not told" {
    "$sandbox" run --name "$CLUSTER" --user daemon -- sh -c 'cd /tmp && exec srun -w node[02-03] -N2 -n5 sleep 60' &
    local hidden='' groups
    for ((i = 0; i < 100; ++i)); do
        hidden=$(on login squeue --noheader --user=daemon --states=running --format=%i)
        [[ ! $hidden ]] || break
        sleep 0.1
    done
    [ -n "$hidden" ]
    groups=("SLURM_JOB_ID_HET_GROUP_0=%j" "SLURM_JOB_ID_HET_GROUP_1=$hidden")
    run forged "${groups[@]}" SLURM_STEP_NUM_TASKS=6 SLURM_STEP_NUM_NODES=3 -- \
        sh -c 'echo rank=$RANK/$WORLD_SIZE'
    on login scancel "$hidden"
    wait $! || true
    [ "$status" -ne 0 ]
    [ "$(distgpu_lines)" = "distgpu: heterogeneous step 0: slurmctld reports 1 of its 6 tasks; make sure that no component ends before all have started" ]
}

@test "no variable forges a line of a log, of the terminal, or of TF_CONFIG" {
    local name
    for name in MASTER_ADDR MASTER_PORT SLURM_DISTGPU SLURM_DISTGPU_STEP SLURM_DISTGPU_LAYOUT \
        SLURM_DISTGPU_GIVEN SLURM_DISTGPU_RANKS SLURM_JOB_NAME SLURM_STEP_RESV_PORTS SLURM_JOB_CPUS_PER_NODE \
        SLURM_STEP_NODELIST SLURM_STEP_TASKS_PER_NODE SLURM_DISTRIBUTION SLURM_STEP_NUM_TASKS \
        CUDA_VISIBLE_DEVICES SLURM_STEP_GPUS OMP_NUM_THREADS NCCL_IB_HCA SLURMD_NODENAME; do
        SLURM_DISTGPU=tensorflow,verbose run forged "$name=v2 %j.0 gpus=x"$'\nFORGED' -- \
            sh -c 'echo "config=$TF_CONFIG"'
        echo "$name: $output"
        [[ $output == *"distgpu: "* ]]
        if grep -F FORGED <<<"$output" | grep -v '?FORGED'; then
            return 1
        fi
    done
    run cat "/run/distgpu-sandbox/$CLUSTER/log/slurmd-node01.log"
    [[ $output == *'distgpu: '* ]]
    [[ $output != *$'\n'FORGED* ]]
}
