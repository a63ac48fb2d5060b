#!/usr/bin/env bats
# Hugging Face Accelerate and the Trainer of Transformers under `srun --distgpu=accelerate`,
# one process per task, and `accelerate launch` under `--distgpu=accelerate,per-node`.

load frameworks

setup() { need torch accelerate; }

trains() { in_shape "$1" accelerate accelerate "$python" examples/accelerate_train.py; }
trainer_trains() {
    version=$(version_of transformers) in_shape "$1" transformers transformers \
        "$python" examples/transformers_train.py
}

# bats test_tags=short
@test "accelerate trains on one node" { trains one_node; }
@test "accelerate trains on two nodes without the user's environment" { trains block; }
@test "accelerate trains with ranks dealt out cyclically" { trains cyclic; }
@test "accelerate trains with three ranks on one node and one on the other" { trains uneven; }
@test "accelerate trains with rank 0 on the second node" { trains reversed; }
@test "the Trainer of transformers trains on one node" { trainer_trains one_node; }
@test "the Trainer of transformers trains on two nodes without the user's environment" { trainer_trains block; }
@test "the Trainer of transformers trains with ranks dealt out cyclically" { trainer_trains cyclic; }
@test "the Trainer of transformers trains with rank 0 on the second node" { trainer_trains reversed; }
@test "the Trainer of transformers trains with three ranks on one node and one on the other" { trainer_trains uneven; }

@test "accelerate launch trains on two nodes without the user's environment" {
    in_shape launchers accelerate accelerate,per-node --export=NONE \
        /bin/bash -c "PATH=${python%/*}:/usr/bin:/bin; $accelerate_launch"
}

@test "accelerate launch trains with rank 0 on the second node" {
    in_shape launchers_reversed accelerate accelerate,per-node bash -c "$accelerate_launch"
}

# `accelerate launch` is torchrun below: what a torchrun around it left, it reads.
@test "a leaked PET_NNODES hangs accelerate launch, but not with distgpu" {
    local by_hand="NODE_RANK=0 MASTER_ADDR=node01 MASTER_PORT=29500; $accelerate_launch"
    launch -N1 -n1 bash -c "$by_hand"
    assert_trained "${one_node[@]}"
    hangs -N1 -n1 --export=ALL,PET_NNODES=2 bash -c "$by_hand"

    trains_as one_node accelerate accelerate,per-node '2, PET_NNODES leaked' \
        -N1 -n1 --export=ALL,PET_NNODES=2 --distgpu=accelerate,per-node bash -c "$accelerate_launch"
}
