#!/usr/bin/env bats
# The first line of `distgpu report` tells the story of a training: real ones of PyTorch, whose
# ranks say what their GPUs do (report/train.py).

load cluster
load binding/cluster
load report/cluster

setup_file() {
    # Two threads in each of several ranks would wait for the machine's few CPUs.
    export OMP_NUM_THREADS=1 PYTHONWARNINGS=ignore
    plugin_arguments+=(cpus=keep)
    scripted_gpus_up
    install -m 644 "$root/tests/integration/report/train.py" "$SCRATCH"
}

setup() {
    assert_cluster_clean
    local answer=0 node
    python=$("$root/tests/frameworks/environment" torch 3>&-) || answer=$?
    ((answer != 77)) || skip "the packages of torch cannot be reached"
    rm -f "$SCRATCH"/story.json*
    # The job's user writes them.
    for node in node0{1..4}; do install -m 666 /dev/null "$SCRIPTS/$node"; done
}

# Trains with a task on each of so many nodes, and prints the report. Puts its first line into
# $line, which may be several lines of a terminal.
mode=pytorch
gpus=1
story_of() { # NODES SECONDS [NAME=VALUE]...
    submit srun -N"$1" -n"$1" --gres="gpu:$gpus" --distgpu="$mode,report=$SCRATCH/story.json" \
        "$python" train.py "$SCRIPTS" "${@:2}"
    run -0 "$SCRATCH/bin/distgpu" report "$SCRATCH/story.json"
    echo "$output"
    line=$(sed '/^ \|^$/Q' <<<"$output" | paste -sd' ')
}

# On a machine that does other things, too, the ranks may not get their CPUs.
busy='[0-9]+% busy'
cpus='use [01]\.[0-9] of'
rest='(, and wait for what other processes use)?'

@test "all ranks wait for their data loaders" {
    story_of 2 30 load=0.5
    [[ $line =~ ^"GPUs "$busy.*"; GPUs of ranks 0-1 on node01, node02 "$busy": their data loaders "$cpus" 1 CPU per rank"$rest$ ]]
}

@test "the GPUs compute" {
    story_of 2 30 kernel=0.8
    [[ $line =~ ^"GPUs "$busy", all alike; "((9[0-9]|100)"% since they first worked: ")?"the kernels on them, NCCL's included, are the limit; nothing else stands out"$ ]]
}

@test "the GPUs compute, below torchrun" {
    mode=torchrun,nproc=2
    gpus=2
    python=${python%/*}/torchrun
    story_of 2 30 kernel=0.8
    [[ $line =~ ^"GPUs "$busy", all alike; "((9[0-9]|100)"% since they first worked: ")?"the kernels on them, NCCL's included, are the limit; nothing else stands out"$ ]]
    [[ $output == *': 4 ranks on 2 nodes,'* ]]
}

@test "the data loaders of one node are slow" {
    story_of 3 30 load=0.05 slow_rank=1 slower=10
    [[ $line =~ ^"GPUs "$busy"; GPU of rank 1 on node02 "$busy": its data loaders "$cpus" its 1 CPU"$rest$ ]]
}

@test "the clocks of one node are slow, and the others wait outside of their GPUs" {
    story_of 3 30 slow_rank=1 slower=2 clocks=64 nccl=0
    [[ $line =~ ^"GPUs "$busy"; GPUs of node02 "$busy", the others "[0-9]+"%: hardware thermal slowed its clocks "[0-9]+"% of the time"$ ]]
}

@test "the clocks of one node are slow, and the others wait in NCCL" {
    story_of 2 30 slow_rank=1 slower=2 clocks=64
    [[ $line =~ ^"GPUs "$busy", all alike; GPU 0000:13:00.0 on node02 (rank 1): hardware thermal slowed the clocks up to "[0-9]+"% of the time"$ ]]
}

only_rank_0="only rank 0 works, as in evaluation or checkpoints: the GPUs of 1 other rank wait"

@test "the others wait for rank 0 outside of their GPUs" {
    story_of 2 45 evaluate=15 nccl=0
    [[ $line =~ ^"GPUs "$busy.*"; for "[0-9]+" s, "[0-9]+"% of the time, $only_rank_0"$ ]]
}

@test "the others wait for rank 0 in NCCL" {
    story_of 2 45 evaluate=15
    [[ $line =~ ^"GPUs "$busy"; for "[0-9]+" s, "[0-9]+"% of the time, $only_rank_0"$ ]]
}

@test "the memory of a rank grows" {
    story_of 2 60 leak=1
    [[ $line =~ ^"GPUs "$busy", all alike; memory of rank 1 on node02 grows by "[0-9.]+" GiB an hour, to "[0-9.]+" GiB at its end"$ ]]
}
