#!/usr/bin/env bats
# Every refusal: its exact text (refusals/NAME.txt), that it ends the launch, and
# that it leaves neither a busy step nor a drained node behind.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154 # the shell inside the sandbox expands them

load cluster

setup_file() { cluster_up; }
teardown_file() { cluster_down; }
teardown() { assert_cluster_clean; }

# refused NAME COMMAND...: it fails, and distgpu's lines are those of the file.
refused() {
    local name=$1
    shift
    run submit "$@"
    [ "$status" -ne 0 ]
    diff <(distgpu_lines) "$BATS_TEST_DIRNAME/refusals/$name.txt"
}

@test "unknown mode, by option and by each twin" {
    refused unknown-mode srun -n1 --distgpu=pytorhc true
    refused unknown-mode-srun-twin env SLURM_DISTGPU=pytorhc srun -n1 true
    refused unknown-mode-sbatch-twin env SBATCH_DISTGPU=pytorhc sbatch --wrap true
    refused unknown-mode-salloc-twin env SALLOC_DISTGPU=pytorhc salloc true
}

@test "a mode that resembles none" {
    run submit srun -n1 --distgpu=fortran true
    [ "$status" -ne 0 ]
    [[ $(distgpu_lines) == 'distgpu: --distgpu=fortran: unknown mode; modes are pytorch, '*', off, help' ]]
}

@test "unknown key" {
    refused unknown-key srun -n1 --distgpu=pytorch,prot=29500 true
}

@test "components of a heterogeneous step with different modes" {
    refused other-component srun -n1 --distgpu=pytorch true : -n1 --distgpu=tensorflow true
    refused other-component-off env SLURM_DISTGPU=pytorch srun -n1 true : -n1 --distgpu=off true
    run submit srun --quiet -n1 --distgpu=off --distgpu=pytorch printenv RANK : -n1 --distgpu=pytorch printenv RANK
    [ "$status" -eq 0 ]
    [ "$(sort <<<"$output")" = "$(printf '%s\n' 0 1)" ]
}

@test "bad port, as a key and as MASTER_PORT" {
    refused bad-port srun -n1 --distgpu=pytorch,port=80 true
    refused bad-master-port env MASTER_PORT=http srun -N2 -n2 --distgpu=pytorch true
}

# Of an allocation's steps, the next is then still the first.
@test "an exported MASTER_PORT that is no port is refused before a step is created" {
    for port in 80 abc 65536 -1; do
        MASTER_PORT=$port run submit salloc --quiet -N2 -n2 \
            sh -c 'srun --distgpu=pytorch true; echo $?; MASTER_PORT= srun -n1 -N1 printenv SLURM_STEP_ID'
        echo "$output"
        [ "$(distgpu_lines)" = "distgpu: MASTER_PORT=$port: not a port that a user may listen on; give a number from 1024 to 65535" ]
        [ "$(grep -x '[0-9]*' <<<"$output")" = "$(printf '%s\n' 1 0)" ]
    done
    # It does not count where the tasks do not get it, or the key wins.
    MASTER_PORT=80 run -0 submit srun -n1 --export=NONE --distgpu=pytorch /bin/true
    MASTER_PORT=80 run -0 submit srun -n1 --distgpu=pytorch,port=29600 printenv MASTER_PORT
    [ "$output" = 29600 ]
}

@test "a value of 131,000 bytes on the command line" {
    refused long-value sh -c 'srun -n1 --distgpu=pytorch,$(head -c 130984 /dev/zero | tr "\0" x) true'
}

@test "a value of 1 MiB in an #SBATCH line" {
    {
        printf '#!/bin/bash\n#SBATCH --distgpu=pytorch,'
        head -c 1048568 /dev/zero | tr '\0' x
        printf '\ntrue\n'
    } >"$SCRATCH/job"
    refused long-batch-value sbatch "$SCRATCH/job"
}

@test "a bad option inside an allocation leaves the allocation usable" {
    run submit salloc --quiet -N2 -n2 sh -c 'srun --distgpu=pytorhc true; srun --distgpu=torchrun -n4 -O true; srun -N2 -n2 --distgpu=pytorch printenv RANK'
    [ "$status" -eq 0 ]
    [ "$(tail -n2 <<<"$output" | sort)" = "$(printf '%s\n' 0 1)" ]
}

@test "a taken port ends the whole step with KillOnBadExit=0" {
    listen node01 29600 127.0.0.1
    started=$SECONDS
    refused port-taken srun -N4 -n8 --kill-on-bad-exit=0 --distgpu=pytorch,port=29600 sleep 300
    ((SECONDS - started < 10))
    for node in node01 node02 node03 node04; do
        run -1 on "$node" pgrep -x sleep
        [ -z "$output" ]
    done
    stop_listening
}

@test "a taken port that the user exported is a warning: the store may be theirs" {
    listen node01 29600 127.0.0.1
    run submit env MASTER_PORT=29600 srun -N2 -n2 --distgpu=pytorch printenv MASTER_PORT
    stop_listening
    [ "$status" -eq 0 ]
    diff <(distgpu_lines) "$BATS_TEST_DIRNAME/refusals/exported-port-taken.txt"
    [ "$(grep -c '^29600$' <<<"$output")" -eq 2 ]
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
    local remedy='give each step a port of its own, or leave port= out'
    side_by_side pytorch,port=29610 srun --overlap -N2 -n2 --kill-on-bad-exit=0 --distgpu=megatron,port=29609 sleep 60
    [[ $(distgpu_lines) == "distgpu: port 29610 (from port=29609) on node01: step "*".0 has it; $remedy" ]]
    [[ $output != *'ended 0'* ]]
    export MASTER_PORT=29620
    side_by_side pytorch srun --overlap -w node01 -N1 -n2 --kill-on-bad-exit=0 --distgpu=pytorch sleep 60
    [[ $(distgpu_lines) == 'distgpu: port 29620 (from the exported MASTER_PORT) on node01: step '*'.0 has it; export another MASTER_PORT for each step, or unset it' ]]
    unset MASTER_PORT
    side_by_side pytorch,port=29610 srun --overlap -w node01 -N1 -n2 --kill-on-bad-exit=0 \
        "$SCRATCH/distgpu" exec pytorch,port=29610 -- true
    [[ $output == *"distgpu: port 29610 (from port=29610) on node01: step "*".0 has it; $remedy"* ]]
}

