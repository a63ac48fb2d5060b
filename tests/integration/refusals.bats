#!/usr/bin/env bats
# Every refusal: its exact text (refusals.txt), that it ends the launch, and that it leaves neither a busy
# step nor a drained node behind.

load cluster

setup_file() { cluster_up; }

# refused NAME COMMAND...: it fails, and distgpu says this of refusals.txt alone.
refused() {
    run ! submit "${@:2}"
    diff <(distgpu_lines) <(said "$1")
}

# bats test_tags=short
@test "an unknown mode, by option and by each twin, and components with different modes" {
    refused unknown-mode srun -n1 --distgpu=pytorhc true
    refused unknown-mode-srun-twin env SLURM_DISTGPU=pytorhc srun -n1 true
    refused unknown-mode-sbatch-twin env SBATCH_DISTGPU=pytorhc sbatch --wrap true
    refused unknown-mode-salloc-twin env SALLOC_DISTGPU=pytorhc salloc true
    refused other-component srun -n1 --distgpu=pytorch true : -n1 --distgpu=tensorflow true
    refused other-component-off env SLURM_DISTGPU=pytorch srun -n1 true : -n1 --distgpu=off true
    run -0 submit srun --quiet -n1 --distgpu=off --distgpu=pytorch sh -c 'printenv RANK; sleep 2' : \
        -n1 --distgpu=pytorch sh -c 'printenv RANK; sleep 2'
    [ "$(sort <<<"$output")" = "$(printf '%s\n' 0 1)" ]
}

# Of an allocation's steps, the next is then still the first.
@test "an exported MASTER_PORT that is no port is refused before a step is created" {
    MASTER_PORT=80 run submit salloc --quiet -N2 -n2 \
        sh -c 'srun --distgpu=pytorch true; echo $?; MASTER_PORT= srun -n1 -N1 printenv SLURM_STEP_ID'
    [ "$(distgpu_lines)" = "distgpu: MASTER_PORT=80: not a port that a user may listen on; give a number from 1024 to 65535" ]
    [ "$(grep -x '[0-9]*' <<<"$output")" = "$(printf '%s\n' 1 0)" ]
    # It does not count where the tasks do not get it, or the key wins.
    MASTER_PORT=80 run -0 submit srun -n1 --export=NONE --distgpu=pytorch /bin/true
    MASTER_PORT=80 run -0 submit srun -n1 --distgpu=pytorch,port=29600 printenv MASTER_PORT
    [ "$output" = 29600 ]
}

@test "values of 131,000 bytes and 1 MiB" {
    refused long-value sh -c 'srun -n1 --distgpu=pytorch,$(head -c 130984 /dev/zero | tr "\0" x) true'
    {
        printf '#!/bin/bash\n#SBATCH --distgpu=pytorch,'
        head -c 1048568 /dev/zero | tr '\0' x
        printf '\ntrue\n'
    } >"$SCRATCH/job"
    refused long-batch-value sbatch "$SCRATCH/job"
}

@test "a bad option or program inside an allocation leaves the allocation usable" {
    run -0 submit salloc --quiet -N2 -n2 sh -c 'srun --distgpu=pytorhc true; srun --distgpu=torchrun -n4 -O true
        srun -n4 -O --distgpu=pytorch mpirun true; srun -N2 -n2 --distgpu=pytorch printenv RANK'
    [ "$(tail -n2 <<<"$output" | sort)" = "$(printf '%s\n' 0 1)" ]
}

# bats test_tags=short
@test "a taken port is refused, but that of a user's own store, or of another node" {
    listen node01 29600 127.0.0.1
    run submit env MASTER_PORT=29600 srun -N2 -n2 --distgpu=pytorch printenv MASTER_PORT
    stop_listening
    [ "$status" -eq 0 ]
    diff <(distgpu_lines) <(said exported-port-taken)
    [ "$(grep -c '^29600$' <<<"$output")" -eq 2 ]
    listen node02 29600 127.0.0.1
    run submit srun -N2 -n2 --distgpu=pytorch,port=29600 printenv MASTER_PORT
    stop_listening
    [ "$status" -eq 0 ]
    [ "$output" = "$(printf '%s\n' 29600 29600)" ]
}

# side_by_side SPEC COMMAND...: within one allocation, once a first step has its port and does not
# listen there.
side_by_side() {
    run submit timeout 60 salloc --quiet -N2 -n4 sh -c 'spec=$1
        shift
        srun --overlap -w node01 -N1 -n2 --distgpu="$spec" sh -c "touch first; sleep 60" &
        while [ ! -e first ]; do sleep 0.1; done
        "$@"
        echo "ended $?"
        scancel "$SLURM_JOB_ID.0"
        wait' sh "$@"
    rm -f "$SCRATCH/first"
    echo "$output"
}

@test "two steps of one job with one port: the second is refused, and names the first" {
    local remedy='give each step its own port, or omit port='
    side_by_side pytorch,port=29610 srun --overlap -N2 -n2 --kill-on-bad-exit=0 --distgpu=megatron,port=29609 sleep 60
    [[ $(distgpu_lines) == "distgpu: port 29610 (from port=29609) on node01: in use by step "*".0; $remedy" ]]
    [[ $output != *'ended 0'* ]]
    export MASTER_PORT=29620
    side_by_side pytorch srun --overlap -w node01 -N1 -n2 --kill-on-bad-exit=0 --distgpu=pytorch sleep 60
    [[ $(distgpu_lines) == 'distgpu: port 29620 (from the exported MASTER_PORT) on node01: in use by step '*'.0; export another MASTER_PORT for each step, or unset it' ]]
    unset MASTER_PORT
    side_by_side pytorch,port=29610 srun --overlap -w node01 -N1 -n2 --kill-on-bad-exit=0 \
        "$SCRATCH/distgpu" exec pytorch,port=29610 -- true
    [[ $output == *"distgpu: port 29610 (from port=29610) on node01: in use by step "*".0; $remedy"* ]]
}

