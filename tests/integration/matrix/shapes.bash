# What bats files of launch shapes share: matrix.py and its probe beside the cluster's other files,
# and random shapes of a group.
# shellcheck shell=bash

# For the cluster: jobs start at once, heterogeneous ones with the backfill scheduler's next round
# (bf_interval). And srun asks again for a step that found its CPUs busy when slurmctld tells it to,
# or after pid % 10 + SlurmctldTimeout seconds (launch.c, 22.05), by default more than two minutes;
# seen once in some hundred steps on a busy machine.
# shellcheck disable=SC2034 # bats files read it
shape_cluster=(--conf "SchedulerParameters=batch_sched_delay=0,sched_interval=2,bf_interval=1"
    --conf SlurmctldTimeout=5)

# To be called when the file's cluster is up.
install_matrix() {
    local matrix=$root/tests/integration/matrix
    cc -std=gnu11 -Wall -Wextra -Werror -O1 -o "$SCRATCH/probe" "$matrix/probe.c"
    cp "$matrix"/*.py "$SCRATCH"
    export PYTHONDONTWRITEBYTECODE=1
}

# In the allocation that a command makes, if any.
shape_options=() # of `matrix.py random`
random_shapes() { # GROUP COUNT [COMMAND...]
    local group=$1 count=$2
    shift 2
    ALLOCATION="$*" run submit "$@" ./matrix.py random "$group" "$count" "${shape_options[@]}"
    echo "$output"
    tail -n 1 <<<"$output" | sed 's/^/# /' >&3
    [ "$status" -eq 0 ]
    [[ $output =~ ([0-9]+)" shapes checked, 0 wrong, "([0-9]+)" not launched"$ ]]
    ((BASH_REMATCH[1] + BASH_REMATCH[2] == count))
}
