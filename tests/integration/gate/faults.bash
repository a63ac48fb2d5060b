# Faults of a cluster that the check before the program has to name, each planted on node03 and
# mended again. Loaded after ../cluster.bash, by gate.bats.
# shellcheck shell=bash
# shellcheck disable=SC2034 # gate.bats uses what stands here

# Raises a cluster of nodes with two GPUs and one port of Slingshot each, as their saved topology
# has it. All links have the same limit: a slow one is then measured, and not this machine's CPUs.
gate_cluster_up() { # NODES [SANDBOX_UP_ARGUMENT...]
    local node
    nodes=$1
    cluster_up --nodes "$@" --gpus 2
    # With what NCCL needs for Slingshot, in every step.
    mkdir "$SCRATCH/nccl"
    cc -std=gnu11 -shared -fPIC -o "$SCRATCH/nccl/libnccl-net.so" \
        "$root/tests/integration/nccl_network/net_plugin.c"
    export LD_LIBRARY_PATH=$SCRATCH/nccl
    null_gpus 2
    for node in $(node_names); do
        "$sandbox" link --name "$CLUSTER" slow "$node" 100mbit
        own_runtime_folder "$node"
        on "$node" bash -c 'ip link add hsn0 type veth peer name hsn0-switch
            ip link set hsn0-switch up; ip link set hsn0 up'
        save_topology "$node" H100
        give_hardware "$node" 100
    done
}

# The node's eth0 seems to be hardware of this speed, in a machine that is not virtual.
give_hardware() { # NODE MEGABITS
    on "$1" bash -c 'mountpoint -q /sys/class/net || {
            mount -t tmpfs tmpfs /sys/class/net
            mkdir -p /sys/class/net/eth0/device
            for name in lo hsn0; do ln -s "/sys/devices/virtual/net/$name" /sys/class/net; done
            sed "s/ hypervisor//" /proc/cpuinfo >/run/distgpu/cpuinfo
            mount --bind /run/distgpu/cpuinfo /proc/cpuinfo
        }
        echo "$1" >/sys/class/net/eth0/speed' give "$2"
}

node_names() { seq -f 'node%02g' "$nodes"; }

# The GPUs stand at addresses that this machine's PCI bus has.
save_topology() { # NODE MODEL
    on "$1" bash -c '"$1" topo --save /run/distgpu/live.json
        jq --arg model "$2" ".machine.pci[:2] as \$pci | .gpus = [range(2) | {index: .,
            pci: \$pci[.], partition: 0, vendor: \"nvidia\", model: \$model, mig: []}] |
            .hcas = [{name: \"hsn0\", kind: \"slingshot\", ports: []}] |
            .distance = [[\"SYS\"], [\"SYS\"]]" /run/distgpu/live.json >/run/distgpu/topology.json' \
        save "$SCRATCH/distgpu" "$2"
}

# A plugin line of node03's own.
set_plugstack() { # LINE
    on node03 bash -c 'echo "$1" >/etc/slurm/plugstack.conf' line "$1"
}
usual_plugstack="required \$SCRATCH/${plugin##*/} command=\$SCRATCH/bin/distgpu"
restore_plugstack() { set_plugstack "$(eval "echo \"$usual_plugstack\"")"; }

faults=(missing-gpu other-gpu hca-down slow-link one-way no-plugin no-interface clock closed-port wrapper)
# Those that no other node's values show, and one that all nodes have.
more_faults=(very-slow-link lossy-link no-large-packets wrong-name full-shm read-only-shm few-files shared-gpu)

# A program whose wrapper changes what node03 has, and the check in its place.
gate_in_wrapper=(bash -c '[[ $SLURMD_NODENAME != node03 ]] || export NCCL_ALGO=Ring; exec ./distgpu check --gate')
gate_with_few_files=(bash -c '[[ $SLURMD_NODENAME != node03 ]] || ulimit -n 100; exec ./distgpu check --gate')
gate_on_gpu_0=(env CUDA_VISIBLE_DEVICES=0 ./distgpu check --gate)

plant() { # FAULT
    case $1 in
        missing-gpu) on node03 rm /dev/nvidia1 ;;
        other-gpu) save_topology node03 A100 ;;
        hca-down) on node03 ip link set hsn0-switch down ;;
        slow-link) "$sandbox" link --name "$CLUSTER" slow node03 10mbit ;;
        # Packets to node02 leave with an address of hardware that nobody has.
        one-way) on node03 ip neigh replace 10.77.1.2 lladdr 02:00:00:00:00:99 dev eth0 nud permanent ;;
        no-plugin) on node03 bash -c '>/etc/slurm/plugstack.conf' ;;
        no-interface) rename_interface eth0 ens3 ;;
        clock)
            printf '#!/bin/sh\nexec faketime -f +5s %s/distgpu "$@"\n' "$SCRATCH" >"$SCRATCH/late"
            chmod 755 "$SCRATCH/late"
            set_plugstack "required $SCRATCH/${plugin##*/} command=$SCRATCH/late"
            ;;
        wrapper | few-files | shared-gpu) ;;
        very-slow-link) "$sandbox" link --name "$CLUSTER" slow node03 6mbit ;;
        # Of links fast enough that such losses are what limits TCP.
        lossy-link)
            for_both_nodes fast
            drop_from_node02 'numgen random mod 100 < 20'
            ;;
        no-large-packets) drop_from_node02 'meta length > 1400' ;;
        wrong-name)
            on node03 bash -c 'sed "s/.*\<node02\>.*/10.77.1.1 node02/" /etc/hosts >/run/distgpu/hosts
                mount --bind /run/distgpu/hosts /etc/hosts'
            ;;
        full-shm) on node03 mount -o remount,size=4m /dev/shm ;;
        read-only-shm) on node03 mount -o remount,ro /dev/shm ;;
        closed-port) drop_from_node02 'ip protocol tcp' ;;
    esac
}

