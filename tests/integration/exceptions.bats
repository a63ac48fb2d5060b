#!/usr/bin/env bats
# An exception inside a callback becomes an error message and never reaches
# Slurm: srun and slurmstepd live on, and the node stays in service.

load cluster

throwing=${DISTGPU_THROWING_PLUGIN:-$root/build/dev/tests/integration/spank_throws.so}

setup_file() { plugin=$throwing cluster_up; }
teardown_file() { cluster_down; }
teardown() { assert_cluster_clean; }

# optional: Slurm ignores the return code, so that only a crash could end the job.
throw_in() {
    local callback=$1
    shift
    for host in "$@"; do
        on "$host" sh -c "echo 'optional $SCRATCH/${throwing##*/} $callback' >/etc/slurm/plugstack.conf"
    done
    run submit srun -N2 -n2 echo survived
    [ "$status" -eq 0 ]
    [ "$(grep -c '^survived$' <<<"$output")" -eq 2 ]
}

@test "a throw in stepd's user_init, task_init and exit" {
    throw_in user_init node01 node02
    [ "$(grep -c 'distgpu: user_init: thrown on purpose; please report this' <<<"$output")" -eq 2 ]
    throw_in task_init node01 node02
    [ "$(grep -c 'distgpu: task_init: unknown exception; please report this' <<<"$output")" -eq 2 ]
    throw_in exit node01 node02
}

@test "a throw in stepd's init and init_post_opt drains no node" {
    throw_in init node01 node02
    throw_in init_post_opt node01 node02
    run submit sinfo --noheader --format=%T
    [ "$status" -eq 0 ]
    [ "$output" = idle ]
}

@test "a throw in srun" {
    throw_in init_post_opt login
    [ "$(grep -c 'distgpu: init_post_opt: thrown on purpose; please report this' <<<"$output")" -eq 1 ]
}
