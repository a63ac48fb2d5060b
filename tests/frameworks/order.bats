#!/usr/bin/env bats
# Every mode whose ranks are distgpu's, with the nodes in another order than Slurm's: rank 0 on the
# second node, in blocks and in turns. Each framework's own check that all ranks agree.
#
# DISTGPU_TOPOLOGY=block for Slurm's topology/block instead of topology/tree (from 23.11 on).

load frameworks

setup_file() {
    # From 26.05 on Slurm deals a block step's tasks in the order of the switches.
    frameworks_up --switch s1=node01 --switch s2=node02 --topology-plugin "${DISTGPU_TOPOLOGY:-tree}"
    deepspeed_operator
    install -m 755 "$root/tools/horovod_rendezvous/horovod-rendezvous" "$SCRATCH"
    printf '%s\n' node02 node01 >"$SCRATCH/ring"
}

# In turns, the second node first.
reversed_turns=('0 node02 0' '1 node01 0' '2 node02 1' '3 node01 1')
# Three tasks on node01, one on node02, which has rank 0.
reversed_uneven=('0 node02 0' '1 node01 0' '2 node01 1' '3 node01 2')

# Trains a mode in blocks from the second node on.
trains() { # ENVIRONMENT MODE PACKAGE NAME_OF_ARGUMENTS PROGRAM...
    local -n arguments=$4
    need "$1" "$3"
    trains_as reversed_blocks "${2%%,*}" "$2" 'order=node02,node01' \
        "${arguments[@]}" --distgpu="$2,order=./ring" "${@:5}"
}

# bats test_tags=short
@test "pytorch, in blocks, in turns and with uneven nodes" {
    trains torch pytorch torch in_blocks python examples/train.py
    launch "${cyclically[@]}" --distgpu=pytorch,order=./ring python examples/train.py
    assert_trained "${reversed_turns[@]}"
    # With all CPUs of both: else topology/block has three of four CPUs on node02 (26.05).
    launch --exclusive "${unevenly[@]}" --distgpu=pytorch,order=./ring python examples/train.py
    assert_trained "${reversed_uneven[@]}"
}

@test "torchrun" { trains torch torchrun,nproc=2 torch on_each_node torchrun examples/train.py; }
@test "lightning,per-node" { trains torch lightning,per-node lightning on_each_node python examples/lightning_train.py --devices=2; }

@test "accelerate and accelerate launch" {
    trains torch accelerate accelerate in_blocks python examples/accelerate_train.py
    trains torch accelerate,per-node accelerate on_each_node bash -c "$accelerate_launch"
}

@test "deepspeed and its launcher" {
    trains torch deepspeed deepspeed in_blocks python examples/deepspeed_train.py
    trains torch deepspeed,per-node deepspeed on_each_node bash -c "$deepspeed_launch"
}

@test "megatron" { trains torch megatron megatron-core in_blocks python examples/megatron_train.py; }
@test "composer" { trains composer composer,nproc=2 mosaicml on_each_node composer examples/composer_train.py; }

# Its "cross" ranks are those that MPI would make: in the order of the ranks.
@test "horovod over Gloo" {
    trains horovod horovod,backend=gloo horovod in_blocks ./horovod-rendezvous python3 examples/horovod_train.py
    [ "$(awk '$1 ~ /^[0-9]$/ && NF == 6 { print $3, $4, $5, $6 }' <<<"$output" | xargs)" = \
        '0 2 0 2 1 2 0 2 0 2 1 2 1 2 1 2' ]
}

@test "tensorflow" {
    export TF_CPP_MIN_LOG_LEVEL=2
    trains tensorflow tensorflow tensorflow_cpu in_blocks python examples/tensorflow_train.py
}
