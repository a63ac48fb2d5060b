#!/usr/bin/env bats
# tools/sandbox: one cluster for most tests, further ones where a test breaks or
# ends its cluster. Needs root and Debian's slurm-wlm, munge, iproute2, python3.
# shellcheck disable=SC2016 # the shell inside the sandbox expands them
bats_require_minimum_version 1.5.0

setup_file() {
    ((EUID == 0)) || skip "needs root"
    export SANDBOX NAME
    SANDBOX=$(readlink -f "$BATS_TEST_DIRNAME/sandbox")
    NAME=t$$
    "$SANDBOX" up --name "$NAME"
}

teardown_file() {
    ((EUID == 0)) || return 0
    "$SANDBOX" down --name "$NAME"
}

setup() {
    other=o$$
    cd / || return 1
}

teardown() {
    [[ ! -d /run/distgpu-sandbox/$other ]] || "$SANDBOX" down --name "$other"
}

submit() { "$SANDBOX" run --name "$NAME" -- "$@"; }
on() { "$SANDBOX" on --name "$NAME" "$@"; }

# Processes whose mount table names the state folder of sandbox $1.
processes_of() {
    grep -lE "/distgpu-sandbox/\.?$1[./]" /proc/[0-9]*/mountinfo 2>/dev/null | cut -d/ -f3
}

