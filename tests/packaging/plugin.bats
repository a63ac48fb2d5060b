#!/usr/bin/env bats
# The plugin for each Slurm and architecture: what it needs, that it loads, and that this machine's
# Slurm starts steps with it and the portable command. Needs root and `packaging/build portable`.
# shellcheck source=tests/packaging/packages.bash
source "$BATS_TEST_DIRNAME/packages.bash"
# shellcheck source=tests/packaging/hardening.bash
source "$BATS_TEST_DIRNAME/hardening.bash"
# shellcheck source=tests/matrix/root.bash
source "$root/tests/matrix/root.bash"
cache=${DISTGPU_CACHE:-$root/.cache}
sandbox=$root/tools/sandbox/sandbox

setup_file() { needs_root; }

teardown_file() {
    "$sandbox" down --name plugin >/dev/null 2>&1 || true
    rm -rf /tmp/distgpu-plugin
}

# The symbols that Slurm has to have.
of_slurm() { # FILE
    readelf --dyn-syms --wide "$1" | awk '$7 == "UND" && $5 == "GLOBAL" && $8 !~ /@/ { print $8 }' | sort
}

# Prints the name and the Slurm release of the plugin that it loads, in Slurm's place, with the
# plugin's second file.
make_loader() { # ARCHITECTURE PLUGIN
    {
        { of_slurm "$2" && of_slurm "${2%.so}_step.so"; } | sort -u | sed 's/.*/void &(void) {}/'
        cat <<'C'
#include <dlfcn.h>
#include <stdio.h>
int main(int count, char** words) {
    void* plugin = dlopen(words[count - 2], RTLD_NOW);
    void* step = plugin ? dlopen(words[count - 1], RTLD_NOW) : 0;
    if (!step) {
        puts(dlerror());
        return 1;
    }
    const unsigned number = *(const unsigned*)dlsym(plugin, "plugin_version");
    printf("%s %u.%02u %s\n", (const char*)dlsym(plugin, "plugin_name"), number >> 16,
           number >> 8 & 0xff, dlsym(plugin, "slurm_spank_init") && dlsym(step, "distgpu_load_step") ? "starts" : "does not start");
    return 0;
}
C
    } >"$BATS_TEST_TMPDIR/loader.c"
    "$cache/portable/$1/bin/zig-cc" -rdynamic -o "$BATS_TEST_TMPDIR/loader" "$BATS_TEST_TMPDIR/loader.c" -ldl
}

# Each needs glibc 2.28 and Slurm, exports what Slurm looks up, and loads in this root.
all_load() { # ARCHITECTURE ROOT COMMAND, which gets the root, a program and its arguments
    local release file part releases=()
    for file in "$portable/spank_distgpu-$version"-slurm*-"$1.so"; do
        release=${file##*-slurm}
        release=${release%"-$1.so"}
        releases+=("$release")
        for part in "$file" "${file%.so}_step.so"; do
            run -0 lacks "$part"
            [ -z "$output" ]
            run -1 grep -vE '^(slurm|spank)_' <<<"$(of_slurm "$part")"
            [ "$(printf '%s\n' "$(newest_glibc "$part")" 2.28 | sort -V | tail -n 1)" = 2.28 ]
        done
        run -1 grep -vE '^(spank_)?plugin_|^slurm_spank_' <<<"$(
            readelf --dyn-syms --wide "$file" | awk '$7 ~ /^[0-9]+$/ { print $8 }')"
        make_loader "$1" "$file"
        cp "$BATS_TEST_TMPDIR/loader" "$2"
        cp "$file" "$2/plugin.so"
        cp "${file%.so}_step.so" "$2/plugin_step.so"
        run -0 "$3" "$2" /loader /plugin.so /plugin_step.so
        [ "$output" = "distgpu $release starts" ]
    done
    # Debian's, besides those in build/slurm.
    for release in 22.05 24.11 26.05; do [[ " ${releases[*]} " == *" $release "* ]]; done
}

@test "those for x86-64 load in Debian 11" {
    local base=$cache/portable-roots/bullseye
    make_root bullseye "$base" >&2
    all_load x86_64 "$base" chroot
}

@test "those for aarch64 load in Debian 12" {
    local base=$cache/portable-roots/bookworm-arm64
    make_root bookworm "$base" arm64 >&2
    all_load aarch64 "$base" in_arm_root
}

# srun closes the plugin before it ends.
@test "that for this machine's Slurm gives each task its rank" {
    # Open to the user whose jobs run there, which bats's own folders are not.
    rm -rf /tmp/distgpu-plugin
    mkdir /tmp/distgpu-plugin
    tar -C /tmp/distgpu-plugin --strip-components=1 -xf "$portable/distgpu-$version-linux-x86_64.tar.gz"
    "$sandbox" up --name plugin --nodes 2 --plugin "$portable/spank_distgpu-$version-slurm$slurm-x86_64.so \
        command=/tmp/distgpu-plugin/bin/distgpu"
    run -0 "$sandbox" run --name plugin -- srun -N2 --ntasks-per-node=2 --distgpu=pytorch \
        sh -c 'echo $RANK of $WORLD_SIZE'
    [ "$(grep 'of 4$' <<<"$output" | sort)" = "0 of 4
1 of 4
2 of 4
3 of 4" ]
    run -0 "$sandbox" run --name plugin -- srun -N2 --distgpu=pytorch,signal sh -c 'cat /proc/$PPID/comm'
    [ "$output" = "distgpu-task
distgpu-task" ]
    run "$sandbox" run --name plugin -- srun --distgpu=nonsense true
    [ "$status" -ne 0 ]
    [[ $output == *"nonsense"* ]]
}
