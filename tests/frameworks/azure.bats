#!/usr/bin/env bats
# What was written for MPI jobs of Azure ML, unchanged under `srun --distgpu=ompi`: a torch
# script that reads Open MPI's variables, Lightning and DeepSpeed set up from them.
# shellcheck disable=SC2016 # the shell inside the sandbox expands them
# shellcheck disable=SC2154 # run and launch set output, status and seconds

load frameworks

setup_file() {
    frameworks_up
    cp "$root"/tests/frameworks/programs/{azure,deepspeed}_*.py "$SCRATCH"
    # Not in torch's environment: Lightning calls MPI_Init wherever it finds mpi4py.
    need jax
    mkdir "$SCRATCH/mpi"
    cp -r "${python%/bin/python}"/lib/python3*/site-packages/mpi4py "$SCRATCH/mpi"
    chmod -R go+rX "$SCRATCH"
    deepspeed_operator
}
teardown_file() { cluster_down; }
teardown() { assert_cluster_clean; }

setup() {
    need torch
    version=$(version_of torch)
}

train=examples/azure_mpi_train.py

@test "azure's torch script without distgpu says how to start it" {
    launch "${on_one_node[@]}" python "$train"
    [ "$status" -eq 2 ]
    [[ $output == *"'OMPI_COMM_WORLD_RANK': not set; start it with 'srun --distgpu=ompi "* ]]
}

@test "azure's torch script trains on one node" {
    launch "${on_one_node[@]}" --distgpu=ompi python "$train"
    assert_trained "${one_node[@]}"
    result 'pytorch, Azure script' "$version" ompi '2'
}

@test "azure's torch script trains on two nodes without the user's environment" {
    launch "${in_blocks[@]}" --export=NONE --distgpu=ompi "$python" "$train"
    assert_trained "${block[@]}"
    result 'pytorch, Azure script' "$version" ompi '2 + 2'
}

@test "azure's torch script trains with ranks dealt out cyclically" {
    launch "${cyclically[@]}" --distgpu=ompi python "$train"
    assert_trained "${cyclic[@]}"
    result 'pytorch, Azure script' "$version" ompi 'cyclic'
}

@test "azure's torch script trains with three ranks on one node and one on the other" {
    launch "${unevenly[@]}" --distgpu=ompi python "$train"
    assert_trained "${uneven[@]}"
    result 'pytorch, Azure script' "$version" ompi '3 + 1'
}

# An outer torchrun's variable makes every rank a client of a store that nobody serves.
@test "a leaked TORCHELASTIC_USE_AGENT_STORE hangs azure's torch script, but not with distgpu" {
    local leak=TORCHELASTIC_USE_AGENT_STORE=True
    local by_hand='OMPI_COMM_WORLD_RANK=$SLURM_PROCID OMPI_COMM_WORLD_SIZE=2 \
        OMPI_COMM_WORLD_LOCAL_RANK=$SLURM_LOCALID AZ_BATCH_MASTER_NODE=10.77.1.1:6105 \
        exec python examples/azure_mpi_train.py'
    launch "${on_one_node[@]}" bash -c "$by_hand"
    assert_trained "${one_node[@]}"
    launch_limit=$((2 * seconds + 5)) launch "${on_one_node[@]}" --export=ALL,$leak \
        bash -c "$by_hand"
    [ "$status" -eq 124 ]

    launch "${in_reverse[@]}" --export=ALL,$leak --distgpu=ompi python "$train"
    assert_trained "${reversed[@]}"
    result 'pytorch, Azure script' "$version" ompi 'rank 0 on node02'
}

# Lightning asks Slurm before it reads such a script's variables, and finds one task per
# node; per-node hides Slurm from it.
lightning() { # SRUN_ARGUMENT...
    launch --distgpu=ompi,per-node "$@" python azure_lightning.py --devices=2
}

