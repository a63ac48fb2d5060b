# A cluster whose nodes have a topology of their own, and the comparison of its tasks with
# `distgpu plan`. Loaded after ../cluster.bash.
# shellcheck shell=bash

# Raises a cluster with real CPUs and four GPUs a node; arguments go to `sandbox up`.
binding_cluster_up() {
    local parts=$root/tests/integration/binding
    export TOPOLOGY=/tmp/distgpu-test$$/topology.xml
    plugin_arguments+=("topology=$TOPOLOGY")
    cluster_up --cpus "$(nproc)" --gpus 4 "$@"
    python3 -B "$root/tests/topologies/machines.py" here >"$TOPOLOGY"
    install -m 755 "$parts/compare.py" "$parts/show_task.sh" "$parts/cuda_view.sh" "$SCRATCH"
    made_up_driver 0 1 2 3
}

# What NVIDIA's driver tells of the topology's GPUs, on every node: these minors, in PCI order.
made_up_driver() { # MINOR MINOR MINOR MINOR
    local bus folder
    for bus in 13 14 93 94; do
        folder=$SCRATCH/driver/nvidia/gpus/0000:$bus:00.0
        mkdir -p "$folder"
        printf '%s\n' 'Model: Made-up' "GPU UUID: GPU-$bus" "Device Minor: $1" >"$folder/information"
        shift
    done
    on_nodes sh -c 'mountpoint -q /proc/driver || mount --bind "$1" /proc/driver' sh "$SCRATCH/driver"
}

# The tests' masks are those of CPUs 0 and 1, which are all that Slurm may find.
two_cpus_here() {
    [[ $(</sys/devices/system/cpu/online) == 0-1 ]] || skip "needs a machine of two CPUs"
}

# A file may have another.
setup() { two_cpus_here; }

# Fails unless the tasks of the step are bound as `distgpu plan` has it.
as_planned() { # [OPTION OF compare.py]... -- SRUN_ARGUMENT...
    local options=()
    while [[ $1 != -- ]]; do
        options+=("$1")
        shift
    done
    run submit ./compare.py --distgpu "$SCRATCH/distgpu" --topology "$TOPOLOGY" \
        --show "$SCRATCH/show_task.sh" "${options[@]}" -- srun "${@:2}"
    echo "srun ${*:2}"
    echo "$output"
    [ "$status" -eq 0 ]
}
