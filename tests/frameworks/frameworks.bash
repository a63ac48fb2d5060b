# What the tests of the frameworks share: an environment, a launch with a time
# limit, the judgement on an example's output, and the row of the results' table.
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2119,SC2120 # the tests use what stands here, with arguments
#
# Every example prints, as rank 0, a table whose header names the columns rank, host
# and local (and others), and last a verdict on all ranks. A test says
#
#     need torch lightning
#     trains_as block lightning lightning '2 + 2' -N2 --ntasks-per-node=2 --distgpu=lightning python examples/lightning.py
#
# or, in one of the usual shapes,
#
#     in_shape block lightning lightning "$python" examples/lightning.py

load ../integration/cluster

# Rows "RANK HOST LOCAL" of the usual shapes.
one_node=('0 node01 0' '1 node01 1')
block=('0 node01 0' '1 node01 1' '2 node02 0' '3 node02 1')
cyclic=('0 node01 0' '1 node02 0' '2 node01 1' '3 node02 1')
uneven=('0 node01 0' '1 node01 1' '2 node01 2' '3 node02 0')
reversed=('0 node02 0' '1 node01 0' '2 node01 1' '3 node02 1')
# Of two launchers, the first on the second node, with two processes each.
reversed_blocks=('0 node02 0' '1 node02 1' '2 node01 0' '3 node01 1')
# And srun's arguments for them.
on_one_node=(-N1 --ntasks-per-node=2)
in_blocks=(-N2 --ntasks-per-node=2)
cyclically=(-N2 --ntasks-per-node=2 -m cyclic)
unevenly=(-N2 -n4 -m plane=3)
on_each_node=(-N2 --ntasks-per-node=1)
nodes_in_reverse=(-n2 -m arbitrary -w 'node02,node01')
in_reverse=(-n4 -m arbitrary -w 'node02,node01,node01,node02')

# A launcher for each node, with two processes each. With --cpu
# accelerate would start one process only; of deepspeed's file --no_ssh uses the order and the numbers.
accelerate_launch='exec accelerate launch --multi_gpu --num_machines $SLURM_NNODES \
    --num_processes $((SLURM_NNODES * 2)) --machine_rank $NODE_RANK \
    --main_process_ip $MASTER_ADDR --main_process_port $MASTER_PORT examples/accelerate_train.py'
deepspeed_launch='for ((i = 0; i < SLURM_NNODES; i++)); do echo "node$i slots=2"; done >$HOSTNAME.hosts
    exec deepspeed --hostfile $HOSTNAME.hosts --no_ssh --node_rank $NODE_RANK \
    --master_addr $MASTER_ADDR --master_port $MASTER_PORT examples/deepspeed_train.py'

# A cluster of two nodes, with the examples in its users' folder.
frameworks_up() {
    # Two threads in each of several ranks would wait for the machine's few CPUs.
    export OMP_NUM_THREADS=1
    # The two nodes are one machine: each one's first rank would be bound to the same CPU,
    # and where ranks of MPI spin there, kernel 6.18 gave the other node's 2 % of it.
    plugin_arguments+=(cpus=keep)
    cluster_up --nodes 2 "$@"
    cp -r "$root/examples" "$SCRATCH"
    chmod -R go+rX "$SCRATCH/examples"
}

# A file may have others.
setup_file() { frameworks_up; }
teardown() { assert_cluster_clean; }

# Under load Open MPI crashes at its start in about one of a hundred runs: MPI_Init is done on one
# rank, whose first message finds another one still in it. bats prints the first failure.
may_try_twice() { export BATS_TEST_RETRIES=1; }

