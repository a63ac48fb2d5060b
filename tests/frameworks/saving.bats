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
        torchrun) words=(--ntasks-per-node=1 --distgpu=torchrun,nproc=2"$2" "$bin/torchrun" saving.py $seconds) ;;
        accelerate) words=(--ntasks-per-node=1 --distgpu=accelerate,per-node,nproc=2"$2" bash -c
            "export PATH=$bin:\$PATH; ${accelerate_launch/examples\/accelerate_train.py/saving.py $seconds}") ;;
        bash) words=(--ntasks-per-node=2 --distgpu=pytorch"$2" bash -c "$python saving.py $seconds; exit \$?") ;;
    esac
}

# Starts a job of a minute for each launcher; "LAUNCHER.log" is its output.
start() { # KEYS
    local launcher words
    for launcher in "${launchers[@]}"; do
        line_of "$launcher" "$1"
        submit srun -N2 --time=1 --overcommit --unbuffered "${words[@]}" >"$BATS_TEST_TMPDIR/$launcher.log" 2>&1 3>&- &
    done
}

@test "each saves, notified by the time that it needs before the limit" {
    start ,signal=USR2@45
    wait
    for launcher in "${launchers[@]}"; do
        cat "$BATS_TEST_TMPDIR/$launcher.log"
        grep -qx saved "$BATS_TEST_TMPDIR/$launcher.log"
    done
}

@test "without distgpu's key none does, also if Slurm sends the signal" {
    local launcher trains=0
    start ,fail=end
    for launcher in "${launchers[@]}"; do
        until_so 40 grep -q '^trains$' "$BATS_TEST_TMPDIR/$launcher.log"
    done
    submit scancel --signal=USR2 --user "$(submit id -un)"
    wait
    for launcher in "${launchers[@]}"; do
        cat "$BATS_TEST_TMPDIR/$launcher.log"
        run -1 grep -qx saved "$BATS_TEST_TMPDIR/$launcher.log"
    done
}
