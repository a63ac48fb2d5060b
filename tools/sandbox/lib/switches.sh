# Switches between the nodes: which node is on which switch, the bridges that simulate them, and
# the configuration of Slurm's topology plugin. Sourced by ../sandbox.
# Needs: state, hosts, switches, uplink, topology_plugin.
# shellcheck shell=bash
# The files share variables: "Needs" above lists those that other files set.
# shellcheck disable=SC2034,SC2154

# The nodes of 'node[01,03-04]' or 'node01,node03'.
expand_nodes() { # LIST -> expanded
    local item first last i
    expanded=()
    local list=${1//node/}
    list=${list//[\[\]]/}
    for item in ${list//,/ }; do
        first=$((10#${item%-*})) last=$((10#${item#*-}))
        for ((i = first; i <= last; i++)); do expanded+=("node$(printf '%02d' "$i")"); done
    done
}

# Sets `switch_of`, by node. Exits if a node is on no switch, or on two.
place_nodes() {
    local switch node
    declare -gA switch_of=()
    for switch in "${switches[@]}"; do
        expand_nodes "${switch#*=}"
        for node in "${expanded[@]}"; do
            [[ " ${hosts[*]:1} " == *" $node "* ]] ||
                fail "--switch=$switch" "no node $node" "give more nodes with --nodes"
            [[ -z ${switch_of[$node]-} ]] ||
                fail "--switch=$switch" "$node is at ${switch_of[$node]} already" "give it once"
            switch_of[$node]=${switch%%=*}
        done
    done
    for node in "${hosts[@]:1}"; do
        [[ -z ${switches[*]} || ${switch_of[$node]-} ]] ||
            fail "--switch" "$node is at no switch" "give each node one"
    done
}

# In the order of the options, in which Slurm then numbers the switches.
topology_conf() {
    local switch names=() smallest=99
    for switch in "${switches[@]}"; do
        names+=("${switch%%=*}")
        expand_nodes "${switch#*=}"
        ((${#expanded[@]} >= smallest)) || smallest=${#expanded[@]}
        case $topology_plugin in
            tree) printf 'SwitchName=%s Nodes=%s\n' "${switch%%=*}" "${switch#*=}" ;;
            block) printf 'BlockName=%s Nodes=%s\n' "${switch%%=*}" "${switch#*=}" ;;
        esac
    done
    case $topology_plugin in
        tree) printf 'SwitchName=top Switches=%s\n' "$(IFS=, && echo "${names[*]}")" ;;
        block) printf 'BlockSizes=%d\n' "$smallest" ;;
    esac
}

# The bridge, inside login, to which a host is connected: br0, or that of its switch.
bridge_of() { # HOST -> bridge
    bridge=br0
    [[ -z ${switch_of[$1]-} ]] || bridge=sw-${switch_of[$1]}
}

# For ip -batch: a bridge for each switch, and its uplink to br0, which is the top switch.
switch_links() {
    local switch key
    for switch in "${switches[@]}"; do
        key=${switch%%=*}
        printf 'link add sw-%s type bridge\nlink set sw-%s up\n' "$key" "$key"
        printf 'link add up-%s type veth peer name down-%s\n' "$key" "$key"
        printf 'link set up-%s master sw-%s up\nlink set down-%s master br0 up\n' "$key" "$key" "$key"
    done
}

# Limits both directions of each uplink.
limit_uplinks() {
    local switch end
    [[ $uplink ]] || return 0
    for switch in "${switches[@]}"; do
        for end in up down; do
            in_host login tc qdisc replace dev "$end-${switch%%=*}" root \
                tbf rate "$uplink" burst 32kb latency 200ms || return
        done
    done
}
