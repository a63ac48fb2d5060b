#!/usr/bin/env bats
# Where a request may come from, who wins, what a user is told, and that a step that does not ask is
# the same as without the plugin.

load cluster

setup_file() { cluster_up; }

tell='echo "rank=$RANK nnodes=$PET_NNODES"'
pytorch='rank=0 nnodes=' torchrun='rank= nnodes=1' none='rank= nnodes='

# Fails unless the step's task says this.
asks() { # ANSWER COMMAND...
    run -0 submit "${@:2}" sh -c "$tell"
    [ "${lines[-1]}" = "$1" ]
}

# Fails unless a batch script with these options, whose lines are those of standard input, says this.
job_says() { # ANSWERS OPTIONS [ENVIRONMENT...]
    printf '%s\n' '#!/bin/bash' "#SBATCH $2" "#SBATCH --output=$SCRATCH/out" "$(cat)" >"$SCRATCH/job"
    rm -f "$SCRATCH/out"
    run -0 submit env "${@:3}" sbatch --wait --quiet "$SCRATCH/job"
    [ "$(grep -vE "$waited" "$SCRATCH/out")" = "$1" ]
}

# bats test_tags=short
@test "the command line wins over SLURM_DISTGPU, and that over what an allocation asked for" {
    asks "$torchrun" env SLURM_DISTGPU=torchrun srun -n1
    asks "$pytorch" env SLURM_DISTGPU=torchrun srun -n1 --distgpu=pytorch
    asks "$pytorch" salloc --quiet -n1 --distgpu=pytorch srun
    asks "$torchrun" env SALLOC_DISTGPU=torchrun salloc --quiet -n1 srun
}

@test "#SBATCH --distgpu wins over SBATCH_DISTGPU; it reaches the steps, which may ask for more or off, not the script" {
    job_says "$(printf '%s\n' 0 "$pytorch" "$torchrun" "$pytorch" "$none" "$none")" \
        '--distgpu=pytorch -n1' SBATCH_DISTGPU=torchrun <<TEXT
env | grep -cE "^(RANK|MASTER_ADDR|SLURM_DISTGPU)="
srun sh -c '$tell'
SLURM_DISTGPU=torchrun srun sh -c '$tell'
SLURM_DISTGPU=torchrun srun --distgpu=pytorch sh -c '$tell'
srun --distgpu=off sh -c '$tell'
SLURM_DISTGPU=off srun sh -c '$tell'
TEXT
}

@test "SBATCH_DISTGPU, with --export=ALL and NONE" {
    local exports=(ALL NONE)
    # NONE takes ASAN_OPTIONS from the inner srun, which then does not load the sanitized plugin.
    [[ ! ${DISTGPU_SANITIZED-} ]] || exports=(ALL)
    for export in "${exports[@]}"; do
        job_says "$pytorch" -n1 SBATCH_DISTGPU=pytorch SBATCH_EXPORT="$export" <<<"srun /bin/sh -c '$tell'"
    done
}

@test "every --export lets the request and the layout through" {
    for export in ALL NONE A=1; do
        run -0 submit srun --export=$export -N2 -n2 -l --distgpu=pytorch /bin/sh -c 'echo "$RANK/$WORLD_SIZE $NODE_RANK $A"'
        value=$([ $export = A=1 ] && echo 1 || true)
        [ "$(sort <<<"$output")" = "$(printf '%s\n' "0: 0/2 0 $value" "1: 1/2 1 $value")" ]
        run -0 submit env SLURM_DISTGPU=pytorch srun --export=$export -N2 -n2 -l /bin/sh -c 'echo "$RANK/$WORLD_SIZE"'
        [ "$(sort <<<"$output")" = "$(printf '%s\n' '0: 0/2' '1: 1/2')" ]
    done
}

# bats test_tags=short
@test "--distgpu=help lists modes and keys, ends srun, sbatch and salloc, and tells the versions" {
    local version release
    version=$(sed -n 's/^project(distgpu VERSION \([0-9.]*\) .*/\1/p' "$root/CMakeLists.txt")
    release=$(submit srun --version | sed -E 's/.* ([0-9]+\.[0-9]+).*/\1/')
    for command in srun sbatch salloc; do
        run -0 submit "$command" --distgpu=help
        [ "${lines[0]}" = "usage: --distgpu=MODE[,KEY[=VALUE]]..." ]
        [[ $output == *"  pytorch "* && $output == *"  port=N "* ]]
        [[ ${lines[-1]} == "distgpu $version, a plugin for Slurm $release" ]]
    done
}

@test "dry-run prints each task's variables and starts no program" {
    run --separate-stderr -0 submit srun -N2 -n2 --distgpu=pytorch,port=29600,dry-run touch "$SCRATCH/started"
    [ ! -e "$SCRATCH/started" ]
    [ "$(grep -c '^  RANK=' <<<"$output")" -eq 2 ]
    [ "$(grep -c '^  MASTER_PORT=29600$' <<<"$output")" -eq 2 ]
    [[ $(grep '^distgpu: rank 1 ' <<<"$output") == "distgpu: rank 1 on node02, local rank 0 of 1, node rank 1: CPUs 0-"* ]]
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
        run --separate-stderr -0 submit srun --quiet -N4 -n8 --ntasks-per-node=2 -m cyclic --distgpu=pytorch,port=29600,bind=none,verbose "$output_option" printenv RANK
        echo "$stderr"
        [ "$stderr" = "$table" ]
    done
    [ "$(sort "$SCRATCH/ranks")" = "$(printf '%s\n' {0..7})" ]
    rm "$SCRATCH/ranks"
    run --separate-stderr -0 submit srun -N4 -n6 --distgpu=pytorch,bind=none,verbose env
    [[ $output != *SLURM_DISTGPU_SRUN=* ]]
}

# A component that ended before the other one began would be refused.
@test "verbose in a heterogeneous step, whose whole only the nodes know" {
    run --separate-stderr -0 submit srun --quiet -w node01 -n2 --distgpu=pytorch,port=29600,bind=none,verbose sleep 2 : \
        -w node02 -n1 sleep 2
    echo "$stderr"
    [ "$(sort <<<"$stderr")" = 'distgpu:    0  node01      0
distgpu:    1  node01      1
distgpu:    2  node02      0
distgpu: pytorch: world size 3 on 2 nodes (node[01-02]), rendezvous 10.77.1.1:29600 on node01, port from port=29600
distgpu: rank  node    local' ]
}

# The environment of a step's tasks, byte by byte, without the values that differ
# between any two steps. NUL-separated, so that no newline in a value misleads.
step_environment() {
    submit srun -N2 -n4 -w "node0[1-2]" sh -c 'env -0 >"env.$SLURM_PROCID"'
    for rank in 0 1 2 3; do
        sort -z "$SCRATCH/env.$rank" | sed -zE \
            's/^(SLURM_(JOB_?ID|JOB_(START|END)_TIME|JOB_SLUID|TASK_PID|STEP_LAUNCHER_PORT|SRUN_COMM_PORT))=.*/\1=/' | tr '\0' '\n'
    done
}

# bats test_tags=short
@test "the environment of a step without the option is byte-identical" {
    with_plugin=$(step_environment)
    on_all sh -c ': >/etc/slurm/plugstack.conf'
    without_plugin=$(step_environment)
    [[ $with_plugin == *SLURM_PROCID=3* ]]
    [ "$with_plugin" = "$without_plugin" ]
}
