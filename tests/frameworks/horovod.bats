#!/usr/bin/env bats
# Horovod under `srun --distgpu=horovod`, over MPI and over Gloo, and horovod-rendezvous,
# which starts Horovod's own server for Gloo.

load frameworks

may_try_twice

setup_file() {
    frameworks_up
    # More ranks than CPUs: one that waits in MPI must let the others run.
    export OMPI_MCA_mpi_yield_when_idle=1
    install -m 755 "$root/tools/horovod_rendezvous/horovod-rendezvous" "$SCRATCH"
}

setup() { need horovod horovod; }

over_mpi=(--mpi=pmix --distgpu=horovod)
over_gloo=('--distgpu=horovod,backend=gloo' ./horovod-rendezvous)
train=(python3 examples/horovod_train.py)

# What Horovod says of each rank, in the example's columns "local of cross of". MPI makes
# its own, so where both back ends are held to the same rows, distgpu's are right for Gloo.
uneven_places=('0 3 0 2' '1 3 0 1' '2 3 0 1' '0 1 1 2')
reversed_places=('0 2 0 2' '0 2 1 2' '1 2 0 2' '1 2 1 2')
assert_places() { # 'LOCAL SIZE CROSS SIZE'...
    [ "$(awk '$1 ~ /^[0-9]$/ && NF == 6 { print $3, $4, $5, $6 }' <<<"$output")" = \
        "$(printf '%s\n' "$@")" ]
}

over_mpi_it_trains() { in_shape "$1" horovod horovod --mpi=pmix "$python" examples/horovod_train.py; }

@test "over MPI it trains on one node" { over_mpi_it_trains one_node; }
@test "over MPI it trains on two nodes without the user's environment" { over_mpi_it_trains block; }

@test "over MPI it trains with three ranks on one node and one on the other" {
    over_mpi_it_trains uneven
    assert_places "${uneven_places[@]}"
}

@test "over MPI it trains with rank 0 on the second node" {
    over_mpi_it_trains reversed
    assert_places "${reversed_places[@]}"
}

# What a Gloo run around it leaves behind. The controller alone fails, with "invalid
# communicator"; with both settings, every rank finds itself alone in its world.
@test "over MPI leaked settings of Gloo split it into single ranks, but not with distgpu" {
    local leak=HOROVOD_CONTROLLER=gloo,HOROVOD_CPU_OPERATIONS=gloo
    launch -1 "${cyclically[@]}" --export=ALL,$leak --mpi=pmix "${train[@]}"
    [ "$(grep -c '^1 ranks on 1 node DISAGREE: ' <<<"$output")" -eq 4 ]

    leak+=,HOROVOD_RANK=1,HOROVOD_SIZE=9,HOROVOD_LOCAL_RANK=1
    leak+=,HOROVOD_GLOO_RENDEZVOUS_ADDR=node02,HOROVOD_GLOO_RENDEZVOUS_PORT=9
    trains_as cyclic horovod horovod 'cyclic, settings of Gloo leaked' \
        "${cyclically[@]}" --export=ALL,$leak "${over_mpi[@]}" "${train[@]}"
}

@test "without distgpu the example says how to start it" {
    launch -2 -N1 -n1 "${train[@]}"
    [[ $output == *"start it with 'srun --mpi=pmix --distgpu=horovod python3 "* ]]
}

# Horovod's own time limit makes it an error and not a hang.
@test "over Gloo it fails without the server that horovod-rendezvous starts" {
    trains_as one_node horovod horovod,backend=gloo '2' "${on_one_node[@]}" "${over_gloo[@]}" "${train[@]}"

    HOROVOD_GLOO_TIMEOUT_SECONDS=5 launch "${on_one_node[@]}" --distgpu=horovod,backend=gloo \
        "${train[@]}"
    [[ $status != 0 && $status != 124 ]]
    [[ $output == *'HTTP request failed'* && $output != *' agree: '* ]]
}

@test "over Gloo it trains on two nodes" {
    trains_as block horovod horovod,backend=gloo '2 + 2' \
        "${in_blocks[@]}" "${over_gloo[@]}" "${train[@]}"
    assert_places '0 2 0 2' '1 2 0 2' '0 2 1 2' '1 2 1 2'
}

@test "over Gloo it trains with ranks dealt out cyclically, over leaked ranks" {
    trains_as cyclic horovod horovod,backend=gloo 'cyclic' \
        "${cyclically[@]}" --export=ALL,HOROVOD_RANK=3,HOROVOD_CROSS_SIZE=9 \
        "${over_gloo[@]}" "${train[@]}"
    assert_places '0 2 0 2' '0 2 1 2' '1 2 0 2' '1 2 1 2'
}

