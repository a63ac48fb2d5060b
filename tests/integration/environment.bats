#!/usr/bin/env bats
# What a task finds in its environment: what the user exported stays, what an
# outer step left behind goes, and the rendezvous is this step's own.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154 # the shell inside the sandbox expands them

load cluster

setup_file() {
    cluster_up --conf 'MpiParams=ports=20000-20999'
    # One more name of the node on which rank 0 runs: any other host's is refused.
    echo '10.77.1.1 head.example' >>"/run/distgpu-sandbox/$CLUSTER/etc/hosts"
}
teardown_file() { cluster_down; }
teardown() { assert_cluster_clean; }

@test "MASTER_ADDR and MASTER_PORT that the user exported are kept" {
    run submit env MASTER_ADDR=head.example MASTER_PORT=5555 srun -N2 -n2 --distgpu=pytorch sh -c 'echo $MASTER_ADDR $MASTER_PORT'
    [ "$status" -eq 0 ]
    [ "$output" = "$(printf '%s\n' 'head.example 5555' 'head.example 5555')" ]
}

@test "a MASTER_ADDR that is no host is refused, and forges no line of slurmd's log" {
    local address=$'h\n[2026-01-01T00:00:00.000] error: FORGED'
    MASTER_ADDR=$address run submit srun -n1 --distgpu=pytorch,verbose true
    echo "$output"
    [ "$status" -ne 0 ]
    [ "$(distgpu_lines | tail -n 1)" = "distgpu: MASTER_ADDR=h?[2026-01-01T00:00:00.000] error: FORGED: not a host name or address; export the name or address of a host alone, or unset it" ]
    run grep -c '^\[2026-01-01' "/run/distgpu-sandbox/$CLUSTER/log/slurmd-node01.log"
    [ "$output" -eq 0 ]
    MASTER_ADDR='a","b' run submit srun -n1 --distgpu=tensorflow printenv TF_CONFIG
    [ "$status" -ne 0 ]
    [[ $(distgpu_lines) == 'distgpu: MASTER_ADDR=a","b: not a host name or address'* ]]
}

@test "the keys master= and port= win over exported ones" {
    run submit env MASTER_ADDR=head.example MASTER_PORT=5555 srun -n1 --distgpu=pytorch,master=name,port=5556 sh -c 'echo $MASTER_ADDR $MASTER_PORT'
    [ "$status" -eq 0 ]
    [ "$output" = "node01 5556" ]
}

@test "master=: NodeAddr, NodeName, suffix and a host" {
    run submit sh -c 'for form in addr name suffix:-ib other.example; do
        srun --quiet -w node01 -n1 --distgpu=pytorch,master=$form printenv MASTER_ADDR; done'
    [ "$status" -eq 0 ]
    [ "$output" = "$(printf '%s\n' 10.77.1.1 node01 node01-ib other.example)" ]
}

@test "MASTER_ADDR is the node of rank 0, not the first of the node list" {
    run submit srun -n2 -m arbitrary -w node03,node01 --distgpu=pytorch sh -c '[ $RANK = 1 ] || echo $MASTER_ADDR $(hostname) $SLURM_STEP_NODELIST'
    [ "$status" -eq 0 ]
    [ "$output" = "10.77.1.3 node03 node[01,03]" ]
}

# Slurm's own OMPI_MCA_plm_slurm_args, from 23.11 on, is left out.
@test "inherited rank variables are overwritten or removed, settings are not" {
    run submit env RANK=7 LOCAL_RANK=6 WORLD_SIZE=99 LOCAL_WORLD_SIZE=9 NODE_RANK=5 GROUP_RANK=5 \
        TORCHELASTIC_RUN_ID=x TORCHELASTIC_USE_AGENT_STORE=True PET_NNODES=9 OMPI_COMM_WORLD_SIZE=4 \
        OMPI_MCA_btl=tcp NCCL_DEBUG=WARN \
        srun -n1 --distgpu=pytorch sh -c 'env | grep -E "RANK|WORLD|TORCHELASTIC|PET_|OMPI|NCCL" | grep -v -e slurm_args -e ^SLURM_ | sort'
    [ "$status" -eq 0 ]
    [ "$output" = "$(printf '%s\n' GROUP_RANK=0 GROUP_WORLD_SIZE=1 LOCAL_RANK=0 LOCAL_WORLD_SIZE=1 \
        NCCL_DEBUG=WARN NODE_RANK=0 OMPI_MCA_btl=tcp RANK=0 WORLD_SIZE=1)" ]
}