machine() {
    ip -o link | awk '{ print $2 }'
    ip netns
    cat /proc/mounts
    # Other sandboxes than these two may come and go meanwhile.
    ls -d /dev/nvidia* /sys/fs/cgroup/*/distgpu-sandbox-{"$NAME","$other"} 2>/dev/null || true
}

refused() { # STATUS MESSAGE COMMAND...
    local expected=$1 message=$2
    shift 2
    run "$@"
    [ "$status" -eq "$expected" ]
    [ "$output" = "$message" ]
}

@test "srun reaches four nodes, each with its own host name" {
    run submit srun -N4 -l hostname
    [ "$status" -eq 0 ]
    [ "$(sort <<<"$output")" = "$(printf '%s\n' '0: node01' '1: node02' '2: node03' '3: node04')" ]
}

# Tasks of Slurm 26.05 inherit what its daemons ignore.
@test "tasks do not ignore SIGINT, also if a background command has started the sandbox" {
    (trap '' INT && "$SANDBOX" up --name "$other" --nodes 1)
    # shellcheck disable=SC2016 # the task's own process
    run -7 "$SANDBOX" run --name "$other" -- srun -n1 bash -c 'trap "exit 7" INT; kill -INT $$'
    "$SANDBOX" down --name "$other"
}

@test "slurmctld, late with each message" {
    "$SANDBOX" up --name "$other" --nodes 1 --slurmctld-delay 1000
    local begin=$EPOCHREALTIME
    "$SANDBOX" run --name "$other" -- squeue
    ((${EPOCHREALTIME/[.,]/} - ${begin/[.,]/} >= 1000000))
    refused 2 "sandbox: --slurmctld-delay=soon: not a count; give a number from 0 to 9000" \
        "$SANDBOX" up --slurmctld-delay soon
}

@test "each node has its own eth0, address and shared memory" {
    for i in 1 2 3 4; do
        run on "node0$i" -- sh -c 'ip -o -4 address show eth0 | tr -s " " | cut -d" " -f2,4; ls /sys/class/net'
        [ "$status" -eq 0 ]
        [ "$output" = "$(printf '%s\n' "eth0 10.77.1.$i/16" eth0 lo)" ]
    done
    on node01 -- touch /dev/shm/mark
    run on node02 -- sh -c 'ls -A /dev/shm | wc -l'
    [ "$status" -eq 0 ]
    [ "$output" = 0 ]
}

@test "each host has its own /run/distgpu, and the machine's is not touched" {
    local before
    before=$(ls -A /run/distgpu)
    for host in login node01 node02; do
        [ -z "$(on "$host" -- ls -A /run/distgpu)" ]
        on "$host" -- sh -c 'touch "/run/distgpu/of-$(hostname)"'
    done
    [ "$(on node02 -- ls -A /run/distgpu)" = of-node02 ]
    [ "$(ls -A /run/distgpu)" = "$before" ]
    for host in login node01 node02; do on "$host" -- sh -c 'rm /run/distgpu/*'; done
}

@test "the NodeName is not the NodeAddr" {
    run submit scontrol -o show node node02
    [ "$status" -eq 0 ]
    [[ $output == *" NodeAddr=10.77.1.2 NodeHostName=node02 "* ]]
}

@test "run works as an ordinary user, who can be chosen" {
    run submit srun sh -c 'echo $(id -un) $USER $LOGNAME $HOME'
    [ "$status" -eq 0 ]
    [ "$output" = "sandbox sandbox sandbox $(getent passwd sandbox | cut -d: -f6)" ]
    run "$SANDBOX" run --name "$NAME" --user root -- id -u
    [ "$status" -eq 0 ]
    [ "$output" = 0 ]
}

@test "run passes input, output, errors, status, folder and environment" {
    MARK="a b" run --separate-stderr bash -c 'cd /usr/share; echo word | "$SANDBOX" run --name "$NAME" -- \
        srun bash -c "cat; pwd; printenv MARK; echo bad >&2; exit 7"'
    [ "$status" -eq 7 ]
    [ "$output" = "$(printf '%s\n' word /usr/share 'a b')" ]
    # shellcheck disable=SC2154
    [ "$(sort <<<"$stderr")" = "$(printf '%s\n' bad 'srun: error: node01: task 0: Exited with exit code 7')" ]
}

@test "run is replaced by its command, so a signal reaches srun" {
    "$SANDBOX" run --name "$NAME" -- srun sleep 100 2>/dev/null 3>&- &
    # Before its task runs, srun ends with 0 on a signal.
    for ((i = 0; i < 100; i++)); do
        on node01 pgrep -x sleep >/dev/null && break
        sleep 0.05
    done
    [ "$(cat /proc/$!/comm)" = srun ]
    kill -TERM $!
    status=0
    wait $! || status=$?
    [ "$status" -ne 0 ]
    for ((i = 0; i < 100; i++)); do
        [[ $(submit squeue -h) ]] || break
        sleep 0.05
    done
    [ "$(submit squeue -h | wc -l)" -eq 0 ]
}

@test "sbatch runs at once and a requeued job starts again within 15 s" {
    run submit sbatch --parsable -o /dev/null --wrap 'sleep 100'
    [ "$status" -eq 0 ]
    job=$output
    state() { submit scontrol -o show job "$job" | grep -oE '(Restarts|JobState)=[^ ]*' | xargs; }
    for ((i = 0; i < 40; i++)); do
        [[ $(state) == 'JobState=RUNNING Restarts=0' ]] && break
        sleep 0.05
    done
    [ "$(state)" = 'JobState=RUNNING Restarts=0' ]
    submit scontrol requeue "$job"
    for ((i = 0; i < 150; i++)); do
        [[ $(state) == 'JobState=RUNNING Restarts=1' ]] && break
        sleep 0.1
    done
    [ "$(state)" = 'JobState=RUNNING Restarts=1' ]
    submit scancel "$job"
}

@test "two nodes talk over TCP by address and by name" {
    on node02 -- python3 -c 'import socket, sys
s = socket.create_server(("10.77.1.2", 29500)); open(sys.argv[1], "w").close()
c, a = s.accept(); c.sendall(a[0].encode())' \
        "$BATS_TEST_TMPDIR/ready" &
    for ((i = 0; i < 100; i++)); do [[ -e $BATS_TEST_TMPDIR/ready ]] && break || sleep 0.05; done
    run submit srun -w node03 python3 -c 'import socket
print(socket.create_connection(("node02", 29500), 5).recv(99).decode())'
    [ "$status" -eq 0 ]
    [ "$output" = 10.77.1.3 ]
    wait $!
}

@test "an unknown host name fails at once" {
    local begin=$SECONDS
    run submit getent hosts no-such-host.example.org
    [ "$status" -eq 2 ]
    ((SECONDS - begin <= 1))
}

@test "Slurm gives GPUs, which are private device files" {
    run submit srun -N1 --gres=gpu:2 printenv CUDA_VISIBLE_DEVICES
    [ "$status" -eq 0 ]
    [ "$output" = 0,1 ]
    run on node04 -- sh -c 'ls /dev/nvidia*'
    [ "$status" -eq 0 ]
    [ "$output" = "$(printf '/dev/nvidia%d\n' 0 1 2 3)" ]
}

@test "several jobs share a node" {
    run submit srun --quiet -w node01 -n2 --gres=gpu:2 bash -c \
        '((SLURM_PROCID)) || env -i PATH="$PATH" srun --quiet -w node01 -n2 --gres=gpu:2 printenv CUDA_VISIBLE_DEVICES'
    [ "$status" -eq 0 ]
    [ "$output" = "$(printf '%s\n' 2,3 2,3)" ]
}

@test "PMIx starts ranks on two nodes" {
    [[ $(submit srun --mpi=list 2>&1) == *pmix* ]] || skip "Slurm's PMIx plugin is not installed"
    run submit srun -N2 --mpi=pmix -l printenv PMIX_RANK
    [ "$status" -eq 0 ]
    [ "$(sort <<<"$output")" = "$(printf '%s\n' '0: 0' '1: 1')" ]
}

@test "a node's configuration is its own" {
    on node02 -- sh -c 'echo "optional /no/such/plugin.so" >/etc/slurm/plugstack.conf'
    run on node02 -- cat /etc/slurm/plugstack.conf
    [ "$status" -eq 0 ]
    [ "$output" = "optional /no/such/plugin.so" ]
    run on node01 -- wc -c /etc/slurm/plugstack.conf
    [ "$status" -eq 0 ]
    [ "$output" = "0 /etc/slurm/plugstack.conf" ]
    on node02 -- sh -c '>/etc/slurm/plugstack.conf'
}

@test "a stopped slurmd comes back" {
    "$SANDBOX" node --name "$NAME" stop node03
    refused 1 "sandbox: node03: slurmd is not running; start it with 'sandbox node --name $NAME start node03'" \
        "$SANDBOX" node --name "$NAME" stop node03
    "$SANDBOX" node --name "$NAME" start node03
    refused 1 "sandbox: node03: slurmd is running; stop it with 'sandbox node --name $NAME stop node03'" \
        "$SANDBOX" node --name "$NAME" start node03
    run submit srun -w node03 hostname
    [ "$status" -eq 0 ]
    [ "$output" = node03 ]
}

@test "a link is cut and restored with its route" {
    reach() { on login -- timeout 0.5 bash -c ': >/dev/tcp/node02/6818' 2>/dev/null; }
    run on node02 -- ip route
    [ "$status" -eq 0 ]
    local routes=$output
    [ -n "$routes" ]
    reach
    "$SANDBOX" link --name "$NAME" cut node02
    run reach
    [ "$status" -ne 0 ]
    "$SANDBOX" link --name "$NAME" restore node02
    run on node02 -- ip route
    [ "$status" -eq 0 ]
    [ "$output" = "$routes" ]
    run submit srun -w node02 hostname
    [ "$status" -eq 0 ]
    [ "$output" = node02 ]
}

@test "a slow link takes as long as its rate says" {
    send() { submit srun -w node02 head -c 300000 /dev/zero | wc -c; }
    "$SANDBOX" link --name "$NAME" slow node02 2mbit
    local begin=${EPOCHREALTIME/./}
    run send
    local slow=$((${EPOCHREALTIME/./} - begin))
    [ "$status" -eq 0 ]
    [ "$output" = 300000 ]
    ((slow > 900000 && slow < 5000000))
    "$SANDBOX" link --name "$NAME" restore node02
    begin=${EPOCHREALTIME/./}
    run send
    [ "$status" -eq 0 ]
    ((${EPOCHREALTIME/./} - begin < 900000))
}

@test "status shows the hosts of one sandbox" {
    run "$SANDBOX" status --name "$NAME"
    [ "$status" -eq 0 ]
    [ "${lines[0]}" = "login    10.77.0.1    up" ]
    [ "${lines[1]}" = "node01   10.77.1.1    idle" ]
    [ "${#lines[@]}" -eq 5 ]
}

@test "two sandboxes run side by side, and status lists both" {
    run "$SANDBOX" up --name "$other" --nodes 2 --gpus 0
    [ "$status" -eq 0 ]
    [[ $output =~ ^"sandbox $other: login, node[01-02] up in "[0-9.]+" s"$ ]]
    run "$SANDBOX" status
    [ "$status" -eq 0 ]
    [[ $output =~ $NAME" "+up" "+4"  "sandbox ]]
    [[ $output =~ $other" "+up" "+2"  "sandbox ]]
    run "$SANDBOX" run --name "$other" -- srun -N2 -l hostname
    [ "$status" -eq 0 ]
    [ "$(sort <<<"$output")" = "$(printf '%s\n' '0: node01' '1: node02')" ]
    run submit sinfo -h -o %D
    [ "$status" -eq 0 ]
    [ "$output" = 4 ]
}

@test "options reach Slurm's configuration" {
    local plugins
    plugins=("$(dirname "$(submit scontrol show config | awk '$1 == "PluginDir" { print $3 }')/x")"/spank_[!d]*.so)
    [ -e "${plugins[0]}" ] || skip "Slurm's package has no SPANK plugin"
    "$SANDBOX" up --name "$other" --nodes 1 --cpus 2 --plugin "${plugins[0]} a=1 b" \
        --plugin "${plugins[0]}" --conf 'killwait=9' --conf 'KillWait=7' \
        --conf 'ProctrackType=proctrack/pgid' --user nobody
    run "$SANDBOX" on --name "$other" node01 -- cat /etc/slurm/plugstack.conf
    [ "$status" -eq 0 ]
    [ "$output" = "$(printf 'required %s\n' "${plugins[0]} a=1 b" "${plugins[0]}")" ]
    run "$SANDBOX" run --name "$other" -- scontrol show config
    [ "$status" -eq 0 ]
    [[ $output =~ "KillWait                = 7 sec" ]]
    [[ $output =~ "ProctrackType           = proctrack/pgid" ]]
    run "$SANDBOX" run --name "$other" -- srun id -un
    [ "$status" -eq 0 ]
    [ "$output" = nobody ]
}

@test "lines of gres.conf are taken as they are, and their devices made" {
    "$SANDBOX" up --name "$other" --nodes 1 --gres 'Name=gpu Type=a100 File=/dev/nvidia[2-3,5]' \
        --gres 'Name=gpu Type=h100 File=/dev/nvidia0 Cores=0-7' \
        --gres 'Name=gpu Type=mi210 File=/dev/dri/renderD[128-129]'
    run "$SANDBOX" on --name "$other" node01 -- cat /etc/slurm/gres.conf
    [ "$status" -eq 0 ]
    [ "$output" = "$(printf '%s\n' AutoDetect=off 'Name=gpu Type=a100 File=/dev/nvidia[2-3,5]' \
        'Name=gpu Type=h100 File=/dev/nvidia0 Cores=0-7' 'Name=gpu Type=mi210 File=/dev/dri/renderD[128-129]')" ]
    run "$SANDBOX" on --name "$other" node01 -- \
        stat -c '%n %t:%T' /dev/nvidia{0,2,3,5} /dev/dri/renderD{128,129}
    [ "$status" -eq 0 ]
    [ "$output" = "$(printf '/dev/%s\n' 'nvidia0 78:0' 'nvidia2 78:2' 'nvidia3 78:3' 'nvidia5 78:5' \
        'dri/renderD128 78:80' 'dri/renderD129 78:81')" ]
    run "$SANDBOX" run --name "$other" -- srun --gres=gpu:h100:1 printenv CUDA_VISIBLE_DEVICES
    [ "$status" -eq 0 ]
    [ "$output" = 3 ]
    run "$SANDBOX" run --name "$other" -- scontrol -o show node node01
    [ "$status" -eq 0 ]
    [[ $output == *" Gres=gpu:a100:3(S:0),gpu:h100:1(S:0),gpu:mi210:2(S:0) "* ]]
}

# Sends 3 MB from a node to another; prints the milliseconds that it took.
sent_in() { # FROM TO
    "$SANDBOX" on --name "$other" "$2" -- python3 -c 'import socket
listener = socket.create_server(("", 29500))
print("ready", flush=True)
peer = listener.accept()[0]
while peer.recv(65536): pass' >"$BATS_TEST_TMPDIR/$2" 3>&- &
    until grep -q ready "$BATS_TEST_TMPDIR/$2"; do sleep 0.05; done
    "$SANDBOX" on --name "$other" "$1" -- python3 -c 'import socket, sys, time
begin = time.monotonic()
peer = socket.create_connection((sys.argv[1], 29500))
peer.sendall(bytes(3000000))
peer.shutdown(socket.SHUT_WR)
peer.recv(1)
print(int(1000 * (time.monotonic() - begin)))' "$2"
    wait $!
}

@test "switches: Slurm knows them, and between them the uplink is the way" {
    "$SANDBOX" up --name "$other" --gpus 0 --switch 's1=node[02,04]' --switch 's2=node01,node03' \
        --uplink 20mbit
    run "$SANDBOX" run --name "$other" -- srun -N4 -l printenv SLURM_TOPOLOGY_ADDR
    [ "$status" -eq 0 ]
    # Debian's Slurm 26.05 distributes tasks in the order of the switches.
    [ "$(cut -d' ' -f2 <<<"$output" | sort)" = "$(printf '%s\n' top.s1.node02 top.s1.node04 top.s2.node01 top.s2.node03)" ]
    # 3 MB are 24 Mbit: more than a second at 20 Mbit/s, without the burst.
    local from to milliseconds
    for pair in 'node02 node04' 'node01 node03'; do
        read -r from to <<<"$pair"
        milliseconds=$(sent_in "$from" "$to")
        ((milliseconds < 900))
    done
    for pair in 'node02 node01' 'node03 node04'; do
        read -r from to <<<"$pair"
        milliseconds=$(sent_in "$from" "$to")
        ((milliseconds > 900 && milliseconds < 6000))
    done
}

@test "switches: topology/block counts them as blocks" {
    [[ $(submit srun --version) != *' 22.05.'* ]] || skip "Slurm 22.05 has no topology/block"
    "$SANDBOX" up --name "$other" --gpus 0 --switch 's1=node[02,04]' --switch 's2=node[01,03]' \
        --topology-plugin block
    run "$SANDBOX" run --name "$other" -- srun -N4 -l printenv SLURM_TOPOLOGY_ADDR
    [ "$status" -eq 0 ]
    [ "$(cut -d' ' -f2 <<<"$output" | sort)" = "$(printf '%s\n' s1.node02 s1.node04 s2.node01 s2.node03)" ]
}

@test "control groups keep a job from the GPUs of others and are removed" {
    [ -e /sys/fs/cgroup/devices/release_agent ] || skip "no version 1 control groups here"
    "$SANDBOX" up --name "$other" --nodes 2 --cpus "$(nproc)" \
        --conf TaskPlugin=task/cgroup,task/affinity --cgroup ConstrainDevices=yes
    run "$SANDBOX" run --name "$other" -- srun -N2 --gres=gpu:1 sh -c \
        'for i in 0 3; do cat /dev/nvidia$i; done 2>&1 | sed "s/.*: //"'
    [ "$status" -eq 0 ]
    [ "$(sort <<<"$output" | uniq -c | xargs)" = "2 No such device or address 2 Operation not permitted" ]
    [ -d "/sys/fs/cgroup/devices/distgpu-sandbox-$other" ]
    "$SANDBOX" down --name "$other"
    run ls /sys/fs/cgroup/devices
    [ "$status" -eq 0 ]
    [[ $output != *"distgpu-sandbox-$other"* ]]
}

@test "down leaves nothing" {
    machine >"$BATS_TEST_TMPDIR/before"
    "$SANDBOX" up --name "$other"
    "$SANDBOX" run --name "$other" -- bash -c 'setsid sleep 1000 >/dev/null 2>&1 &'
    "$SANDBOX" run --name "$other" -- sbatch -o /dev/null --wrap 'sleep 1000'
    [ "$(processes_of "$other" | wc -l)" -gt 10 ]
    "$SANDBOX" run --name "$other" -- sleep 1000 &
    run "$SANDBOX" down --name "$other"
    [ "$status" -eq 0 ]
    [ "$output" = "sandbox $other: down" ]
    [ "$(processes_of "$other" | wc -l)" -eq 0 ]
    [ ! -e "/run/distgpu-sandbox/$other" ]
    machine >"$BATS_TEST_TMPDIR/after"
    diff "$BATS_TEST_TMPDIR"/{before,after}
    refused 1 "sandbox: $other: no such sandbox; start it with 'sandbox up --name $other'" \
        "$SANDBOX" down --name "$other"
}

@test "down ends login's processes when its keeper is gone" {
    "$SANDBOX" up --name "$other" --nodes 1
    read -r keeper _ <"/run/distgpu-sandbox/$other/login/keeper"
    kill -KILL "$keeper"
    for _ in {1..100}; do # a busy machine takes a moment to end it
        run "$SANDBOX" status
        [ "$status" -eq 0 ]
        [[ ! $output =~ $other" "+broken ]] || break
        sleep 0.05
    done
    [[ $output =~ $other" "+broken ]]
    refused 1 "sandbox: login: its keeper is gone; end the sandbox with 'sandbox down --name $other'" \
        "$SANDBOX" run --name "$other" -- true
    [ "$(processes_of "$other" | wc -l)" -gt 3 ]
    run "$SANDBOX" down --name "$other"
    [ "$status" -eq 0 ]
    [ "$(processes_of "$other" | wc -l)" -eq 0 ]
}

# Interrupts an up as soon as STAGE exists; prints the status that up ended with.
interrupted_up() { # STAGE
    local status=0 up
    env --default-signal=INT "$SANDBOX" up --name "$other" --nodes 2 >&2 &
    up=$!
    until [[ -e /run/distgpu-sandbox/$other/$1 || ! -e /proc/$up ]]; do :; done
    kill -INT $up 2>/dev/null || true
    wait $up || status=$?
    echo "$status"
}

@test "up that is interrupted leaves nothing" {
    machine >"$BATS_TEST_TMPDIR/before"
    for stage in . login/keeper login/ready munge/socket login/slurmctld.pid node01/slurmd.pid; do
        # On a busy machine up may be done before the signal comes: then nothing was interrupted.
        for _ in {1..20}; do
            status=$(interrupted_up "$stage")
            [ "$status" -eq 0 ] || break
            "$SANDBOX" down --name "$other"
        done
        [ "$status" -eq 130 ]
        [ "$(processes_of "$other" | wc -l)" -eq 0 ]
        [ ! -e "/run/distgpu-sandbox/$other" ]
    done
    machine >"$BATS_TEST_TMPDIR/after"
    diff "$BATS_TEST_TMPDIR"/{before,after}
}

@test "a host that makes its devices when up is interrupted makes no folder anew" {
    local bin=$BATS_TEST_TMPDIR/bin
    mkdir "$bin"
    # The nodes wait before they make folders in the copy, and up between moving the state away and ending them.
    printf '#!/bin/sh\ncase $PWD$* in *slurm* | *cgroup*) ;; *mnt*) touch %s/copied; sleep 0.5 ;; esac\nexec %s "$@"\n' \
        "/run/distgpu-sandbox/$other" "$(type -P mkdir)" >"$bin/mkdir"
    printf '#!/bin/sh\n%s "$@" || exit\ncase $1 in *.new) ;; *) sleep 1.5 ;; esac\n' "$(type -P mv)" >"$bin/mv"
    chmod +x "$bin"/*
    status=$(PATH=$bin:$PATH interrupted_up copied)
    [ "$status" -eq 130 ]
    [ "$(processes_of "$other" | wc -l)" -eq 0 ]
    [ ! -e "/run/distgpu-sandbox/$other" ]
}

@test "up that fails shows the cause and leaves nothing" {
    run "$SANDBOX" up --name "$other" --conf Bogus=1
    [ "$status" -eq 1 ]
    # Newer releases of Slurm write the time before it.
    [[ ${lines[0]} =~ ^\ \ (slurmctld:|\[[^]]*\])\ error:\ _parse_next_key:\ Parsing\ error\ at\ unrecognized\ key:\ Bogus$ ]]
    [ "${lines[2]}" = "sandbox: slurmctld: cannot start; see the end of its log above" ]
    [ "$(processes_of "$other" | wc -l)" -eq 0 ]
    [ ! -e "/run/distgpu-sandbox/$other" ]
}

@test "wrong usage is refused with status 2" {
    refused 2 "sandbox: frob: unknown command; see 'sandbox --help'" "$SANDBOX" frob
    refused 2 "sandbox: --frob: unknown option of 'up'; see 'sandbox --help'" "$SANDBOX" up --frob
    refused 2 "sandbox: --nodes: unknown option of 'run'; see 'sandbox --help'" "$SANDBOX" run --nodes 2 -- true
    refused 2 "sandbox: --name: needs a value; see 'sandbox --help'" "$SANDBOX" up --name
    refused 2 "sandbox: --name=A/b: not a sandbox name; use 1 to 24 of a-z, 0-9, - and _, a letter or digit first" \
        "$SANDBOX" up --name A/b
    refused 2 "sandbox: --nodes=100: not a count; give a number from 1 to 99" "$SANDBOX" up --nodes 100
    refused 2 "sandbox: --cpus=08: not a count; give a number from 1 to 1024" "$SANDBOX" up --cpus=08
    refused 2 "sandbox: --gres=Name=gpu Count=4: not a line of gres.conf that names device files; give one such as 'Name=gpu Type=h100 File=/dev/nvidia[0-3]'" \
        "$SANDBOX" up --gres 'Name=gpu Count=4'
    refused 2 "sandbox: --conf=x: not a line of Slurm's configuration; give one 'Key=Value' line" \
        "$SANDBOX" up --conf x
    refused 2 "sandbox: --switch=s1=node1: not a switch and its nodes; give a name of 1 to 8 of a-z and 0-9 other than top, as in 's1=node[01,03-04]'" \
        "$SANDBOX" up --switch s1=node1
    refused 2 "sandbox: --switch=top=node01: not a switch and its nodes; give a name of 1 to 8 of a-z and 0-9 other than top, as in 's1=node[01,03-04]'" \
        "$SANDBOX" up --switch top=node01
    refused 2 "sandbox: --switch=a=node02: this switch was given before; give each switch once" \
        "$SANDBOX" up --switch a=node01 --switch a=node02
    refused 2 "sandbox: --uplink=fast: not a rate; give a number with kbit, mbit or gbit" \
        "$SANDBOX" up --uplink fast
    refused 2 "sandbox: --topology-plugin=ring: no such plugin; give tree or block" \
        "$SANDBOX" up --topology-plugin ring
    refused 2 "sandbox: up: --uplink and --topology-plugin need switches; give --switch too" \
        "$SANDBOX" up --uplink 1mbit
    refused 2 "sandbox: run: no command given; put it after --" "$SANDBOX" run --
    refused 2 "sandbox: on: no host given; see 'sandbox status'" "$SANDBOX" on -- true
    refused 2 "sandbox: node: wrong operands; give: stop|start NODE" "$SANDBOX" node kill node01
    refused 2 "sandbox: link: wrong operands; give: cut|restore NODE, or slow NODE [RATE]" "$SANDBOX" link cut
    refused 2 "sandbox: extra: unexpected operand of 'down'; see 'sandbox --help'" "$SANDBOX" down extra
}

@test "what is missing or in the way is named" {
    refused 1 "sandbox: $NAME: this sandbox exists; end it with 'sandbox down --name $NAME'" \
        "$SANDBOX" up --name "$NAME"
    refused 1 "sandbox: --plugin=/no/x.so a: no file /no/x.so; build it or correct the path" \
        "$SANDBOX" up --name "$other" --plugin '/no/x.so a'
    refused 1 "sandbox: --switch=a=node[01-05]: no node node05; give more nodes with --nodes" \
        "$SANDBOX" up --name "$other" --switch 'a=node[01-05]'
    refused 1 "sandbox: --switch=b=node01: node01 is at a already; give it once" \
        "$SANDBOX" up --name "$other" --switch 'a=node[01-03]' --switch b=node01
    refused 1 "sandbox: --switch: node04 is at no switch; give each node one" \
        "$SANDBOX" up --name "$other" --switch 'a=node[01-03]'
    refused 1 "sandbox: --user=no-such: no such user; create it or leave the option out" \
        "$SANDBOX" up --name "$other" --user no-such
    refused 1 "sandbox: node77: no such host in sandbox '$NAME'; see 'sandbox status --name $NAME'" \
        "$SANDBOX" on --name "$NAME" node77 -- true
    refused 1 "sandbox: login: not a node; give node01, node02, ..." "$SANDBOX" link --name "$NAME" cut login
}

@test "an ordinary user is refused with status 3" {
    # A copy: that user may be unable to enter the checkout.
    local copy
    copy=$(mktemp -d /tmp/distgpu-sandbox.XXXXXX)
    chmod 755 "$copy"
    cp -r "${SANDBOX%/*}" "$copy"
    refused 3 "sandbox: up: needs root; run it as root or with sudo" \
        setpriv --reuid nobody --regid nogroup --clear-groups "$copy/sandbox/sandbox" up
    refused 3 "sandbox: run: needs root; run it as root or with sudo" \
        setpriv --reuid nobody --regid nogroup --clear-groups "$copy/sandbox/sandbox" run -- true
    rm -rf "$copy"
}
