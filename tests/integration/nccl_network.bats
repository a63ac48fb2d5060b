#!/usr/bin/env bats
# What distgpu check says of the network that NCCL takes between nodes: by plugins that are made up,
# and over interfaces that no other node can reach.

load cluster

have_devices_of() { # MACHINE
    local node
    for node in node01 node02; do
        "$command" topo --topology "$machines/$1.xml" --format json |
            on "$node" tee /run/distgpu/topology.json >/dev/null
    done
}

setup_file() {
    cluster_up --nodes 2
    local kind
    have_devices_of efa-8gpu
    for kind in GOOD BROKEN EMPTY SLOW LOST; do
        mkdir "$SCRATCH/$kind"
        cc -std=gnu11 -Wall -Wextra -Werror -shared -fPIC -D$kind -o "$SCRATCH/$kind/libnccl-net.so" \
            "$root/tests/integration/nccl_network/net_plugin.c"
    done
    # A library that it needs is gone.
    cc -shared -fPIC -o "$SCRATCH/LOST/libgone.so" -x c /dev/null
    cc -std=gnu11 -shared -fPIC -o "$SCRATCH/LOST/libnccl-net.so" -Wl,--no-as-needed \
        "$root/tests/integration/nccl_network/net_plugin.c" -L"$SCRATCH/LOST" -lgone
    rm "$SCRATCH/LOST/libgone.so"
}

# The line about the network, and the finding.
check_with() { # FOLDER [VARIABLE=VALUE...]
    run submit env LD_LIBRARY_PATH="$SCRATCH/$1" "${@:2}" \
        srun -N2 -n2 --gres=gpu:1 --distgpu=pytorch,gpus=keep ./distgpu check --only fabric
    echo "$output"
}

sockets='NCCL between nodes: sockets over eth0 (no plugin for EFA)'

# bats test_tags=short
@test "EFA: a plugin that loads, and none" {
    check_with GOOD
    [ "$status" -eq 0 ]
    [[ $output == *$'\nNCCL between nodes: EFA, by libnccl-net.so (AWS Libfabric)\n'* ]]
    [[ $output != *warning* ]]
    check_with none
    [[ $output == *"$sockets"* ]]
    [[ $output == *'libnccl-net.so: not found, so NCCL uses sockets over eth0 without a word instead of EFA; load the module with aws-ofi-nccl'* ]]
}

@test "EFA: plugins that are broken" {
    check_with BROKEN
    [[ $output == *"$sockets"*"undefined symbol: fi_getinfo_of_another_release, so NCCL uses sockets"* ]]
    check_with EMPTY
    [[ $output == *"$sockets"*'AWS Libfabric finds no device, so NCCL uses sockets'* ]]
    check_with LOST
    [[ $output == *"$sockets"*'libgone.so: cannot open shared object file: No such file or directory, so NCCL uses sockets'* ]]
    SECONDS=0
    check_with SLOW
    [[ $output == *"$sockets"*'libnccl-net.so: '*', so NCCL uses sockets'* ]]
    ((SECONDS < 20))
    run -1 pgrep -f -- --load-plugin
}

@test "NCCL_NET and NCCL_NET_PLUGIN choose" {
    check_with GOOD NCCL_NET=Socket
    [[ $output == *'sockets over eth0 (NCCL_NET=Socket)'* ]]
    check_with GOOD NCCL_NET_PLUGIN=none
    [[ $output == *'NCCL_NET_PLUGIN=none: NCCL uses sockets over eth0 instead of EFA; unset it'* ]]
    check_with none NCCL_NET_PLUGIN="$SCRATCH/GOOD/libnccl-net.so"
    [[ $output == *"EFA, by $SCRATCH/GOOD/libnccl-net.so (AWS Libfabric)"* ]]
    check_with GOOD NCCL_NET=Nothing
    [ "$status" -ne 0 ]
    [[ $output == *'NCCL_NET=Nothing: no plugin of this name can be used, so NCCL ends; unset it'* ]]
}

