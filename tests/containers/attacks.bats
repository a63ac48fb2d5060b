#!/usr/bin/env bats
# What a program of a container's image can try against the host's programs that the keys `watch`
# and `check` start for its step, and what the image itself can. docs/security.md has the table.

load containers

setup_file() {
    need_containers
    containers_up before --nodes 2 --cpus 16
    image plain
    cp "$here/attacks/reach.py" "$SCRATCH"
    # What the user may read, outside the container only.
    local user
    user=$(submit id -un)
    install -d -m 700 -o "$user" "$SCRATCH/private"
    install -m 600 -o "$user" /dev/null "$SCRATCH/private/secret"
    # In place of the command: notes its variables. On node02 it comes late, so that node01's check
    # has somebody to wait for.
    cat >"$SCRATCH/bin/noted" <<END
#!/bin/bash
/usr/bin/env >"$SCRATCH/noted.\$\$.\$1"
[[ ! -e $SCRATCH/late || \$1 != check || \$(uname -n) != node02 ]] || sleep 5
exec $SCRATCH/distgpu "\$@"
END
    chmod 755 "$SCRATCH/bin/noted"
    on_nodes sed -i "s|command=[^ ]*|command=$SCRATCH/bin/noted|" /etc/slurm/plugstack.conf
}

teardown() {
    have_containers || return 0
    rm -f "$SCRATCH"/{late,noted.*}
    submit scancel --quiet --user "$(submit id -un)" || true
    assert_cluster_clean
}

# Every way was tried, while the process was there, and none was open.
assert_no_way_in() {
    echo "$output"
    [ "$(grep -c ': refused, E[A-Z]*$' <<<"$output")" -eq 21 ]
    grep -q '^tried all$' <<<"$output"
    [[ $output != *OPEN* && $output != *'it ended meanwhile'* ]]
}

reach() { # SRUN_ARGUMENT... -- WORD...
    local arguments=()
    while [[ $1 != -- ]]; do
        arguments+=("$1")
        shift
    done
    run submit timeout --kill-after=5 60 srun -N1 -n1 -w node01 \
        --container-mounts="$SCRATCH/reach.py:/reach.py" "${arguments[@]}" \
        python3 /reach.py "$SCRATCH/private/secret" "${@:2}"
}

# It is in the container like the program, which may therefore look at it; but of the host it has
# neither the root nor an open file.
@test "through the parent of a task's program no file of the host is reached" {
    local remap
    for remap in --no-container-remap-root --container-remap-root; do
        reach --container-image="$images/plain.sqsh" "$remap" --distgpu=pytorch,signal -- distgpu-task
        echo "$output"
        grep -qx "host's file through root: refused, ENOENT" <<<"$output"
        grep -qx 'same of a thread: refused, ENOENT' <<<"$output"
        grep -qx 'what fd/2 is: refused, ENOENT' <<<"$output"
        grep -q '^tried all$' <<<"$output"
        [[ $output != *walk* ]]
    done
}

@test "a program of the step finds no way into its watch" {
    local remap
    for remap in --no-container-remap-root --container-remap-root; do
        reach --container-image="$images/plain.sqsh" "$remap" --distgpu=pytorch,watch=30 -- why --watch
        assert_no_way_in
    done
}

# While the step's check waits for node02, and while the step is watched. The container runs already,
# so that the step joins it.
from_second_step() { # REMAP
    touch "$SCRATCH/late"
    run submit timeout --kill-after=5 90 salloc --quiet -N2 -n2 bash -c '
        remap=$1 image=$2 scratch=$3
        srun --container-image="$image" --container-name=shared "$remap" true
        srun --overlap -N1 -n1 -w node01 --container-name=shared "$remap" \
            --container-mounts="$scratch/reach.py:/reach.py" sh -c "
                python3 /reach.py $scratch/private/secret check --gate
                python3 /reach.py $scratch/private/secret why --watch" &
        sleep 2
        srun --overlap --container-name=shared "$remap" --distgpu=pytorch,check,watch=30 sleep 8
        wait' - "$1" "$images/plain.sqsh" "$SCRATCH"
    echo "$output"
    [ "$(grep -c ': refused, E[A-Z]*$' <<<"$output")" -eq 42 ]
    [ "$(grep -c '^tried all$' <<<"$output")" -eq 2 ]
    [[ $output != *OPEN* && $output != *'it ended meanwhile'* ]]
    [[ $output == *'distgpu: check: 2 ranks on 2 nodes ready in '* ]]
}

@test "a program of another step in the same container finds no way into check and watch" {
    from_second_step --no-container-remap-root
}

@test "nor does one that is root in its container" { from_second_step --container-remap-root; }

@test "no variable of an image is one of check's or watch's own, and those of NCCL are judged" {
    printf 'touch %s/ran\n' "$SCRATCH" >"$SCRATCH/start"
    image own OF_IMAGE=1 PATH=/of_image:/usr/bin:/bin SLURM_CONF=/of_image/slurm.conf \
        BASH_ENV="$SCRATCH/start" LD_PRELOAD=/of_image.so HWLOC_COMPONENTS=of_image \
        MUNGE_SOCKET=/of_image NCCL_SOCKET_IFNAME=of_image
    run -0 submit srun -N2 -n2 --container-image="$images/own.sqsh" --distgpu=pytorch,check=warn,watch=30 true
    [[ $output == *"NCCL_SOCKET_IFNAME: no interface 'of_image' is up on this node"* ]]
    ls "$SCRATCH"/noted.*.check "$SCRATCH"/noted.*.why
    run -1 grep -i of_image "$SCRATCH"/noted.*
    [ ! -e "$SCRATCH/ran" ]
}

@test "the program has no file of theirs, and none of theirs stays" {
    run -0 submit srun -N2 -n4 --ntasks-per-node=2 --container-image="$images/plain.sqsh" \
        --distgpu=pytorch,check,watch=30 sh -c 'ls /proc/$$/fd'
    [ "$(grep -cE '^[0-9]+$' <<<"$output")" -eq 12 ]  # 0, 1 and 2 of each task
    local node
    for node in node01 node02; do
        until_so 5 eval "! on $node pgrep -ax distgpu"
    done
}
