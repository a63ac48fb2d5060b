#!/usr/bin/env bats
# Random launch shapes, as in ../integration/matrix.bats, with pyxis in the stack and one shape in
# three in a container whose image sets ranks of its own: each task's variables are those of the
# place where Slurm put it.
#
# DISTGPU_MATRIX_SEED=N draws other random shapes than the usual ones.
# shellcheck disable=SC2034,SC2154 # shapes.bash reads; containers.bash and run set them

load containers
load ../integration/matrix/shapes

setup_file() {
    containers_up before "${shape_cluster[@]}"
    have_containers || return 0
    install_matrix
    image ranks SLURM_PROCID=0 SLURM_LOCALID=0 SLURM_NODEID=0 SLURM_STEP_NUM_TASKS=1 RANK=0 \
        LOCAL_RANK=0 WORLD_SIZE=1 MASTER_ADDR=nowhere.example OMP_NUM_THREADS=1 PYTORCH_VERSION=2.9.0
}

setup() {
    need_containers
    assert_cluster_clean
    shape_options=(--image "$images/ranks.sqsh")
}

@test "30 random jobs" { random_shapes job 30; }
@test "30 random steps in one allocation" { random_shapes step 30 salloc -Q -N4 -n32; }
@test "15 random heterogeneous steps in one allocation" { random_shapes het-step 15 salloc -Q -N4 -n32; }

@test "9 random steps of a heterogeneous job" {
    random_shapes het-group 9 salloc -Q -n8 -w node03 : -N2 -n16 -w node01,node02 : -n8 -w node04
}

@test "6 random heterogeneous jobs" { random_shapes het-job 6; }
