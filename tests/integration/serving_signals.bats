#!/usr/bin/env bats
# Each signal reaches a server below `distgpu exec` once, whichever processes of a step Slurm signals.

load cluster

setup() { cat >"$BATS_TEST_TMPDIR/server" <<'PYTHON'
import signal, sys
for name in ("INT", "TERM", "HUP", "USR1", "USR2"):
    signal.signal(getattr(signal, "SIG" + name), lambda number, _: print("got", number, flush=True))
print("up", flush=True)
while True:
    signal.pause()
PYTHON
}

teardown() { cluster_down; }

# Waits until the log has that many such lines.
await() { # NUMBER LINE
    until_so 10 eval '(($(grep -cx '"'$2'"' "$log") >= '"$1"'))' || { cat "$log" && return 1; }
}

# Raises a cluster with these settings.
assert_each_arrives_once() { # SANDBOX_ARGUMENT...
    local round name number
    cluster_up --nodes 2 --cpus 8 "$@"
    log=$SCRATCH/log
    install -m 644 "$BATS_TEST_TMPDIR/server" "$SCRATCH"
    submit timeout --kill-after=5 120 srun -N2 --ntasks-per-node=1 --distgpu=vllm,gpus=keep \
        "$SCRATCH/distgpu" exec -- python3 "$SCRATCH/server" >"$log" 2>&1 3>&- &
    await 2 up
    for round in {1..20}; do
        for name in USR1 USR2; do
            number=$(kill -l "$name")
            submit scancel --signal="$name" 1.0
            await $((2 * round)) "got $number"
        done
    done
    for name in INT HUP TERM; do
        submit scancel --signal="$name" 1.0
        await 2 "got $(kill -l "$name")"
    done
    # Longer than another one would take.
    sleep 1.5
    for name in USR1:40 USR2:40 INT:2 HUP:2 TERM:2; do
        [ "$(grep -cx "got $(kill -l "${name%:*}")" "$log")" -eq "${name#*:}" ]
    done
    submit scancel --user "$(submit id -un)"
    wait $! || true
    assert_cluster_clean
}

@test "proctrack/linuxproc, which signals every process" {
    cluster_name+=l assert_each_arrives_once --proctrack linuxproc
}

@test "proctrack/cgroup, which signals exec alone" {
    cluster_name+=c assert_each_arrives_once --proctrack cgroup
}
