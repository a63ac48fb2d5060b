#!/usr/bin/env bats
# What a task finds in its environment: what the user exported stays, what an
# outer step left behind goes, and the rendezvous is this step's own.

load cluster

setup_file() {
    cluster_up --conf 'MpiParams=ports=20000-20999'
    # One more name of the node on which rank 0 runs: any other host's is refused.
    echo '10.77.1.1 head.example' >>"/run/distgpu-sandbox/$CLUSTER/etc/hosts"
}

# Slurm's own OMPI_MCA_plm_slurm_args, from 23.11 on, is left out.
# bats test_tags=short
@test "inherited rank variables are overwritten or removed, settings are not" {
    run -0 submit env RANK=7 LOCAL_RANK=6 WORLD_SIZE=99 LOCAL_WORLD_SIZE=9 NODE_RANK=5 GROUP_RANK=5 \
        TORCHELASTIC_RUN_ID=x TORCHELASTIC_USE_AGENT_STORE=True PET_NNODES=9 OMPI_COMM_WORLD_SIZE=4 \
        OMPI_MCA_btl=tcp NCCL_DEBUG=WARN \
        srun -n1 --distgpu=pytorch sh -c 'env | grep -E "RANK|WORLD|TORCHELASTIC|PET_|OMPI|NCCL" | grep -v -e slurm_args -e ^SLURM_ | sort'
    [ "$output" = "$(printf '%s\n' GROUP_RANK=0 GROUP_WORLD_SIZE=1 LOCAL_RANK=0 LOCAL_WORLD_SIZE=1 \
        NCCL_DEBUG=WARN NODE_RANK=0 OMPI_MCA_btl=tcp RANK=0 WORLD_SIZE=1)" ]
}

@test "OMP_NUM_THREADS is the CPUs of each process, whatever an outer step had" {
    threads() {
        run --separate-stderr -0 submit srun "$@" sh -c 'echo "${OMP_NUM_THREADS-unset}"'
        sort -u <<<"$output"
    }
    unset OMP_NUM_THREADS
    [ "$(threads -n2 -c3 --distgpu=pytorch)" = 3 ]
    [ "$(threads -n1 -c8 --distgpu=torchrun,nproc=2)" = 4 ]
    [ "$(OMP_NUM_THREADS=7 threads -n2 -c3 --distgpu=pytorch)" = 7 ]
    run -0 submit salloc --quiet -n1 -c4 srun -n1 -c4 --distgpu=pytorch sh -c '
        echo "outer $OMP_NUM_THREADS"
        srun --overlap -n1 -c2 --distgpu=pytorch sh -c "echo inner \$OMP_NUM_THREADS"'
    [ "$output" = "$(printf '%s\n' 'outer 4' 'inner 2')" ]
}

@test "tensorflow: the workers' addresses come from Slurm, their ports from local ranks" {
    run -0 submit srun --export=NONE -n3 -m arbitrary -w node02,node01,node01 \
        --distgpu=tensorflow,port=29600 /usr/bin/printenv TF_CONFIG
    [ "$(sort <<<"$output")" = "$(for i in 0 1 2; do
        echo '{"cluster":{"worker":["10.77.1.2:29600","10.77.1.1:29600","10.77.1.1:29601"]},"task":{"type":"worker","index":'$i'}}'
    done)" ]
}

