# A sandbox cluster with pyxis and enroot, built for each bats file.
# shellcheck shell=bash
#
# A file's setup_file calls containers_up, and a setup of its own need_containers. Tests say `image NAME [VARIABLE=VALUE]...` and
# `run submit srun --container-image="$images/NAME.sqsh" ...`.

load ../integration/cluster

here=$root/tests/containers

# Whether the archives of pyxis and enroot are here.
have_containers() {
    compgen -G "${DISTGPU_CONTAINERS:-none}/pyxis-*.tar.xz" >/dev/null
}

need_containers() {
    have_containers ||
        skip "DISTGPU_CONTAINERS names no folder with the source archives of pyxis and enroot"
}

# Builds them; `pyxis` is then the argument of `sandbox up` for pyxis's line in plugstack.conf.
build_containers() {
    # Where the jobs' user may go, as it must not in bats's own folders.
    export PREFIX=/tmp/distgpu-enroot$$
    export images=$PREFIX/images
    "$here/build" "$DISTGPU_CONTAINERS" "$PREFIX"
    mkdir -m 755 "$PREFIX/pyxis"
    pyxis=(--plugin "$PREFIX/lib/spank_pyxis.so runtime_path=$PREFIX/pyxis")
    # slurmstepd looks for enroot there.
    PATH=$PREFIX/bin:$PATH
}

# The cluster, with pyxis before distgpu in plugstack.conf, or after it.
containers_up() { # before|after [SANDBOX_ARGUMENT...]
    have_containers || return 0
    build_containers
    if [[ $1 == before ]]; then
        # shellcheck disable=SC2034 # cluster_up uses it
        plugins_before=("${pyxis[@]}")
        cluster_up "${@:2}"
    else
        cluster_up "${pyxis[@]}" "${@:2}"
    fi
}

containers_down() {
    have_containers || return 0
    cluster_down
    rm -rf --one-file-system "$PREFIX"
}

# A file may have others.
setup() { need_containers; }
teardown() { ! have_containers || assert_cluster_clean; }
teardown_file() { containers_down; }

image() { # NAME [VARIABLE=VALUE]...
    "$here/image" "$images/$1.sqsh" "${@:2}"
}

# Switches on hooks that enroot brings and sites add.
hooks() { # NAME...
    local name
    for name; do cp "$PREFIX/share/enroot/hooks.d/$name" "$PREFIX/etc/enroot/hooks.d"; done
}

# One line of each task, in the order of their ranks, from a shell's command in a container. -0 and
# the like are for run.
in_image() { # [-STATUS] NAME SRUN_ARGUMENT... -- SHELL_COMMAND
    local name arguments=() expected=()
    [[ $1 != -[0-9]* ]] || { expected=("$1") && shift; }
    name=$1
    shift
    while [[ $1 != -- ]]; do
        arguments+=("$1")
        shift
    done
    # Of a job that has to wait, srun's own lines would stand in the output.
    assert_cluster_clean
    run "${expected[@]}" submit timeout --kill-after=5 60 srun --kill-on-bad-exit=1 \
        --container-image="$images/$name.sqsh" "${arguments[@]}" sh -c "$2"
    echo "$output"
}
