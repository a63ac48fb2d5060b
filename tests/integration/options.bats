#!/usr/bin/env bats
# Where a request may come from, who wins, and in which steps nothing happens.
# shellcheck disable=SC2016,SC2154 # the shell inside the sandbox expands them; cluster.bash sets waited

load cluster

setup_file() { cluster_up; }
teardown_file() { cluster_down; }
teardown() { assert_cluster_clean; }

# Writes a batch script: job OPTIONS... <<<'LINES'
job() {
    {
        echo '#!/bin/bash'
        printf '#SBATCH %s\n' "$@" "--output=$SCRATCH/out"
        cat
    } >"$SCRATCH/job"
}

# Submits it, waits, and leaves its output in `output`.
run_job() {
    rm -f "$SCRATCH/out"
    run submit "$@" sbatch --wait --quiet "$SCRATCH/job"
    [ "$status" -eq 0 ]
    output=$(grep -vE "$waited" "$SCRATCH/out" | sort)
}

tell='echo "rank=$RANK nnodes=$PET_NNODES"'

@test "srun's command line" {
    run submit srun -n1 --distgpu=pytorch sh -c "$tell"
    [ "$status" -eq 0 ]
    [ "$output" = "rank=0 nnodes=" ]
}

@test "SLURM_DISTGPU asks as the option does" {
    run submit env SLURM_DISTGPU=torchrun srun -n1 sh -c "$tell"
    [ "$status" -eq 0 ]
    [ "$output" = "rank= nnodes=1" ]
}

@test "the command line wins over SLURM_DISTGPU" {
    run submit env SLURM_DISTGPU=torchrun srun -n1 --distgpu=pytorch sh -c "$tell"
    [ "$status" -eq 0 ]
    [ "$output" = "rank=0 nnodes=" ]
}

@test "#SBATCH --distgpu reaches the steps, and not the batch script" {
    job --distgpu=pytorch -n1 <<<"env | grep -c ^RANK=; srun sh -c '$tell'"
    run_job
    [ "$output" = "$(printf '%s\n' 0 'rank=0 nnodes=')" ]
}

@test "SLURM_DISTGPU wins over #SBATCH --distgpu" {
    job --distgpu=pytorch -n1 <<<"SLURM_DISTGPU=torchrun srun sh -c '$tell'"
    run_job
    [ "$output" = "rank= nnodes=1" ]
}

@test "srun's own option wins over both, also when it repeats the allocation's" {
    job --distgpu=pytorch -n1 <<<"SLURM_DISTGPU=torchrun srun --distgpu=pytorch sh -c '$tell'"
    run_job
    [ "$output" = "rank=0 nnodes=" ]
}

@test "--distgpu=off on an inner srun cancels the allocation's" {
    job --distgpu=pytorch -n1 <<<"srun --distgpu=off sh -c '$tell'; SLURM_DISTGPU=off srun sh -c '$tell'"
    run_job
    [ "$output" = "$(printf '%s\n' 'rank= nnodes=' 'rank= nnodes=')" ]
}

@test "SBATCH_DISTGPU, with --export=ALL and NONE" {
    local exports=(ALL NONE)
    # NONE takes ASAN_OPTIONS from the inner srun, which then does not load the sanitized plugin.
    [[ ! ${DISTGPU_SANITIZED-} ]] || exports=(ALL)
    job -n1 <<<"srun /bin/sh -c '$tell'"
    for export in "${exports[@]}"; do
        run_job env SBATCH_DISTGPU=pytorch SBATCH_EXPORT="$export"
        [ "$output" = "rank=0 nnodes=" ]
    done
}

@test "#SBATCH --distgpu wins over SBATCH_DISTGPU" {
    job --distgpu=pytorch -n1 <<<"srun sh -c '$tell'"
    run_job env SBATCH_DISTGPU=torchrun
    [ "$output" = "rank=0 nnodes=" ]
}

@test "salloc --distgpu and SALLOC_DISTGPU reach the srun inside" {
    run submit salloc --quiet -n1 --distgpu=pytorch srun sh -c "$tell"
    [ "$status" -eq 0 ]
    [ "${lines[-1]}" = "rank=0 nnodes=" ]
    run submit env SALLOC_DISTGPU=torchrun salloc --quiet -n1 srun sh -c "$tell"
    [ "$status" -eq 0 ]
    [ "${lines[-1]}" = "rank= nnodes=1" ]
}

@test "every --export lets the request and the layout through" {
    for export in ALL NONE A=1; do
        run submit srun --export=$export -N2 -n2 -l --distgpu=pytorch /bin/sh -c 'echo "$RANK/$WORLD_SIZE $NODE_RANK $A"'
        [ "$status" -eq 0 ]
        value=$([ $export = A=1 ] && echo 1 || true)
        [ "$(sort <<<"$output")" = "$(printf '%s\n' "0: 0/2 0 $value" "1: 1/2 1 $value")" ]
        run submit env SLURM_DISTGPU=pytorch srun --export=$export -N2 -n2 -l /bin/sh -c 'echo "$RANK/$WORLD_SIZE"'
        [ "$status" -eq 0 ]
        [ "$(sort <<<"$output")" = "$(printf '%s\n' '0: 0/2' '1: 1/2')" ]
    done
}

