# What the tests of the frameworks share: an environment, a launch with a time
# limit, the judgement on an example's output, and the row of the results' table.
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154 # the tests use what stands here; run sets output and status
#
# Every example prints, as rank 0, a table whose header names the columns rank, host
# and local (and others), and last a verdict on all ranks. A test says
#
#     need torch
#     launch -N2 --ntasks-per-node=2 --distgpu=lightning python examples/lightning.py
#     assert_trained "${block[@]}"
#     result lightning "$version" lightning '2 + 2'

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
nodes_in_reverse=(-n2 -m arbitrary -w 'node02,node01')
in_reverse=(-n4 -m arbitrary -w 'node02,node01,node01,node02')

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

# Puts an environment's programs first in PATH, and its interpreter into `python`.
need() { # ENVIRONMENT
    local answer=0
    python=$("$root/tests/frameworks/environment" "$1" 3>&-) || answer=$?
    ((answer != 77)) || skip "the packages of $1 cannot be reached"
    ((answer == 0)) || return 1
    PATH=${python%/*}:$PATH
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
launch() { # SRUN_ARGUMENT...
    local begin
    assert_cluster_clean
    begin=$EPOCHREALTIME
    run submit timeout --kill-after=5 "${launch_limit:-120}" srun "$@"
    seconds=$(((${EPOCHREALTIME/[.,]/} - ${begin/[.,]/}) / 1000000))
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

# The version of an installed Python package.
version_of() { # PACKAGE
    "$python" -c 'import importlib.metadata, sys; print(importlib.metadata.version(sys.argv[1]))' "$1"
}
