#!/usr/bin/env bats
# Slurm's topology plugins, on clusters whose switches have every other node: from 26.05 on the
# tasks of a block step go to the nodes in the order of the switches, and no variable says so.
# Whoever starts the tasks, they are right. On older releases the order is that of the names.
#
# DISTGPU_MATRIX_SHAPES=N tries N random shapes of each kind, of which there are 12.
# shellcheck disable=SC2034 # shapes.bash and cluster.bash read what is set here

load cluster
load matrix/shapes

setup_file() {
    export CLUSTERS=''
    local plugin_name stepmgr=()
    for plugin_name in tree block; do
        [[ $plugin_name == tree || $(slurmd -V) != *' 22.05.'* ]] || continue # not in 22.05
        # For srun --async; with it, one heterogeneous step in ten waits for ever (26.05.5).
        [[ $plugin_name == tree || $(slurmd -V) != *' 26.'* ]] ||
            stepmgr=(--conf PrologFlags=contain --conf SlurmctldParameters=enable_stepmgr)
        cluster_name=test$$-$plugin_name
        cluster_up --gpus 0 "${shape_cluster[@]}" \
            --switch 's1=node[02,04]' --switch 's2=node[01,03]' --topology-plugin "$plugin_name" \
            "${stepmgr[@]}"
        CLUSTERS+=" $CLUSTER"
        install_matrix
        printf '%s\n' node04 'node[02-03]' node01 >"$SCRATCH/ring"
    done
}

teardown_file() {
    on_each cluster_down
}

# A test that failed may have left it off.
teardown() {
    on_each plugin_on_login yes
}

# Runs a function on each cluster; fails where it does.
on_each() { # FUNCTION ARGUMENT...
    [[ $CLUSTERS ]] || return
    for CLUSTER in $CLUSTERS; do
        SCRATCH=/tmp/distgpu-$CLUSTER
        "$@" || return
    done
}

# Takes the plugin from the host of srun, or gives it back.
plugin_on_login() { # no|yes
    if [[ $1 == yes ]]; then
        on node01 cat /etc/slurm/plugstack.conf | on login tee /etc/slurm/plugstack.conf
    else
        on login sh -c '>/etc/slurm/plugstack.conf'
    fi >/dev/null
}

# Fails unless all tasks of the command have what they must, started in this way.
started_by() { # WAY TASKS COMMAND...
    local way=$1 tasks=$2
    shift 2
    [[ $way != nodes ]] || plugin_on_login no
    run submit ./matrix.py any "$tasks" --by "$way" -- "$@" ./probe
    plugin_on_login yes
    echo "$CLUSTER, $way: $*"
    echo "$output"
    [ "$status" -eq 0 ]
    [ "$output" = "table: 1 shapes checked, 0 wrong, 0 not launched" ]
}

# By the plugin, by the plugin without srun's side, and by distgpu exec.
right() { # TASKS COMMAND...
    local way
    for way in plugin nodes exec; do
        on_each started_by "$way" "$@"
    done
}

# The hosts of the tasks in turn.
hosts_of() { # SRUN_ARGUMENT...
    submit srun --quiet "$@" bash -c 'echo "$SLURM_PROCID $SLURMD_NODENAME"' | sort -n | cut -d' ' -f2 | xargs
}

# Without this the rest would show nothing.
switch_order() {
    local wanted='node01 node02 node03 node04'
    ! has_release 26.05 || wanted='node02 node04 node01 node03'
    run hosts_of -N4 -n4
    echo "$CLUSTER: $output"
    [ "$status" -eq 0 ]
    [ "$output" = "$wanted" ]
    run hosts_of -N4 -n4 -m cyclic
    [ "$output" = 'node01 node02 node03 node04' ]
}

@test "from 26.05 on, block follows the switches and cyclic the names" { on_each switch_order; }
@test "-N4 -n8, with more tasks on the first node" { right 8 srun --distgpu=pytorch -N4 -n8; }
@test "-N4 -n4" { right 4 srun --distgpu=pytorch -N4 -n4; }
@test "-N4 -n8 --ntasks-per-node=2" { right 8 srun --distgpu=pytorch -N4 -n8 --ntasks-per-node=2; }

@test "-N4 -n8 -m block, and with packing" {
    right 8 srun --distgpu=pytorch -N4 -n8 -m block
    right 8 srun --distgpu=pytorch -N4 -n8 -m block,pack
}

