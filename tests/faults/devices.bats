#!/usr/bin/env bats
# The device control of version 2 control groups: a program of the kernel's on the unified hierarchy
# denies GPUs to a node's steps. Slurm has no controller there on this machine, so the test puts
# slurmd, and with it every step, into such a group.
# shellcheck disable=SC2034 # faults.bash reads what the tests set

load ../integration/binding/cluster
load faults

setup_file() {
    plugin_arguments+=("topology=/tmp/distgpu-$cluster_name/topology.xml")
    faults_up --cpus "$(nproc)" --gpus 4
    python3 -B "$root/tests/topologies/machines.py" here >"$SCRATCH/topology.xml"
    install -m 755 "$root/tests/integration/binding/cuda_view.sh" "$SCRATCH"
    made_up_driver 0 1 2 3
}
teardown_file() {
    cluster_down
    [[ ! -d $(group) ]] || rmdir "$(group)"
}

group() { echo "/sys/fs/cgroup/unified/distgpu-$CLUSTER"; }

@test "a version 2 control group denies GPUs" {
    [[ -e /sys/fs/cgroup/unified/cgroup.procs ]] || skip 'needs the unified hierarchy of control groups'
    mkdir "$(group)"
    "$folder/device_group.py" "$(group)" 120 2 3 || skip 'the kernel takes no program'
    on node01 sh -c 'cat "$1" >"$2/cgroup.procs"' sh "$(state)/node01/slurmd.pid" "$(group)"
    start srun -N1 -n1 -w node01 --gres=gpu:2 sh -c 'touch holding; until [ -e go ]; do sleep 0.1; done'
    appears "$SCRATCH/holding"
    holder=$started
    [[ $(on node01 sh -c 'cat /dev/nvidia0' 2>&1) == *'No such device'* ]]
    [[ $(submit srun -N1 -n1 -w node01 cat /dev/nvidia0 2>&1) == *'Operation not permitted'* ]]
    launch 10 srun -N1 -n1 -w node01 --gres=gpu:2 --distgpu=pytorch ./cuda_view.sh
    touch "$SCRATCH/go"
    wait "$holder"
    [ "$status" -eq 0 ]
    rm "$SCRATCH"/{holding,go}
    [[ $(grep '^0:' <<<"$output") == '0: 93/nvidia2=yes 94/nvidia3=yes CPUs '* ]]
    row 'GPUs denied by a control group of version 2' 'nothing: the numbers are those of the GPUs that open'
}
