#!/usr/bin/env bats
# `distgpu plan`: the plan of a step without one, and what it refuses. Needs no cluster. That its
# bindings are those of real steps is shown by binding_*.bats.

load cluster

setup() {
    node=$machines/one-socket-gpus.xml
}

# The value of a field, of each task in rank order.
field() { # FIELD OPTION...
    run --separate-stderr -0 "$command" plan "${@:2}" --format json
    python3 -c 'import json, sys
for task in sorted(json.load(sys.stdin)["tasks"], key=lambda task: task["rank"]):
    print(eval(sys.argv[1], task))' "$1" <<<"$output"
}

# Fails unless the command ends with 2 and this message, and prints no plan.
refused() { # MESSAGE OPTION...
    run --separate-stderr "$command" plan "${@:2}"
    echo "$stderr"
    [ "$status" -eq 2 ]
    [ "$stderr" = "distgpu: $1" ]
    [ -z "$output" ]
}

# bats test_tags=short
@test "with a topology it binds, without it does not, and each node can have one of its own" {
    [ "$(field 'cpus, gpus, hcas' pytorch --nodelist n1 --tasks-per-node 2)" = "(None, [], [])
(None, [], [])" ]
    [ "$(field 'cpus, gpus, hcas' pytorch --nodelist n1 --tasks-per-node 2 --topology "$node")" = \
        "('0-8,36-44', [0], ['mlx5_0:1'])
('9-17,45-53', [1], ['mlx5_0:1'])" ]
    [ "$(field 'node, len(gpus)' pytorch --nodes 2 --topology "$node" \
        --topology "node2=$machines/h200-8numa.xml")" = "('node1', 2)
('node2', 4)" ]
}

@test "GPUs, CPUs and masks are those that it is told" {
    local visible='set["CUDA_VISIBLE_DEVICES"], cpus'
    [ "$(field "$visible" pytorch --nodelist n1 --tasks-per-node 1 --topology "$node" \
        --gpu-list 1 --cpus-per-task 40)" = "('1', '0-19,36-55')" ]
    [ "$(field "$visible" pytorch --nodelist n1 --tasks-per-node 2 --topology "$node" \
        --cpu-masks 18-35:0-17)" = "('0,1', '18-35')
('0,1', '0-17')" ]
    [ "$(field "$visible" pytorch --nodelist n1 --tasks-per-node 2 --topology "$node" \
        --cpu-masks 0-3)" = "('0,1', '0-1')
('0,1', '2-3')" ]
}

@test "a rank's shell lines give a shell the rank's environment; warnings go to standard error" {
    local lines
    lines=$("$command" plan pytorch --nodes 2 --tasks-per-node 2 --rank 3 --format env)
    run -0 env PET_NNODES=7 TORCHELASTIC_A=1 TORCHELASTIC_B=2 RANK=9 sh -c \
        'eval "$1"; echo "$RANK $LOCAL_RANK ${PET_NNODES-gone} ${TORCHELASTIC_B-gone}"' sh "$lines"
    [ "$output" = "3 1 gone gone" ]
    run --separate-stderr -0 "$command" plan pytorch --nodes 1 --ntasks 1 --rank 0 --format env \
        --topology "$machines/h200-8numa.xml"
    [ "$(grep -c -v -e '^export [A-Z_]*=' -e '^unset ' <<<"$output")" -eq 0 ]
    [[ ${stderr_lines[0]} == "distgpu: --distgpu=pytorch: 1 task on a node with 4 GPUs, "* ]]
}

@test "within a job the shape comes from Slurm's variables, which it names" {
    export SLURM_JOB_ID=7 SLURM_JOB_NODELIST='n[1-2]' SLURM_TASKS_PER_NODE='2(x2)'
    run --separate-stderr -0 "$command" plan pytorch --format json
    [ "$stderr" = "distgpu: read SLURM_JOB_NODELIST, SLURM_TASKS_PER_NODE, SLURM_JOB_ID" ]
    [ "$(python3 -c 'import json, sys; plan = json.load(sys.stdin)
print(plan["step"]["job_id"], plan["step"]["nodes"], len(plan["tasks"]))' <<<"$output")" = \
        "7 ['n1', 'n2'] 4" ]
    run --separate-stderr -0 "$command" plan pytorch --nodes 1
    [ -z "$stderr" ]
    SLURM_DISTRIBUTION=arbitrary refused "SLURM_DISTRIBUTION=arbitrary: no variable says which node each task runs on; give --distribution arbitrary=NODE,NODE,..." pytorch
}

@test "colour is for terminals, and not for all of those" {
    local bold=$'\e[1m' plain=$'\n'"rank  node "
    run -0 "$command" plan pytorch --nodes 1
    [[ $output == *"$plain"* && $output != *"$bold"* ]]
    run -0 script -qec "'$command' plan pytorch --nodes 1" /dev/null
    [[ $output == *"$bold"* ]]
    NO_COLOR=1 run -0 script -qec "'$command' plan pytorch --nodes 1" /dev/null
    [[ $output == *"$plain"* && $output != *"$bold"* ]]
    TERM=dumb run -0 script -qec "'$command' plan pytorch --nodes 1" /dev/null
    [[ $output == *"$plain"* && $output != *"$bold"* ]]
}

# bats test_tags=short
@test "a batch script is one of which the file is there, and the mode before the file" {
    local folder=$BATS_TEST_TMPDIR
    cd "$folder"
    printf '#!/bin/sh\n#SBATCH -N2 --distgpu=jax\nsrun a\nsrun -n1 b\n' >job.sbatch
    cp job.sbatch pytorch
    cp job.sbatch named
    refused 'job.txt: No such file or directory; name a file that this user can read' job.txt
    refused 'command line: options of the step'"'"'s shape before an srun line or a script; write them after srun, or in the script' job.sbatch -N3
    printf 'srun a\n' >bare
    refused 'bare: neither a mode nor a batch script, which begins with #!; see distgpu plan --help' bare
    run --separate-stderr -0 "$command" plan pytorch --nodes 1
    [[ $output == "pytorch: "* ]]
    run --separate-stderr -0 "$command" plan named
    [[ $output == "named:3: srun a
jax: 2 ranks on 2 nodes, "*"

named:4: srun -n1 b
jax: 1 rank on 1 node, "* ]]
    run --separate-stderr -0 "$command" plan job.sbatch --format json
    [ "$(jq -s 'map(.tasks | length) | join(",")' <<<"$output")" = '"2,1"' ]
    [ "$stderr" = "job.sbatch:3: srun a
job.sbatch:4: srun -n1 b" ]
}

@test "what other plugins have in a batch script is passed over, and a range of nodes told" {
    cd "$BATS_TEST_TMPDIR"
    cat >job.sbatch <<'SCRIPT'
#!/bin/sh
#SBATCH --nodes=2-4 --segment=2 --wait-all-nodes=1
#SBATCH --image docker:example/train:1 --ntasks-per-node=2
#SBATCH --auto-resume=1
srun --comment "-n9 --distgpu=ompi" --accel-bind gn --uenv=v1 --distgpu=pytorch train
SCRIPT
    run --separate-stderr -0 "$command" plan job.sbatch
    [[ $output == *"
pytorch: 4 ranks on 2 nodes, "*"
distgpu: --nodes=2-4: only Slurm knows how many nodes it will give; this is the plan for 2; write --nodes=N to see another
distgpu: --uenv=v1: srun has no such option, so it may be another plugin's; check its spelling if srun refuses it" ]]
    [ "$stderr" = "\
distgpu: job.sbatch:3: --image: sbatch has no such option, so it may be another plugin's; check its spelling if sbatch refuses it
distgpu: job.sbatch:4: --auto-resume=1: sbatch has no such option, so it may be another plugin's; check its spelling if sbatch refuses it" ]
}