@test "azure's lightning script finds Slurm's one task per node without per-node" {
    launch -N2 --ntasks-per-node=1 --distgpu=ompi python azure_lightning.py --devices=2
    echo "$output"
    [ "$status" -ne 0 ]
    [[ $output == *"ValueError: You set \`devices=2\` in Lightning, but the number of tasks"* ]]
}

@test "azure's lightning script trains on one node" {
    lightning -N1 -n1
    assert_trained "${one_node[@]}"
    result 'lightning, Azure script' "$(version_of lightning)" ompi,per-node '2'
}

@test "azure's lightning script trains on two nodes" {
    lightning -N2 --ntasks-per-node=1
    assert_trained "${block[@]}"
    result 'lightning, Azure script' "$(version_of lightning)" ompi,per-node '2 + 2'
}

@test "azure's lightning script trains with rank 0 on the second node" {
    lightning "${nodes_in_reverse[@]}"
    assert_trained "${reversed_blocks[@]}"
    result 'lightning, Azure script' "$(version_of lightning)" ompi,per-node 'rank 0 on node02'
}

# What tells DeepSpeed that it is in such a job. It reads NCCL_SOCKET_IFNAME before it sets it.
azure_job=AZUREML_EXPERIMENT_ID=1,NCCL_SOCKET_IFNAME=lo

# With a single node DeepSpeed takes another variable for the address. Inherited ranks
# it would believe: each task is alone then, or ends because its two local ranks differ.
@test "deepspeed trains as in azure's jobs on one node, whatever ranks were inherited" {
    local leak=RANK=0,LOCAL_RANK=0,WORLD_SIZE=1,MASTER_ADDR=10.77.1.1,MASTER_PORT=0
    local by_hand='OMPI_COMM_WORLD_RANK=$SLURM_PROCID OMPI_COMM_WORLD_SIZE=2 \
        OMPI_COMM_WORLD_LOCAL_RANK=$SLURM_LOCALID OMPI_COMM_WORLD_LOCAL_SIZE=2 \
        AZ_BATCHAI_MPI_MASTER_NODE=10.77.1.1 exec python deepspeed_mpi.py'
    launch "${on_one_node[@]}" --export=ALL,$azure_job,$leak bash -c "$by_hand"
    [ "$status" -ne 0 ]
    [[ $output == *"LOCAL_RANK (0) != OMPI_COMM_WORLD_LOCAL_RANK (1)"* ]]
    [[ $output != *"2 ranks"* ]]

    launch "${on_one_node[@]}" --export="ALL,$azure_job,${leak%,MASTER_ADDR*}" --distgpu=ompi \
        python deepspeed_mpi.py
    assert_trained "${one_node[@]}"
    result 'deepspeed, Azure job' "$(version_of deepspeed)" ompi '2'
}

@test "deepspeed trains as in azure's jobs on two nodes" {
    launch "${in_blocks[@]}" --export=ALL,$azure_job --distgpu=ompi python deepspeed_mpi.py
    assert_trained "${block[@]}"
    result 'deepspeed, Azure job' "$(version_of deepspeed)" ompi '2 + 2'
}

@test "deepspeed trains as in azure's jobs with rank 0 on the second node" {
    launch "${in_reverse[@]}" --export=ALL,$azure_job --distgpu=ompi python deepspeed_mpi.py
    assert_trained "${reversed[@]}"
    result 'deepspeed, Azure job' "$(version_of deepspeed)" ompi 'rank 0 on node02'
}

@test "deepspeed trains with the ranks that it asks MPI for, dealt out cyclically" {
    launch --mpi=pmix "${cyclically[@]}" --export="ALL,PYTHONPATH=$SCRATCH/mpi" \
        --distgpu=ompi python deepspeed_mpi.py
    assert_trained "${cyclic[@]}"
    result 'deepspeed, mpi4py' "$(version_of deepspeed)" 'ompi, --mpi=pmix' 'cyclic'
}
