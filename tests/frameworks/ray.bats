#!/usr/bin/env bats
# Ray, a cluster of the step's own on its nodes and the driver on the first, by
# `srun --distgpu=ray distgpu exec --`. How it ends: ray_ends.bats.

load ray

setup_file() { ray_up; }

# bats test_tags=short
@test "a driver's tasks run on all nodes, with the step's CPUs, and a token" {
    launch -0 "${on_each_node[@]}" --export=ALL,RANK=3,RAY_ADDRESS=10.9.9.9:6379 --distgpu=ray \
        "$distgpu" exec -- "${driver[@]}"
    [ "$(grep -E '^(task|CPUs|token|nodes)' <<<"$output")" = "task on node01 leaked
task on node02 leaked
CPUs 2.0 2.0
token token 64
nodes 2 of 2" ]
    result ray "$version" ray '2 nodes'
}

@test "order=: the driver runs on the first node of the order" {
    printf '%s\n' node02 node01 >"$SCRATCH/ring"
    launch -0 "${on_each_node[@]}" --distgpu=ray,order=./ring "$distgpu" exec -- "${driver[@]}"
    [ "$(grep -E '^(driver|nodes)' <<<"$output")" = $'driver on node02\nnodes 2 of 2' ]
    result ray "$version" ray 'order=node02,node01'
}

@test "the driver's status is the step's, soon after its end" {
    start srun "${on_each_node[@]}" --distgpu=ray "$distgpu" exec -- "${driver[@]}" 7
    injured
    ends 7 6
    [[ $output != *'which ends the step'* ]]
}

# A step in the background, of which "jobs of several users" waits; it stays until all have begun.
begin() { # USER LOG
    "$sandbox" run --name "$CLUSTER" --user "$1" -- sh -c 'cd "$1" && shift && exec timeout 120 "$@"' sh \
        "$SCRATCH" srun "${on_each_node[@]}" --distgpu=ray "$distgpu" exec -- "${driver[@]}" 0 3 >"$2" 2>&1 3>&- &
    steps+=($!)
}

# DISTGPU_RAY_ROUNDS=20 for as many.
@test "two jobs of one user and one of another's at once, each with a cluster of its own" {
    local round each rounds=${DISTGPU_RAY_ROUNDS:-1} begun=$EPOCHREALTIME
    for ((round = 1; round <= rounds; round++)); do
        begin "$user" "$SCRATCH/round.1"
        begin "$user" "$SCRATCH/round.2"
        begin daemon "$SCRATCH/round.3"
        for each in 0 1 2; do
            wait "${steps[each]}" || { cat "$SCRATCH/round.$((each + 1))" && false; }
            grep -qx 'nodes 2 of 2' "$SCRATCH/round.$((each + 1))"
        done
        steps=()
        [ "$(grep -ho 'ray: 2 nodes at [^ ]*' "$SCRATCH"/round.? | sort -u | wc -l)" -eq 3 ]
        assert_cluster_clean
        assert_nothing_left
    done
    seconds=$(((${EPOCHREALTIME/[.,]/} - ${begun/[.,]/}) / 1000000))
    echo "# $rounds of $rounds in $seconds s" >&3
    result ray "$version" ray '3 jobs of 2 users'
}

# Python finds an environment's packages, too.
with_packages_of() { # ENVIRONMENT
    local path=$PATH rays=$python
    need "$1"
    PYTHONPATH+=:$(echo "${python%/bin/python}"/lib/python3*/site-packages)
    export PYTHONPATH
    PATH=$path python=$rays
}

# Who listens on a node: a port and a program a line, without Slurm's.
listeners_on() { # NODE
    on "$1" ss -ltnpH | sed -E 's/.*:([0-9]+) +[^ ]+ +users:\(\("([^"]+)".*/\1 \2/' | grep -v ' slurm' | sort -nu
}

@test "with the dashboard, too, every port is of the step's block or the kernel's" {
    local node port
    with_packages_of ray_default
    start srun "${on_each_node[@]}" --distgpu=ray "$distgpu" exec -- "${driver[@]}" 0 100
    first=$(sed -n 's/.*ray: 2 nodes at [^ ]*:\([0-9]*\) after.*/\1/p' "$log")
    for node in node01 node02; do
        listeners_on "$node" | tee "$SCRATCH/listeners"
        while read -r port _; do
            ((port >= first && port < first + 16 || port >= 32768))
        done <"$SCRATCH/listeners"
        # The node manager's, and of the first node alone the dashboard's and the metrics'.
        grep -q "^$((first + 2)) raylet" "$SCRATCH/listeners"
        for port in 8 10 11; do
            [[ $node != node01 ]] || grep -q "^$((first + port)) python" "$SCRATCH/listeners"
        done
    done
}

refusal='InvalidAuthToken\|Unauthenticated\|AuthenticationError'

@test "from another step of the job ray status answers; another user's driver is refused" {
    start srun "${on_each_node[@]}" --distgpu=ray "$distgpu" exec -- "${driver[@]}" 0 150
    address=$(sed -n 's/.*ray: 2 nodes at \([^ ]*\) after.*/\1/p' "$log")
    # Root is another user; its driver has no token.
    run ! on node01 env RAY_ADDRESS="$address" timeout 15 "$python" -c 'import ray; ray.init()'
    grep -q "$refusal" <<<"$output"
    # Nor does its node join.
    run on node01 timeout 30 ray start --address="$address" --temp-dir=/mnt/root --block
    on node01 rm -rf /mnt/root
    [ "$status" -ne 0 ]
    grep -q "$refusal" <<<"$output"
    [[ $output != *'Ray runtime started'* ]]
    environment=$(sed -n 's/.*for another step of the job: //p' "$log")
    job=$(submit squeue --noheader --format=%A)
    run submit srun --jobid="$job" --overlap -N1 -n1 -w node01 bash -c "$environment && timeout 60 ray status"
    [[ $output == *'/4.0 CPU'* ]]
}

# Ray Train with PyTorch over two nodes; the packages of three environments.
# bats test_tags=short
@test "ray.sbatch" {
    with_packages_of torch
    with_packages_of ray_train
    PATH=$SCRATCH:$PATH
    timed_batch -N2 -c 4 examples/ray.sbatch
    [ "$status" -eq 0 ]
    # Which of its workers is the first, Ray decides.
    [ "$(printed_ranks | cut -d ' ' -f 1 | xargs)" = '0 1' ]
    [ "$(printed_ranks | cut -d ' ' -f 2,3 | sort)" = $'node01 0\nnode02 0' ]
    grep -qE '^2 ranks on 2 nodes agree: loss [0-9.]+ -> [0-9.]+, parameters [0-9a-f]{12}$' <<<"$output"
    result ray "$version" ray.sbatch '2 nodes'
}

@test "the oldest Ray that verl asks for, and the line that it knows no token" {
    need ray_oldest
    launch -7 "${on_each_node[@]}" --distgpu=ray "$distgpu" exec -- "${driver[@]}" 7
    grep -qx 'nodes 2 of 2' <<<"$output"
    [ "$(grep -cx "distgpu: ray: Ray before 2.52 does not support tokens, so anyone who can reach this cluster's ports can \
run programs as you; install a newer version" <<<"$output")" -eq 1 ]
    result ray "$(version_of ray)" ray '2 nodes'
}

@test "without the plugin a line says that there is no token" {
    launch -0 "${on_each_node[@]}" "$distgpu" exec ray -- "${driver[@]}"
    grep -qx 'token None 0' <<<"$output"
    [ "$(grep -cx "distgpu: ray: no token, so whoever reaches this cluster's ports can run programs as you; start \
it with srun --distgpu=ray, or export RAY_AUTH_MODE=token and a RAY_AUTH_TOKEN of your own" <<<"$output")" -eq 1 ]
    launch "${on_each_node[@]}" --export=ALL,RAY_AUTH_MODE=disabled "$distgpu" exec ray -- "${driver[@]}"
    [[ $output != *'no token'* ]]
}

@test "options of the user's own" {
    start srun "${on_each_node[@]}" --distgpu=ray "$distgpu" exec --head-options=--num-cpus=1 \
        --worker-options='--num-cpus=3 --resources="{\"x\": 1}"' -- "${driver[@]}"
    injured
    ends 0
    grep -qx 'CPUs 1.0 3.0' "$log"
}
