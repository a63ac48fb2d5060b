#!/usr/bin/env bats
# A plugin that puts slurmstepd into a jail before distgpu, one folder for all nodes: the step has the
# topology of its node, which is not in the jail.
# shellcheck disable=SC2034 # cluster.bash reads what is set here

load cluster
load binding/cluster
load jail/jail

setup_file() {
    export NODE_ALONE=/opt/distgpu-test$$ # out of sight in the jail
    plugin_arguments=("topology=$NODE_ALONE/topology.json")
    command=$NODE_ALONE/bin/distgpu
    mkdir -p "$NODE_ALONE/bin" "$NODE_ALONE/libexec/distgpu"
    plugin_arguments+=("command=$NODE_ALONE/bin/distgpu")
    command=${DISTGPU_COMMAND:-$root/build/dev/tools/distgpu/distgpu}
    install -m 755 "$command" "$NODE_ALONE/bin/distgpu"
    install -m 755 "$task_parent" "$NODE_ALONE/libexec/distgpu"
    cluster_up --nodes 1 --cpus "$(nproc)" --gpus 4
    python3 -B "$root/tests/topologies/machines.py" here >"$SCRATCH/here.xml"
    "$command" topo --topology "$SCRATCH/here.xml" --format json >"$NODE_ALONE/topology.json"
    made_up_driver 0 1 2 3
}

teardown_file() {
    cluster_down
    rm -r "$NODE_ALONE"
}

# What a step is bound to.
bound() { # KEYS
    submit srun -n2 --gres=gpu:4 --distgpu="pytorch,verbose$1" \
        sh -c 'echo "task $RANK $CUDA_VISIBLE_DEVICES $(grep Cpus_allowed_list /proc/self/status)"' 2>&1 |
        grep -v rendezvous | sort
}

@test "a step in a jail is bound by the topology of its node" {
    outside=$(bound '')
    make_jail "$NODE_ALONE"
    # Of another node: no step may take it.
    jq '.gpus |= reverse' "$NODE_ALONE/topology.json" | on node01 tee "$SCRATCH/jail$NODE_ALONE/topology.json" >/dev/null
    run bound ''
    remove_jail
    echo "$output"
    [ "$output" = "$outside" ]
    [[ $output == *'  0,1       mlx5_0:1 PIX '* && $output == *'  2,3       mlx5_1:1 PIX '* ]]
}

@test "the parent of the tasks is a program of the node, the check one of the jail" {
    make_jail "$NODE_ALONE"
    run bound ,check=warn,signal
    remove_jail
    echo "$output"
    [ "$(grep -c '^task [01] ' <<<"$output")" -eq 2 ]
    [[ $output == *"distgpu: check: $NODE_ALONE/bin/distgpu on node01: cannot be started; "* ]]
    [[ $output != *'not found'* ]]
}