@test "torchrun: ranks are the launcher's, and a leaked endpoint goes" {
    run submit env RANK=7 LOCAL_RANK=6 WORLD_SIZE=99 PET_RDZV_ENDPOINT=x:1 PET_MAX_RESTARTS=3 \
        srun -N2 -n2 --gres=gpu:3 --distgpu=torchrun,port=29600 sh -c '[ $SLURM_PROCID = 0 ] || env | grep -E "^(RANK|LOCAL_RANK|NODE_RANK|WORLD|PET_|MASTER_)" | grep -v RDZV_ID | sort'
    [ "$status" -eq 0 ]
    [ "$output" = "$(printf '%s\n' MASTER_ADDR=10.77.1.1 MASTER_PORT=29600 NODE_RANK=1 \
        PET_LOCAL_ADDR=10.77.1.2 PET_MASTER_ADDR=10.77.1.1 PET_MASTER_PORT=29600 PET_MAX_RESTARTS=3 \
        PET_NNODES=2 PET_NODE_RANK=1 PET_NPROC_PER_NODE=3 PET_RDZV_BACKEND=static)" ]
}

@test "torchrun: node rank 0 is the node of rank 0 under -m arbitrary" {
    run submit srun -n2 -m arbitrary -w node03,node01 --distgpu=torchrun sh -c 'echo $(hostname) $PET_NODE_RANK $NODE_RANK $PET_MASTER_ADDR'
    [ "$status" -eq 0 ]
    [ "$(sort <<<"$output")" = "$(printf '%s\n' 'node01 1 1 10.77.1.3' 'node03 0 0 10.77.1.3')" ]
}

@test "torchrun: processes are the node's GPUs, its CPUs without GPUs, or nproc=" {
    run --separate-stderr submit sh -c '
        srun -n1 --gres=gpu:2 --distgpu=torchrun printenv PET_NPROC_PER_NODE
        srun -n1 -c4 --distgpu=torchrun printenv PET_NPROC_PER_NODE
        srun -n1 --gres=gpu:2 --distgpu=torchrun,nproc=5 printenv PET_NPROC_PER_NODE'
    [ "$status" -eq 0 ]
    [ "$output" = "$(printf '%s\n' 2 4 5)" ]
}

@test "OMP_NUM_THREADS is the CPUs of each process" {
    threads() {
        run --separate-stderr submit srun "$@" sh -c 'echo "${OMP_NUM_THREADS-unset}"'
        [ "$status" -eq 0 ]
        sort -u <<<"$output"
    }
    unset OMP_NUM_THREADS
    [ "$(threads -n2 -c3 --distgpu=pytorch)" = 3 ]
    [ "$(threads -n1 -c8 --distgpu=torchrun,nproc=2)" = 4 ]
    [ "$(threads -n2 -c3 --distgpu=pytorch,omp=keep)" = unset ]
    export OMP_NUM_THREADS=7
    [ "$(threads -n2 -c3 --distgpu=pytorch)" = 7 ]
}

@test "OMP_NUM_THREADS of an outer step is not taken for the user's own" {
    unset OMP_NUM_THREADS
    run submit salloc --quiet -n1 -c4 srun -n1 -c4 --distgpu=pytorch sh -c '
        echo "outer $OMP_NUM_THREADS"
        srun --overlap -n1 -c2 --distgpu=pytorch sh -c "echo inner \$OMP_NUM_THREADS"'
    [ "$status" -eq 0 ]
    [ "$output" = "$(printf '%s\n' 'outer 4' 'inner 2')" ]
}

@test "tensorflow: the workers' addresses come from Slurm, their ports from local ranks" {
    run submit srun --export=NONE -n3 -m arbitrary -w node02,node01,node01 \
        --distgpu=tensorflow,port=29600 /usr/bin/printenv TF_CONFIG
    [ "$status" -eq 0 ]
    [ "$(sort <<<"$output")" = "$(for i in 0 1 2; do
        echo '{"cluster":{"worker":["10.77.1.2:29600","10.77.1.1:29600","10.77.1.1:29601"]},"task":{"type":"worker","index":'$i'}}'
    done)" ]
}

