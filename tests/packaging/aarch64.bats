#!/usr/bin/env bats
# What is built for aarch64, on a machine with x86-64: the unit and golden tests, the command compared
# with this machine's, and steps on nodes whose slurmd, slurmstepd and plugin are those for aarch64.
# Needs root and network; the plugin and the command for this machine are $DISTGPU_PLUGIN and
# $DISTGPU_COMMAND.
#
# qemu runs each program on this machine's file system, but opens the file of the same path in $arm if
# there is one. Programs that it starts run without it, because the kernel is not asked to do
# otherwise: that would concern the whole machine. So they are x86-64's, unless they are scripts that
# start qemu, which replace slurmd, slurmstepd and the command here.
# shellcheck source=tests/packaging/packages.bash
source "$BATS_TEST_DIRNAME/packages.bash"
# shellcheck source=tests/matrix/root.bash
source "$root/tests/matrix/root.bash"
cache=${DISTGPU_CACHE:-$root/.cache}
sandbox=$root/tools/sandbox/sandbox
zig=$cache/portable/aarch64
debian=$cache/portable-roots/bookworm-arm64-slurmd
build=$root/build/aarch64
command=${DISTGPU_COMMAND:-$root/build/dev/tools/distgpu/distgpu}
plugin=${DISTGPU_PLUGIN:-$root/build/dev/spank_plugin/spank_distgpu.so}
# Open to the user whose jobs run there, which bats's own folders are not.
stage=/tmp/distgpu-aarch64
arm=$stage/arm
qemu=(qemu-aarch64-static -L "$arm")
# Tests that need what qemu-user does not have.
left_out=(
    # prctl(PR_SET_CHILD_SUBREAPER)
    RunCommand.WhatTakesTooLongIsKilledWithItsChildren RunCommand.WhatAProgramLeavesBehindIsKilled
    Supervise.LeavesNoDescendant Supervise.WaitsForAResourceTracker
    # getsockopt(TCP_INFO) and ioctl(SIOCOUTQNSD)
    Stream.IsHeldBackWhileTcpIsFull Stream.IsHeldBackWhileDataIsUnsent
    # In /proc, a process's program is qemu, its system call x86-64's, its own times are 0, and it
    # catches every signal.
    ProcessFacts.OfThisProcess OwnProgram.IsNotThatOfAProcessInAnotherWorld
    FindStackTools.AreSoughtBesideOwnProgramsAndTheirLinks
    ProcessFacts.TellInWhichCallAProcessSleeps ProcessFacts.TellWhichThreadsSleepForATime
    ReadWork.HasWhatTheProcessesBelowDid
    TaskParentTest.PassesASignalToTheRankThatCatchesItOnce
    TaskParentTest.WaitsForTheRankThatHandlesWhatEndedItsShell
    # Netlink, by which a process's connections are read
    SocketsOf.CountNoBackgroundPort SocketsOf.GrowQuietWhenNothingMoves SocketsOf.TellsWhatMoved
)

setup_file() {
    needs_root
    "$root/packaging/portable/prepare" "${zig%/*}" >&2
    make_root bookworm "$debian" arm64 slurmd >&2
    rm -rf "$stage"
    mkdir -p "$arm/usr"
    cp -R "$debian/lib" "$arm"
    cp -R "$debian/usr/lib" "$arm/usr"
    compile >&2
}

teardown_file() {
    "$sandbox" down --name aarch64 >/dev/null 2>&1 || true
    rm -rf "$stage"
}

# The product as in a release; only the tests are not optimized.
compile() {
    local toolchain=(-G Ninja -DCMAKE_TOOLCHAIN_FILE="$root/packaging/portable/zig.cmake"
        -DDISTGPU_PORTABLE="$zig")
    cmake -S /usr/src/googletest -B "$build/googletest" "${toolchain[@]}" -DCMAKE_BUILD_TYPE=Release \
        -DCMAKE_INSTALL_PREFIX="$build/root"
    cmake --build "$build/googletest" --target install
    cmake -S "$root" -B "$build" "${toolchain[@]}" -DCMAKE_BUILD_TYPE=RelWithDebInfo \
        -DCMAKE_CXX_FLAGS_RELWITHDEBINFO='-O3 -DNDEBUG' -DGTest_DIR="$build/root/lib/cmake/GTest" \
        -DCMAKE_GTEST_DISCOVER_TESTS_DISCOVERY_MODE=PRE_TEST \
        -DDISTGPU_PLUGIN=ON -DSlurm_INCLUDE_DIR="$zig/slurm/$slurm/include" \
        -DDISTGPU_COMMAND=ON -DDISTGPU_NCCL_SCALING=OFF
    cmake --build "$build" --target spank_distgpu distgpu_command unit_tests golden_tests golden_binding_tests
}

distgpu_arm() { "${qemu[@]}" "$build/tools/distgpu/distgpu" "$@"; }

