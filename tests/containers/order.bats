#!/usr/bin/env bats
# The plugin before pyxis in plugstack.conf, where the container has the last word.

load containers

setup_file() {
    containers_up after --nodes 1
    have_containers || return 0
    image plain
}

slurmd_log() {
    cat "/run/distgpu-sandbox/$CLUSTER/log/slurmd-node01.log"
}

@test "slurmd's log says so, for a step that uses distgpu alone" {
    submit srun -n1 true
    run ! grep -F 'stands before' <(slurmd_log)
    in_image -0 plain -n2 --distgpu=pytorch -- 'echo $RANK'
    [ "$output" = $'0\n1' ] || [ "$output" = $'1\n0' ]
    run -0 grep -oF 'distgpu: plugstack.conf: its line comes before that of pyxis, whose containers then replace what distgpu sets; put it after' <(slurmd_log)
    [ "${#lines[@]}" -eq 1 ]
}
