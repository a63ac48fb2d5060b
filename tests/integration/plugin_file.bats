#!/usr/bin/env bats
# The plugin as two files: what they export and what they pull into Slurm's daemons; and a step that
# lacks the second one.

load cluster

step_file=${plugin%.so}_step.so

setup_file() { cluster_up --nodes 2; }
teardown_file() { cluster_down; }

setup() { changed=''; }
teardown() {
    [[ ! $changed ]] || on "$changed" mv /etc/slurm/plugstack.kept /etc/slurm/plugstack.conf
    rm -rf "$SCRATCH/alone"
    assert_cluster_clean
}

# bats test_tags=short
@test "only SPANK's symbols are exported" {
    run -0 nm -D --defined-only --format=just-symbols "$plugin"
    [ "$output" = "$(printf '%s\n' plugin_name plugin_type plugin_version \
        slurm_spank_exit slurm_spank_init slurm_spank_init_post_opt slurm_spank_local_user_init \
        slurm_spank_task_exit slurm_spank_task_init slurm_spank_task_init_privileged \
        slurm_spank_task_post_fork slurm_spank_user_init spank_plugin_version)" ]
    run -0 nm -D --defined-only --format=just-symbols "$step_file"
    [ "$output" = distgpu_load_step ]
}

# bats test_tags=short
@test "neither libslurm nor a dynamic libstdc++ is linked" {
    local file
    for file in "$plugin" "$step_file"; do
        run -0 ldd "$file"
        [[ $output == *libc.so.6* ]]
        run -1 grep -E 'slurm|stdc\+\+|libgcc|fmt|json' <<<"$output"
    done
}

# bats test_tags=short
@test "its code stays in memory for threads that outlast Slurm's use of it" {
    local file
    for file in "$plugin" "$step_file"; do
        run -0 readelf --wide --dynamic "$file"
        [[ $output == *NODELETE* ]]
    done
}

# bats test_tags=short
@test "an exception that nothing catches is named, without libstdc++'s demangler" {
    run -1 grep --text --no-filename '{default arg#' "$plugin" "$step_file" # of a demangler's texts
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

# What srun and slurmstepd of a step map of the plugin, as "srun 2" for both files.
mapped_files() { # SRUN_ARGUMENT...
    rm -f "$SCRATCH/started" "$SCRATCH/ends"
    # shellcheck disable=SC2016 # the task expands it
    submit srun -N1 -w node01 "$@" sh -c 'touch "$0/started"; until [ -e "$0/ends" ]; do sleep 0.05; done' "$SCRATCH" &
    local srun=$! host
    until_so 20 test -e "$SCRATCH/started"
    for host in login node01; do
        # shellcheck disable=SC2016 # the host expands it
        on "$host" bash -c 'for process in $(pgrep -f "^(srun -N1|slurmstepd: )"); do
            name=$(tr "\0" " " <"/proc/$process/cmdline")
            echo "${name%%[: ]*} $(grep -oE "$0(_step)?.so" "/proc/$process/maps" | sort -u | wc -l)"
        done' "$SCRATCH/$(basename "$plugin" .so)"
    done | grep -v ' 0$' | sort -u
    touch "$SCRATCH/ends"
    wait "$srun"
}

@test "a step that does not use distgpu loads only the first file" {
    [ "$(mapped_files)" = "$(printf '%s\n' 'slurmstepd 1' 'srun 1')" ]
    [ "$(mapped_files --distgpu=pytorch)" = "$(printf '%s\n' 'slurmstepd 2' 'srun 2')" ]
}

# On a host, until the test ends: the plugin without its second file, or with another one.
without_step_file() { # HOST [OTHER_FILE]
    mkdir "$SCRATCH/alone"
    cp "$plugin" "$SCRATCH/alone/spank_distgpu.so"
    [[ ! ${2-} ]] || cp "$2" "$SCRATCH/alone/spank_distgpu_step.so"
    load_on "$1" "$SCRATCH/alone/spank_distgpu.so"
}

load_on() { # HOST LINE
    changed=$1
    on "$1" cp /etc/slurm/plugstack.conf /etc/slurm/plugstack.kept
    on "$1" sh -c 'echo "required $1" >/etc/slurm/plugstack.conf' - "$2"
}

@test "without the second file, srun refuses a step that uses distgpu, and starts others" {
    without_step_file login
    run -0 submit srun -N2 true
    local reason="distgpu: $SCRATCH/alone/spank_distgpu_step.so: cannot open shared object file: No such file or \
directory; install the plugin again, whose two files belong together"
    run -1 submit srun -N2 --distgpu=pytorch true
    [[ $output == *"$reason"* ]]
    [[ $output != *Invalid* ]]
    run -1 submit env SLURM_DISTGPU=pytorch srun -N2 true
    [[ $output == *"$reason"* ]]
}

@test "a node without the second file ends its tasks, and stays up" {
    without_step_file node02
    run ! submit srun -N2 --kill-on-bad-exit=1 --distgpu=pytorch sleep 60
    [[ $output == *"distgpu: the plugin cannot load its file spank_distgpu_step.so on this node; ask "* ]]
    run -0 submit srun -N2 true
    run -0 submit sbatch --wait --quiet --output=/dev/null -N1 -w node02 --distgpu=pytorch --wrap true
    "$sandbox" node --name "$CLUSTER" stop node02
    "$sandbox" node --name "$CLUSTER" start node02
    until_so 20 eval '[[ $(submit sinfo --noheader --format=%T) == idle ]]'
}

@test "a second file of another version is not used" {
    cc -shared -fPIC -x c -o "$BATS_TEST_TMPDIR/other.so" - <<'C'
static const unsigned callbacks[2] = {8};
const void* distgpu_load_step(const char* plugin_file) { return callbacks; }
C
    without_step_file login "$BATS_TEST_TMPDIR/other.so"
    run -1 submit srun -N2 --distgpu=pytorch true
    [[ $output == *"distgpu: spank_distgpu_step.so is of another version; install the plugin again, "* ]]
}

@test "a link to the first file is enough" {
    ln -s "$SCRATCH/${plugin##*/}" "$SCRATCH/link.so"
    load_on login "$SCRATCH/link.so command=$SCRATCH/bin/distgpu"
    run -0 submit srun -N2 --distgpu=pytorch printenv RANK
    [ "$(sort <<<"$output")" = "$(printf '%s\n' 0 1)" ]
}
