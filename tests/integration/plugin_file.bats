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

# bats test_tags=short
@test "an exception that nothing catches is named, without libstdc++'s demangler" {
    run -1 grep --text --count '{default arg#' "$plugin" # of a demangler's texts
    ${CXX:-c++} -std=c++20 -static-libstdc++ -x c++ -o "$BATS_TEST_TMPDIR/lost" \
        "$root/spank_plugin/terminate.cpp" - <<'CPP'
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <stdexcept>
extern "C" void slurm_error(const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    std::vprintf(format, arguments);
    va_end(arguments);
    std::puts("");
    std::fflush(stdout);
}
int main(int, char** words) {
    if (std::strcmp(words[1], "error") == 0) throw std::runtime_error("a lost error");
    if (std::strcmp(words[1], "number") == 0) throw 1;
    std::terminate();
}
CPP
    run -134 "$BATS_TEST_TMPDIR/lost" error
    [ "$output" = "distgpu: ended by an exception: a lost error" ]
    run -134 "$BATS_TEST_TMPDIR/lost" number
    [ "$output" = "distgpu: ended by an exception" ]
    run -134 "$BATS_TEST_TMPDIR/lost" nothing
    [ "$output" = "distgpu: std::terminate() was called" ]
}