# Each program is one process, so that a test also meets what those before it leave behind.
@test "unit and golden tests pass" {
    local program failed=0
    for program in unit/unit_tests golden/golden_tests golden/golden_binding_tests; do
        run "${qemu[@]}" "$build/tests/$program" --gtest_brief=1 --gtest_filter="-$(IFS=: && echo "${left_out[*]}")"
        echo "$output"
        grep -E '^\[(==========|  PASSED  |  SKIPPED )\]' <<<"$output" | sed "s|^|# $program: |" >&3
        [ "$status" -eq 0 ] || failed=1
    done
    ((!failed))
}

# The same output and status on both; prints the seconds that each took.
compare() { # ARGUMENT...
    local TIMEFORMAT=%R seconds=() program output
    for program in "$command" distgpu_arm; do
        output=$BATS_TEST_TMPDIR/${program##*/}
        seconds+=("$( { time { "$program" "$@" &>"$output" || echo "status $?" >>"$output"; }; } 2>&1)")
    done
    diff "$BATS_TEST_TMPDIR"/{distgpu,distgpu_arm}
    echo "# $*: ${seconds[1]} s, on x86-64 ${seconds[0]} s" >&3
}

@test "the command's output is that of x86-64" {
    local file
    compare topo --format json
    for file in "${DISTGPU_MACHINES:-$root/build/dev/tests/topologies}"/*.xml \
        ${DISTGPU_TOPOLOGIES:+"$DISTGPU_TOPOLOGIES"/*.xml}; do
        compare topo --format json --topology "$file"
        compare plan jax --nodes 2 --ntasks-per-node 4 --cpus-per-task 2 --topology "$file"
    done
    compare plan torchrun,rdzv=c10d --nodes 4 --ntasks-per-node 1 --gpus-per-node 8
    compare plan tensorflow,chief=1,ps=2 --nodes 3 --ntasks 7 --distribution cyclic
    compare plan horovod --nodes 2 --tasks-per-node 3,1
    compare plan "$root/examples/torchrun.sbatch"
    compare plan deepspeed --nodes 1000 --ntasks-per-node 8 --format json
    compare exec pytorch -- sh -c 'env | sort | grep -v ^_='
}

# A script that runs a program for aarch64 under its own name, which Slurm's daemons look at.
stand_in() { # FILE PROGRAM ARGUMENT...
    printf '#!/bin/sh\nexec %s "$@"\n' "${qemu[*]} -0 ${1##*/} ${*:2}" >"$1"
    chmod +x "$1"
}

# srun loads this machine's plugin, and slurmstepd on the nodes that of the same path in $arm.
start_cluster() {
    local daemons=$BATS_TEST_TMPDIR
    mkdir -p "$arm$stage"
    local part
    for part in '' _step; do
        cp "${plugin%.so}$part.so" "$stage/plugin$part.so"
        cp "$build/spank_plugin/spank_distgpu$part.so" "$arm$stage/plugin$part.so"
    done
    cp "$build/tools/distgpu/distgpu" "$stage/distgpu-arm"
    stand_in "$stage/distgpu" "$stage/distgpu-arm"
    stand_in "$daemons/slurmstepd" "$debian/usr/sbin/slurmstepd-wlm"
    stand_in "$daemons/slurmd" "$debian/usr/sbin/slurmd-wlm" -d "$daemons/slurmstepd"
    PATH=$daemons:$PATH "$sandbox" up --name aarch64 --nodes 2 --gpus 2 \
        --plugin "$stage/plugin.so command=$stage/distgpu"
}

on_cluster() { "$sandbox" run --name aarch64 -- "$@"; }

@test "tasks get their ranks and GPUs, and a port in use is refused" {
    # shellcheck disable=SC2016 # the task expands it
    local task=(sh -c 'echo $RANK of $WORLD_SIZE on $(hostname), GPUs $CUDA_VISIBLE_DEVICES') expected
    expected="0 of 4 on node01, GPUs 0,1
1 of 4 on node01, GPUs 0,1
2 of 4 on node02, GPUs 0,1
3 of 4 on node02, GPUs 0,1"
    start_cluster
    run -0 on_cluster scontrol --oneliner show nodes
    [ "$(grep -c ' Arch=aarch64 ' <<<"$output")" = 2 ]
    # Quiet: the job before may not have ended for slurmctld, and srun says that it waits.
    local step=(srun --quiet -N2 --ntasks-per-node=2 --cpus-per-task=2 --gres=gpu:2)
    run -0 on_cluster "${step[@]}" --distgpu=pytorch "${task[@]}"
    [ "$(sort <<<"$output")" = "$expected" ]
    run -0 on_cluster "${step[@]}" "$stage/distgpu" exec pytorch -- "${task[@]}"
    [ "$(sort <<<"$output")" = "$expected" ]
    "$sandbox" on --name aarch64 node01 -- python3 -m http.server 29777 >/dev/null 2>&1 3>&- &
    on_cluster timeout 20 bash -c 'until : </dev/tcp/node01/29777; do sleep 0.1; done' 2>/dev/null
    run on_cluster srun -N2 --distgpu=pytorch,port=29777 true
    kill $!
    [ "$status" -ne 0 ]
    [[ $output == *"distgpu: port 29777 (from port=29777) on node01: already in use; choose another with the key port=N"* ]]
}