@test "NCCL_TUNER_PLUGIN: a plugin that loads, and others" {
    check_with GOOD NCCL_TUNER_PLUGIN="$SCRATCH/GOOD/libnccl-net.so"
    [ "$status" -eq 0 ]
    [[ $output != *TUNER* ]]
    check_with GOOD NCCL_TUNER_PLUGIN=libnccl-ofi-tuner.so
    [[ $output == *'NCCL_TUNER_PLUGIN=libnccl-ofi-tuner.so: not found, so NCCL does without it and does not say so; load the module'* ]]
    [[ $output == *'EFA, by libnccl-net.so (AWS Libfabric)'* ]]
    check_with GOOD NCCL_TUNER_PLUGIN=libm.so.6
    [[ $output == *'NCCL_TUNER_PLUGIN=libm.so.6: has no symbol ncclTunerPlugin_v2 to v6, so NCCL does'* ]]
}

@test "Slingshot and AMD's GPUs: RCCL's plugin; Intel's GPUs: no word of NCCL" {
    have_devices_of mi250x-ex235a
    check_with none
    [[ $output == *'NCCL between nodes: sockets over eth0 (no plugin for Slingshot)'* ]]
    [[ $output == *'librccl-net.so: not found'*'load the module with aws-ofi-rccl'* ]]
    have_devices_of pvc-4gpu
    check_with none
    [[ $output != *NCCL* ]]
    have_devices_of efa-8gpu
}

@test "the key check loads the plugin too, in the task's environment" {
    run submit env LD_LIBRARY_PATH="$SCRATCH/none" srun -N2 -n2 --gres=gpu:1 --distgpu=pytorch,check=warn true
    echo "$output"
    [[ $output == *'libnccl-net.so: not found, so NCCL uses sockets'* ]]
    run submit env LD_LIBRARY_PATH="$SCRATCH/GOOD" srun -N2 -n2 --gres=gpu:1 --distgpu=pytorch,check=warn true
    echo "$output"
    [[ $output != *libnccl-net.so* ]]
}

# bats test_tags=short
@test "NCCL_SOCKET_IFNAME allows interfaces over which no node reaches another" {
    local node
    for node in 1 2; do
        on "node0$node" sh -c "ip link add eth0.2093 type bridge; ip addr add 10.99.$node.5/24 dev eth0.2093
            ip link set eth0.2093 up; ip link add br-05ab type bridge
            ip addr add 172.19.0.1/16 dev br-05ab; ip link set br-05ab up"
    done
    check_interfaces() { # VALUE
        run submit env NCCL_SOCKET_IFNAME="$1" srun -N2 -n2 --gres=gpu:1 --distgpu=pytorch,gpus=keep \
            ./distgpu check --only fabric,interfaces,network
        echo "$output"
        [[ $output != *--exclude* ]]
    }
    check_interfaces eth0
    local first=$output
    check_interfaces '^lo,docker,veth'
    local others=$output
    check_interfaces br-05ab
    local only=$output
    check_interfaces '^docker'
    local loopback=$output
    check_interfaces '=eth0'
    [[ $output == *$'\nNCCL between nodes: sockets over eth0 (no plugin for EFA)\n'* ]]
    for node in 1 2; do
        on "node0$node" sh -c 'ip link delete eth0.2093; ip link delete br-05ab'
    done
    [ "$status" -eq 0 ]
    [[ $first == *'NCCL_SOCKET_IFNAME: allows eth0.2093 too, over which node01 does not reach node02 ('*'; unset it'* ]]
    [[ $others == *'allows eth0.2093 too, '*'allows br-05ab too, over which node01 does not reach node02 ('* ||
        $others == *'allows br-05ab too, over which node01 does not reach node02 ('*'allows eth0.2093 too, '* ]]
    [[ $only == *'NCCL_SOCKET_IFNAME: no two nodes connect over br-05ab: '*'; unset it'* ]]
    [[ $loopback == *'NCCL_SOCKET_IFNAME=^docker: NCCL takes lo first, where other nodes do not reach it'* ]]
}