# bats test_tags=short
@test "a nested srun is right for its own step, and does not switch itself on" {
    run -0 submit salloc --quiet -N2 -n4 --overcommit srun -N2 -n2 --distgpu=pytorch sh -c '
        [ $RANK = 1 ] || exit 0
        echo "outer $RANK/$WORLD_SIZE $MASTER_ADDR $MASTER_PORT"
        srun --overlap -N1 -n2 -w node02 --distgpu=pytorch sh -c "echo inner \$RANK/\$WORLD_SIZE \$NODE_RANK \$MASTER_ADDR \$MASTER_PORT" | sort'
    read -r _ ranks address outer_port <<<"${lines[0]}"
    [ "$ranks $address" = "1/2 10.77.1.1" ]
    read -r _ _ _ _ inner_port <<<"${lines[1]}"
    [ "${lines[1]}" = "inner 0/2 0 10.77.1.2 $inner_port" ]
    [ "${lines[2]}" = "inner 1/2 0 10.77.1.2 $inner_port" ]
    [ "$inner_port" != "$outer_port" ]
    run -0 submit salloc --quiet -n1 --distgpu=pytorch srun sh -c '
        env | grep -E "^SLURM_(DISTGPU|DISTGPU_STEP|SPANK_.*)="
        echo "outer rank=$RANK"
        srun --overlap --overcommit -n2 sh -c "echo inner rank=\$RANK size=\$WORLD_SIZE"'
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
        [[ $(grep distgpu: <<<"$stderr") == "distgpu: this step: started without --distgpu in a task of step "*", so it does not inherit "*"; if it trains, use srun --distgpu=$mode" ]]
    done
    for exports in ALL NONE RANK,WORLD_SIZE,PATH ALL,A=1; do
        inside pytorch "$step --export=$exports /usr/bin/$shown"
        [ -z "$output" ]
    done
}

@test "a step inside a task: what the user exported since stays, and so does what the step asked for" {
    inside pytorch "export RANK=5 MASTER_ADDR=head.example; $step sh -c 'echo \$RANK/\$WORLD_SIZE \$MASTER_ADDR'"
    [ "$(sort -u <<<"$output")" = "5/ head.example" ]
    [[ $stderr == 'distgpu: this step: started without --distgpu in a task of step '*', so it does not inherit MASTER_PORT and 6 other variables;'* ]]
    inside pytorch "$step --export=ALL,RANK=6 sh -c 'echo \$RANK/\$WORLD_SIZE'"
    [ "$(sort -u <<<"$output")" = 6/ ]
    inside pytorch "$step --distgpu=pytorch sh -c 'echo \$RANK/\$WORLD_SIZE'"
    [ "$(sort <<<"$output")" = "$(printf '%s\n' 0/4 1/4 2/4 3/4)" ]
    [ -z "$stderr" ]
    inside pytorch "$step --distgpu=off sh -c 'echo \$RANK/\$WORLD_SIZE'"
    [ "$(sort -u <<<"$output")" = / ]
    [ -z "$stderr" ]
    # Nothing is said where the user took all of them out.
    inside pytorch "unset \$(tr ' ' '\n' <<<\"\$SLURM_DISTGPU_RANKS\" | cut -d= -f1); $step true"
    [ -z "$stderr" ]
}

@test "a step inside a task has the job's name, and not the one that hides Slurm from Lightning" {
    local named='sh -c "echo \$SLURM_JOB_NAME/\$SLURM_NTASKS_PER_NODE"'
    named_inside() { # SPEC 'SRUN LINE'
        run --separate-stderr submit salloc --quiet --job-name='my job' -N2 -n4 --overcommit \
            srun --quiet -N1 -n1 --distgpu="$1,gpus=keep" bash -c "$2"
        echo "$stderr"
        [ "$status" -eq 0 ]
        output=$(sort -u <<<"$output")
    }
    named_inside lightning,per-node "echo \$SLURM_JOB_NAME; $step $named"
    [ "$output" = "$(printf '%s\n' interactive 'my job/')" ]
    # Also where the step asks for a mode that leaves the name alone.
    named_inside lightning,per-node "$step --distgpu=pytorch,gpus=keep $named"
    [ "$output" = 'my job/' ]
    [ -z "$stderr" ]
}

