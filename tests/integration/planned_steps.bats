#!/usr/bin/env bats
# What `distgpu plan` says beforehand is what srun --distgpu gives every task: for every mode and
# for a hundred random shapes (shapes.py, which lists what cannot be known beforehand).

load cluster

setup_file() {
    export TOPOLOGY=$machines/one-socket-gpus.xml
    plugin_arguments+=(topology=/tmp/distgpu-test$$/topology.xml)
    cluster_up --cpus 24
    cp "$TOPOLOGY" "$SCRATCH/topology.xml"
    cp "$root/tests/integration/shapes.py" "$SCRATCH"
    chmod a+rx "$SCRATCH/shapes.py"
}

@test "every mode and a hundred random shapes are as planned" {
    local modes
    modes='pytorch lightning lightning,per-node,nproc=2 accelerate accelerate,per-node,nproc=2
        deepspeed deepspeed,per-node megatron horovod horovod,backend=gloo ompi tensorflow jax
        torchrun,nproc=2 composer,nproc=2'
    run -0 submit ./shapes.py --distgpu "$SCRATCH/distgpu" --topology "$SCRATCH/topology.xml" \
        "$modes" 100 2026
    [ "${lines[-1]}" = "115 of 115 as planned" ]
}

# What srun inherits from a job is Slurm's to say, so real jobs run the scripts that are planned.
# bats test_tags=short
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
