#!/usr/bin/env bats
# Slurm's own containers, srun --container: refused by the releases that write down what is in the
# container's environment before distgpu sets it, else as any step. A script stands in for crun,
# which wants more of the kernel than a sandbox has.

load cluster

setup_file() {
    cluster_up --nodes 2
    cp -r "$BATS_TEST_DIRNAME/oci_container" "$SCRATCH"
    chmod -R a+rX "$SCRATCH/oci_container"
    on_all sh -c "printf '%s\n' \
        'EnvExclude=\"^(SLURM_CONF|SLURM_CONF_SERVER)=\"' \
        'RunTimeQuery=\"true %n.%u.%j.%s.%t\"' \
        'RunTimeKill=\"true %n.%u.%j.%s.%t\"' \
        'RunTimeDelete=\"true %n.%u.%j.%s.%t\"' \
        'RunTimeRun=\"$SCRATCH/oci_container/runtime %b\"' >/etc/slurm/oci.conf"
    for node in node01 node02; do
        "$sandbox" node --name "$CLUSTER" stop "$node"
        "$sandbox" node --name "$CLUSTER" start "$node"
    done
}

is_22_05() { [[ $(submit srun --version) == *' 22.05.'* ]]; }

# bats test_tags=short
@test "Slurm 22.05: refused by srun, by option and by variable" {
    is_22_05 || skip "a later release"
    local line="distgpu: --container: this release of Slurm does not let --distgpu set variables in \
it; use --container-image of pyxis, or start the container within the step"
    run ! submit timeout 20 srun -N2 -n2 --distgpu=pytorch --container=oci_container sleep 60
    [ "$(distgpu_lines)" = "$line" ]
    SLURM_CONTAINER=oci_container run ! submit timeout 20 srun -N2 -n2 --distgpu=pytorch sleep 60
    [ "$(distgpu_lines)" = "$line" ]
}

@test "later releases: the container's tasks have their ranks" {
    ! is_22_05 || skip "Slurm 22.05"
    run -0 submit timeout 60 srun -N2 -n4 --ntasks-per-node=2 --container="$SCRATCH/oci_container" \
        --distgpu=pytorch,port=24600 \
        sh -c 'echo $IN_CONTAINER $RANK $LOCAL_RANK $WORLD_SIZE $MASTER_ADDR $MASTER_PORT'
    [ "$(sort <<<"$output")" = "yes 0 0 4 10.77.1.1 24600
yes 1 1 4 10.77.1.1 24600
yes 2 0 4 10.77.1.1 24600
yes 3 1 4 10.77.1.1 24600" ]
}