@test "-N4 -n8 -m cyclic" { right 8 srun --distgpu=pytorch -N4 -n8 -m cyclic; }
@test "-N4 -n8 -m plane=2" { right 8 srun --distgpu=pytorch -N4 -n8 -m plane=2; }
@test "-N3 -n7 of four nodes" { right 7 srun --distgpu=pytorch -N3 -n7; }

@test "a step on some nodes of its allocation" {
    right 3 salloc -Q -N4 -n32 srun --distgpu=pytorch --relative=1 -N2 -n3
}

# With topology/tree 24.11 never starts an arbitrary job that names a node twice; a step it does.
starts_jobs_that_name_a_node_twice() { [[ $(slurmd -V) != *' 24.11.'* ]]; }

# With topology/block Slurm refuses both.
@test "a node of each switch, and -m arbitrary, with topology/tree" {
    CLUSTERS=${CLUSTERS% test*-block}
    right 3 srun --distgpu=pytorch -w 'node[01,04]' -N2 -n3
    local allocation=()
    starts_jobs_that_name_a_node_twice || allocation=(salloc -Q -N4 -n32)
    right 4 "${allocation[@]}" \
        srun --distgpu=pytorch -m arbitrary -n4 -w node03,node01,node03,node02
}

het_is_right() { # COMMAND...
    local way
    for way in plugin nodes; do
        started_by "$way" 5 "$@"
    done
}

@test "a heterogeneous step in one allocation" {
    on_each het_is_right salloc -Q -N4 -n32 srun --distgpu=pytorch -N1 -n2 ./probe : -N2 -n3
}

@test "a heterogeneous job" { on_each het_is_right srun -Q --distgpu=pytorch -N1 -n2 ./probe : -N2 -n3; }

# No task starts: each says why, or is ended with the step.
exec_refuses() { # COMMAND...
    run submit "$@" ./distgpu exec pytorch -- ./probe
    echo "$CLUSTER: $output"
    [ "$status" -ne 0 ]
    [[ $output == *"distgpu: step "*"; use "* ]]
    [[ $output != *$'\ntask HOST='* && $output != 'task HOST='* ]]
}

@test "distgpu exec refuses a heterogeneous step" {
    has_release 26.05 || skip "before 26.05 only the nodes that are not where their names say refuse"
    on_each exec_refuses salloc -Q -N4 -n32 srun -N1 -n2 ./distgpu exec pytorch -- ./probe : -N2 -n3
}

# The nodes' step manager launches it: srun sends them the request, but no layout. A file for each
# task: in one for all, the nodes write over each other.
async_is_right() {
    run submit salloc -Q -N4 -n8 --stepmgr bash -c '
        srun --async --parsable -n8 -o async.%t --distgpu=pytorch ./probe
        while [[ $(cat async.[0-7] 2>/dev/null | grep -c "^task ") != 8 ]]; do sleep 0.1; done
        cat async.[0-7] >async.out'
    echo "$CLUSTER: $output"
    [ "$status" -eq 0 ]
    run -0 python3 -c 'import sys
sys.path.insert(0, sys.argv[1])
from task_check import check, parse_tasks
print("\n".join(check(parse_tasks(open(sys.argv[1] + "/async.out").read()), 8)))' "$SCRATCH"
    [ "$output" = '' ]
}

