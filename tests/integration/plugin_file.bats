#!/usr/bin/env bats
# The plugin as a file: what it exports and what it pulls into Slurm's daemons.

load cluster

# bats test_tags=short
@test "only SPANK's symbols are exported" {
    run -0 nm -D --defined-only --format=just-symbols "$plugin"
    [ "$output" = "$(printf '%s\n' plugin_name plugin_type plugin_version \
        slurm_spank_exit slurm_spank_init slurm_spank_init_post_opt slurm_spank_local_user_init \
        slurm_spank_task_exit slurm_spank_task_init slurm_spank_task_init_privileged \
        slurm_spank_task_post_fork slurm_spank_user_init spank_plugin_version)" ]
}

# bats test_tags=short
@test "neither libslurm nor a dynamic libstdc++ is linked" {
    run -0 ldd "$plugin"
    [[ $output == *libc.so.6* ]]
    run -1 grep -E 'slurm|stdc\+\+|libgcc|fmt|json' <<<"$output"
}

# bats test_tags=short
@test "its code stays in memory for threads that outlast Slurm's use of it" {
    run -0 readelf --wide --dynamic "$plugin"
    [[ $output == *NODELETE* ]]
}
