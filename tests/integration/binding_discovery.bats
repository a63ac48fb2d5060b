#!/usr/bin/env bats
# Discovering a node's topology: saved at boot, live, and when it fails or hangs. Whatever goes
# wrong costs 5 s at most, is told once, and the job runs as Slurm binds it.

# shellcheck disable=SC2154 # cluster.bash sets sandbox and plugin

load cluster
load binding/cluster

setup_file() {
    binding_cluster_up --nodes 1
    own_runtime_folder node01
}

teardown_file() { cluster_down; }

setup() {
    two_cpus_here
    assert_cluster_clean
    cp "$TOPOLOGY" "$BATS_TEST_TMPDIR/topology.xml"
    slurmd_log=/run/distgpu-sandbox/$CLUSTER/log/slurmd-node01.log
}

teardown() {
    rm -f "$TOPOLOGY"
    cp "$BATS_TEST_TMPDIR/topology.xml" "$TOPOLOGY"
    [ ! -e "$BATS_TEST_TMPDIR/distgpu" ] || mv -f "$BATS_TEST_TMPDIR/distgpu" "$SCRATCH"
}

# Launches two tasks on four GPUs, which the topology has in the order 0,2,1,3. They have both CPUs,
# so that the step is confined without a control group.
launch() {
    SECONDS=0
    run submit srun -n2 --gres=gpu:4 --distgpu=pytorch ./show_task.sh
    took=$SECONDS
    echo "$took s: $output"
    [ "$status" -eq 0 ]
}

# Fails unless the tasks ran as Slurm binds them, with this one warning, within 5 s.
kept() { # PROBLEM
    launch
    [ "$took" -le 6 ]
    [[ $output == *"node01 0 0,1 0,1,2,3"* && $output == *"node01 1 0,1 0,1,2,3"* ]]
    local warning="distgpu: topology of node01: $1; CPUs, GPUs and network devices stay as Slurm set them"
    [ "$(grep -c 'topology of' <<<"$output")" -eq 1 ]
    [[ $output == *"$warning"* ]]
}

# Fails unless the tasks got what this machine's own topology gives: CPUs, and no GPU.
live_topology() {
    [[ $output == *"node01 0 0 0,1,2,3"* && $output == *"node01 1 1 0,1,2,3"* ]]
    [[ $output != *"topology of"* ]]
}

xml_command() { echo "$SCRATCH/distgpu topo --format json --topology $TOPOLOGY"; }

@test "an XML file is the topology" {
    launch
    [[ $output == *"node01 0 1 0,2,1,3"* && $output == *"node01 1 0 0,2,1,3"* ]]
}

@test "a truncated XML" {
    head -c 3000 "$BATS_TEST_TMPDIR/topology.xml" >"$TOPOLOGY"
    kept "$(xml_command): $TOPOLOGY: not a topology that hwloc 2 reads; write it again with lstopo FILE.xml"
}

@test "an XML that is a FIFO" {
    rm "$TOPOLOGY"
    mkfifo -m 644 "$TOPOLOGY"
    launch
    [ "$took" -le 6 ]
    live_topology
    grep -q "distgpu: ignored $TOPOLOGY: not a regular file" "$slurmd_log"
}

@test "a discovery that hangs is ended, with what it started" {
    mv "$SCRATCH/distgpu" "$BATS_TEST_TMPDIR"
    printf '#!/bin/sh\nsleep 61 & sleep 61\n' >"$SCRATCH/distgpu"
    chmod 755 "$SCRATCH/distgpu"
    kept "$(xml_command): no answer within 5000 ms"
    [ "$took" -ge 5 ]
    mv "$BATS_TEST_TMPDIR/distgpu" "$SCRATCH"
    run -1 on node01 pgrep --full 'sleep 61'
    [ -z "$output" ]
}

@test "a command that fails, crashes, is missing or answers nonsense" {
    local script problem
    mv "$SCRATCH/distgpu" "$BATS_TEST_TMPDIR"
    for script in 'echo "no PCI" >&2; exit 3' 'kill -SEGV $$' 'echo "{}"' ''; do
        rm -f "$SCRATCH/distgpu"
        [ -z "$script" ] || printf '#!/bin/sh\n%s\n' "$script" >"$SCRATCH/distgpu"
        [ -z "$script" ] || chmod 755 "$SCRATCH/distgpu"
        case $script in
            *PCI*) problem="$(xml_command): no PCI" ;;
            *SEGV*) problem="$(xml_command): ended by signal 11" ;;
            *{}*) problem="$SCRATCH/distgpu: \"schema\": not distgpu.topo/1" ;;
            *) problem="$(xml_command): cannot be started" ;;
        esac
        kept "$problem"
    done
    mv "$BATS_TEST_TMPDIR/distgpu" "$SCRATCH"
}

