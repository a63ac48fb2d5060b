#!/usr/bin/env bats
# `--distgpu=MODE,check` on two nodes alone: no third node shows which of them is the odd one.

load cluster
load gate/faults

setup_file() {
    export nodes
    gate_cluster_up 3
    nodes=2 # of each step
}

setup() { assert_cluster_clean; }

four=(srun -w 'node[02-03]' -N2 -n4 --ntasks-per-node=2 --cpus-per-task=2 --gres=gpu:2)

# Runs the step with the fault, if any.
check_with() { # FAULT
    rm -f "$SCRATCH/started"
    case $1 in
        wrapper) run submit "${four[@]}" --distgpu=pytorch "${gate_in_wrapper[@]}" ;;
        few-files) run submit "${four[@]}" --distgpu=pytorch "${gate_with_few_files[@]}" ;;
        shared-gpu) run submit "${four[@]}" --distgpu=pytorch "${gate_on_gpu_0[@]}" ;;
        no-interface) NCCL_SOCKET_IFNAME='=eth0' run submit "${four[@]}" --distgpu=pytorch,check touch "$SCRATCH/started" ;;
        wrong-name) run submit "${four[@]}" --distgpu=pytorch,check,master=name touch "$SCRATCH/started" ;;
        *) run submit "${four[@]}" --distgpu=pytorch,check touch "$SCRATCH/started" ;;
    esac
    echo "$1: status $status: $output"
}

# The step ends before its program starts, and its lines name the node.
refuses() { # FAULT
    plant "$1"
    for _ in {1..5}; do
        check_with "$1"
        # Which packets are lost is chance: where those that begin a measurement are, a line warns.
        [[ $1 == lossy-link && $status -eq 0 ]] || break
    done
    mend "$1"
    [ "$status" -ne 0 ]
    [[ $1 == no-plugin || ! -e $SCRATCH/started ]] # a node without the plugin waits for nothing
    grep "^distgpu: check: .*$(said_of "$1")" <<<"$output"
    [[ $1 == shared-gpu ]] || grep '^distgpu: check: not ready, but the other nodes are: use --exclude=node03$' <<<"$output"
}

# bats test_tags=short
@test "a healthy pair is ready, in one line, time after time" {
    for _ in {1..10}; do
        run submit srun -w 'node[02-03]' -N2 -n2 --cpus-per-task=2 --gres=gpu:1 --distgpu=pytorch,check true
        echo "$output"
        [ "$status" -eq 0 ]
        [[ $(distgpu_lines) =~ ^'distgpu: check: 2 ranks on 2 nodes ready in '[0-9.]+' s'$ ]]
    done
}

@test "each fault that a comparison or a rank itself finds" {
    local fault
    for fault in "${faults[@]}"; do
        [[ $fault == slow-link ]] || refuses "$fault" # a tenth is the very limit
    done
}

@test "each fault that nothing else shows" {
    local fault
    for fault in "${more_faults[@]}"; do refuses "$fault"; done
}

@test "a slow link of unknown speed is a warning" {
    local node
    for node in node02 node03; do on "$node" bash -c 'echo -1 >/sys/class/net/eth0/speed'; done
    check_with nothing
    for node in node02 node03; do give_hardware "$node" 100; done
    [ "$status" -eq 0 ]
    grep '^distgpu: check: warning: rank 2 on node03: network: node03 receives [0-9.]* Mb/s from node02 over eth0 (whose speed is unknown); look for errors' <<<"$output"
}

@test "an interface that runs at a tenth of the other's speed" {
    give_hardware node02 10000
    check_with nothing
    give_hardware node02 100
    [ "$status" -eq 1 ]
    grep '^distgpu: check: rank 2 on node03: network: node03 receives [0-9.]* Mb/s from node02 over eth0 (100 Mb/s on node03, 10 Gb/s on node02); ' <<<"$output"
}

@test "ranks that share GPUs by plan are ready, and so is each on its own" {
    run -0 submit srun -w 'node[02-03]' -N2 -n4 --ntasks-per-node=2 --cpus-per-task=2 --gres=gpu:1 \
        --distgpu=pytorch ./distgpu check --gate
    run -0 submit "${four[@]}" --distgpu=pytorch \
        bash -c 'export CUDA_VISIBLE_DEVICES=$LOCAL_RANK; exec ./distgpu check --gate'
    run -0 submit "${four[@]}" --distgpu=pytorch,gpus=isolate ./distgpu check --gate
    # Without a topology, Slurm's numbers tell.
    run -1 submit "${four[@]}" --distgpu=pytorch,bind=none "${gate_on_gpu_0[@]}"
    grep "^distgpu: check: $(said_of shared-gpu)" <<<"$output"
}
