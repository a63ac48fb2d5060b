#!/usr/bin/env bats
# Launch shapes: whatever way srun places tasks on nodes, each task's variables
# are those of the place where Slurm put it. matrix/ launches and compares.
#
# DISTGPU_MATRIX_SEED=N draws other random shapes than the usual ones.

load cluster
load matrix/shapes

setup_file() {
    cluster_up "${shape_cluster[@]}"
    install_matrix
}

# Fails unless the command places the tasks so, with the right variables.
placed() { # PLACEMENT COMMAND...
    assert_cluster_clean
    run -0 submit ./matrix.py one "$1" -- "${@:2}"
    [ "$output" = "table: 1 shapes checked, 0 wrong, 0 not launched" ]
}

# bats test_tags=short
@test "each wrong variable would be found" {
    run -0 env PYTHONPATH="$SCRATCH" python3 -m unittest -q task_check_test
    [[ $output == *$'\nRan 3 tests in '*$'\n\nOK' ]]
}

# bats test_tags=short
@test "srun's options that say where tasks go" {
    local placement options count=0
    # By another descriptor than standard input, which srun reads.
    while IFS='|' read -r placement options <&9; do
        # shellcheck disable=SC2086 # several options
        placed "$placement" srun $options --distgpu=pytorch ./probe
        ((count += 1))
    done 9<<'TABLE'
0-4:node01 5:node02 6:node03|-N3 -n7
0-4:node01 5:node02 6:node03|-N3 -n7 -m block
0-4:node01 5:node02 6:node03|-N3 -n7 -m block,Pack
0-4:node01 5:node02 6:node03|-N3 -n7 -m block,NoPack
0,3-6:node01 1:node02 2:node03|-N3 -n7 -m cyclic
0,3-6:node01 1:node02 2:node03|-N3 -n7 -m cyclic,Pack
0,3-6:node01 1:node02 2:node03|-N3 -n7 -m cyclic,NoPack
0-1,4-7:node01 2:node02 3:node03|-N3 -n8 -m plane=2
0-2,5-7:node01 3:node02 4:node03|-N3 -n8 -m plane=3
0,2:node02 1:node01 3:node04|-m arbitrary -n4 -w node02,node01,node02,node04
0-2:node02 3:node03|-Q -w node[03,02] -n4
0,2-3:node02 1:node03|-x node01 -N2 -n4 -m cyclic
0,2,4,6,8,10,12,14,16,18:node01 1,3,5,7,9,11,13,15,17,19:node02|-N2 -n20 -O -m cyclic
TABLE
    ((count == 13))
}

@test "-m arbitrary with a host file, and --relative in an allocation" {
    printf '%s\n' node03 node01 node03 node02 node01 >"$SCRATCH/hosts"
    placed '0,2:node03 1,4:node01 3:node02' \
        env SLURM_HOSTFILE=./hosts srun -m arbitrary --distgpu=pytorch ./probe
    placed '0:node03 1:node04' salloc -Q -N4 srun --relative=2 -N2 --distgpu=pytorch ./probe
}

@test "a step on all nodes that a job has kept" {
    placed '0-1:node01 2:node02' salloc -Q -N4 sh -c '
        scontrol update JobId=$SLURM_JOB_ID NumNodes=2 >/dev/null
        unset SLURM_NNODES SLURM_NODELIST SLURM_JOB_NODELIST SLURM_JOB_NUM_NODES
        exec srun -O -N2 -n3 --distgpu=pytorch ./probe'
    placed '0:node01 1:node02' salloc -Q -N4 sh -c '
        scontrol update JobId=$SLURM_JOB_ID NumNodes=2 >/dev/null
        exec srun -N2 -n2 --distgpu=pytorch ./probe'
}

@test "--multi-prog places as the distribution says" {
    printf '%s\n' '0-2 ./probe' '3,5 ./probe' '* ./probe' >"$SCRATCH/programs"
    placed '0-4:node01 5:node02 6:node03' \
        srun -N3 -n7 -m block --distgpu=pytorch --multi-prog programs
    placed '0,3-6:node01 1:node02 2:node03' \
        srun -N3 -n7 -m cyclic --distgpu=pytorch --multi-prog programs
}

@test "-N3 -n5 --ntasks-per-node=2, which 22.05 ignores" {
    local placement='0-1:node01 2-3:node02 4:node03'
    [[ $(submit srun --version) != *' 22.05.'* ]] || placement='0-2:node01 3:node02 4:node03'
    placed "$placement" srun -N3 -n5 --ntasks-per-node=2 --distgpu=pytorch ./probe
}

# bats test_tags=short
@test "a heterogeneous job, and a heterogeneous step in one allocation" {
    placed '0-1:node01 2-3:node02 4:node03' \
        srun -Q -n2 -N1 --distgpu=pytorch ./probe 0 : -n3 -N2 ./probe 1
    placed '0-1:node01 2-3:node02 4:node03' \
        salloc -Q -N4 -n32 srun -n2 -N1 --distgpu=pytorch ./probe 0 : -n3 -N2 ./probe 1
}

@test "70 random jobs" { random_shapes job 70; }
@test "60 random steps in one allocation" { random_shapes step 60 salloc -Q -N4 -n32; }
@test "30 random heterogeneous steps in one allocation" { random_shapes het-step 30 salloc -Q -N4 -n32; }

@test "24 random steps of a heterogeneous job" {
    random_shapes het-group 24 \
        salloc -Q -n8 -w node03 : -N2 -n16 -w node01,node02 : -n8 -w node04
}

@test "16 random heterogeneous jobs" { random_shapes het-job 16; }