@test "a nested srun is right for its own step" {
    run submit salloc --quiet -N2 -n4 --overcommit srun -N2 -n2 --distgpu=pytorch sh -c '
        [ $RANK = 1 ] || exit 0
        echo "outer $RANK/$WORLD_SIZE $MASTER_ADDR $MASTER_PORT"
        srun --overlap -N1 -n2 -w node02 --distgpu=pytorch sh -c "echo inner \$RANK/\$WORLD_SIZE \$NODE_RANK \$MASTER_ADDR \$MASTER_PORT" | sort'
    [ "$status" -eq 0 ]
    read -r _ ranks address outer_port <<<"${lines[0]}"
    [ "$ranks $address" = "1/2 10.77.1.1" ]
    read -r _ _ _ _ inner_port <<<"${lines[1]}"
    [ "${lines[1]}" = "inner 0/2 0 10.77.1.2 $inner_port" ]
    [ "${lines[2]}" = "inner 1/2 0 10.77.1.2 $inner_port" ]
    [ "$inner_port" != "$outer_port" ]
}

@test "a nested srun without the option does not switch itself on" {
    run submit salloc --quiet -n1 --distgpu=pytorch srun sh -c '
        env | grep -E "^SLURM_(DISTGPU|DISTGPU_STEP|SPANK_.*)="
        echo "outer rank=$RANK"
        srun --overlap --overcommit -n2 sh -c "echo inner rank=\$RANK size=\$WORLD_SIZE"'
    [ "$status" -eq 0 ]
    [ "$(grep -c '^outer rank=0$' <<<"$output")" -eq 1 ]
    [ "$(grep -c '^inner rank= size=$' <<<"$output")" -eq 2 ]
    [ "$(grep -c ^SLURM_ <<<"$output")" -eq 0 ]
}

# What the tasks of a step inside a task of another step have: inside SPEC 'SRUN LINE'
inside() {
    run --separate-stderr submit salloc --quiet -N2 -n4 --overcommit srun --quiet -N1 -n1 --distgpu="$1" bash -c "$2"
    echo "$output"
    echo "$stderr"
    [ "$status" -eq 0 ]
}

step='srun --quiet --overlap --overcommit -N2 -n4'
shown='sh -c "env | grep -E ^RANK=\|^WORLD_SIZE=\|^LOCAL_RANK=\|^MASTER_\|^NODE_RANK=\|^TF_CONFIG=\|^PET_\|^OMPI_COMM\|^HOROVOD_; true"'

@test "a step inside a task that does not ask gets none of its ranks, in any mode and with any --export" {
    local mode exports
    for mode in pytorch torchrun tensorflow lightning deepspeed horovod,backend=gloo jax; do
        inside "$mode" "$step $shown"
        [ -z "$output" ]
        [[ $(grep distgpu: <<<"$stderr") == "distgpu: this step: started without --distgpu in a task of step "*" it does not get; if it is a training, use srun --distgpu=$mode" ]]
    done
    for exports in ALL NONE RANK,WORLD_SIZE,PATH ALL,A=1; do
        inside pytorch "$step --export=$exports /usr/bin/$shown"
        [ -z "$output" ]
    done
}

@test "a step inside a task: what the user exported since stays, and so does what the step asked for" {
    inside pytorch "export RANK=5 MASTER_ADDR=head.example; $step sh -c 'echo \$RANK/\$WORLD_SIZE \$MASTER_ADDR'"
    [ "$(sort -u <<<"$output")" = "5/ head.example" ]
    [[ $stderr == 'distgpu: this step: started without --distgpu in a task of step '*', whose MASTER_PORT and 6 other variables it does not get;'* ]]
    inside pytorch "$step --export=ALL,RANK=6 sh -c 'echo \$RANK/\$WORLD_SIZE'"
    [ "$(sort -u <<<"$output")" = 6/ ]
    inside pytorch "$step --distgpu=pytorch sh -c 'echo \$RANK/\$WORLD_SIZE'"
    [ "$(sort <<<"$output")" = "$(printf '%s\n' 0/4 1/4 2/4 3/4)" ]
    [ -z "$stderr" ]
    inside pytorch "$step --distgpu=off sh -c 'echo \$RANK/\$WORLD_SIZE'"
    [ "$(sort -u <<<"$output")" = / ]
    [ -z "$stderr" ]
}