@test "a port is free for the step after, for another node's step, and within the step itself" {
    run submit salloc --quiet -N2 -n4 sh -c '
        for i in 1 2 3 4 5; do srun -N2 -n4 --distgpu=pytorch,port=29610 true || exit; done
        srun -N2 -n2 "$0" exec pytorch,port=29610 -- true || exit
        srun -N2 -n2 --distgpu=pytorch,port=29610 "$0" exec -- true' "$SCRATCH/distgpu"
    echo "$output"
    [ "$status" -eq 0 ]
    [ -z "$(distgpu_lines)" ]
    side_by_side pytorch,port=29610 srun --overlap -w node02 -N1 -n1 --distgpu=pytorch,port=29610 true
    [[ $output == *'ended 0'* ]]
    run submit srun --quiet -w node01 -n2 --distgpu=pytorch,port=29610 true : -w node02 -n1 true
    echo "$output"
    [ "$status" -eq 0 ]
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
    echo "$output"
    [ "$status" -eq 0 ]
    [ -z "$output" ]
}

@test "a port that another node's listener holds is free" {
    listen node02 29600 127.0.0.1
    run submit srun -N2 -n2 --distgpu=pytorch,port=29600 printenv MASTER_PORT
    stop_listening
    [ "$status" -eq 0 ]
    [ "$output" = "$(printf '%s\n' 29600 29600)" ]
}

without_plugin_on_login() {
    on login sh -c 'mv /etc/slurm/plugstack.conf /etc/slurm/plugstack.conf.away; : >/etc/slurm/plugstack.conf'
}

with_plugin_on_login() {
    on login mv /etc/slurm/plugstack.conf.away /etc/slurm/plugstack.conf
}

# forged NAME TEXT: srun without the plugin, because with it srun overwrites the value.
forged() {
    local name=$1 text=$2
    without_plugin_on_login
    run submit env text="$text" salloc --quiet -N2 -n2 sh -c '
        SLURM_DISTGPU=pytorch SLURM_DISTGPU_STEP=$(echo "$text" | sed "s/JOB/$SLURM_JOB_ID/") \
            srun --kill-on-bad-exit=0 sh -c "echo rank=\$RANK/\$WORLD_SIZE"'
    with_plugin_on_login
    [ "$status" -ne 0 ]
    diff <(distgpu_lines | sort -u) "$BATS_TEST_DIRNAME/refusals/$name.txt"
    [[ $output != *rank=* ]]
}

@test "a forged layout, of another size or in another order" {
    forged forged-order 'v2 JOB.0 layout=node[01-02] 1.1.1.1,0.1.1.1'
    forged forged-layout 'v2 JOB.0 layout=node[01-02] 0.2.4.1'
}

@test "a forged value that is not what srun writes" {
    forged forged-value 'v2 JOB.0 gpus=many layout=node[01-02] 0.2.1.1'
}

@test "a bad request that only the nodes see drains none" {
    without_plugin_on_login
    run submit env SLURM_DISTGPU=pytorhc srun -N2 -n2 --kill-on-bad-exit=0 sleep 300
    with_plugin_on_login
    [ "$status" -ne 0 ]
    diff <(distgpu_lines) "$BATS_TEST_DIRNAME/refusals/unknown-mode-srun-twin.txt"
}

# A newer srun sends what this one would refuse: here by one without the plugin, in its name.
@test "what srun accepted and a node does not know names the version of that node" {
    local version spec
    version=$("$command" --version)
    without_plugin_on_login
    for spec in newmode pytorch,newkey=3; do
        run submit env SLURM_DISTGPU="$spec" SLURM_DISTGPU_SECRET=0123 \
            srun -w node02 -n2 --kill-on-bad-exit=0 sleep 300
        [ "$status" -ne 0 ]
        echo "$output"
        [[ $(distgpu_lines) == "distgpu: SLURM_DISTGPU=$spec: unknown "*", although srun accepted it: node02 has ${version%%,*}, which does not know it; update the packages on that node" ]]
    done
    with_plugin_on_login
}

@test "a value for another step, or of another version, is passed over" {
    without_plugin_on_login
    run submit sh -c 'export SLURM_DISTGPU=pytorch
        SLURM_DISTGPU_STEP="v2 1.99 refused" srun -N2 -n3 sh -c "echo \$RANK/\$WORLD_SIZE"
        SLURM_DISTGPU_STEP=v3:anything srun -N2 -n3 -m cyclic sh -c "echo \$RANK/\$WORLD_SIZE"'
    with_plugin_on_login
    [ "$status" -eq 0 ]
    [ "$(sort <<<"$output")" = "$(printf '%s\n' 0/3 0/3 1/3 1/3 2/3 2/3)" ]
}

@test "srun with the plugin overwrites a forged value" {
    run submit env SLURM_DISTGPU_STEP=v2:nonsense srun -N2 -n2 --distgpu=pytorch sh -c 'echo $RANK/$WORLD_SIZE'
    [ "$status" -eq 0 ]
    [ "$(sort <<<"$output")" = "$(printf '%s\n' 0/2 1/2)" ]
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