@test "an unreadable /sys, and a libibverbs that hangs" {
    cc -shared -fPIC -o "$SCRATCH/hang.so" -x c - <<<'#include <unistd.h>
        __attribute__((constructor)) static void hang(void) { sleep(60); }'
    rm "$TOPOLOGY"
    on node01 mount --bind "$SCRATCH/hang.so" "$(readlink -f /usr/lib/*/libibverbs.so.1)"
    on node01 mount -t tmpfs -o mode=0 nothing /sys
    kept "$SCRATCH/distgpu topo --format json: /sys: cannot be read, so that nothing is known of this machine's devices; run it where sysfs is mounted on /sys"
    on node01 umount /sys
    on node01 umount "$(readlink -f /usr/lib/*/libibverbs.so.1)"
    # Nothing loads libibverbs.
    [ "$took" -le 2 ]
}

@test "a topology that was saved since the boot is read without asking the command" {
    on node01 "$SCRATCH/distgpu" topo --save "$TOPOLOGY"
    mv "$SCRATCH/distgpu" "$BATS_TEST_TMPDIR"
    launch
    mv "$BATS_TEST_TMPDIR/distgpu" "$SCRATCH"
    live_topology
}

@test "a saved topology of another boot, another machine or broken is ignored, with one line in the log" {
    local change why
    for change in 's/"boot_id":"[^"]*"/"boot_id":"11111111-2222-3333-4444-555555555555"/' \
        's/"pci":\[/"pci":["ffff:00:00.0",/' 's/"schema"/"scheme"/'; do
        on node01 "$SCRATCH/distgpu" topo --save "$TOPOLOGY"
        sed -i "$change" "$TOPOLOGY"
        : >"$slurmd_log"
        launch
        live_topology
        case $change in
            *boot_id*) why='saved before the last boot, or on another machine' ;;
            *pci*) why='PCI devices have changed since it was saved' ;;
            *) why='.*"schema".*' ;;
        esac
        [ "$(grep -c "distgpu: ignored $TOPOLOGY: $why" "$slurmd_log")" -eq 1 ]
    done
}

@test "topology= names a file for each node" {
    "$sandbox" up --name "$CLUSTER-2" --nodes 2 --cpus 2 --gpus 4 --plugin \
        "$SCRATCH/${plugin##*/} command=$SCRATCH/distgpu topology=$SCRATCH/%n-%h-100%%.xml"
    cp "$TOPOLOGY" "$SCRATCH/node02-node02-100%.xml"
    run "$sandbox" run --name "$CLUSTER-2" -- \
        srun -N2 -n4 --gres=gpu:4 --distgpu=pytorch "$SCRATCH/show_task.sh"
    "$sandbox" down --name "$CLUSTER-2"
    [ "$status" -eq 0 ]
    [[ $output == *"node02 0 1 0,2,1,3"* && $output == *"node01 0 0 0,1,2,3"* ]]
}

@test "the node's name in topology= is Slurm's, whatever SLURMD_NODENAME says" {
    "$sandbox" up --name "$CLUSTER-2" --nodes 2 --cpus 2 --gpus 4 --plugin \
        "$SCRATCH/${plugin##*/} command=$SCRATCH/distgpu topology=$SCRATCH/%n.xml"
    cp "$TOPOLOGY" "$SCRATCH/node02.xml"
    cp "$TOPOLOGY" "$SCRATCH/evil.xml"
    local name outputs=''
    for name in node01 node02 ../${SCRATCH##*/}/evil; do
        SLURMD_NODENAME=$name run "$sandbox" run --name "$CLUSTER-2" -- \
            srun -N2 -n4 --gres=gpu:4 --distgpu=pytorch "$SCRATCH/show_task.sh"
        outputs+="$status $output"$'\n'
    done
    "$sandbox" down --name "$CLUSTER-2"
    echo "$outputs"
    [ "$(grep -c 'node02 0 1 0,2,1,3' <<<"$outputs")" -eq 3 ]
    [ "$(grep -c 'node01 0 0 0,1,2,3' <<<"$outputs")" -eq 3 ]
}

@test "a topology file that is too large or too deep is ignored, with one line in the log" {
    local size why
    for size in 15000000 4000000; do
        { printf '{"schema":' && head -c "$size" /dev/zero | tr '\0' '['; } >"$TOPOLOGY"
        : >"$slurmd_log"
        launch
        live_topology
        why='larger than 4 MiB'
        ((size > 4194304)) || why='nested deeper than 32 levels'
        [ "$(grep -c "distgpu: ignored $TOPOLOGY: $why" "$slurmd_log")" -eq 1 ]
    done
}

@test "with gpus, cpus and hcas kept nothing is discovered" {
    mv "$SCRATCH/distgpu" "$BATS_TEST_TMPDIR"
    run submit srun -n2 --gres=gpu:4 --distgpu=pytorch,bind=none ./show_task.sh
    mv "$BATS_TEST_TMPDIR/distgpu" "$SCRATCH"
    [ "$status" -eq 0 ]
    [[ $output == *"node01 0 0,1 0,1,2,3"* && $output != *"topology of"* ]]
}
