#!/usr/bin/env bats
# What ends a step in a container: before its image is unpacked, where the reason is known by then.

load containers

setup_file() {
    containers_up before --nodes 2
    have_containers || return 0
    image plain
    # What pyxis lets enroot do.
    mv "$PREFIX/bin/enroot" "$PREFIX/bin/real-enroot"
    printf '#!/bin/sh\necho "$1" >>%s/calls\nexec %s/bin/real-enroot "$@"\n' \
        "$PREFIX" "$PREFIX" >"$PREFIX/bin/enroot"
    chmod +x "$PREFIX/bin/enroot"
}

setup() {
    need_containers
    install -m 666 /dev/null "$PREFIX/calls"
}

# bats test_tags=short
@test "a taken port: within seconds, without unpacking the image" {
    in_image -0 plain -N1 -n2 --distgpu=pytorch -- true
    grep -qx create "$PREFIX/calls"
    : >"$PREFIX/calls"
    listen node01 24700
    local begin=$EPOCHREALTIME
    in_image plain -N1 -n2 --distgpu=pytorch,port=24700 -- true
    local milliseconds=$(((${EPOCHREALTIME/[.,]/} - ${begin/[.,]/}) / 1000))
    stop_listening
    echo "# refused in $milliseconds ms" >&3
    [ "$status" -ne 0 ]
    [ "$(distgpu_lines)" = 'distgpu: port 24700 (from port=24700) on node01: already in use; choose another with the key port=N' ]
    run ! grep -x create "$PREFIX/calls"
    # slurmstepd has nothing to say of tasks that left too early.
    run ! grep 'unblock' "/run/distgpu-sandbox/$CLUSTER/log/slurmd-node01.log"
    ((milliseconds < 10000))
}