@test "--distgpu=help lists modes and keys, ends srun, sbatch and salloc, and tells the versions" {
    local version release
    version=$(sed -n 's/^project(distgpu VERSION \([0-9.]*\) .*/\1/p' "$root/CMakeLists.txt")
    release=$(submit srun --version | sed -E 's/.* ([0-9]+\.[0-9]+).*/\1/')
    for command in srun sbatch salloc; do
        run submit "$command" --distgpu=help
        [ "$status" -eq 0 ]
        [ "${lines[0]}" = "usage: --distgpu=MODE[,KEY[=VALUE]]..." ]
        [[ $output == *"  pytorch "* && $output == *"  port=N "* ]]
        [[ ${lines[-1]} == "distgpu $version, a plugin for Slurm $release" ]]
    done
}

@test "dry-run prints each task's variables and starts no program" {
    run --separate-stderr submit srun -N2 -n2 --distgpu=pytorch,port=29600,dry-run touch "$SCRATCH/started"
    [ "$status" -eq 0 ]
    [ ! -e "$SCRATCH/started" ]
    [ "$(grep -c '^  RANK=' <<<"$output")" -eq 2 ]
    [ "$(grep -c '^  MASTER_PORT=29600$' <<<"$output")" -eq 2 ]
    [[ $(grep '^distgpu: rank 1 ' <<<"$output") == "distgpu: rank 1 on node02, local rank 0 of 1, node rank 1: CPUs 0-"* ]]
    # shellcheck disable=SC2154 # set by run
    [ "$(sort <<<"$stderr")" = "distgpu: node01: Slurm does not confine the tasks to the step's CPUs, so distgpu leaves the CPUs as they are; see TaskPlugin and ConstrainCores
distgpu: pytorch: world size 2 on 2 nodes (node[01-02]), rendezvous 10.77.1.1:29600 on node01, port from port=29600" ]
}

# Five times: unsorted, the nodes' parts come in one order by chance.
@test "verbose prints the step's table once and sorted, all of it on srun's own stderr, and runs" {
    local output_option
    local table='distgpu: pytorch: world size 8 on 4 nodes (node[01-04])
distgpu: rank  node    local
distgpu:    0  node01      0
distgpu:    1  node02      0
distgpu:    2  node03      0
distgpu:    3  node04      0
distgpu:    4  node01      1
distgpu:    5  node02      1
distgpu:    6  node03      1
distgpu:    7  node04      1
distgpu: rendezvous 10.77.1.1:29600 on node01, port from port=29600'
    for output_option in --output={none,ranks,none,ranks,none}; do
        run --separate-stderr submit srun --quiet -N4 -n8 --ntasks-per-node=2 -m cyclic --distgpu=pytorch,port=29600,bind=none,verbose "$output_option" printenv RANK
        [ "$status" -eq 0 ]
        echo "$stderr"
        [ "$stderr" = "$table" ]
    done
    [ "$(sort "$SCRATCH/ranks")" = "$(printf '%s\n' {0..7})" ]
    rm "$SCRATCH/ranks"
    run --separate-stderr submit srun -N4 -n6 --distgpu=pytorch,bind=none,verbose env
    [ "$status" -eq 0 ]
    [[ $output != *SLURM_DISTGPU_ROWS=* ]]
}

@test "verbose prints a row for each node beyond 64 ranks" {
    run --separate-stderr submit srun --quiet -N4 -n68 --overcommit --distgpu=pytorch,port=29600,bind=none,verbose true
    [ "$status" -eq 0 ]
    echo "$stderr"
    [ "$stderr" = 'distgpu: pytorch: world size 68 on 4 nodes (node[01-04])
distgpu:       ranks  node    tasks
distgpu:        0-16  node01     17
distgpu:       17-33  node02     17
distgpu:       34-50  node03     17
distgpu:       51-67  node04     17
distgpu: rendezvous 10.77.1.1:29600 on node01, port from port=29600' ]
}

@test "verbose in a heterogeneous step, whose whole only the nodes know" {
    run --separate-stderr submit srun --quiet -w node01 -n2 --distgpu=pytorch,port=29600,bind=none,verbose true : \
        -w node02 -n1 true
    [ "$status" -eq 0 ]
    echo "$stderr"
    [ "$(sort <<<"$stderr")" = 'distgpu:    0  node01      0
distgpu:    1  node01      1
distgpu:    2  node02      0
distgpu: pytorch: world size 3 on 2 nodes (node[01-02]), rendezvous 10.77.1.1:29600 on node01, port from port=29600
distgpu: rank  node    local' ]
}

@test "one CPU for each GPU task names --cpus-per-task, once" {
    run --separate-stderr submit srun -N2 --ntasks-per-node=2 --gres=gpu:2 --distgpu=pytorch true
    [ "$status" -eq 0 ]
    [ "$stderr" = "distgpu: --distgpu=pytorch: each task has only one CPU, too few for data loaders; use srun --cpus-per-task=N (srun does not inherit it from sbatch)" ]
}
