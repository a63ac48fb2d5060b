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
    null_gpus 2
    for node in $(node_names); do
        "$sandbox" link --name "$CLUSTER" slow "$node" 100mbit
        own_runtime_folder "$node"
        on "$node" bash -c 'ip link add hsn0 type veth peer name hsn0-switch
            ip link set hsn0-switch up; ip link set hsn0 up'
        save_topology "$node" H100
    done
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
usual_plugstack="required \$SCRATCH/${plugin##*/} command=\$SCRATCH/distgpu"
restore_plugstack() { set_plugstack "$(eval "echo \"$usual_plugstack\"")"; }

faults=(missing-gpu other-gpu hca-down slow-link one-way no-plugin no-interface clock closed-port wrapper)

# A program whose wrapper changes what node03 has, and the check in its place.
gate_in_wrapper=(bash -c '[[ $SLURMD_NODENAME != node03 ]] || export NCCL_ALGO=Ring; exec ./distgpu check --gate')

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
        wrapper) ;;
        closed-port)
            on node03 nft 'add table ip gate; add chain ip gate in { type filter hook input priority 0; };
                add rule ip gate in ip saddr 10.77.1.2 ip protocol tcp drop'
            ;;
    esac
}

mend() { # FAULT
    case $1 in
        missing-gpu) on node03 mknod -m 666 /dev/nvidia1 c 1 3 ;;
        other-gpu) save_topology node03 H100 ;;
        hca-down) on node03 ip link set hsn0-switch up ;;
        slow-link) "$sandbox" link --name "$CLUSTER" slow node03 100mbit ;;
        one-way) on node03 ip neigh del 10.77.1.2 dev eth0 ;;
        no-plugin | clock) restore_plugstack ;;
        no-interface) rename_interface ens3 eth0 ;;
        closed-port) on node03 nft delete table ip gate ;;
        wrapper) ;;
    esac
}

rename_interface() { # FROM TO
    on node03 bash -c 'address=$(ip -o -4 address show dev "$1" | sed "s/.*inet \([^ ]*\).*/\1/")
        ip link set "$1" down && ip link set "$1" name "$2" && ip link set "$2" up
        ip address replace "$address" dev "$2"' rename "$1" "$2"
}

# What the step says of the fault; all of it stands in one line, and nothing else is found.
said_of() { # FAULT
    case $1 in
        missing-gpu) echo 'node03: /dev/nvidia1: No such file or directory; ' ;;
        other-gpu) echo "node03: GPUs: 2 x A100, but $((nodes - 1)) other nodes have 2 x H100; " ;;
        hca-down) echo "node03: HCA ports: hsn0:1 down, but $((nodes - 1)) other nodes have hsn0:1 " ;;
        slow-link) echo 'node03: network: node03 \(sends\|receives\) .* Mb/s over eth0, where the median node ' ;;
        one-way) echo 'packets from node02 arrive, but none get from node03 to node02; ' ;;
        no-plugin) echo 'on node03: no report within 10 s; ' ;;
        no-interface) echo "node03: NCCL_SOCKET_IFNAME: no interface '=eth0' is up on this node; up: lo, ens3" ;;
        clock) echo "node03: clock: 5 s ahead of that of rank 0's node; " ;;
        wrapper) echo "node03: NCCL, Gloo and UCX variables: NCCL_ALGO=Ring, but $((nodes - 1)) other nodes have none; " ;;
        closed-port) echo 'node03: network: no connection between node03 and node02 over eth0: .*; datagrams pass both ways' ;;
    esac
}
