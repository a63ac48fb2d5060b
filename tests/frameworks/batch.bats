#!/usr/bin/env bats
# Every batch script of examples/, as a user submits it, on two nodes with two GPUs each.

load frameworks

may_try_twice

setup_file() {
    frameworks_up
    deepspeed_operator
}

# A script on two nodes with two tasks each, or with one launcher or worker each.
trains() { # SCRIPT ENVIRONMENT PACKAGE TASKS_PER_NODE ROW...
    local script=$1 package=$3 tasks=$4
    need "$2"
    shift 4
    timed_batch -N2 --ntasks-per-node="$tasks" --gres=gpu:2 "examples/$script.sbatch"
    assert_trained "$@"
    result "$script" "$(version_of "$package")" "$script.sbatch" '2 nodes'
}

workers=('0 node01 0' '1 node02 0')

@test "train.sbatch" { trains train torch torch 2 "${block[@]}"; }
@test "torchrun.sbatch" { trains torchrun torch torch 1 "${block[@]}"; }
@test "lightning.sbatch" { trains lightning torch lightning 2 "${block[@]}"; }
@test "accelerate.sbatch" { trains accelerate torch accelerate 2 "${block[@]}"; }
@test "transformers.sbatch" { trains transformers torch transformers 2 "${block[@]}"; }
@test "deepspeed.sbatch" { trains deepspeed torch deepspeed 2 "${block[@]}"; }
@test "megatron.sbatch" { trains megatron torch megatron-core 2 "${block[@]}"; }
@test "composer.sbatch" { trains composer composer mosaicml 1 "${block[@]}"; }
@test "horovod.sbatch" { trains horovod horovod horovod 2 "${block[@]}"; }
@test "tensorflow.sbatch" { trains tensorflow tensorflow tensorflow-cpu 1 "${workers[@]}"; }
@test "jax.sbatch" { trains jax jax jax 2 "${block[@]}"; }
@test "mpi.sbatch" { trains mpi jax mpi4py 2 "${block[@]}"; }

@test "every batch script stands above, or in ray.bats or survive.bats" {
    for script in "$root"/examples/*.sbatch; do
        script=${script##*/}
        grep -qF "@test \"$script\" {" "$BATS_TEST_FILENAME" "$BATS_TEST_DIRNAME"/{ray,survive}.bats
    done
}