@test "srun --async" {
    has_release 26.05 || skip "from 26.05 on"
    CLUSTERS=${CLUSTERS#* test*-tree} # with the step manager
    on_each async_is_right
}

random_shapes_by() { # WAY GROUP [COMMAND...]
    shape_options=(--by "$1")
    starts_jobs_that_name_a_node_twice || shape_options+=(--distinct)
    [[ $1 != nodes ]] || plugin_on_login no
    random_shapes "$2" "${DISTGPU_MATRIX_SHAPES:-4}" "${@:3}"
    plugin_on_login yes
}

@test "random shapes, with topology/tree" {
    local way
    CLUSTERS=${CLUSTERS% test*-block}
    for way in plugin nodes exec; do
        on_each random_shapes_by "$way" job
        on_each random_shapes_by "$way" step salloc -Q -N4 -n32
    done
    for way in plugin nodes; do
        on_each random_shapes_by "$way" het-step salloc -Q -N4 -n32
        on_each random_shapes_by "$way" het-group \
            salloc -Q -n8 -w node03 : -N2 -n16 -w node01,node02 : -n8 -w node04
        on_each random_shapes_by "$way" het-job
    done
}

# Slurm launches no heterogeneous step there every time (26.05.5), and refuses a job whose nodes are
# named; a step is placed as anywhere.
@test "random shapes, with topology/block" {
    [[ $CLUSTERS == *-block ]] || skip "from 23.11 on"
    local way
    CLUSTERS=${CLUSTERS#* test*-tree}
    for way in plugin nodes exec; do
        on_each random_shapes_by "$way" job
        on_each random_shapes_by "$way" step salloc -Q -N4 -n32
    done
}

# What distgpu plan says in a step, as "RANK NODE" a line.
plan_is_right() { # SRUN_ARGUMENT...
    local program='import json, sys
plan = json.load(sys.stdin)
tasks = sorted(plan["tasks"], key=lambda task: task["rank"])
assert tasks[0]["node_rank"] == 0 and tasks[0]["set"]["NODE_RANK"] == "0", tasks[0]
assert {task["set"]["MASTER_ADDR"] for task in tasks} == {tasks[0]["node"]}
print("\n".join("{rank} {node}".format(**task) for task in tasks))'
    run --separate-stderr submit srun "$@" bash -c 'echo "$SLURM_PROCID $SLURMD_NODENAME"
        ((SLURM_PROCID)) || ./distgpu plan pytorch --format json >plan.json'
    echo "$CLUSTER: $* $output"
    [ "$status" -eq 0 ]
    [ "$(sort -n <<<"$output")" = "$(python3 -c "$program" <"$SCRATCH/plan.json")" ]
}

@test "distgpu plan in a step shows Slurm's order" {
    on_each plan_is_right -N4 -n8
    on_each plan_is_right -N4 -n4
    on_each plan_is_right -N4 -n8 --ntasks-per-node=2
    on_each plan_is_right -N4 -n8 -m cyclic
    on_each plan_is_right -N3 -n7
}

plan_says_what_it_knows() {
    local unknown="distgpu: order of the nodes: Slurm 26.05 and newer deal a block step's tasks in the order of the \
cluster's topology, known only once the step runs, and this plan follows the node list; run distgpu plan in the step, \
or use srun -m plane=N"
    run -0 submit salloc -Q -N4 -n8 ./distgpu plan pytorch
    echo "$output"
    if has_release 26.05; then
        [ "$(grep -Fxc "$unknown" <<<"$output")" -eq 1 ]
    else
        [[ $output != *'order of the nodes'* && $output == *node04* ]]
    fi
    # What is known is said without it.
    run -0 submit salloc -Q -N4 -n8 -m cyclic ./distgpu plan pytorch
    [[ $output != *'order of the nodes'* && $output == *node04* ]]
}

@test "distgpu plan in an allocation says that it cannot know the order" { on_each plan_says_what_it_knows; }

# The nodes of the ranks in turn, and MASTER_ADDR.
in_order() { # ORDER SRUN_ARGUMENT...
    run submit srun "${@:2}" --distgpu="pytorch,order=$1" bash -c 'echo "$RANK $SLURMD_NODENAME $MASTER_ADDR"'
    echo "$CLUSTER: $* $output"
    [ "$status" -eq 0 ]
    distgpu_free_lines | sort -n | cut -d ' ' -f 2,3 | uniq | xargs
}

order_is_right() {
    local shape by_switch='node01 10.77.1.1 node03 10.77.1.1 node02 10.77.1.1 node04 10.77.1.1'
    for shape in '-N4 -n4' '-N4 -n8 --ntasks-per-node=2' '-N4 -n8 -m block' '-N4 -n4 -m cyclic'; do
        # shellcheck disable=SC2086 # words
        run -0 in_order switch $shape
        [ "${lines[-1]}" = "$by_switch" ]
        # shellcheck disable=SC2086 # words
        run in_order ./ring $shape
        [ "${lines[-1]}" = 'node04 10.77.1.4 node02 10.77.1.4 node03 10.77.1.4 node01 10.77.1.4' ]
    done
}

# Also where Slurm deals the tasks in the order of the switches by itself.
@test "order=switch and order=PATH" { on_each order_is_right; }

@test "the clusters are left clean" { on_each assert_cluster_clean; }
