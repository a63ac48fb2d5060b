#!/usr/bin/env bats
# What `distgpu convert` makes of batch scripts as users write them, and of Azure ML jobs
# (tests/convert), trains: each result is submitted as it is, with a train.py that runs an example.
# That nothing else of a script changes is shown by tests/convert.

load frameworks

may_try_twice

setup_file() {
    frameworks_up
    # Whatever arguments the script gives it.
    mkdir -p "$SCRATCH/src" "$SCRATCH/jobs"
    cat >"$SCRATCH/train.py" <<'PYTHON'
import os
import runpy
import sys

sys.argv[1:] = os.environ.get("EXAMPLE_ARGUMENTS", "").split()
runpy.run_path(os.environ["EXAMPLE"], run_name="__main__")
PYTHON
    cp "$SCRATCH/train.py" "$SCRATCH/src"
    # As an installation has it.
    install -D -m 755 -t "$SCRATCH/bin" "$root/tools/horovod_rendezvous/horovod-rendezvous"
    export PATH=$SCRATCH/bin:$PATH
    convert_program "$SCRATCH/bin" || skip "the packages of convert cannot be reached"
    cp "$SCRATCH/train.py" "$SCRATCH/src/main.py"
    cp "$root"/tests/convert/{scripts,azure}/* "$SCRATCH/jobs"
    chmod -R a+rwX "$SCRATCH/src" "$SCRATCH/jobs" "$SCRATCH/train.py"
}

# A script, an environment, the example that it trains; ranks' rows.
trains() { # FILE ENVIRONMENT EXAMPLE ROW...
    local file=$1 new=$SCRATCH/jobs/${1%.*}.new
    need "$2"
    export EXAMPLE=$SCRATCH/examples/$3
    shift 3
    rm -f "$new"
    submit "$SCRATCH/distgpu" convert "jobs/$file" --output "$new"
    timed_batch "$new"
    assert_trained "$@"
    result convert "${file##*.}" "$(grep -oE -- '--distgpu=[^ ]*' "$new" | head -n 1)" "$file"
}

four_each=('0 node01 0' '1 node01 1' '2 node01 2' '3 node01 3' '4 node02 0' '5 node02 1' '6 node02 2'
    '7 node02 3')

# bats test_tags=short
@test "torchrun with a head node" { trains torchrun_head_node.sbatch torch train.py "${block[@]}"; }
# bats test_tags=short
@test "variables for a task each" { trains env_per_task.sbatch torch train.py "${block[@]}"; }
@test "ranks set in each task's shell" { trains rank_in_shell.sbatch torch train.py "${block[@]}"; }
# bats test_tags=short
@test "accelerate launch on each machine" { trains accelerate_machines.sbatch torch accelerate_train.py "${block[@]}"; }
@test "deepspeed with a hostfile" {
    deepspeed_operator
    trains deepspeed_hostfile.sbatch torch deepspeed_train.py "${block[@]}"
}
@test "mpirun" { trains mpirun.sbatch jax mpi4py_train.py "${block[@]}"; }
@test "horovodrun" { trains horovodrun.sbatch horovod horovod_train.py "${block[@]}"; }
@test "Lightning with a port" { trains lightning.sbatch torch lightning_train.py "${block[@]}"; }
@test "torch.distributed.run by node rank" { trains launch_by_node.sbatch torch train.py "${block[@]}"; }
@test "torchrun on one node" { trains one_node.sbatch torch train.py "${one_node[@]}"; }
@test "Azure v1, a process for each GPU" { trains v1_per_process.py torch train.py "${four_each[@]}"; }
@test "Azure v1, torch.distributed.launch" { trains v1_per_node.py torch train.py "${four_each[@]}"; }
@test "Azure v1, MPI" { trains v1_mpi.py jax mpi4py_train.py "${four_each[@]}"; }
@test "Azure v1, Lightning" {
    export EXAMPLE_ARGUMENTS=--devices=2
    trains v1_lightning.py torch lightning_train.py "${block[@]}"
}
@test "Azure v1, TensorFlow" { trains v1_tensorflow.py tensorflow tensorflow_train.py '0 node01 0' '1 node02 0'; }
@test "Azure v2, TensorFlow" { trains v2_tensorflow.py tensorflow tensorflow_train.py '0 node01 0' '1 node02 0'; }
@test "Azure v2, PyTorch on GPUs of one a node" {
    export cifar=$SCRATCH
    trains v2_cifar.py torch train.py '0 node01 0' '1 node02 0'
}
@test "Azure v2 in YAML" {
    export data=$SCRATCH
    trains v2_job.yml torch train.py "${four_each[@]}"
}
