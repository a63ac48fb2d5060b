#!/usr/bin/env bats
# The key report of a step in a container, whose image has neither distgpu nor Slurm's commands: the
# sampler is a process of the host, and so is what reads the GPUs.

load containers

setup_file() {
    need_containers
    containers_up before --nodes 2 --cpus 16
    # An image with a PATH of its own, and a linker's variable with which no program of the host
    # would start.
    image own PATH=/usr/bin:/bin LD_LIBRARY_PATH=/nowhere
    install -m 644 "$root/tests/integration/report/loop.py" "$SCRATCH"
}

@test "a step in containers has a report on the host, also where its user is another" {
    local remap
    for remap in --no-container-remap-root --container-remap-root; do
        rm -f "$SCRATCH"/r.json*
        run -0 submit timeout --kill-after=5 60 srun -N2 -n4 --container-image="$images/own.sqsh" \
            "$remap" --container-mounts="$SCRATCH:/work" --container-workdir=/work \
            --distgpu=pytorch,gpus=keep,report="$SCRATCH/r.json" /usr/bin/python3 loop.py 8
        run -0 "$SCRATCH/bin/distgpu" report "$SCRATCH/r.json" --format json
        [ "$(jq -c '[.reports[] | .complete, .notes]' <<<"$output")" = '[true,[],true,[]]' ]
        [ "$(jq -c '[.reports[].ranks[] | .rank, .status, .program]' <<<"$output")" = \
            '[0,0,"python3",1,0,"python3",2,0,"python3",3,0,"python3"]' ]
        [ "$(jq 'all(.reports[].ranks[]; .cpu_seconds > 0.1 and .memory_peak > 1e6)' <<<"$output")" = true ]
    done
}