# Puts an environment's programs first in PATH, its interpreter into `python`, and a package's
# version into `version`.
need() { # ENVIRONMENT [PACKAGE]
    local answer=0
    python=$("$root/tests/frameworks/environment" "$1" 3>&-) || answer=$?
    ((answer != 77)) || skip "the packages of $1 cannot be reached"
    ((answer == 0)) || return 1
    PATH=${python%/*}:$PATH
    [[ ! ${2-} ]] || version=$(version_of "$2")
}

# On CPUs DeepSpeed compiles an operator at its first start, for a minute: done here, once
# for an environment, and kept beside it. Exports where it is.
deepspeed_operator() {
    need torch
    local built=${python%/bin/python}/operators lock
    exec {lock}>"$built.lock"
    flock "$lock"
    if [[ ! -d $built ]]; then
        rm -rf "$built.new"
        TORCH_EXTENSIONS_DIR=$built.new "$python" -c 'from deepspeed.ops.op_builder.cpu \
            import ShareMemCommBuilder; ShareMemCommBuilder().load()' >"$SCRATCH/log" 2>&1 || {
            cat "$SCRATCH/log" >&2
            return 1
        }
        mv "$built.new" "$built"
    fi
    exec {lock}>&-
    # Its user's, since each start takes a lock there.
    export TORCH_EXTENSIONS_DIR=$SCRATCH/operators
    cp -a "$built" "$TORCH_EXTENSIONS_DIR"
    chmod -R a+rwX "$TORCH_EXTENSIONS_DIR"
}

# A run that hangs is ended before Slurm or bats would; its status is then 124. What was
# ended before leaves its node a little later, and node01 is to be the first one.
launch() { # [-STATUS|!] SRUN_ARGUMENT..., as for run
    local begin expected=()
    [[ $1 != -[0-9]* && $1 != ! ]] || { expected=("$1") && shift; }
    assert_cluster_clean
    begin=$EPOCHREALTIME
    run "${expected[@]}" submit timeout --kill-after=5 "${launch_limit:-120}" srun "$@"
    seconds=$(((${EPOCHREALTIME/[.,]/} - ${begin/[.,]/}) / 1000000))
}

# Submits a batch script, and waits for it.
timed_batch() { # SBATCH_ARGUMENT...
    SECONDS=0
    batch "$@"
    seconds=$SECONDS
}

# Fails unless such a launch hangs, of which the one before took its time to end.
hangs() { # SRUN_ARGUMENT...
    launch_limit=$((2 * seconds + 5)) launch -124 "$@"
}

# The rows "RANK HOST LOCAL" of the example's table, in the columns that its header names.
printed_ranks() {
    awk '/^ *rank +host/ { for (i = 1; i <= NF; i++) column[$i] = i; next }
        column["local"] && $column["rank"] ~ /^[0-9]+$/ && $column["host"] ~ /^node[0-9]+$/ {
            print $column["rank"], $column["host"], $column["local"] }' <<<"$output"
}

# Fails with the output unless the ranks are those of ROW... and the verdict is good.
assert_trained() { # ROW...
    local nodes verdict
    nodes=$(printf '%s\n' "$@" | cut -d ' ' -f 2 | sort -u | wc -l)
    verdict="^$# ranks on $nodes nodes? agree: loss [0-9.]+ -> [0-9.]+, parameters [0-9a-f]{12}$"
    echo "$output"
    [ "$status" -eq 0 ]
    [ "$(printed_ranks)" = "$(printf '%s\n' "$@")" ]
    [ "$(grep -cE "$verdict" <<<"$output")" -eq 1 ]
}

# Adds a row to the table of results that tests/run prints.
result() { # FRAMEWORK VERSION MODE SHAPE
    [[ -z ${DISTGPU_RESULTS-} ]] ||
        printf '%s\t%s\t%s\t%s\t%s\tok\n' "$@" "$seconds" >>"$DISTGPU_RESULTS"
}

# Trains with these ranks, and adds the row. `version` is the framework's.
trains_as() { # NAME_OF_ROWS FRAMEWORK MODE SHAPE SRUN_ARGUMENT...
    local -n rows_expected=$1
    launch "${@:5}"
    assert_trained "${rows_expected[@]}"
    result "$2" "$version" "$3" "$4"
}

# Of one of the usual shapes: srun's arguments, its rows, and its name in the table. In the last three
# one task on each node starts two processes.
shape_of() { # one_node|block|cyclic|uneven|reversed|launcher|launchers|launchers_reversed
    local same
    case $1 in
        launcher) same=one_node ;;
        launchers) same=block ;;
        launchers_reversed) same=reversed_blocks ;;
        *) same=$1 ;;
    esac
    local -n rows_here=$same
    rows=("${rows_here[@]}")
    case $1 in
        launcher) arguments=(-N1 -n1) shape='2' ;;
        launchers) arguments=(-N2 --ntasks-per-node=1) shape='2 + 2' ;;
        launchers_reversed) arguments=("${nodes_in_reverse[@]}") shape='rank 0 on node02' ;;
        one_node) arguments=("${on_one_node[@]}") shape='2' ;;
        # Without the user's environment.
        block) arguments=("${in_blocks[@]}" --export=NONE) shape='2 + 2' ;;
        cyclic) arguments=("${cyclically[@]}") shape='cyclic' ;;
        uneven) arguments=("${unevenly[@]}") shape='3 + 1' ;;
        reversed) arguments=("${in_reverse[@]}") shape='rank 0 on node02' ;;
    esac
}

# The same in one of the usual shapes.
in_shape() { # SHAPE FRAMEWORK MODE [SRUN_ARGUMENT...] PROGRAM...
    shape_of "$1"
    trains_as rows "$2" "${3/,nproc=2/}" "$shape" "${arguments[@]}" --distgpu="$3" "${@:4}"
}

# The version of an installed Python package.
version_of() { # PACKAGE
    "$python" -c 'import importlib.metadata, sys; print(importlib.metadata.version(sys.argv[1]))' "$1"
}
