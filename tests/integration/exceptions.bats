#!/usr/bin/env bats
# An exception inside a callback becomes an error message and never reaches
# Slurm: srun and slurmstepd live on, and the node stays in service.

load cluster

throwing=${DISTGPU_THROWING_PLUGIN:-$root/build/dev/tests/integration/spank_throws.so}

setup_file() { plugin=$throwing cluster_up; }

# optional: Slurm ignores the return code, so that only a crash could end the job.
throw_in() {
    for host in "${@:2}"; do
        on "$host" sh -c "echo 'optional $SCRATCH/${throwing##*/} $1' >/etc/slurm/plugstack.conf"
    done
    run -0 submit srun -N2 -n2 echo survived
    [ "$(grep -c '^survived$' <<<"$output")" -eq 2 ]
}

# bats test_tags=short
@test "a throw in each callback of stepd, which drains no node, and in srun" {
    throw_in user_init node01 node02
    [ "$(grep -c 'distgpu: user_init: thrown on purpose; please report this' <<<"$output")" -eq 2 ]
    throw_in task_init node01 node02
    [ "$(grep -c 'distgpu: task_init: unknown exception; please report this' <<<"$output")" -eq 2 ]
    throw_in exit node01 node02
    throw_in init node01 node02
    throw_in init_post_opt node01 node02
    run -0 submit sinfo --noheader --format=%T
    [ "$output" = idle ]
    throw_in init_post_opt login
    [ "$(grep -c 'distgpu: init_post_opt: thrown on purpose; please report this' <<<"$output")" -eq 1 ]
}
