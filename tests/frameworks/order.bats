#!/usr/bin/env bats
# Every mode whose ranks are distgpu's, with the nodes in another order than Slurm's: rank 0 on the
# second node, in blocks and in turns. Each framework's own check that all ranks agree.
#
# DISTGPU_TOPOLOGY=block for Slurm's topology/block instead of topology/tree (from 23.11 on).
# shellcheck disable=SC2016 # the shell inside the sandbox expands them
# shellcheck disable=SC2154 # run and launch set output, status and seconds

load frameworks

setup_file() {
    # From 26.05 on Slurm deals a block step's tasks in the order of the switches.
    frameworks_up --switch s1=node01 --switch s2=node02 --topology-plugin "${DISTGPU_TOPOLOGY:-tree}"
    deepspeed_operator
    install -m 755 "$root/tools/horovod_rendezvous/horovod-rendezvous" "$SCRATCH"
    printf '%s\n' node02 node01 >"$SCRATCH/ring"
}
teardown_file() { cluster_down; }
teardown() { assert_cluster_clean; }

on_each_node=(-N2 --ntasks-per-node=1)
# In turns, the second node first.
reversed_turns=('0 node02 0' '1 node01 0' '2 node02 1' '3 node01 1')
# Three tasks on node01, one on node02, which has rank 0.
reversed_uneven=('0 node02 0' '1 node01 0' '2 node01 1' '3 node01 2')

# Trains a mode in blocks from the second node on.
trains() { # MODE VERSION SRUN_ARGUMENT... -- PROGRAM...
    local mode=$1 version=$2 arguments=()
    shift 2
    while [[ $1 != -- ]]; do
        arguments+=("$1")
        shift
    done
    shift
    launch "${arguments[@]}" --distgpu="$mode,order=./ring" "$@"
    assert_trained "${reversed_blocks[@]}"
    result "${mode%%,*}" "$version" "$mode" 'order=node02,node01'
}

# bats test_tags=short
@test "pytorch, in blocks, in turns and with uneven nodes" {
    need torch
    trains pytorch "$(version_of torch)" "${in_blocks[@]}" -- python examples/train.py
    launch "${cyclically[@]}" --distgpu=pytorch,order=./ring python examples/train.py
    assert_trained "${reversed_turns[@]}"
    # With all CPUs of both: else topology/block has three of four CPUs on node02 (26.05).
    launch --exclusive "${unevenly[@]}" --distgpu=pytorch,order=./ring python examples/train.py
    assert_trained "${reversed_uneven[@]}"
}

@test "torchrun" {
    need torch
    trains torchrun,nproc=2 "$(version_of torch)" "${on_each_node[@]}" -- torchrun examples/train.py
}

@test "lightning,per-node" {
    need torch
    trains lightning,per-node "$(version_of lightning)" "${on_each_node[@]}" -- \
        python examples/lightning_train.py --devices=2
}

@test "accelerate and accelerate launch" {
    need torch
    local version launcher='exec accelerate launch --multi_gpu --num_machines $SLURM_NNODES \
        --num_processes $((SLURM_NNODES * 2)) --machine_rank $NODE_RANK \
        --main_process_ip $MASTER_ADDR --main_process_port $MASTER_PORT examples/accelerate_train.py'
    version=$(version_of accelerate)
    trains accelerate "$version" "${in_blocks[@]}" -- python examples/accelerate_train.py
    trains accelerate,per-node "$version" "${on_each_node[@]}" -- bash -c "$launcher"
}

@test "deepspeed and its launcher" {
    need torch
    local version launcher='for ((i = 0; i < SLURM_NNODES; i++)); do echo "node$i slots=2"; done \
        >$HOSTNAME.hosts; exec deepspeed --hostfile $HOSTNAME.hosts --no_ssh --node_rank $NODE_RANK \
        --master_addr $MASTER_ADDR --master_port $MASTER_PORT examples/deepspeed_train.py'
    version=$(version_of deepspeed)
    trains deepspeed "$version" "${in_blocks[@]}" -- python examples/deepspeed_train.py
    trains deepspeed,per-node "$version" "${on_each_node[@]}" -- bash -c "$launcher"
}

@test "megatron" {
    need torch
    trains megatron "$(version_of megatron-core)" "${in_blocks[@]}" -- python examples/megatron_train.py
}

@test "composer" {
    need composer
    trains composer,nproc=2 "$(version_of mosaicml)" "${on_each_node[@]}" -- \
        composer examples/composer_train.py
}

# Its "cross" ranks are those that MPI would make: in the order of the ranks.
@test "horovod over Gloo" {
    need horovod
    trains horovod,backend=gloo "$(version_of horovod)" "${in_blocks[@]}" -- \
        ./horovod-rendezvous python3 examples/horovod_train.py
    [ "$(awk '$1 ~ /^[0-9]$/ && NF == 6 { print $3, $4, $5, $6 }' <<<"$output" | xargs)" = \
        '0 2 0 2 1 2 0 2 0 2 1 2 1 2 1 2' ]
}

@test "tensorflow" {
    need tensorflow
    export TF_CPP_MIN_LOG_LEVEL=2
    trains tensorflow "$(version_of tensorflow_cpu)" "${in_blocks[@]}" -- \
        python examples/tensorflow_train.py
}
