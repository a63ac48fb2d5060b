#!/usr/bin/env bats
# A node is lost with its daemons before, during and after the launch; slurmd goes and comes back, or
# reads its configuration again, under a step.
# shellcheck disable=SC2034 # faults.bash reads what the tests set

load faults

setup_file() {
    faults_up --conf SlurmdTimeout=10
    cp -r "$root/examples" "$SCRATCH"
    chmod -R go+rX "$SCRATCH/examples"
}

@test "a node is lost between allocation and launch" {
    start salloc --quiet -N2 -n4 -w 'node[01-02]' sh -c \
        'touch allocated; until [ -e go ]; do sleep 0.1; done; srun -N2 -n4 --distgpu=pytorch ./show'
    appears "$SCRATCH/allocated"
    lose node02
    touch "$SCRATCH/go"
    ended 60
    bring_back node02
    rm "$SCRATCH"/{allocated,go}
    [ "$status" -ne 0 ]
    [[ $output == *'srun: error: Task launch for '*' failed on node node02: '* ]]
    row 'node lost between allocation and launch' 'srun: Task launch failed on node node02'
}

# The discovery of every node takes its time here, and says that it runs.
slow_discovery() {
    mv "$SCRATCH/distgpu" "$SCRATCH/distgpu.real"
    printf '%s\n' '#!/bin/sh' "touch $SCRATCH/discovering.\$(hostname)" 'sleep 2' \
        "exec $SCRATCH/distgpu.real \"\$@\"" >"$SCRATCH/distgpu"
    chmod 755 "$SCRATCH/distgpu"
}

usual_discovery() {
    mv "$SCRATCH/distgpu.real" "$SCRATCH/distgpu"
    rm "$SCRATCH"/discovering.*
}

@test "a node is lost during the launch" {
    slow_discovery
    start srun -N2 -n4 -w 'node[01-02]' --distgpu=pytorch ./show
    appears "$SCRATCH/discovering.node02"
    lose node02
    ended 90
    bring_back node02
    usual_discovery
    # As bare srun, whose status is 0 where the other nodes' tasks ended well (22.05).
    [[ $output == *'srun: error: Node failure on node02'* ]]
    row 'node lost during the launch' 'srun: Node failure on node02, after SlurmdTimeout (10 s here)'
}

@test "a node is lost in training" {
    start srun -N2 --ntasks-per-node=2 -w 'node[01-02]' --distgpu=pytorch \
        /usr/bin/python3 examples/train.py --epochs 100000
    until_so 20 grep -q '^epoch 3' "$SCRATCH/output"
    lose node02
    ended 60
    bring_back node02
    [ "$status" -ne 0 ]
    [[ $output == *'srun: error: node01: task'*': Exited'* ]]
    [[ $output == *'srun: error: Node failure on node02'* ]]
    row 'node lost in training' \
        "the framework's error at once; srun: Node failure on node02, after SlurmdTimeout (10 s here)"
}

# bats test_tags=short
@test "slurmd is restarted under a step" {
    start srun -N2 -n4 -w 'node[01-02]' --distgpu=pytorch sh -c \
        './show; touch running; until [ -e go ]; do sleep 0.1; done'
    appears "$SCRATCH/running"
    injured
    "$sandbox" node --name "$CLUSTER" stop node01
    "$sandbox" node --name "$CLUSTER" start node01
    touch "$SCRATCH/go"
    ended 10
    rm "$SCRATCH"/{running,go}
    assert_ranks 4
    row 'slurmd restarted under a step' 'nothing'
}

@test "slurmd is restarted during the launch" {
    slow_discovery
    start srun -N2 -n4 -w 'node[01-02]' --distgpu=pytorch ./show
    appears "$SCRATCH/discovering.node02"
    injured
    "$sandbox" node --name "$CLUSTER" stop node02
    "$sandbox" node --name "$CLUSTER" start node02
    ended 20
    usual_discovery
    assert_ranks 4
    row 'slurmd restarted during the launch' 'nothing'
}

@test "scontrol reconfigure during the launch and under a step" {
    slow_discovery
    start srun -N2 -n4 -w 'node[01-02]' --distgpu=pytorch sh -c \
        './show; touch running; until [ -e go ]; do sleep 0.1; done'
    appears "$SCRATCH/discovering.node02"
    injured
    on login scontrol reconfigure
    appears "$SCRATCH/running"
    on login scontrol reconfigure
    touch "$SCRATCH/go"
    ended 20
    rm "$SCRATCH"/{running,go}
    usual_discovery
    assert_ranks 4
    row '`scontrol reconfigure` during the launch and under a step' 'nothing'
}
