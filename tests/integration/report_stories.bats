#!/usr/bin/env bats
# The first line of `distgpu report` tells the story of a training: real ones of PyTorch, whose
# ranks say what their GPUs do (report/story.py).

load cluster
load binding/cluster
load report/cluster

setup_file() {
    # Two threads in each of several ranks would wait for the machine's few CPUs.
    export OMP_NUM_THREADS=1 PYTHONWARNINGS=ignore
    plugin_arguments+=(cpus=keep)
    scripted_gpus_up
    install -m 644 "$root/tests/integration/report/story.py" "$SCRATCH"
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
        "$python" story.py "$SCRIPTS" "${@:2}"
    run -0 "$SCRATCH/bin/distgpu" report "$SCRATCH/story.json"
    echo "$output"
    line=$(sed '/^ \|^$/Q' <<<"$output" | paste -sd' ')
}

# Fails unless the first line is this extended regular expression, in which # is a number.
tells() {
    [[ $line =~ ^${1//\#/[0-9.]+}$ ]]
}

# On a machine that does other things, too, the loaders may not get their CPUs.
loaders() { # CPUS
    echo "data loaders use # of $1(, and wait for what other processes use)?"
}

limit="(#% since they first worked: )?the kernels on them, NCCL's included, are the limit; nothing else stands out"

@test "all ranks wait for their data loaders" {
    story_of 2 30 load=0.5
    tells "GPUs #% busy(, all alike)?; GPUs of ranks 0-1 on node01, node02 #% busy: their $(loaders '1 CPU per rank')"
}

@test "the GPUs compute" {
    story_of 2 30 kernel=0.8
    tells "GPUs #% busy, all alike; $limit"
}

@test "the GPUs compute, below torchrun" {
    mode=torchrun,nproc=2
    gpus=2
    python=${python%/*}/torchrun
    story_of 2 30 kernel=0.8
    tells "GPUs #% busy, all alike; $limit"
    [[ ${output//$'\n'/ } == *': 4 ranks on 2 nodes,'* ]]
}

@test "the data loaders of one node are slow" {
    story_of 3 30 load=0.05 slow_rank=1 slower=10
    tells "GPUs #% busy; GPU of rank 1 on node02 #% busy: its $(loaders 'its 1 CPU')"
}

@test "the clocks of one node are slow, and the others wait outside of their GPUs" {
    story_of 3 30 slow_rank=1 slower=2 clocks=64 nccl=0
    tells 'GPUs #% busy; GPUs of node02 #% busy, the others #%: hardware thermal slowed its clocks #% of the time'
}

@test "the clocks of one node are slow, and the others wait in NCCL" {
    story_of 2 30 slow_rank=1 slower=2 clocks=64
    tells 'GPUs #% busy, all alike; GPU 0000:13:00.0 on node02 \(rank 1\): hardware thermal slowed the clocks up to #% of the time'
}

only_rank_0='for # s, #% of the time, only rank 0 works, as in evaluation or checkpoints: the GPUs of 1 other rank wait'

@test "the others wait for rank 0 outside of their GPUs" {
    story_of 2 45 evaluate=15 nccl=0
    tells "GPUs #% busy(, all alike)?; $only_rank_0"
}

@test "the others wait for rank 0 in NCCL" {
    story_of 2 45 evaluate=15
    tells "GPUs #% busy; $only_rank_0"
}

@test "the memory of a rank grows" {
    story_of 2 60 leak=1
    tells 'GPUs #% busy, all alike; memory of rank 1 on node02 grows by # GiB an hour, to # GiB at its end'
}