@test "a step inside a task has the job's name, and not the one that hides Slurm from Lightning" {
    local named='sh -c "echo \$SLURM_JOB_NAME/\$SLURM_NTASKS_PER_NODE"'
    named_inside() { # SPEC 'SRUN LINE'
        run --separate-stderr submit salloc --quiet --job-name='my job' -N2 -n4 --overcommit \
            srun --quiet -N1 -n1 --distgpu="$1,gpus=keep" bash -c "$2"
        echo "$output"
        echo "$stderr"
        [ "$status" -eq 0 ]
        output=$(sort -u <<<"$output")
    }
    named_inside lightning,per-node "echo \$SLURM_JOB_NAME; $step $named"
    [ "$output" = "$(printf '%s\n' interactive 'my job/')" ]
    named_inside lightning "$step $named"
    [ "$output" = 'my job/' ]
    # Also where the step asks for a mode that leaves the name alone.
    named_inside lightning,per-node "$step --distgpu=pytorch,gpus=keep $named"
    [ "$output" = 'my job/' ]
    [ -z "$stderr" ]
    named_inside lightning,per-node "srun --quiet --overlap --overcommit -n1 $named : -n1 $named"
    [ "$output" = 'my job/' ]
    # The user's own stays.
    named_inside lightning,per-node "$step --job-name=mine $named; SLURM_JOB_NAME=other $step $named"
    [ "$output" = "$(printf '%s\n' mine/ other/)" ]
}

@test "a step inside a task: of one task, or of mpirun's daemons, has all as it was" {
    inside pytorch "srun --quiet --overlap -N1 -n1 sh -c 'echo \$RANK/\$WORLD_SIZE'"
    [ "$output" = 0/1 ]
    [ -z "$stderr" ]
    printf '%s\n' '#!/bin/sh' 'echo $RANK/$WORLD_SIZE' >"$SCRATCH/prted"
    chmod +x "$SCRATCH/prted"
    inside pytorch "$step $SCRATCH/prted"
    [ "$(sort -u <<<"$output")" = 0/1 ]
    [ -z "$stderr" ]
}

@test "a heterogeneous step inside a task that does not ask gets none of its ranks" {
    inside pytorch "srun --quiet --overlap --overcommit -n1 $shown : -n1 $shown"
    [ -z "$output" ]
    [ "$(grep -c 'it does not get' <<<"$stderr")" -eq 1 ]
}

@test "two concurrent steps on one node have different ports" {
    run submit salloc --quiet -N1 -n2 sh -c '
        for i in 1 2; do srun --exact -n1 --resv-ports=0 --distgpu=pytorch sh -c "echo \$MASTER_PORT; sleep 1" & done; wait'
    [ "$status" -eq 0 ]
    ports=$(grep -E '^[0-9]+$' <<<"$output")
    [ "$(wc -l <<<"$ports")" -eq 2 ]
    [ "$(sort -u <<<"$ports" | wc -l)" -eq 2 ]
}

@test "Slurm's reservation is used, and not that of the step around" {
    run submit salloc --quiet -n1 srun --distgpu=pytorch sh -c '
        echo "$MASTER_PORT $SLURM_STEP_RESV_PORTS"
        srun --overlap -n1 --resv-ports=0 --distgpu=pytorch sh -c "echo \$MASTER_PORT reserved=\$SLURM_STEP_RESV_PORTS"'
    [ "$status" -eq 0 ]
    read -r port reserved <<<"${lines[-2]}"
    [ "$port" = "${reserved%%[-,]*}" ]
    read -r inner_port inner_reserved <<<"${lines[-1]}"
    [ "$inner_reserved" = "reserved=" ]
    ((inner_port >= 24608 && inner_port <= 29343))
}

@test "a requeued job gets a new port" {
    cat >"$SCRATCH/job" <<'TEXT'
#!/bin/bash
srun --resv-ports=0 --distgpu=pytorch printenv MASTER_PORT >>ports
[ "${SLURM_RESTART_COUNT:-0}" -ge 1 ] || { scontrol requeue "$SLURM_JOB_ID"; sleep 30; }
TEXT
    run submit sbatch --wait --requeue -n1 -o /dev/null "$SCRATCH/job"
    [ "$status" -eq 0 ]
    run cat "$SCRATCH/ports"
    [ "$status" -eq 0 ]
    [ "${#lines[@]}" -eq 2 ]
    [ "${lines[0]}" != "${lines[1]}" ]
}

@test "a job array: each element has its own rendezvous" {
    cat >"$SCRATCH/job" <<'TEXT'
#!/bin/bash
srun --resv-ports=0 --distgpu=pytorch sh -c 'echo $RANK/$WORLD_SIZE $MASTER_PORT' >"array.$SLURM_ARRAY_TASK_ID"
TEXT
    run submit sbatch --wait --array=1-2 -N1 -n1 -o /dev/null "$SCRATCH/job"
    [ "$status" -eq 0 ]
    run cat "$SCRATCH/array.1" "$SCRATCH/array.2"
    [ "$status" -eq 0 ]
    [ "${#lines[@]}" -eq 2 ]
    [[ ${lines[0]} == 0/1\ * && ${lines[1]} == 0/1\ * ]]
    [ "${lines[0]}" != "${lines[1]}" ]
}
