#!/usr/bin/env bats
# What a node reads and where it writes is injured: full file systems, topology files, hwloc's library,
# a discovery that hangs.
# shellcheck disable=SC2034 # faults.bash reads what the tests set

load faults

setup_file() {
    plugin_arguments+=("topology=/tmp/distgpu-$cluster_name/topology/saved")
    faults_up --conf MessageTimeout=5
    mkdir -m 755 "$SCRATCH/topology"
    topology=$SCRATCH/topology/saved
    export topology
    on node01 "$SCRATCH/distgpu" topo --save "$topology"
    cp "$topology" "$SCRATCH/topology/whole"
}
teardown_file() {
    thaw
    cluster_down
}

log() { echo "$(state)/log/slurmd-node01.log"; }

on_node01=(srun -N1 -n2 -w node01)

# A small full file system on a folder of node01.
fill() { # FOLDER
    on node01 mount -t tmpfs -o size=64k,mode=1777 full "$1"
    on node01 dd if=/dev/zero of="$1/filling" 2>/dev/null || true
}

empty() { on node01 umount "$1"; } # FOLDER

# bats test_tags=short
@test "/run/distgpu and /dev/shm are full" {
    fill /run/distgpu
    fill /dev/shm
    launch 10 "${on_node01[@]}" --distgpu=pytorch ./show
    empty /dev/shm
    empty /run/distgpu
    assert_ranks 2
    row '`/run/distgpu` and `/dev/shm` full' 'nothing'
}

# What the test's steps start from is below /tmp too, and is put back there.
@test "/tmp is full" {
    on node01 sh -c 'mount --bind "$1" "$2" && mount -t tmpfs -o size=64k,mode=1777 full /tmp &&
        mkdir "$1" && mount --move "$2" "$1"' sh "$SCRATCH" "$(state)/node01/mnt"
    (cd / && on node01 dd if=/dev/zero of=/tmp/filling 2>/dev/null || true)
    launch 10 "${on_node01[@]}" --distgpu=pytorch ./show
    # From a folder that is there.
    (cd / && on node01 umount "$SCRATCH" /tmp)
    assert_ranks 2
    row '`/tmp` full' 'nothing'
}

# Slurm itself then drains the node, also for a step that has nothing of distgpu.
@test "slurmd's spool is full" {
    local spool reasons=()
    spool=$(state)/node01/spool
    fill "$spool"
    for options in --distgpu=pytorch --quiet; do
        launch 10 "${on_node01[@]}" $options ./show
        [ "$status" -eq 0 ]
        [[ $options == --quiet ]] || assert_ranks 2
        until_so 20 drains node01
        reasons+=("$(submit sinfo --noheader --nodes=node01 --format=%E)")
        on login scontrol update nodename=node01 state=resume
    done
    empty "$spool"
    [ "${reasons[*]}" = 'SlurmdSpoolDir is full SlurmdSpoolDir is full' ]
    row "slurmd's spool full" 'nothing; Slurm drains the node, with and without distgpu'
}

drains() { [[ $(submit sinfo --noheader --nodes="$1" --format=%T) == drain* ]]; } # NODE

# The topology is passed over, with its reason in slurmd's log, and discovered.
passed_over() { # REASON
    : >"$(log)"
    launch 10 "${on_node01[@]}" --distgpu=pytorch ./show
    mv "$SCRATCH/topology/whole" "$topology"
    cp "$topology" "$SCRATCH/topology/whole"
    assert_ranks 2
    [[ $output != *distgpu:* ]]
    [ "$(grep -c "distgpu: ignored $topology: $1" "$(log)")" -eq 1 ]
}

# bats test_tags=short
@test "the topology file is truncated" {
    head -c 100 "$SCRATCH/topology/whole" >"$topology"
    passed_over ''
    row 'topology file truncated' 'nothing; slurmd.log says why it was ignored, and the node discovers'
}

@test "the topology file is another machine's" {
    sed -i 's/"boot_id":"[^"]*"/"boot_id":"11111111-2222-3333-4444-555555555555"/' "$topology"
    passed_over 'saved before the last boot, or on another machine'
    row 'topology file of another machine' 'nothing; slurmd.log says why it was ignored, and the node discovers'
}

@test "the topology file is unreadable" {
    chmod 600 "$topology"
    passed_over 'Permission denied'
    row 'topology file unreadable' 'nothing; slurmd.log says why it was ignored, and the node discovers'
}

# By rename, as distgpu topo --save does it, and in place, as an editor or cp may.
@test "the topology file is replaced while steps read it" {
    touch "$SCRATCH/replace"
    (while [ -e "$SCRATCH/replace" ]; do
        cp "$SCRATCH/topology/whole" "$topology.new"
        mv "$topology.new" "$topology"
        cat "$SCRATCH/topology/whole" >"$topology"
        sleep 0.002
    done) 3>&- &
    launched+=($!)
    for _ in {1..20}; do
        launch 10 "${on_node01[@]}" --distgpu=pytorch ./show
        assert_ranks 2
        [[ $output != *distgpu:* ]]
    done
    rm "$SCRATCH/replace"
    row 'topology file replaced while 20 steps read it' 'nothing'
}

