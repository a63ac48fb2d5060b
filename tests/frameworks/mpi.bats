#!/usr/bin/env bats
# MPI programs under `srun --distgpu=ompi`: MPI's ranks come from Slurm, by PMIx or PMI-2,
# and OMPI_COMM_WORLD_* must be the same ones.
# shellcheck disable=SC2034 # in_shape takes version

load frameworks

may_try_twice

setup_file() {
    frameworks_up
    local mpi
    for mpi in openmpi mpich; do
        "mpicc.$mpi" -Wall -Werror -o "$SCRATCH/$mpi" \
            "$root/tests/frameworks/programs/mpi_ranks.c"
    done
}

setup() { need jax mpi4py; }

train=examples/mpi4py_train.py
trains() { in_shape "$1" mpi4py ompi --mpi=pmix "$python" "$train"; }

# Fails with the output unless mpi_ranks.c's ranks are ROW..., by MPI and by the variables.
assert_ranks() { # ROW...
    echo "$output"
    [ "$status" -eq 0 ]
    [ "$(printed_ranks)" = "$(printf '%s\n' "$@")" ]
    [ "${lines[-1]}" = "$# of $# ranks are those of the variables, sum $(($# * ($# + 1) / 2))" ]
}

c_ranks() { # SHAPE MPI PMI
    shape_of "$1"
    launch "--mpi=$3" --distgpu=ompi "${arguments[@]}" "./$2"
    assert_ranks "${rows[@]}"
    declare -A name=([openmpi]='Open MPI' [mpich]=MPICH)
    result "${name[$2]}" "$(c_version "$2")" "ompi, --mpi=$3" "$shape"
}

c_version() { # MPI
    case $1 in
        openmpi) ompi_info --version | sed -n 's/^Open MPI v//p' ;;
        mpich) mpichversion | sed -n 's/^MPICH Version:[[:space:]]*//p' ;;
    esac
}

@test "Open MPI's ranks are those of the variables, on one node" { c_ranks one_node openmpi pmix; }
@test "Open MPI's ranks are those of the variables, without the user's environment" { c_ranks block openmpi pmix; }
@test "Open MPI's ranks are those of the variables, dealt out cyclically" { c_ranks cyclic openmpi pmix; }
@test "Open MPI's ranks are those of the variables, three on one node and one on the other" { c_ranks uneven openmpi pmix; }
@test "Open MPI's ranks are those of the variables, with rank 0 on the second node" { c_ranks reversed openmpi pmix; }
@test "MPICH's ranks are those of the variables, on one node" { c_ranks one_node mpich pmi2; }
@test "MPICH's ranks are those of the variables, without the user's environment" { c_ranks block mpich pmi2; }
@test "MPICH's ranks are those of the variables, dealt out cyclically" { c_ranks cyclic mpich pmi2; }
@test "MPICH's ranks are those of the variables, three on one node and one on the other" { c_ranks uneven mpich pmi2; }
@test "MPICH's ranks are those of the variables, with rank 0 on the second node" { c_ranks reversed mpich pmi2; }

# What an outer mpirun left, a program that reads the variables would believe.
@test "leaked OMPI_COMM_WORLD_* contradict MPI, but not with distgpu" {
    local leak=OMPI_COMM_WORLD_RANK=0,OMPI_COMM_WORLD_SIZE=1
    leak+=,OMPI_COMM_WORLD_LOCAL_RANK=0,OMPI_COMM_WORLD_LOCAL_SIZE=1
    launch ! --mpi=pmix "${on_one_node[@]}" "--export=ALL,$leak" ./openmpi
    [[ $output == *"0 of 2 ranks are those of the variables, sum 3"* ]]

    launch --mpi=pmix "${on_one_node[@]}" "--export=ALL,$leak" --distgpu=mpi ./openmpi
    assert_ranks "${one_node[@]}"
}

# Only srun can offer PMIx. Such a program says little that helps, so distgpu says it.
@test "with --mpi=none MPI_Init fails, and distgpu says what helps" {
    launch ! --mpi=none "${on_one_node[@]}" --distgpu=ompi ./openmpi
    [[ $output == *"An error occurred in MPI_Init"* ]]
    [[ $output == *"distgpu: --distgpu=ompi: with --mpi=none, an MPI program fails in MPI_Init; use srun --mpi=pmix"* ]]
}

@test "mpi4py without distgpu: the example says how to start it" {
    launch -2 --mpi=pmix "${on_one_node[@]}" python "$train"
    [[ $output == *"OMPI_COMM_WORLD_RANK, "*"not set; start it with 'srun --mpi=pmix "* ]]
}

# bats test_tags=short
@test "mpi4py trains on one node" { trains one_node; }
@test "mpi4py trains on two nodes without the user's environment" { trains block; }
@test "mpi4py trains with ranks dealt out cyclically" { trains cyclic; }
@test "mpi4py trains with three ranks on one node and one on the other" { trains uneven; }
@test "mpi4py trains with rank 0 on the second node" { trains reversed; }
