#!/usr/bin/env bats
# `distgpu plan`: the plan of a step without one, and what it refuses. Needs no cluster. That its
# bindings are those of real steps is shown by binding_*.bats.
# shellcheck disable=SC2154 # cluster.bash sets root and command; run sets output and status

load cluster

setup() {
    node=$root/tests/topologies/one-socket-gpus.xml
}

# The value of a field, of each task in rank order.
field() { # FIELD OPTION...
    local name=$1
    shift
    run --separate-stderr -0 "$command" plan "$@"
    python3 -c 'import json, sys
for task in json.load(sys.stdin)["tasks"]:
    print(eval(sys.argv[1], task))' "$name" <<<"$output"
}

# Fails unless the command ends with 2 and this message, and prints no plan.
refused() { # MESSAGE OPTION...
    local message=$1
    shift
    run --separate-stderr "$command" plan "$@"
    echo "$stderr"
    [ "$status" -eq 2 ]
    [ "$stderr" = "distgpu: $message" ]
    [ -z "$output" ]
}

@test "ranks go where the distribution puts them" {
    [ "$(field 'node, rank' pytorch --nodelist 'n[1-2]' --tasks-per-node 2,1)" = "('n1', 0)
('n1', 1)
('n2', 2)" ]
    [ "$(field node pytorch --nodelist 'n[1-2]' --tasks-per-node '2(x2)' --distribution cyclic)" = "n1
n2
n1
n2" ]
    [ "$(field node pytorch --nodelist 'n[1-2]' --tasks-per-node '3(x2)' --distribution plane=2)" = "n1
n1
n2
n2
n1
n2" ]
    [ "$(field node pytorch --nodelist 'n[1-2]' --distribution arbitrary=n2,n1,n2)" = "n2
n1
n2" ]
}

@test "with a topology it binds, without it does not" {
    [ "$(field 'cpus, gpus, hcas' pytorch --nodelist n1 --tasks-per-node 2)" = "(None, [], [])
(None, [], [])" ]
    [ "$(field 'cpus, gpus, hcas' pytorch --nodelist n1 --tasks-per-node 2 --topology "$node")" = \
        "('0-8,36-44', [0], ['mlx5_0:1'])
('9-17,45-53', [1], ['mlx5_0:1'])" ]
}

@test "GPUs, CPUs and masks are those that it is told" {
    local visible='set["CUDA_VISIBLE_DEVICES"], cpus'
    [ "$(field "$visible" pytorch --nodelist n1 --tasks-per-node 1 --topology "$node" \
        --gpus-per-node 1)" = "('0', '0-17,36-53')" ]
    [ "$(field "$visible" pytorch --nodelist n1 --tasks-per-node 1 --topology "$node" \
        --gpus 1 --cpus-per-task 40)" = "('1', '0-19,36-55')" ]
    [ "$(field "$visible" pytorch --nodelist n1 --tasks-per-node 2 --topology "$node" \
        --cpu-masks 18-35:0-17)" = "('0,1', '18-35')
('0,1', '0-17')" ]
    [ "$(field "$visible" pytorch --nodelist n1 --tasks-per-node 2 --topology "$node" \
        --cpu-masks 0-3)" = "('0,1', '0-1')
('0,1', '2-3')" ]
}

@test "what is not the shape of a step is refused with status 2" {
    local help="see distgpu plan --help" two=(--nodelist 'n[1-2]' --tasks-per-node '1(x2)')
    refused "SPEC=pytroch: unknown mode; did you mean 'pytorch'?" pytroch --nodelist n1
    refused "SPEC=off: plans nothing; give the mode of a framework" off --nodelist n1
    refused "command line: --nodelist is required; see distgpu --help" pytorch
    refused "--distribution spiral: not block, cyclic, plane=N or arbitrary=NODE,...; $help" \
        pytorch "${two[@]}" --distribution spiral
    refused "--distribution plane= x: not a number from 0 to 65536; $help" \
        pytorch "${two[@]}" --distribution plane=x
    refused "--distribution arbitrary: n3: not in --nodelist; $help" \
        pytorch "${two[@]}" --distribution arbitrary=n1,n3
    refused "--gpus-per-node -1: not a number from 0 to 65536; $help" \
        pytorch "${two[@]}" --gpus-per-node=-1
    refused "--gpus 0,: not a list of GPUs as 0-3,6; $help" pytorch "${two[@]}" --gpus 0,
    refused "--gpus 2: the node has 2 GPUs; $help" \
        pytorch --nodelist n1 --tasks-per-node 1 --gpus 2 --topology "$node"
    refused "--cpus-per-task many: not a number from 0 to 65536; $help" \
        pytorch "${two[@]}" --cpus-per-task many
    refused "--cpu-masks 0-3:: not CPU lists as 0-3,8:4-7; $help" \
        pytorch "${two[@]}" --cpu-masks 0-3:
    refused "--cpu-masks 0:1:2: another number of masks than of tasks; $help" \
        pytorch --nodelist n1 --tasks-per-node 2 --cpu-masks 0:1:2
}

@test "a step that the framework cannot run in is refused with its reason" {
    run --separate-stderr -2 "$command" plan torchrun --nodelist n1 --tasks-per-node 2
    [[ $stderr == "distgpu: --distgpu=torchrun: 2 tasks on a node, "* ]]
}

@test "a file that is no topology is refused with status 3" {
    run --separate-stderr -3 "$command" plan pytorch --nodelist n1 --tasks-per-node 1 --topology none
    [ "$stderr" = "distgpu: none: No such file or directory; name a file that this user can read" ]
}
