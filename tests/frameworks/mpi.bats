#!/usr/bin/env bats
# MPI programs under `srun --distgpu=ompi`: MPI's ranks come from Slurm, by PMIx or PMI-2,
# and OMPI_COMM_WORLD_* must be the same ones.
# shellcheck disable=SC2154 # run and launch set output, status and seconds

load frameworks

# Under load Open MPI crashes at its start in about one of a hundred runs: MPI_Init is done on one
# rank, whose first message finds another one still in it. So a test may try twice; bats prints the
# first failure.
export BATS_TEST_RETRIES=1

setup_file() {
    frameworks_up
    local mpi
    for mpi in openmpi mpich; do
        "mpicc.$mpi" -Wall -Werror -o "$SCRATCH/$mpi" \
            "$root/tests/frameworks/programs/mpi_ranks.c"
    done
}
teardown_file() { cluster_down; }
teardown() { assert_cluster_clean; }

setup() {
    need jax
    version=$(version_of mpi4py)
}

train=examples/mpi4py_train.py

# Fails with the output unless mpi_ranks.c's ranks are ROW..., by MPI and by the variables.
assert_ranks() { # ROW...
    echo "$output"
    [ "$status" -eq 0 ]
    [ "$(printed_ranks)" = "$(printf '%s\n' "$@")" ]
    [ "${lines[-1]}" = "$# of $# ranks are those of the variables, sum $(($# * ($# + 1) / 2))" ]
}

c_ranks() { # SHAPE MPI PMI SRUN_ARGUMENT... -- ROW...
    local shape=$1 mpi=$2 pmi=$3 arguments=() name
    shift 3
    while [[ $1 != -- ]]; do
        arguments+=("$1")
        shift
    done
    launch "--mpi=$pmi" --distgpu=ompi "${arguments[@]}" "./$mpi"
    assert_ranks "${@:2}"
    declare -A name=([openmpi]='Open MPI' [mpich]=MPICH)
    result "${name[$mpi]}" "$(c_version "$mpi")" "ompi, --mpi=$pmi" "$shape"
}

c_version() { # MPI
    case $1 in
        openmpi) ompi_info --version | sed -n 's/^Open MPI v//p' ;;
        mpich) mpichversion | sed -n 's/^MPICH Version:[[:space:]]*//p' ;;
    esac
}

@test "Open MPI's ranks are those of the variables, on one node" {
    c_ranks '2' openmpi pmix "${on_one_node[@]}" -- "${one_node[@]}"
}

@test "Open MPI's ranks are those of the variables, without the user's environment" {
    c_ranks '2 + 2' openmpi pmix "${in_blocks[@]}" --export=NONE -- "${block[@]}"
}

@test "Open MPI's ranks are those of the variables, dealt out cyclically" {
    c_ranks 'cyclic' openmpi pmix "${cyclically[@]}" -- "${cyclic[@]}"
}

@test "Open MPI's ranks are those of the variables, three on one node and one on the other" {
    c_ranks '3 + 1' openmpi pmix "${unevenly[@]}" -- "${uneven[@]}"
}

@test "Open MPI's ranks are those of the variables, with rank 0 on the second node" {
    c_ranks 'rank 0 on node02' openmpi pmix "${in_reverse[@]}" -- "${reversed[@]}"
}

@test "MPICH's ranks are those of the variables, on one node" {
    c_ranks '2' mpich pmi2 "${on_one_node[@]}" -- "${one_node[@]}"
}

@test "MPICH's ranks are those of the variables, without the user's environment" {
    c_ranks '2 + 2' mpich pmi2 "${in_blocks[@]}" --export=NONE -- "${block[@]}"
}

@test "MPICH's ranks are those of the variables, dealt out cyclically" {
    c_ranks 'cyclic' mpich pmi2 "${cyclically[@]}" -- "${cyclic[@]}"
}

@test "MPICH's ranks are those of the variables, three on one node and one on the other" {
    c_ranks '3 + 1' mpich pmi2 "${unevenly[@]}" -- "${uneven[@]}"
}

@test "MPICH's ranks are those of the variables, with rank 0 on the second node" {
    c_ranks 'rank 0 on node02' mpich pmi2 "${in_reverse[@]}" -- "${reversed[@]}"
}

# What an outer mpirun left, a program that reads the variables would believe.
@test "leaked OMPI_COMM_WORLD_* contradict MPI, but not with distgpu" {
    local leak=OMPI_COMM_WORLD_RANK=0,OMPI_COMM_WORLD_SIZE=1
    leak+=,OMPI_COMM_WORLD_LOCAL_RANK=0,OMPI_COMM_WORLD_LOCAL_SIZE=1
    launch --mpi=pmix "${on_one_node[@]}" "--export=ALL,$leak" ./openmpi
    [ "$status" -ne 0 ]
    [[ $output == *"0 of 2 ranks are those of the variables, sum 3"* ]]

    launch --mpi=pmix "${on_one_node[@]}" "--export=ALL,$leak" --distgpu=mpi ./openmpi
    assert_ranks "${one_node[@]}"
}

# Only srun can offer PMIx. Such a program says little that helps, so distgpu says it.
@test "with --mpi=none MPI_Init fails, and distgpu says what helps" {
    launch --mpi=none "${on_one_node[@]}" --distgpu=ompi ./openmpi
    [ "$status" -ne 0 ]
    [[ $output == *"An error occurred in MPI_Init"* ]]
    [[ $output == *"distgpu: --distgpu=ompi: with --mpi=none, an MPI program fails in MPI_Init; use srun --mpi=pmix"* ]]
}

@test "mpi4py without distgpu: the example says how to start it" {
    launch --mpi=pmix "${on_one_node[@]}" python "$train"
    [ "$status" -eq 2 ]
    [[ $output == *"OMPI_COMM_WORLD_RANK, "*"not set; start it with 'srun --mpi=pmix "* ]]
}

# bats test_tags=short
@test "mpi4py trains on one node" {
    launch --mpi=pmix "${on_one_node[@]}" --distgpu=ompi python "$train"
    assert_trained "${one_node[@]}"
    result mpi4py "$version" ompi '2'
}

@test "mpi4py trains on two nodes without the user's environment" {
    launch --mpi=pmix "${in_blocks[@]}" --export=NONE --distgpu=ompi "$python" "$train"
    assert_trained "${block[@]}"
    result mpi4py "$version" ompi '2 + 2'
}

@test "mpi4py trains with ranks dealt out cyclically" {
    launch --mpi=pmix "${cyclically[@]}" --distgpu=ompi python "$train"
    assert_trained "${cyclic[@]}"
    result mpi4py "$version" ompi 'cyclic'
}

@test "mpi4py trains with three ranks on one node and one on the other" {
    launch --mpi=pmix "${unevenly[@]}" --distgpu=ompi python "$train"
    assert_trained "${uneven[@]}"
    result mpi4py "$version" ompi '3 + 1'
}

@test "mpi4py trains with rank 0 on the second node" {
    launch --mpi=pmix "${in_reverse[@]}" --distgpu=ompi python "$train"
    assert_trained "${reversed[@]}"
    result mpi4py "$version" ompi 'rank 0 on node02'
}
