#!/usr/bin/env bats
# `distgpu why` beside a step in containers of pyxis: it looks from outside, where the processes have
# other numbers and other files than they see themselves.

load containers

setup_file() {
    need_containers
    containers_up before --nodes 2
    image plain
    cp "$root/tests/integration/why/ranks.py" "$SCRATCH"
}

teardown() { ! have_containers || finish_step; }

@test "names the rank that is elsewhere, and its line" {
    local python
    python=$("$root/tests/frameworks/environment" pyspy 3>&-) || skip "py-spy cannot be had here"
    begin_step 4 -N2 -n4 --ntasks-per-node=2 --container-image="$images/plain.sqsh" \
        --container-mounts="$SCRATCH" --distgpu=pytorch,gpus=keep /usr/bin/python3 "$SCRATCH/ranks.py" load_batch 3
    sleep 0.5
    run submit env PATH="${python%/*}:$PATH" ./distgpu why "$job" --repeat 1
    cat "$SCRATCH/log"
    [ "$status" -eq 0 ]
    found='^rank 3 on node02 is in load_batch \(ranks\.py:[0-9]+\), asleep, .*; 3 ranks are in all_reduce \(ranks\.py:[0-9]+\)$'
    [[ ${lines[1]} =~ $found ]]
}

# By PATH, through /proc so that the path leads there from outside too, and by the first word.
@test "no program of the image runs outside the container" {
    local caught=$SCRATCH/caught
    cat >"$SCRATCH/trap.sh" <<'TEXT'
for tool in py-spy eu-stack gdb; do
    printf '%s\n' '#!/bin/sh' "echo \"\$0 as \$(id -u) with \$*\" >>$1" >/tmp/$tool
    chmod 755 /tmp/$tool
done
echo waits
export PATH=/proc/$$/root/tmp:/tmp VIRTUAL_ENV=/proc/$$/root/tmp
exec -a /proc/$$/root/tmp/python3 /usr/bin/python3 "$2" load_batch 3
TEXT
    : >"$caught" && chmod 666 "$caught"
    begin_step 8 -N2 -n4 --ntasks-per-node=2 --container-image="$images/plain.sqsh" \
        --container-mounts="$SCRATCH" --distgpu=pytorch,gpus=keep bash "$SCRATCH/trap.sh" "$caught" "$SCRATCH/ranks.py"
    run submit env PATH=/usr/sbin:/sbin:/usr/bin:/bin ./distgpu why "$job" --repeat 1
    cat "$SCRATCH/log" "$caught"
    [ "$status" -eq 0 ]
    [[ ${lines[0]} == 'step '*': 4 ranks on 2 nodes, sampled for '* ]]
    [ ! -s "$caught" ]
}
