#!/usr/bin/env bats
# Steps that come up against limits: of the user's processes, of the environment, of a node.
# shellcheck disable=SC2034 # faults.bash reads what the tests set

load faults

setup_file() {
    faults_up --cpus 64
    printf '%s\n' '#!/usr/bin/python3' 'import os, socket' \
        'address = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])' \
        'if os.environ["RANK"] == "0": socket.create_server(address)' >"$SCRATCH/store"
    # The task prolog runs after task_init, and so after the check.
    printf '%s\n' '#!/bin/sh' '[ "$SLURM_PROCID" != 0 ] || setsid /usr/bin/python3 - >/dev/null 2>&1 <<END &' \
        'import os, socket, time' 's = socket.create_server(("", int(os.environ["MASTER_PORT"])))' \
        'time.sleep(4)' 'END' 'sleep 1' >"$SCRATCH/take_port"
    chmod 755 "$SCRATCH/store" "$SCRATCH/take_port"
}

@test "the port is taken after the check" {
    launch 20 srun -N2 -n2 -w 'node[01-02]' --distgpu=pytorch --kill-on-bad-exit=1 \
        --task-prolog="$SCRATCH/take_port" ./store
    [ "$status" -ne 0 ]
    [[ $output == *'Address already in use'* ]]
    row 'port taken between the check and the start of the program' "the framework's own error: address already in use"
}

# bats test_tags=short
@test "an environment of 2 MiB" {
    launch 20 bash -c 'ulimit -s unlimited
        for name in {1..20}; do export "FILLING_$name=$(head -c 104857 /dev/zero | tr "\0" x)"; done
        srun -N2 -n4 -w "node[01-02]" --distgpu=pytorch sh -c "./show; echo bytes \$(env | grep -c "^FILLING_" )"'
    assert_ranks 4
    [ "$(grep -c 'bytes 20' <<<"$output")" -eq 4 ]
    row 'environment of 2 MiB' 'nothing'
}

# limited ULIMIT'S_OPTION LIMIT: a step whose user has this limit, which srun hands on.
limited() {
    launch 20 bash -c 'ulimit '"$1 $2"' && exec srun -N2 -n4 -w "node[01-02]" --distgpu=pytorch \
        bash -c "./show; ulimit $0"' "$1"
    assert_ranks 4
    [ "$(grep -cx "$2" <<<"$output")" -eq 4 ]
    [[ $output != *distgpu:* ]]
}

# bats test_tags=short
@test "64 open files" {
    limited -n 64
    row '`ulimit -n 64`' 'nothing'
}

@test "256 MiB of address space" {
    limited -v 262144
    row '`ulimit -v 262144` (256 MiB)' 'nothing'
}

# Of 64 KiB srun itself dies, also without the plugin (22.05).
@test "128 KiB of stack" {
    limited -s 128
    row '`ulimit -s 128` (KiB)' 'nothing; with 64 srun itself crashes, without distgpu too'
}

# Of all processes of the user's on this machine, on which other clusters' steps run.
@test "processes" {
    local now
    now=$(ps --no-headers -L -u sandbox | wc -l)
    limited -u $((now + 60))
    row '`ulimit -u` 60 above what runs' 'nothing'
}

@test "64 tasks on a node at once" {
    launch 30 srun -N1 -n64 -w node01 --distgpu=pytorch ./show
    assert_ranks 64
    row '64 tasks on a node at once' 'nothing'
}

# Descriptors, KiB of memory and threads of a daemon on a host.
daemon() { # HOST PID_FILE
    on "$1" sh -c 'read -r pid <"$1"; echo $(ls /proc/$pid/fd | wc -l) \
        $(awk "/^(RssAnon|Threads)/ { print \$2 }" /proc/$pid/status)' sh "$(state)/$2"
}

grown() { # BEFORE AFTER: fails unless descriptors and threads are the same, memory within 2 MiB
    echo "$1 -> $2" | tee -a /dev/fd/3
    read -r files_before memory_before threads_before <<<"$1"
    read -r files_after memory_after threads_after <<<"$2"
    ((files_after <= files_before + 1 && threads_after <= threads_before + 2 &&
        memory_after <= memory_before + 2048))
}

steps=${DISTGPU_FAULTS_STEPS:-100}

@test "many steps in a row" {
    local shell='for ((i = 0; i < $0; i++)); do srun -n2 -N2 --distgpu=pytorch true || exit 1; done'
    launch 60 salloc --quiet -N2 -n4 -w 'node[01-02]' bash -c "$shell" 20
    [ "$status" -eq 0 ]
    daemon_before=$(daemon node01 node01/slurmd.pid)
    controller_before=$(daemon login login/slurmctld.pid)
    launch $((30 + steps)) salloc --quiet -N2 -n4 -w 'node[01-02]' bash -c "$shell" "$steps"
    [ "$status" -eq 0 ]
    [[ $output != *distgpu:* ]]
    grown "$daemon_before" "$(daemon node01 node01/slurmd.pid)"
    grown "$controller_before" "$(daemon login login/slurmctld.pid)"
    row "$steps steps in a row" \
        "nothing; slurmd and slurmctld keep their descriptors and threads, and their memory within 2 MiB"
}
