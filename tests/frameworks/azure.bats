#!/usr/bin/env bats
# What was written for MPI jobs of Azure ML, unchanged under `srun --distgpu=ompi`: a torch
# script that reads Open MPI's variables, Lightning and DeepSpeed set up from them.

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

setup() { need torch torch; }

train=examples/azure_mpi_train.py
trains() { in_shape "$1" 'pytorch, Azure script' ompi "$python" "$train"; }

@test "azure's torch script without distgpu says how to start it" {
    launch -2 "${on_one_node[@]}" python "$train"
    [[ $output == *"'OMPI_COMM_WORLD_RANK': not set; start it with 'srun --distgpu=ompi "* ]]
}

@test "azure's torch script trains on one node" { trains one_node; }
@test "azure's torch script trains on two nodes without the user's environment" { trains block; }
@test "azure's torch script trains with ranks dealt out cyclically" { trains cyclic; }
@test "azure's torch script trains with three ranks on one node and one on the other" { trains uneven; }

# An outer torchrun's variable makes every rank a client of a store that nobody serves.
@test "a leaked TORCHELASTIC_USE_AGENT_STORE hangs azure's torch script, but not with distgpu" {
    local leak=TORCHELASTIC_USE_AGENT_STORE=True
    local by_hand='OMPI_COMM_WORLD_RANK=$SLURM_PROCID OMPI_COMM_WORLD_SIZE=2 \
        OMPI_COMM_WORLD_LOCAL_RANK=$SLURM_LOCALID AZ_BATCH_MASTER_NODE=10.77.1.1:6105 \
        exec python examples/azure_mpi_train.py'
    launch "${on_one_node[@]}" bash -c "$by_hand"
    assert_trained "${one_node[@]}"
    hangs "${on_one_node[@]}" --export=ALL,$leak \
        bash -c "$by_hand"

    trains_as reversed 'pytorch, Azure script' ompi 'rank 0 on node02' \
        "${in_reverse[@]}" --export=ALL,$leak --distgpu=ompi python "$train"
}

# Lightning asks Slurm before it reads such a script's variables, and finds one task per
# node; per-node hides Slurm from it.
lightning_trains() {
    version=$(version_of lightning) in_shape "$1" 'lightning, Azure script' ompi,per-node \
        python azure_lightning.py --devices=2
}

@test "azure's lightning script finds Slurm's one task per node without per-node" {
    launch ! -N2 --ntasks-per-node=1 --distgpu=ompi python azure_lightning.py --devices=2
    [[ $output == *"ValueError: You set \`devices=2\` in Lightning, but the number of tasks"* ]]
}

@test "azure's lightning script trains on one node" { lightning_trains launcher; }
@test "azure's lightning script trains on two nodes" { lightning_trains launchers; }
@test "azure's lightning script trains with rank 0 on the second node" { lightning_trains launchers_reversed; }

# What tells DeepSpeed that it is in such a job. It reads NCCL_SOCKET_IFNAME before it sets it.
azure_job=AZUREML_EXPERIMENT_ID=1,NCCL_SOCKET_IFNAME=lo

# With a single node DeepSpeed takes another variable for the address. Inherited ranks
# it would believe: each task is alone then, or ends because its two local ranks differ.
@test "deepspeed trains as in azure's jobs on one node, whatever ranks were inherited" {
    local leak=RANK=0,LOCAL_RANK=0,WORLD_SIZE=1,MASTER_ADDR=10.77.1.1,MASTER_PORT=0
    local by_hand='OMPI_COMM_WORLD_RANK=$SLURM_PROCID OMPI_COMM_WORLD_SIZE=2 \
        OMPI_COMM_WORLD_LOCAL_RANK=$SLURM_LOCALID OMPI_COMM_WORLD_LOCAL_SIZE=2 \
        AZ_BATCHAI_MPI_MASTER_NODE=10.77.1.1 exec python deepspeed_mpi.py'
    launch ! "${on_one_node[@]}" --export=ALL,$azure_job,$leak bash -c "$by_hand"
    [[ $output == *"LOCAL_RANK (0) != OMPI_COMM_WORLD_LOCAL_RANK (1)"* ]]
    [[ $output != *"2 ranks"* ]]

    launch "${on_one_node[@]}" --export="ALL,$azure_job,${leak%,MASTER_ADDR*}" --distgpu=ompi \
        python deepspeed_mpi.py
    assert_trained "${one_node[@]}"
    result 'deepspeed, Azure job' "$(version_of deepspeed)" ompi '2'
}

deepspeed_trains() {
    version=$(version_of deepspeed) in_shape "$1" 'deepspeed, Azure job' ompi --export=ALL,$azure_job \
        python deepspeed_mpi.py
}

@test "deepspeed trains as in azure's jobs on two nodes" { deepspeed_trains block; }
@test "deepspeed trains as in azure's jobs with rank 0 on the second node" { deepspeed_trains reversed; }

@test "deepspeed trains with the ranks that it asks MPI for, dealt out cyclically" {
    launch --mpi=pmix "${cyclically[@]}" --export="ALL,PYTHONPATH=$SCRATCH/mpi" \
        --distgpu=ompi python deepspeed_mpi.py
    assert_trained "${cyclic[@]}"
    result 'deepspeed, mpi4py' "$(version_of deepspeed)" 'ompi, --mpi=pmix' 'cyclic'
}
