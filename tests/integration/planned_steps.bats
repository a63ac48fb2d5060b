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

@test "an srun line is planned as srun deals it" {
    local options planned
    for options in '-N2 -n6 --ntasks-per-node=3' '-N3 -n3 -m cyclic' '-N 2 --ntasks-per-node 3' \
        '-N3 --ntasks-per-node=4 -m plane=2' '-w node[01-03] --ntasks-per-node=2 --distribution=cyclic:block'; do
        # shellcheck disable=SC2086 # several words
        planned=$("$command" plan -- srun $options --distgpu=pytorch a | sed -nE 's/^ +([0-9]+) +node0?([0-9]) +([0-9]+).*/\1 \2 \3/p')
        # shellcheck disable=SC2016 # the task expands them
        run submit bash -c "srun $options --distgpu=pytorch sh -c 'echo \$RANK \$SLURMD_NODENAME \$LOCAL_RANK'"
        echo "$options: $output, planned: $planned"
        [ "$status" -eq 0 ]
        [ "$(grep '^[0-9]' <<<"$output" | sed 's/node0//' | sort -n)" = "$(sort -n <<<"$planned")" ]
    done
}

# What srun inherits from a job is Slurm's to say, so real jobs run the scripts that are planned.
@test "a batch script is planned as its job runs" {
    local script=$SCRATCH/job.sbatch options planned ran
    while IFS='|' read -r directives options; do
        printf '#!/bin/bash\n#SBATCH %s\n#SBATCH --distgpu=pytorch\nsrun %s %s\n' "$directives" "$options" \
            "sh -c 'echo \$RANK \$SLURMD_NODENAME \$LOCAL_RANK'" >"$script"
        planned=$("$command" plan "$script" | sed -nE 's/^ +([0-9]+) +node0?([0-9]) +([0-9]+).*/\1 \2 \3/p')
        run submit sbatch --wait --output="$SCRATCH/ran" "$script"
        ran=$(grep '^[0-9]' "$SCRATCH/ran")
        echo "$directives | $options: $output, ran: $ran, planned: $planned"
        [ "$status" -eq 0 ]
        [ "$(sort -n <<<"${ran//node0/}")" = "$(sort -n <<<"$planned")" ]
        rm "$SCRATCH/ran"
    done <<'EOF'
-N4 --ntasks-per-node=2|
-N4 --ntasks-per-node=2|-N2 -n2
-N4 --ntasks-per-node=2|-n3
-N2|
-n8 --ntasks-per-node=4|
-N2 --ntasks-per-node=2 -m cyclic|
-N2 --ntasks-per-node=2 -m cyclic|-m block
-N3 --ntasks-per-node=2|-N2 -n ${SLURM_NNODES} -m cyclic
EOF
}
