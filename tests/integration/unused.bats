#!/usr/bin/env bats
# A step that does not ask for distgpu is the same with and without the plugin.

load cluster

setup_file() { cluster_up; }
teardown_file() { cluster_down; }
teardown() { assert_cluster_clean; }

# The environment of a step's tasks, byte by byte, without the values that differ
# between any two steps. NUL-separated, so that no newline in a value misleads.
step_environment() {
    # shellcheck disable=SC2016 # the task's shell expands them
    submit srun -N2 -n4 -w "node0[1-2]" sh -c 'env -0 >"env.$SLURM_PROCID"'
    for rank in 0 1 2 3; do
        sort -z "$SCRATCH/env.$rank" | sed -zE \
            's/^(SLURM_(JOB_?ID|JOB_(START|END)_TIME|JOB_SLUID|TASK_PID|STEP_LAUNCHER_PORT|SRUN_COMM_PORT))=.*/\1=/' | tr '\0' '\n'
    done
}

@test "the environment of a step without the option is byte-identical" {
    with_plugin=$(step_environment)
    for host in login node01 node02; do
        on "$host" sh -c ': >/etc/slurm/plugstack.conf'
    done
    without_plugin=$(step_environment)
    [[ $with_plugin == *SLURM_PROCID=3* ]]
    [ "$with_plugin" = "$without_plugin" ]
}
