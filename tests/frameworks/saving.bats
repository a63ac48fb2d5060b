#!/usr/bin/env bats
# A training that needs longer to save than Slurm's KillWait, and than torchrun leaves its workers by
# itself: with the key signal it saves before the time limit, below each launcher.

load frameworks

seconds=34

setup_file() {
    frameworks_up
    install -m 644 "$root/tests/frameworks/programs/saving.py" "$SCRATCH"
}
setup() { need torch; }

launchers=(torchrun accelerate bash)
line_of() { # LAUNCHER KEYS -> words
    local bin=${python%/*}
    case $1 in
        torchrun) words=(--ntasks-per-node=1 "--distgpu=torchrun,nproc=2$2" "$bin/torchrun" saving.py "$seconds") ;;
        accelerate) words=(--ntasks-per-node=1 "--distgpu=accelerate,per-node,nproc=2$2" bash -c
            "export PATH=$bin:\$PATH; ${accelerate_launch/examples\/accelerate_train.py/saving.py $seconds}") ;;
        bash) words=(--ntasks-per-node=2 "--distgpu=pytorch$2" bash -c "$python saving.py $seconds; exit \$?") ;;
    esac
}

# Starts a step in a job of a minute; "NAME.log" is its output.
start() { # NAME SRUN_ARGUMENT...
    submit srun --time=1 --overcommit --unbuffered "${@:2}" >"$BATS_TEST_TMPDIR/$1.log" 2>&1 3>&- &
}

has_saved() { # NAME
    cat "$BATS_TEST_TMPDIR/$1.log"
    grep -qx saved "$BATS_TEST_TMPDIR/$1.log"
}

@test "each saves, notified by the time that it needs before the limit" {
    local launcher words
    for launcher in "${launchers[@]}"; do
        line_of "$launcher" ,signal=USR2@45
        start "$launcher" -N2 "${words[@]}"
    done
    wait
    for launcher in "${launchers[@]}"; do has_saved "$launcher"; done
}

# The mode torchrun alone makes torchrun pass on the signal, and wait longer.
@test "without distgpu none does, if Slurm sends the signal; torchrun in its mode does" {
    local bin=${python%/*} launcher words
    line_of torchrun ''
    start mode -N2 "${words[@]}"
    start torchrun -N1 -n1 "$bin/torchrun" --standalone --nproc-per-node=2 saving.py $seconds
    start accelerate -N1 -n1 "$bin/accelerate" launch --multi_gpu --num_machines 1 --num_processes 2 saving.py $seconds
    # shellcheck disable=SC2016 # the task's variables
    start bash -N1 -n2 bash -c 'export RANK=$SLURM_PROCID WORLD_SIZE=2 MASTER_ADDR=localhost MASTER_PORT=29611
        "$0" saving.py "$1"; exit $?' "$python" $seconds
    for launcher in mode "${launchers[@]}"; do
        until_so 40 grep -q '^trains$' "$BATS_TEST_TMPDIR/$launcher.log"
    done
    submit scancel --signal=USR2 --user "$(submit id -un)"
    wait
    has_saved mode
    for launcher in "${launchers[@]}"; do run -1 has_saved "$launcher"; done
}
