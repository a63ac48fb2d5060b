#!/usr/bin/env bats
# Servers over several nodes by `distgpu exec`: their options, and how a step of them ends. The server
# is ./serving/vllm, a stand-in with vLLM's options and ways of ending; ./serving/sglang has SGLang's.

load cluster

setup_file() {
    # Under linuxproc, so that what a killed program leaves behind would run on.
    cluster_up --nodes 2 --cpus 8 --proctrack linuxproc
    install -m 755 "$root/tests/integration/serving/vllm" "$SCRATCH"
    cp -r "$root/tests/integration/serving/sglang" "$SCRATCH"
    mkdir -m 1777 "$SCRATCH/temporary"
}

setup() {
    distgpu=$SCRATCH/distgpu
    log=$SCRATCH/log.$BATS_TEST_NUMBER
    export TMPDIR=$SCRATCH/temporary
    serves="^python3 ($SCRATCH/vllm serve|-m sglang.launch_server)"
}

teardown() {
    if [[ ${step-} ]]; then
        submit scancel --user "$(submit id -un)"
        wait "$step" || true
    fi
    assert_cluster_clean
    assert_nothing_left
}

# The stand-in's processes, on all nodes: they are processes of this machine.
servers() { pgrep -f "$serves" || true; }

# What they leave in files and in the nodes' shared memory.
left() { ls -A "$TMPDIR" && for node in node01 node02; do on "$node" ls -A /dev/shm; done; }

assert_nothing_left() {
    ! until_so 5 eval '[[ ! $(servers)$(left) ]]' || return 0
    left
    pgrep -fa "$serves"
    pkill -KILL -f "$serves"
    return 1
}

on_two=(srun -N2 --ntasks-per-node=1)

# Starts a step in the background; it is ready when this returns. Its output is in $log.
start() { # SRUN_ARGUMENT... -- serves "$distgpu exec -- vllm serve"
    : >"$log" # an earlier step's line is not this one's
    submit timeout --kill-after=5 100 "$@" >"$log" 2>&1 3>&- &
    step=$!
    for _ in {1..300}; do
        ! grep -q 'ready at' "$log" || return 0
        kill -0 "$step" 2>/dev/null || break
        sleep 0.1
    done
    cat "$log"
    return 1
}

start_servers() { # [ENVIRONMENT...]
    start "${on_two[@]}" --distgpu=vllm env "$@" "$distgpu" exec -- "$SCRATCH/vllm" serve m -tp 2
}

start_sglang() {
    start "${on_two[@]}" --distgpu=sglang "$distgpu" exec -- \
        python3 -m sglang.launch_server --model-path m --tp 2
}

url() { sed -n 's/.*ready at \([^ ]*\) after.*/\1/p' "$log"; }

# The status of a request on node01.
ask() { # PATH
    on node01 python3 -c 'import sys, urllib.request, urllib.error
try:
    print(urllib.request.urlopen(sys.argv[1], timeout=5).status)
except urllib.error.HTTPError as error:
    print(error.code)' "$(url)/$1"
}

# The pid of the process of that command on a node.
pid_on() { # NODE PATTERN
    local pid
    for pid in $(pgrep -f "$2"); do
        ! tr '\0' '\n' <"/proc/$pid/environ" | grep -qx "SLURMD_NODENAME=$1" || echo "$pid"
    done
}

# exec there; beside it is the process that tells it which signals its program gets.
exec_on() { pid_on "$1" "^$distgpu exec" | head -n 1; }

# The server that exec started there, and its worker or engine.
main_on() { pid_on "$1" "$serves" | head -n 1; }
child_on() { pgrep -P "$(main_on "$1")" -f "$serves"; }

# Waits for the step; its status and how long it took. Fails unless they are these.
ends() { # [STATUS|- [SECONDS]]
    local begin=$EPOCHREALTIME
    status=0
    wait "$step" || status=$?
    unset step
    seconds=$(((${EPOCHREALTIME/[.,]/} - ${begin/[.,]/}) / 1000000))
    cat "$log"
    echo "status $status after $seconds s"
    [[ ${1--} == - || $status == "$1" ]]
    [[ ! ${2-} || $seconds -le $2 ]]
}