# Fails unless the step ran as Slurm binds it, with this one line.
kept() { # REASON
    assert_ranks 2
    [ "$(distgpu_lines)" = "distgpu: topology of node01: $1; CPUs, GPUs and network devices stay as Slurm set them" ]
}

discovery() { echo "$SCRATCH/bin/distgpu topo --format json"; }

@test "libhwloc is missing" {
    # Under another name, since slurmstepd needs the library too.
    rm "$topology"
    cp "$SCRATCH/distgpu" "$SCRATCH/distgpu.real"
    sed -i 's/libhwloc\.so\.15/libhwloc.so.99/g' "$SCRATCH/distgpu"
    launch 10 "${on_node01[@]}" --distgpu=pytorch ./show
    usual_discovery
    kept "$(discovery): $SCRATCH/bin/distgpu: error while loading shared libraries: libhwloc.so.99: \
cannot open shared object file: No such file or directory"
    row '`libhwloc` missing, no saved topology' 'a line that says so; the step runs as Slurm binds it'
}

hanging_discovery() {
    rm "$topology"
    mv "$SCRATCH/distgpu" "$SCRATCH/distgpu.real"
    printf '#!/bin/sh\ntouch %s; %s\n' "$SCRATCH/discovering" "${waiting[*]}" >"$SCRATCH/distgpu"
    chmod 755 "$SCRATCH/distgpu"
}

usual_discovery() {
    mv "$SCRATCH/distgpu.real" "$SCRATCH/distgpu"
    cp "$SCRATCH/topology/whole" "$topology"
    on node01 sh -c 'rm -f /run/distgpu/*'
}

@test "a discovery that hangs costs its time once" {
    hanging_discovery
    launch 10 "${on_node01[@]}" --distgpu=pytorch ./show
    kept "$(discovery): no answer within 5 s"
    ((${seconds%.*} >= 5))
    first=$seconds
    launch 3 "${on_node01[@]}" --distgpu=pytorch ./show
    kept "$SCRATCH/bin/distgpu: timed out in an earlier step of yours, so it is not run again for 10 minutes"
    second=$seconds
    [ "$(on node01 sh -c 'stat -c "%U %a %n" /run/distgpu /run/distgpu/*')" = \
        "$(printf '%s\n' 'root 755 /run/distgpu' "root 644 /run/distgpu/silent-discovery.$(submit id -u)")" ]
    # Mended, it is asked at once.
    rm "$topology" "$SCRATCH/distgpu" 2>/dev/null || true
    cp "$SCRATCH/distgpu.real" "$SCRATCH/distgpu"
    launch 3 "${on_node01[@]}" --distgpu=pytorch ./show
    assert_ranks 2
    [[ $output != *distgpu:* ]]
    usual_discovery
    seconds="$first, then $second"
    row 'discovery that hangs, no saved topology' 'a line that says so; the step runs as Slurm binds it'
}

@test "a discovery that hangs, where nothing can be remembered" {
    hanging_discovery
    fill /run/distgpu
    launch 10 "${on_node01[@]}" --distgpu=pytorch ./show
    empty /run/distgpu
    usual_discovery
    kept "$(discovery): no answer within 5 s"
    row 'discovery that hangs, `/run/distgpu` full' 'a line that says so, for every step; the step runs as Slurm binds it'
}

# Processes in it do not even take SIGKILL, as in a driver that does not come back.
frozen() { echo "/sys/fs/cgroup/freezer/distgpu-$CLUSTER"; }

thaw() {
    [[ -d $(frozen) ]] || return 0
    echo THAWED >"$(frozen)/freezer.state"
    until_so 20 rmdir "$(frozen)"
}

@test "a discovery that cannot be killed" {
    [[ -e /sys/fs/cgroup/freezer/cgroup.procs ]] || skip 'needs the freezer of control groups, version 1'
    hanging_discovery
    mkdir "$(frozen)"
    start "${on_node01[@]}" --distgpu=pytorch ./show
    appears "$SCRATCH/discovering"
    for process in $(pgrep --full "$SCRATCH/bin/distgpu topo" && pgrep --full "${waiting[*]}"); do
        echo "$process" >"$(frozen)/cgroup.procs"
    done
    echo FROZEN >"$(frozen)/freezer.state"
    ended 15
    thaw
    usual_discovery
    kept "$(discovery): no answer within 5 s"
    row 'discovery that not even SIGKILL ends' 'a line that says so; the step runs as Slurm binds it'
}