@test "a port is free for the step after, for another node's step, and within the step itself" {
    run -0 submit salloc --quiet -N2 -n4 sh -c '
        for i in 1 2 3 4 5; do srun -N2 -n4 --distgpu=pytorch,port=29610 true || exit; done
        srun -N2 -n2 "$0" exec pytorch,port=29610 -- true || exit
        srun -N2 -n2 --distgpu=pytorch,port=29610 "$0" exec -- true' "$SCRATCH/distgpu"
    [ -z "$(distgpu_lines)" ]
    side_by_side pytorch,port=29610 srun --overlap -w node02 -N1 -n1 --distgpu=pytorch,port=29610 true
    [[ $output == *'ended 0'* ]]
    run -0 submit srun --quiet -w node01 -n2 --distgpu=pytorch,port=29610 sleep 2 : -w node02 -n1 sleep 2
}

# Root's, in the name of the user.
@test "another user who has the name of a port does not keep its owner from it" {
    local name taker
    name=$(printf 'distgpu.port.%s.29610' "$(submit id -u)")
    on node01 python3 -c 'import socket, sys, time
s = socket.socket(socket.AF_UNIX)
s.bind("\0" + sys.argv[1])
s.listen(1)
open(sys.argv[2], "w")
time.sleep(60)' "$name" "$SCRATCH/bound" &
    taker=$!
    while [ ! -e "$SCRATCH/bound" ]; do sleep 0.1; done
    run submit srun -w node01 -n2 --distgpu=pytorch,port=29610 true
    kill "$taker"
    [ "$status" -eq 0 ]
    [ -z "$output" ]
}

# forged NAME TEXT [RANK]: no rank, or only not this one, starts its program. srun without the plugin, because with it srun overwrites the value.
forged() {
    local name=$1 text=$2 rank=${3-}
    without_plugin_on_login
    run submit env text="$text" salloc --quiet -N2 -n2 sh -c '
        SLURM_DISTGPU=pytorch SLURM_DISTGPU_STEP=$(echo "$text" | sed "s/JOB/$SLURM_JOB_ID/") \
            srun --kill-on-bad-exit=0 sh -c "echo rank=\$RANK/\$WORLD_SIZE"'
    with_plugin_on_login
    [ "$status" -ne 0 ]
    diff <(distgpu_lines | sort -u) <(said "$name")
    [[ $output != *rank=$rank* ]]
}

@test "a forged layout or value is refused or passed over, and srun with the plugin overwrites it" {
    forged forged-order 'v2 JOB.0 layout=node[01-02] 1.1.1.1,0.1.1.1'
    forged forged-layout 'v2 JOB.0 layout=node[01-02] 0.2.4.1'
    forged derived-layout 'v2 JOB.0 derived layout=node[01-02] 1.1.1.1,0.1.1.1'
    forged derived-nodes 'v2 JOB.0 derived layout=node[02-03] 0.2.1.1'
    forged forged-value 'v2 JOB.0 gpus=many layout=node[01-02] 0.2.1.1'
    without_plugin_on_login
    run submit sh -c 'export SLURM_DISTGPU=pytorch
        SLURM_DISTGPU_STEP="v2 1.99 refused" srun -N2 -n3 sh -c "echo \$RANK/\$WORLD_SIZE"
        SLURM_DISTGPU_STEP=v2:nonsense srun -N2 -n3 -m cyclic sh -c "echo \$RANK/\$WORLD_SIZE"'
    with_plugin_on_login
    [ "$status" -eq 0 ]
    [ "$(sort <<<"$output")" = "$(printf '%s\n' 0/3 0/3 1/3 1/3 2/3 2/3)" ]
}

# Only the node itself knows its addresses; the other ranks wait for it.
@test "an address of rank 0's node that is not its own ends the step" {
    forged old-address 'v2 JOB.0 configured rank0=10.77.1.9 layout=node[01-02] 0.2.1.1' 0
}

# A newer srun sends what this one would refuse: here by one without the plugin, in its name.
@test "a node that does not know what srun sends names its version" {
    local version spec
    version=$("$command" --version)
    without_plugin_on_login
    for spec in newmode pytorch,newkey=3; do
        run ! submit env SLURM_DISTGPU="$spec" SLURM_DISTGPU_SECRET=0123 \
            srun -w node02 -n2 --kill-on-bad-exit=0 sleep 300
        [[ $(distgpu_lines) == "distgpu: SLURM_DISTGPU=$spec: unknown "*", although srun accepted it: node02 has ${version%%,*}, which does not know it; update the packages on that node" ]]
    done
    with_plugin_on_login
}

# What srun sends reaches one component; the others would run on.
@test "what srun refuses ends all components of a heterogeneous step" {
    [[ $(submit srun --version) == *' 22.05.'* ]] || skip "a later release does not refuse --container"
    local container
    for container in : --container=bundle; do
        started=$SECONDS
        refused container timeout 40 srun -w node01 -n2 --kill-on-bad-exit=0 --distgpu=pytorch ${container#:} sleep 60 : \
            -w node02 -n2 --container=bundle sleep 60
        ((SECONDS - started < 30)) # the programs sleep for a minute
    done
}