# bats test_tags=short
@test "each node gets its options, and the URL is printed when it answers" {
    start_servers
    [ "$(ask health)" = 200 ]
    [ "$(ask v1/completions)" = 200 ]
    address=$(url)
    port=${address##*:}
    [ "$(grep -c '^options' "$log")" -eq 2 ]
    head=${address#http://}
    head=${head%:*}
    grep -qxF "options serve m -tp 2 --distributed-executor-backend mp --nnodes 2 --node-rank 0 \
--master-addr $head --master-port $((port - 1)) --host $head --port $port" "$log"
    grep -qxF "options serve m -tp 2 --distributed-executor-backend mp --nnodes 2 --node-rank 1 \
--master-addr $head --master-port $((port - 1)) --headless" "$log"
    submit scancel --user "$(submit id -un)"
    ends - 6
}

# What vLLM itself makes of it: the step goes on, or ends with status 0.
@test "a server or its worker that is killed on another node ends the step with its status" {
    start_servers
    kill -KILL "$(main_on node02)"
    ends 137 6
    [ "$(grep -c '^distgpu: vllm on node02: ended with status 137 after' "$log")" -eq 1 ]
    start_servers
    kill -KILL "$(child_on node02)"
    ends 1 6
    grep -q '^distgpu: vllm on node02: ended with status 0 after .* which ends the step$' "$log"
}

@test "the first node's server or engine that is killed ends the step" {
    start_servers
    kill -KILL "$(main_on node01)"
    ends 137 6
    start_servers
    kill -KILL "$(child_on node01)"
    [ "$(ask health)" = 200 ]
    run ask v1/completions
    ends 1
}

# What the server itself started there is Slurm's to end, as proctrack/cgroup does.
@test "exec that is killed on a node ends its server and the others" {
    local node worker
    for node in node01 node02; do
        start_servers
        worker=$(child_on "$node")
        kill -KILL "$(exec_on "$node")"
        until_so 5 eval '[[ $(servers) == "$worker" ]]'
        kill -KILL "$worker"
        ends 137 6
        grep -q "^distgpu: vllm: lost the connection to $node, which ends the step\$" "$log"
        # The next step's would go with this one's folder after a minute.
        rm -r "$TMPDIR"/vllm-*
    done
}

@test "scancel ends it within the grace, also servers that ignore SIGTERM; a signal for exec alone ends it, too" {
    start_servers STAND_IN_DEAF=1
    submit scancel --user "$(submit id -un)"
    ends - 14
    [[ $(<"$log") != *'which ends the step'* ]]
    start_servers
    kill -TERM "$(exec_on node02)"
    ends 0 6
    [[ $(<"$log") != *'which ends the step'* ]]
}

@test "SGLang's nodes get their options; its end is the first node's, whose loss kills the other after the grace" {
    start_sglang
    address=$(url)
    port=${address##*:}
    first=$((port - 13))
    head=${address#http://}
    head=${head%:*}
    for node in 0 1; do
        # The nodes' addresses differ in their last digit.
        grep -qxF "options --model-path m --tp 2 --nnodes 2 --node-rank $node --dist-init-addr $head:$first \
--host ${head%?}$((${head: -1} + node)) --port $port --nccl-port $((port + 1))" "$log"
    done
    submit scancel --user "$(submit id -un)"
    ends - 6
    [[ $(<"$log") != *'which ends the step'* ]]
    # It ignores SIGTERM and waits for the first one's word.
    start_sglang
    kill -KILL "$(main_on node01)"
    ends 137
    [ "$seconds" -ge 8 ]
    [ "$seconds" -le 14 ]
}

# MUNGE would prove that the nodes are of one user; in the sandbox it answers the daemons alone.
@test "without the plugin the same line serves with the mode behind exec" {
    start "${on_two[@]}" "$distgpu" exec vllm -- "$SCRATCH/vllm" serve m -tp 2
    [ "$(ask v1/completions)" = 200 ]
    kill -KILL "$(main_on node02)"
    ends 137
    [ "$(grep -c '^distgpu: vllm: other users could end this step, because the plugin did not prepare it and MUNGE does not answer; start it with srun --distgpu=vllm$' "$log")" -eq 1 ]
}

@test "who is not of the step cannot end it" {
    start_servers
    address=$(url)
    control=$((${address##*:} + 14)) # the 15th port behind the rendezvous, the API's is the first
    run on node01 python3 -c '
import socket, sys
control = socket.create_connection(("node01", int(sys.argv[1])), 5)
print(control.recv(4096).decode().split()[:2])
control.sendall(b"0 1 " + b"0" * 64 + b"\nended 3 \n")
try:
    print(control.recv(4096))
except ConnectionResetError:
    print("reset")' "$control"
    [ "${lines[0]}" = "['distgpu', 'exec']" ]
    [[ ${lines[1]} == "b''" || ${lines[1]} == reset ]]
    sleep 1
    [ "$(ask v1/completions)" = 200 ]
    kill -KILL "$(main_on node02)"
    ends 137
}

# Each of them would have cost a second, in which rank 0's node would have seen to nothing else.
@test "connections that say nothing keep nobody from the step" {
    on node01 python3 -c '
import socket, sys, time
for _ in range(600):
    try:
        socket.create_connection(("node01", 30015), 1)
        break
    except OSError:
        time.sleep(0.1)
held = [socket.create_connection(("node01", 30015), 5) for _ in range(60)]
open(sys.argv[1], "w")
held += [socket.create_connection(("node01", 30015), 5) for _ in range(540)]
time.sleep(100)' "$SCRATCH/held" 3>&- &
    strangers=$!
    start "${on_two[@]}" --distgpu=vllm,port=30000 bash -c '
        until ((SLURM_PROCID == 0)) || [ -e '"$SCRATCH"'/held ]; do sleep 0.1; done
        exec "$@"' - "$distgpu" exec -- "$SCRATCH/vllm" serve m -tp 2
    # No more than a few seconds after the first node, which is there at once.
    [ "$(sed -n 's/.*ready at .* after \([0-9]*\) s$/\1/p' "$log")" -le 15 ]
    kill -KILL "$(main_on node02)"
    ends
    kill "$strangers"
    [ "$status" -eq 137 ]
    [ "$seconds" -le 6 ]
}

@test "a first node that fails ends the step, whatever another one does" {
    # Slurm's answer takes long enough that it kills exec meanwhile.
    mkdir "$SCRATCH/slow"
    printf '#!/bin/sh\n%s "$@"; sleep 20\n' "$(type -P scancel)" >"$SCRATCH/slow/scancel"
    chmod +x "$SCRATCH/slow/scancel"
    submit env PATH="$SCRATCH/slow:$PATH" timeout 60 "${on_two[@]}" --distgpu=vllm bash -c '
        ((SLURM_PROCID)) || exec "$@"
        exec sleep 50' - "$distgpu" exec -- false >"$log" 2>&1 3>&- &
    step=$!
    ends
    [ "$status" -ne 0 ]
    [ "$seconds" -le 15 ]
    grep -q '^distgpu: vllm on node01: ended with status 1 after' "$log"
    grep -qx 'distgpu: vllm: the step ends without node02, where distgpu exec did not start' "$log"
}

@test "a server without exec gets it where Slurm lets the plugin put it there, and is else refused" {
    if has_release 23.11; then
        start "${on_two[@]}" --distgpu=vllm "$SCRATCH/vllm" serve m -tp 2
        [ "$(ask v1/completions)" = 200 ]
        kill -KILL "$(main_on node02)"
        ends 137
        mv "$distgpu" "$SCRATCH/elsewhere"
    fi
    run submit "${on_two[@]}" --distgpu=vllm "$SCRATCH/vllm" serve m -tp 2
    [ -e "$distgpu" ] || mv "$SCRATCH/elsewhere" "$distgpu"
    [ "$status" -ne 0 ]
    [ "$(distgpu_lines | grep /vllm)" = "distgpu: $SCRATCH/vllm serve m -tp 2: it reads its place in the step only \
from its options, so each node would run a separate server; write srun --ntasks-per-node=1 \
--distgpu=vllm distgpu exec -- $SCRATCH/vllm serve m -tp 2" ]
}

@test "dry-run shows the options that are added, and not those that the user gave" {
    run --separate-stderr -0 submit "${on_two[@]}" --distgpu=vllm,dry-run "$distgpu" exec -- \
        "$SCRATCH/vllm" serve m -tp 2 --nnodes=2 -dp 2 --port 9000
    [ "$(grep -c 'distgpu exec adds: --distributed-executor-backend mp --node-rank .* --data-parallel-rpc-port' \
        <<<"$output")" -eq 2 ]
    [[ $output != *' --port '* ]]
}
