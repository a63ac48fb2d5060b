#!/usr/bin/env bats
# The interface for NCCL's and Gloo's sockets where slurm.conf names nodes instead of addresses, and
# a node takes its own name for the loopback, as Debian's installer writes /etc/hosts.

load cluster

setup_file() {
    cluster_up --nodes 2 \
        --conf 'NodeName=node01 NodeAddr=node01 CPUs=2 RealMemory=65536' \
        --conf 'NodeName=node02 NodeAddr=node02 CPUs=2 RealMemory=65536' --gpus 0
}

show='echo $(hostname) ${NCCL_SOCKET_IFNAME:-none} ${GLOO_SOCKET_IFNAME:-none}'

# bats test_tags=short
@test "a node's name is looked up" {
    run -0 submit srun -N2 -n2 --distgpu=pytorch bash -c "$show"
    [ "$(sort <<<"$output")" = "node01 =eth0 eth0
node02 =eth0 eth0" ]
}

@test "a node that is 127.0.1.1 to itself is warned about, once, and names no interface" {
    { sed '/node01/d' "/run/distgpu-sandbox/$CLUSTER/etc/hosts" && echo '127.0.1.1 node01'; } \
        >"$SCRATCH/hosts"
    on node01 mount --bind "$SCRATCH/hosts" /etc/hosts
    run submit srun -N2 -n2 --distgpu=pytorch bash -c "$show"
    local alone
    alone=$(submit srun -w node01 -n2 --distgpu=pytorch bash -c "$show" 2>&1)
    on node01 umount /etc/hosts
    [ "$status" -eq 0 ]
    [ "$(sort -u <<<"$alone")" = 'node01 none none' ]
    [ "$(sort <<<"$output")" = "distgpu: node01: resolves to 127.0.1.1 on its own node, so other nodes cannot reach it; remove it from that line of /etc/hosts, or set NodeAddr in slurm.conf
node01 none none
node02 =eth0 eth0" ]
}

@test "a step on one node needs no interface" {
    run -0 submit srun -N1 -n2 --distgpu=pytorch bash -c "$show"
    [ "$(sort -u <<<"$output")" = "node01 none none" ]
}

@test "a name server that does not answer delays no step: a warning, and no interface" {
    local server
    sed '/node01/d' "/run/distgpu-sandbox/$CLUSTER/etc/hosts" >"$SCRATCH/hosts"
    echo 'nameserver 127.0.0.1' >"$SCRATCH/resolv.conf"
    echo 'hosts: files dns' >"$SCRATCH/nsswitch.conf"
    on node01 timeout 60 python3 -c 'import os, socket, time
server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(("127.0.0.1", 53))
print(os.getpid(), flush=True)
time.sleep(60)' >"$SCRATCH/server" 3>&- &
    until [[ -s $SCRATCH/server ]]; do sleep 0.05; done
    server=$(<"$SCRATCH/server")
    on node01 mount --bind "$SCRATCH/hosts" /etc/hosts
    on node01 mount --bind "$SCRATCH/resolv.conf" /etc/resolv.conf
    on node01 mount --bind "$SCRATCH/nsswitch.conf" /etc/nsswitch.conf
    local begin=${EPOCHREALTIME/./}
    run submit srun -N2 -n2 --distgpu=pytorch bash -c "$show"
    local took=$(((${EPOCHREALTIME/./} - begin) / 1000)) with_address
    with_address=$(MASTER_ADDR=head.example submit srun -N2 -n2 --distgpu=pytorch printenv MASTER_ADDR 2>&1)
    on node01 umount /etc/nsswitch.conf
    on node01 umount /etc/resolv.conf
    on node01 umount /etc/hosts
    on node01 kill "$server"
    wait
    echo "$took ms: $output"
    [ "$status" -eq 0 ]
    [ "$(sort <<<"$output")" = "distgpu: node01: node01 cannot resolve its own address, so NCCL_SOCKET_IFNAME and GLOO_SOCKET_IFNAME stay as they are; check /etc/resolv.conf there, or add the name to /etc/hosts
node01 none none
node02 =eth0 eth0" ]
    ((took < 4000))
    # Nor does it refuse what rank 0's node cannot look up.
    echo "$with_address"
    [ "$(grep -c '^head.example$' <<<"$with_address")" -eq 2 ]
    [[ $with_address == *'distgpu: MASTER_ADDR=head.example: node01, where rank 0 runs, could not look it up; unset MASTER_ADDR, unless it is a name of node01'* ]]
}