# The links of the second and third node, and what their interfaces state.
for_both_nodes() { # fast|usual
    local node
    for node in node02 node03; do
        if [[ $1 == fast ]]; then
            "$sandbox" link --name "$CLUSTER" restore "$node"
            give_hardware "$node" 10000
        else
            "$sandbox" link --name "$CLUSTER" slow "$node" 100mbit
            give_hardware "$node" 100
        fi
    done
}

drop_from_node02() { # PACKETS
    on node03 nft "add table ip gate; add chain ip gate in { type filter hook input priority 0; };
        add rule ip gate in ip saddr 10.77.1.2 $1 drop"
}

mend() { # FAULT
    case $1 in
        missing-gpu) on node03 mknod -m 666 /dev/nvidia1 c 1 3 ;;
        other-gpu) save_topology node03 H100 ;;
        hca-down) on node03 ip link set hsn0-switch up ;;
        slow-link | very-slow-link) "$sandbox" link --name "$CLUSTER" slow node03 100mbit ;;
        one-way) on node03 ip neigh del 10.77.1.2 dev eth0 ;;
        no-plugin | clock) restore_plugstack ;;
        no-interface) rename_interface ens3 eth0 ;;
        lossy-link)
            on node03 nft delete table ip gate
            for_both_nodes usual
            ;;
        closed-port | no-large-packets) on node03 nft delete table ip gate ;;
        wrapper | few-files | shared-gpu) ;;
        wrong-name) on node03 umount /etc/hosts ;;
        full-shm | read-only-shm) on node03 mount -o remount,rw,size=50% /dev/shm ;;
    esac
}

rename_interface() { # FROM TO
    on node03 bash -c 'address=$(ip -o -4 address show dev "$1" | sed "s/.*inet \([^ ]*\).*/\1/")
        ip link set "$1" down && ip link set "$1" name "$2" && ip link set "$2" up
        ip address replace "$address" dev "$2"' rename "$1" "$2"
}

# What the step says of the fault; all of it stands in one line, and nothing else is found.
said_of() { # FAULT
    local others="$((nodes - 1)) other nodes have" link="node03 receives .* Mb/s from node02 over eth0 (100 Mb/s on node03, 100 Mb/s on node02)"
    ((nodes > 2)) || others='node02 has'
    case $1 in
        missing-gpu) echo 'node03: /dev/nvidia1: No such file or directory; ' ;;
        other-gpu) echo "node03: GPUs: 2 x A100, but $others 2 x H100; " ;;
        hca-down) echo "node03: HCA ports: hsn0:1 down, but $others hsn0:1 " ;;
        slow-link) echo 'node03: network: node03 \(sends\|receives\) .* Mb/s over eth0, where the median node ' ;;
        # A rank that does not reach rank 0 does not report.
        one-way | closed-port) ((nodes > 2)) || echo 'on node03: no report within 10 s; ' ;;&
        one-way) ((nodes == 2)) || echo 'packets from node02 arrive, but none get from node03 to node02; ' ;;
        no-plugin) echo 'on node03: no report within 10 s; ' ;;
        no-interface) echo "node03: NCCL_SOCKET_IFNAME: no interface '=eth0' is up on this node; up: lo, ens3" ;;
        clock) echo "node03: clock: 5 s ahead of that of rank 0's node; " ;;
        wrapper) echo "node03: NCCL, Gloo and UCX variables: NCCL_ALGO=Ring, but $others none; " ;;
        very-slow-link) echo "node03: network: $link; " ;;
        # Where two packets in a row that ask for a connection are lost, there is none within 2 s;
        # where nothing arrives in one direction, that tells more than how slow the link is.
        lossy-link) echo 'node03: network: \(node03 receives 0 Mb/s over eth0, where the other node receives [0-9.]* [GM]b/s; \|node03 receives [0-9.]* Mb/s from node02 over eth0 (10 Gb/s on node03, 10 Gb/s on node02)\|node03 connects to node02 over eth0 (10 Gb/s on node03, 10 Gb/s on node02)\|no connection between node03 and node02 over eth0: no answer within 2 s; .* or the link may be losing packets; \)' ;;
        no-large-packets) echo 'node03: network: node03 connects to node02 over eth0 (.*), but nothing arrives of what node02 then sends at full size; ' ;;
        wrong-name) echo 'on node03: no report within 10 s; ' ;;
        full-shm) echo 'node03: /dev/shm: only [0-9]* MiB are free; ' ;;
        read-only-shm) echo 'node03: /dev/shm: Read-only file system; ' ;;
        few-files) echo 'node03: open files: limited to 100, ' ;;
        shared-gpu) echo 'ranks 0-3 on node\[02-03\]: visible GPUs: these 2 ranks of a node see only 1 GPU, but were given 2: ' ;;
        closed-port) ((nodes == 2)) || echo 'node03: network: no connection between node03 and node02 over eth0: .*; datagrams pass both ways' ;;
    esac
}
