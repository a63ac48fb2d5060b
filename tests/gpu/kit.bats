#!/usr/bin/env bats
# The kit for a machine that has a GPU, with all its cases, over stand-ins for NVIDIA's libraries.
bats_require_minimum_version 1.5.0

root=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
build=${DISTGPU_BUILD:-$root/build/dev}

setup_file() {
    export KIT=$BATS_FILE_TMPDIR/kit MOCKS=$BATS_FILE_TMPDIR/mocks
    "$root/tests/gpu/pack" --output "$KIT" --build "$build"
    "$root/tests/gpu/mocks/build" "$MOCKS" "$build/tools/distgpu/distgpu"
}

# The table's line of a case.
line_of() { # CASE
    grep -E "^[a-z]+ +[0-9.]+ s  $1: " <<<"$output"
}

# Where nothing of the checkout can be seen, as on the machine that the kit is carried to.
kit() { # -STATUS ARGUMENT...
    run "$1" unshare --mount sh -c 'mount -t tmpfs none "$0" && cd / && exec "$@"' "$root" \
        "$KIT/run" --output "$BATS_TEST_TMPDIR/report" "${@:2}"
}

@test "the kit can be carried" { [ "$(du --summarize --block-size=1M "$KIT" | cut -f1)" -lt 60 ]; }

@test "without a GPU: status 77, and one line that says why" {
    kit -77
    [ "$output" = 'tests/gpu/run: no GPU here: nvidia-smi is missing or names none' ]
}

@test "without a kit: what to do" {
    run -2 "$root/tests/gpu/run" --mocks "$MOCKS" --kit /nowhere
    [ "$output" = 'tests/gpu/run: no kit here: make it with tests/gpu/pack' ]
}

@test "a case that does not exist" {
    kit -2 --only topo-nvidia-smi,nothing
    [ "$output" = 'tests/gpu/run: --only nothing: no such case; see --list' ]
}

@test "all cases over the stand-ins" {
    kit -0 --mocks "$MOCKS"
    [[ ${lines[-1]} == '17 passed, 0 failed, 5 skipped; '* ]]
    # These alone need what a stand-in cannot be.
    [ "$(grep ^skipped <<<"$output" | awk '{ print $4 }' | sort | tr '\n' ' ')" = \
        'busy: sanitizer: srun-hang: topo-cuda-order: topo-kernel: ' ]
    [[ $(line_of one-gpu-two-ranks) == *'work with: two hosts by NCCL_HOSTID' ]]
    jq --exit-status '.schema == "distgpu.gpu-report/1" and .mocks and (.cases | length) == 22' \
        "$BATS_TEST_TMPDIR/report/report.json"
    grep -q 'no figure here is of a GPU' "$BATS_TEST_TMPDIR/report/report.md"
}

@test "a wrong answer fails its case, and the others go on" {
    cp -r "$MOCKS" "$BATS_TEST_TMPDIR/mocks"
    sed -i 's/0a0b0c0d0e03/000000000000/; s/0000:05:00.0/0000:55:00.0/' \
        "$BATS_TEST_TMPDIR/mocks/topology.json"
    kit -1 --mocks "$BATS_TEST_TMPDIR/mocks" --only topo-nvidia-smi,plan
    [[ $(line_of topo-nvidia-smi) == failed*'GPU 3: 0000:55:00.0, nvidia-smi has 0000:05:00.0; GPU 3: GPU-00010203-0405-0607-0809-000000000000, nvidia-smi has GPU-'* ]]
    [[ $(line_of plan) == passed* ]]
}

@test "a program that crashes or hangs fails its cases in their time" {
    cp -r "$KIT" "$BATS_TEST_TMPDIR/kit"
    printf '#!/bin/sh\nkill -SEGV $$\n' >"$BATS_TEST_TMPDIR/kit/bin/nccl-scaling"
    local seconds=1000.$BATS_ROOT_PID # no other process on the machine sleeps so long
    printf '#!/bin/sh\nsleep %s\n' "$seconds" >"$BATS_TEST_TMPDIR/kit/bin/distgpu"
    SECONDS=0
    KIT=$BATS_TEST_TMPDIR/kit kit -1 --mocks "$MOCKS" --only topo-nvidia-smi,scaling-wrong-data
    ((SECONDS < 60))
    [[ $(line_of topo-nvidia-smi) == 'failed '*'distgpu topo: status None' ]]
    [[ $(line_of scaling-wrong-data) == 'failed '*'a wrong element: status 139, not 5' ]]
    run -1 pgrep -f "sleep $seconds"
}

@test "the minutes end" {
    kit -0 --mocks "$MOCKS" --minutes 0 --only machine,plan
    [[ ${lines[-1]} == '0 passed, 0 failed, 2 skipped; '* ]]
    [[ $(line_of machine) == *'the minutes were over' ]]
}

@test "nothing is left behind" {
    run -0 find "${TMPDIR:-/tmp}" -maxdepth 1 -name 'distgpu-gpu.*'
    [ "$output" = '' ]
}