@test "over Gloo it trains with rank 0 on the second node, without the user's environment" {
    trains_as reversed horovod horovod,backend=gloo 'rank 0 on node02' \
        "${in_reverse[@]}" --export=NONE --distgpu=horovod,backend=gloo \
        "$python" ./horovod-rendezvous "$python" examples/horovod_train.py
    assert_places "${reversed_places[@]}"
}

# The cross size is the number of tasks with this local rank, not that of nodes: local
# ranks 1 and 2 would wait for a second node's.
@test "over Gloo three ranks and one fail with the nodes as cross ranks, but not with distgpu" {
    trains_as uneven horovod horovod,backend=gloo '3 + 1' \
        "${unevenly[@]}" "${over_gloo[@]}" "${train[@]}"
    assert_places "${uneven_places[@]}"

    HOROVOD_GLOO_TIMEOUT_SECONDS=10 launch "${unevenly[@]}" "${over_gloo[@]}" bash -c \
        'HOROVOD_CROSS_RANK=$SLURM_NODEID HOROVOD_CROSS_SIZE=2 exec "$@"' - "${train[@]}"
    [[ $status != 0 && $status != 124 ]]
    [[ $output == *'Timed out waiting'* && $output != *' agree: '* ]]
}

free_port() {
    "$python" -c 'import socket; s = socket.create_server(("", 0)); print(s.getsockname()[1])'
}
# horovod-rendezvous as one rank, outside any step.
rendezvous() { # RANK PORT PROGRAM...
    HOROVOD_RANK=$1 HOROVOD_GLOO_RENDEZVOUS_ADDR=127.0.0.1 HOROVOD_GLOO_RENDEZVOUS_PORT=$2 \
        exec "$python" "$SCRATCH/horovod-rendezvous" "${@:3}"
}
answers() { (: <"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }
within_seconds() { # SECONDS COMMAND...
    local i
    for ((i = 0; i < $1 * 10; i++)); do
        ! "${@:2}" || return 0
        sleep 0.1
    done
    return 1
}
silent() { ! answers "$1"; }

@test "horovod-rendezvous ends as the program does, and the server with it" {
    local port
    port=$(free_port)
    run -7 rendezvous 0 "$port" bash -c ': </dev/tcp/127.0.0.1/'"$port"' && exit 7'
    within_seconds 5 silent "$port"
    run -127 rendezvous 0 "$port" no-such-program
    [ "$output" = "horovod-rendezvous: no-such-program: No such file or directory; check the\
 name and PATH" ]
    within_seconds 5 silent "$port"
}

# Slurm signals a task's whole process group.
@test "horovod-rendezvous: a signal is the program's, and SIGKILL leaves no server" {
    local port pid
    port=$(free_port)
    rendezvous 0 "$port" setsid bash -c \
        'trap "echo >$0" TERM; for _ in {1..300}; do sleep 0.1; done' \
        "$BATS_TEST_TMPDIR/signalled" 3>&- &
    pid=$!
    within_seconds 10 answers "$port"
    within_seconds 10 pgrep --session "$pid"
    pkill -TERM --parent "$pid"
    kill -TERM "$pid"
    within_seconds 5 test -e "$BATS_TEST_TMPDIR/signalled"
    answers "$port"
    kill -KILL "$pid"
    within_seconds 5 silent "$port"
}

@test "horovod-rendezvous: other ranks wait for the server" {
    local port
    port=$(free_port)
    HOROVOD_GLOO_TIMEOUT_SECONDS=1 run -1 rendezvous 1 "$port" echo started
    [ "$output" = "horovod-rendezvous: 127.0.0.1:$port: no server after 1 s ([Errno 111]\
 Connection refused); see rank 0's messages" ]
    rendezvous 1 "$port" touch "$BATS_TEST_TMPDIR/started" 3>&- &
    sleep 0.5
    [ ! -e "$BATS_TEST_TMPDIR/started" ]
    run -0 rendezvous 0 "$port" bash -c 'sleep 2'
    [ -e "$BATS_TEST_TMPDIR/started" ]
    wait
}

@test "horovod-rendezvous says why it cannot start" {
    local holder port
    coproc "$python" -c 'import socket; s = socket.create_server(("", 0)); s.listen()
print(s.getsockname()[1], flush=True); input()' 3>&-
    holder=$COPROC_PID
    read -r port <&"${COPROC[0]}"
    run -1 rendezvous 0 "$port" true
    [ "$output" = "horovod-rendezvous: port $port: Address already in use; choose another with\
 --distgpu=...,port=N" ]
    kill "$holder"

    run -2 "$python" "$SCRATCH/horovod-rendezvous" true
    [[ $output == *'HOROVOD_GLOO_RENDEZVOUS_PORT: not set; start it with srun --distgpu='* ]]
    run -2 rendezvous 0 "$port"
    python=/usr/bin/python3
    run -1 rendezvous 0 "$port" true
    [ "$output" = "horovod-rendezvous: /usr/bin/python3: No module named 'horovod'; put the\
 python3 that has Horovod first in PATH" ]
}
