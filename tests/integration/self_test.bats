#!/usr/bin/env bats
# `distgpu self-test`: what it tells of a machine on which all is well, and of one where something is
# missing or hangs.
# shellcheck disable=SC2016,SC2154 # the shells inside expand them; set by cluster.bash and bats

load cluster

setup_file() { cluster_up --nodes 2; }
teardown_file() { cluster_down; }

# state PROBE: the word behind its name.
state() { sed -nE "s/^$1 +([a-zA-Z]+) .*/\1/p" <<<"$output"; }

@test "a task of a step is told as such, with its rank" {
    run -0 submit srun -N2 -n2 --distgpu=off sh -c 'test "$SLURM_PROCID" = 0 || exec "$0" self-test' \
        "$SCRATCH/distgpu"
    echo "$output"
    for probe in system plan network devices slurm plugin step; do
        [ "$(state "$probe")" = ok ]
    done
    [[ $output == *"rank 1 of 2 on node02, started by srun"* ]]
    [[ $output == *"slurm-wlm "* || $output == *"slurm "[0-9]* ]]
    [ "$(tail -n 1 <<<"$output")" = "distgpu works here" ]
}

@test "without Slurm it works, and tells what is absent" {
    run -0 env -i PATH=/nowhere "$command" self-test
    echo "$output"
    for probe in slurm plugin step; do
        [ "$(state "$probe")" = absent ]
    done
    [[ $output == *"write srun ... distgpu exec MODE -- PROGRAM"* ]]
    [ "$(tail -n 1 <<<"$output")" = "distgpu works here" ]
}

# A network namespace of its own, whose loopback is down.
@test "where no process can be reached, it fails" {
    run -1 unshare --net "$command" self-test
    echo "$output"
    [ "$(state network)" = FAILED ]
    [ "$(state plan)" = ok ]
    [ "$(tail -n 1 <<<"$output")" = "distgpu does not work here: 1 failed" ]
}

@test "an srun that hangs does not keep it" {
    printf '#!/bin/sh\nexec sleep 6173\n' >"$BATS_TEST_TMPDIR/srun"
    chmod +x "$BATS_TEST_TMPDIR/srun"
    SECONDS=0
    PATH=$BATS_TEST_TMPDIR:$PATH run -0 "$command" self-test
    echo "$SECONDS s: $output"
    ((SECONDS <= 10))
    [ "$(state slurm)" = absent ]
    run -1 pgrep -f 'sleep 6173'
}
