#!/usr/bin/env bats
# What `distgpu plan` says beforehand is what srun --distgpu gives every task: for every mode and
# for a hundred random shapes (shapes.py, which lists what cannot be known beforehand).
# shellcheck disable=SC2154 # cluster.bash sets root; run sets output and status

load cluster

setup_file() {
    export TOPOLOGY=$root/tests/topologies/one-socket-gpus.xml
    plugin_arguments+=(topology=/tmp/distgpu-test$$/topology.xml)
    cluster_up --cpus 24
    cp "$TOPOLOGY" "$SCRATCH/topology.xml"
    cp "$root/tests/integration/shapes.py" "$SCRATCH"
    chmod a+rx "$SCRATCH/shapes.py"
}
teardown_file() { cluster_down; }

@test "every mode and a hundred random shapes are as planned" {
    local modes
    modes='pytorch lightning lightning,per-node,nproc=2 accelerate accelerate,per-node,nproc=2
        deepspeed deepspeed,per-node megatron horovod horovod,backend=gloo ompi tensorflow jax
        torchrun,nproc=2 composer,nproc=2'
    run submit ./shapes.py --distgpu "$SCRATCH/distgpu" --topology "$SCRATCH/topology.xml" \
        "$modes" 100 2026
    echo "$output"
    [ "$status" -eq 0 ]
    [ "${lines[-1]}" = "115 of 115 as planned" ]
}
