#!/usr/bin/env bats
# A step on more nodes than may ask slurmctld for its layout, from a host of srun without the
# plugin: what the nodes can derive for certain starts, the rest is refused by all of them.

load cluster

setup_file() {
    cluster_up --nodes 65 --cpus 2 --gpus 0
    printf 'node%02d\n' {65..1} >"$SCRATCH/hosts"
    on login sh -c '>/etc/slurm/plugstack.conf'
}

# What slurmctld was asked by root, as whom the nodes ask.
layouts_asked() {
    submit sdiag | awk '$1 == "REQUEST_STEP_LAYOUT" { sub(/.*count:/, ""); print $1 }'
}

@test "a cyclic step starts on 65 nodes without a question" {
    local before
    before=$(layouts_asked)
    SLURM_DISTGPU=pytorch run -0 submit srun --quiet -N65 -m cyclic bash -c 'echo "$RANK $NODE_RANK $MASTER_ADDR"'
    [ "$(sort -n <<<"$output")" = "$(for i in {0..64}; do echo "$i $i 10.77.1.1"; done)" ]
    [ "$(layouts_asked)" = "$before" ]
}

# Nodes wait by their index before they tell, so that one silences the rest; a slow one may be late.
@test "a step in another order is refused on 65 nodes, by few lines and without a question" {
    local before
    before=$(layouts_asked)
    SLURM_DISTGPU=pytorch SLURM_HOSTFILE=./hosts run ! submit srun -m arbitrary -n65 echo started
    [ "$(distgpu_lines | wc -l)" -le 3 ]
    [[ $(distgpu_lines | sort -u) =~ ^"distgpu: step "[0-9]+".0: only slurmctld knows which node each task runs on, and at \
most 64 nodes may ask it, but the step has 65; load the plugin on the host of srun too, or use -m cyclic or -m \
plane=N"$ ]]
    [ "$(grep -c started <<<"$output")" -eq 0 ]
    [ "$(layouts_asked)" = "$before" ]
}

@test "the same step starts on 64 nodes, each of which asks" {
    local before
    before=$(layouts_asked)
    head -n 64 "$SCRATCH/hosts" >"$SCRATCH/hosts64"
    SLURM_DISTGPU=pytorch SLURM_HOSTFILE=./hosts64 run -0 submit srun --quiet -m arbitrary -n64 \
        bash -c 'echo "$RANK $NODE_RANK $MASTER_ADDR"'
    [ "$(sort -n <<<"$output")" = "$(for i in {0..63}; do echo "$i $i 10.77.1.65"; done)" ]
    ((before + 64 == $(layouts_asked)))
}
