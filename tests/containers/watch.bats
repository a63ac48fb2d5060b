#!/usr/bin/env bats
# `--distgpu=MODE,watch` of a step in a container, whose image has neither distgpu nor Slurm's
# commands: the watch is a process of the host.

load containers

setup_file() {
    need_containers
    containers_up before --nodes 2 --cpus 16
    # An image with a PATH of its own, and a linker's variable with which the host's command would
    # not even start.
    image own PATH=/usr/bin:/bin LD_LIBRARY_PATH=/nowhere SLURM_PROCID=0 SLURM_LOCALID=0 SLURM_NODEID=0
    printf '%s\n' '#!/bin/bash' "exec $SCRATCH/distgpu \"\${@/2m/6s}\"" >"$SCRATCH/hasty"
    chmod 755 "$SCRATCH/hasty"
    on_nodes sed -i "s|command=[^ ]*|command=$SCRATCH/hasty|" /etc/slurm/plugstack.conf
}

teardown() {
    submit scancel --quiet --user "$(submit id -un)" || true
    assert_cluster_clean
}

# With py-spy in the user's PATH outside, and a step of four ranks, of which one hangs.
watched() { # SRUN_ARGUMENT...
    local python
    python=$("$root/tests/frameworks/environment" pyspy 3>&-) || skip "py-spy cannot be had here"
    cp "$root/tests/integration/why/ranks.py" "$SCRATCH"
    run submit env PATH="${python%/*}:$PATH" timeout --kill-after=5 100 srun -N2 -n4 \
        --ntasks-per-node=2 --container-mounts="$SCRATCH" --container-workdir="$SCRATCH" "$@" \
        --distgpu=pytorch,gpus=keep,watch=2:end /usr/bin/python3 ranks.py load_batch 3
    echo "$output"
}

@test "a hang in a container is told, and the step ends, also where its user is another" {
    local remap node
    for remap in --no-container-remap-root --container-remap-root; do
        watched --container-image="$images/own.sqsh" "$remap"
        [[ $status != 0 && $status != 124 ]]
        [ "$(grep -cE '^rank 3 on node02 is in load_batch \(ranks\.py:[0-9]+\), asleep, unchanged for [0-9.]+ s; 3 ranks are in all_reduce' <<<"$output")" -eq 1 ]
        [[ $output == *'distgpu: watch: ending the step, as requested by :end'* ]]
        for node in node01 node02; do run -1 on "$node" pgrep -af 'distgpu why|py-spy'; done
        assert_cluster_clean
    done
}
