#!/usr/bin/env bats
# TensorFlow under `srun --distgpu=tensorflow`: workers that train alike, and chief,
# workers, parameter servers and evaluator.

load frameworks

setup_file() {
    # Notes on how TensorFlow was built.
    export TF_CPP_MIN_LOG_LEVEL=2
    frameworks_up
    cp "$root"/tests/frameworks/programs/tf_*.py "$SCRATCH"
    chmod -R go+rX "$SCRATCH"
}

setup() { need tensorflow tensorflow_cpu; }

train=examples/tensorflow_train.py

# The address that all have for a rank, against its host and local rank.
assert_addresses() {
    local cells port=
    while read -ra cells; do # rank, host, local rank, GPUs, address
        port=${port:-$((${cells[4]#*:} - cells[2]))}
        [ "${cells[4]}" = "10.77.1.${cells[1]#node0}:$((port + cells[2]))" ] || {
            echo "${cells[*]}: the address is not that of local rank ${cells[2]} there" >&2
            return 1
        }
    done < <(grep -E '^ +[0-9]+  node' <<<"$output")
    [ "$port" ]
}

# Chief and servers wait for each other in more threads than two CPUs give.
roles() { # SRUN_ARGUMENT...
    TF_NUM_INTEROP_THREADS=8 launch --kill-on-bad-exit=1 "$@" python tf_parameter_server.py
}

assert_roles() { # "RANK HOST LOCAL TYPE INDEX"...
    echo "$output"
    [ "$status" -eq 0 ]
    [ "$(sed -n 's/^task //p' <<<"$output" | sort)" = "$(printf '%s\n' "$@")" ]
    grep -qE '^weight on ps 0: (2\.9|3\.0)[0-9], loss [0-9.]+ -> 0\.0[0-9]$' <<<"$output"
}

@test "tensorflow without distgpu: the example says how to start it" {
    launch -2 "${on_one_node[@]}" python "$train"
    [[ $output == *"TF_CONFIG: not set; start it with 'srun --distgpu=tensorflow "* ]]
}

# TensorFlow's own way under Slurm asks the driver for the GPUs of this node.
@test "TensorFlow's resolver for Slurm fails without nvidia-smi" {
    launch "${on_one_node[@]}" python -c 'import tensorflow as tf
print(tf.distribute.cluster_resolver.SlurmClusterResolver().cluster_spec())'
    [ "$status" -ne 0 ]
    [[ $output == *nvidia-smi* ]]
    [[ $output != *"ClusterSpec("* ]]
}

trains() {
    in_shape "$1" tensorflow tensorflow "$python" "$train"
    assert_addresses
}

# bats test_tags=short
@test "tensorflow trains on one node" { trains one_node; }
@test "tensorflow trains on two nodes without the user's environment" { trains block; }

@test "tensorflow trains with ranks dealt out cyclically" {
    trains_as cyclic tensorflow tensorflow 'cyclic' "${cyclically[@]}" --distgpu=tf python "$train"
    assert_addresses
}

@test "tensorflow trains with three ranks on one node and one on the other" { trains uneven; }
@test "tensorflow trains with rank 0 on the second node" { trains reversed; }

@test "tensorflow trains with chief, parameter server and workers" {
    roles "${in_blocks[@]}" --distgpu=tensorflow,chief=1,ps=1
    assert_roles '0 node01 0 chief 0' '1 node01 1 ps 0' '2 node02 0 worker 0' \
        '3 node02 1 worker 1'
    result tensorflow "$version" tensorflow,chief=1,ps=1 '2 + 2'
}

@test "tensorflow trains with an evaluator, and the chief on the second node" {
    roles "${in_reverse[@]}" --distgpu=tensorflow,chief=1,ps=1,evaluator=1
    assert_roles '0 node02 0 chief 0' '1 node01 0 ps 0' '2 node01 1 worker 0' \
        '3 node02 1 evaluator 0'
    result tensorflow "$version" tensorflow,chief=1,ps=1,evaluator=1 'rank 0 on node02'
}