@test "a step inside a task: of one task, of mpirun's daemons, or heterogeneous" {
    inside pytorch "srun --quiet --overlap -N1 -n1 sh -c 'echo \$RANK/\$WORLD_SIZE'"
    [ "$output" = 0/1 ]
    [ -z "$stderr" ]
    printf '%s\n' '#!/bin/sh' 'echo $RANK/$WORLD_SIZE' >"$SCRATCH/prted"
    chmod +x "$SCRATCH/prted"
    inside pytorch "$step $SCRATCH/prted"
    [ "$(sort -u <<<"$output")" = 0/1 ]
    [ -z "$stderr" ]
    inside pytorch "srun --quiet --overlap --overcommit -n1 $shown : -n1 $shown"
    [ -z "$output" ]
    [ "$(grep -c 'it does not inherit' <<<"$stderr")" -eq 1 ]
}

@test "two steps at once have different ports, and Slurm's reservation is used, not that of the step around" {
    run -0 submit salloc --quiet -N1 -n2 sh -c '
        for i in 1 2; do srun --exact -n1 --resv-ports=0 --distgpu=pytorch sh -c "echo \$MASTER_PORT; sleep 1" & done; wait'
    ports=$(grep -E '^[0-9]+$' <<<"$output")
    [ "$(wc -l <<<"$ports")" -eq 2 ]
    [ "$(sort -u <<<"$ports" | wc -l)" -eq 2 ]
    run -0 submit salloc --quiet -n1 srun --distgpu=pytorch sh -c '
        echo "$MASTER_PORT $SLURM_STEP_RESV_PORTS"
        srun --overlap -n1 --resv-ports=0 --distgpu=pytorch sh -c "echo \$MASTER_PORT reserved=\$SLURM_STEP_RESV_PORTS"'
    read -r port reserved <<<"${lines[-2]}"
    [ "$port" = "${reserved%%[-,]*}" ]
    read -r inner_port inner_reserved <<<"${lines[-1]}"
    [ "$inner_reserved" = "reserved=" ]
    ((inner_port >= 24608 && inner_port <= 29343))
}

@test "a requeued job, and each element of an array, has a port of its own" {
    cat >"$SCRATCH/job" <<'TEXT'
#!/bin/bash
srun --resv-ports=0 --distgpu=pytorch printenv MASTER_PORT >>ports
[ "${SLURM_RESTART_COUNT:-0}" -ge 1 ] || { scontrol requeue "$SLURM_JOB_ID"; sleep 30; }
TEXT
    run -0 submit sbatch --wait --requeue -n1 -o /dev/null "$SCRATCH/job"
    run -0 cat "$SCRATCH/ports"
    [ "${#lines[@]}" -eq 2 ]
    [ "${lines[0]}" != "${lines[1]}" ]
    cat >"$SCRATCH/job" <<'TEXT'
#!/bin/bash
srun --resv-ports=0 --distgpu=pytorch sh -c 'echo $RANK/$WORLD_SIZE $MASTER_PORT' >"array.$SLURM_ARRAY_TASK_ID"
TEXT
    run -0 submit sbatch --wait --array=1-2 -N1 -n1 -o /dev/null "$SCRATCH/job"
    run -0 cat "$SCRATCH/array.1" "$SCRATCH/array.2"
    [ "${#lines[@]}" -eq 2 ]
    [[ ${lines[0]} == 0/1\ * && ${lines[1]} == 0/1\ * ]]
    [ "${lines[0]}" != "${lines[1]}" ]
}

@test "how torchrun ends is as the user exported it" {
    run -0 submit srun -n1 --distgpu=torchrun,nproc=1 sh -c 'echo $PET_SHUTDOWN_TIMEOUT $PET_SIGNALS_TO_HANDLE'
    [[ $output == *'60 SIGTERM,SIGINT,SIGHUP,SIGQUIT,SIGUSR1,SIGUSR2' ]]
    export PET_SHUTDOWN_TIMEOUT=7
    run -0 submit srun -n1 --distgpu=torchrun,nproc=1 sh -c 'echo $PET_SHUTDOWN_TIMEOUT $PET_SIGNALS_TO_HANDLE'
    [[ $output == *'7 SIGTERM,SIGINT,SIGHUP,SIGQUIT,SIGUSR1,SIGUSR2' ]]
}
