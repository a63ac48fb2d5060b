#!/usr/bin/env bats
# Mistakes of a first hour that Slurm takes for orders: a training of one that nobody notices, or a
# hang. Each ends in one line that says what to write.
# shellcheck disable=SC2016,SC2154 # a task expands them; run sets output and status

load cluster

setup_file() {
    # Only where a test has put it there.
    plugin_arguments+=(topology=/tmp/distgpu-test$$/topology.xml)
    cluster_up
    printf '%s\n' '#!/usr/bin/env python3' 'import os' \
        'print("rank", os.environ.get("RANK", 0), "of", os.environ.get("WORLD_SIZE", 1))' \
        >"$SCRATCH/fallback.py"
    install -m 755 /dev/stdin "$SCRATCH/torchrun" <<<'#!/bin/sh
touch started.$SLURM_PROCID'
    chmod 644 "$SCRATCH/fallback.py"
}
teardown_file() { cluster_down; }
teardown() {
    rm -f "$SCRATCH"/started.* "$SCRATCH/topology.xml"
    assert_cluster_clean
}

# says LINE COMMAND...: it succeeds, and the line is all that distgpu says.
says() {
    run submit "${@:2}"
    [ "$status" -eq 0 ] && [ "$(distgpu_lines)" = "$1" ]
}

# refused LINE COMMAND...: it fails with the line, and no program starts.
refused() {
    local line=$1
    shift
    run submit "$@"
    [ "$status" -ne 0 ]
    [ "$(distgpu_lines)" = "$line" ]
    [[ $'\n'$output != *$'\nrank '* ]]
    run ! compgen -G "$SCRATCH/started.*"
}

# ended LINE COMMAND...: it fails with the line; other nodes may have started the program before.
ended() {
    local line=$1
    shift
    run submit "$@"
    echo "$output"
    [ "$status" -ne 0 ]
    [ "$(distgpu_lines)" = "$line" ]
}

no_srun='it has no srun, and --distgpu=pytorch prepares only what srun starts, so the program trains alone, as rank 0 of 1; write srun before the program'

@test "a job without srun" {
    says "distgpu: --wrap: $no_srun" \
        sbatch -N2 --ntasks-per-node=4 --gres=gpu:4 --distgpu=pytorch -o /dev/null --wrap 'python3 fallback.py'
    printf '%s\n' '#!/bin/bash' '#SBATCH -N2 --distgpu=pytorch -o /dev/null' \
        '. venv/bin/activate # and then srun' 'python3 fallback.py' >"$SCRATCH/train.sbatch"
    says "distgpu: train.sbatch: $no_srun" sbatch --nodes 2 train.sbatch
    says "distgpu: the script: $no_srun" sh -c 'sbatch <train.sbatch'
    says "distgpu: train.sbatch: $no_srun" env SBATCH_DISTGPU=pytorch sbatch -n1 train.sbatch
    printf '%s\n' '#!/bin/sh' '#SBATCH -N1 -o /dev/null --distgpu=pytorch' '#SBATCH hetjob' \
        '#SBATCH -N1 --distgpu=pytorch' true >"$SCRATCH/het.sbatch"
    says "distgpu: het.sbatch: $no_srun" sbatch het.sbatch
}

@test "an allocation without srun" {
    says "distgpu: python3 fallback.py: $no_srun" \
        salloc --quiet -N 2 --gres=gpu:4 --distgpu=pytorch python3 fallback.py
}

@test "a job with srun, or whose steps another script may start" {
    printf '%s\n' '#!/bin/bash' '#SBATCH -N2 --distgpu=pytorch -o /dev/null' 'srun true' >"$SCRATCH/train.sbatch"
    says '' sbatch train.sbatch
    says '' sh -c 'sbatch <train.sbatch'
    says '' sbatch -N2 --distgpu=pytorch -o /dev/null --wrap 'srun true'
    says '' sbatch -N2 --distgpu=pytorch -o /dev/null --wrap 'bash train.sbatch'
    says '' sbatch -N2 --distgpu=off -o /dev/null --wrap true
    # The script cannot be read twice: nothing is said of it.
    says '' sh -c 'printf "#!/bin/sh\n#SBATCH -o /dev/null\ntrue\n" | sbatch --distgpu=pytorch'
    says '' salloc --quiet -N2 --distgpu=pytorch true
    says '' salloc --quiet -N2 --distgpu=pytorch srun -N2 -n2 python3 fallback.py
}

@test "a job whose steps stand in other files" {
    printf '%s\n' 'run() { srun "$@"; }' >"$SCRATCH/common"
    printf '%s\n' '#!/bin/bash' 'srun "$@"' >"$SCRATCH/launch"
    chmod 755 "$SCRATCH/launch"
    printf '%s\n' '#!/bin/bash' '#SBATCH -N2 --distgpu=pytorch -o /dev/null' '. ./common' 'run true' >"$SCRATCH/train.sbatch"
    says '' sbatch train.sbatch
    printf '%s\n' '#!/bin/bash' '#SBATCH -N2 --distgpu=pytorch -o /dev/null' 'launch true' >"$SCRATCH/train.sbatch"
    says '' env PATH="$SCRATCH:$PATH" sbatch train.sbatch
    printf '%s\n' '#!/bin/bash' '#SBATCH -N2 --distgpu=pytorch -o /dev/null' 'source names' 'python3 fallback.py' >"$SCRATCH/train.sbatch"
    echo 'DATA=/data' >"$SCRATCH/names"
    says "distgpu: train.sbatch: $no_srun" sbatch train.sbatch
}

@test "one task in all" {
    says 'distgpu: --distgpu=pytorch: the step has one task, which trains alone, as rank 0 of 1; use -N NODES, --ntasks-per-node=GPUS and --gres=gpu:GPUS, or -n1 if one task is meant' \
        srun --distgpu=pytorch python3 fallback.py
    says '' srun -n1 --distgpu=pytorch python3 fallback.py
}

@test "nodes of the allocation that the step leaves idle" {
    says 'distgpu: --distgpu=pytorch: the step runs on 1 of the 2 nodes of the allocation; use -N2, or -N1 if that is meant' \
        salloc --quiet -N2 srun -n1 --distgpu=pytorch python3 fallback.py
    says '' salloc --quiet -N2 srun -N1 -n1 --distgpu=pytorch python3 fallback.py
    says '' salloc --quiet -N2 srun --distgpu=pytorch python3 fallback.py
}

@test "plain python where a launcher starts the processes" {
    says 'distgpu: python3 fallback.py: --distgpu=torchrun leaves the processes to a launcher, so each task trains alone, as rank 0 of 1; start the script with torchrun, or use --distgpu=pytorch with a task for each GPU' \
        srun -N2 --ntasks-per-node=1 --distgpu=torchrun python3 fallback.py
}

@test "a launcher where each process has a task" {
    refused 'distgpu: torchrun: it starts the processes of its node itself, but --distgpu=pytorch has a task for each, here 4 on a node; use --distgpu=torchrun with --ntasks-per-node=1, or leave torchrun out and start the script with python3' \
        srun -N2 --ntasks-per-node=4 --distgpu=pytorch ./torchrun fallback.py
    refused 'distgpu: mpirun: it starts ranks itself, but srun starts a task for each, and each task would start all ranks again; leave mpirun and its options out (--distgpu=ompi gives the tasks what it would), or use --distgpu=off' \
        srun -N2 --ntasks-per-node=4 --distgpu=pytorch mpirun -np 8 python3 fallback.py
    # One task on each node may have options of its own.
    says 'distgpu: torchrun: --distgpu=pytorch does not set it up, so each node may train alone; use --distgpu=torchrun with --ntasks-per-node=1, or leave torchrun out and start the script with python3' \
        srun -N2 --ntasks-per-node=1 --distgpu=pytorch ./torchrun fallback.py
    rm "$SCRATCH"/started.*
    says '' srun -N2 --ntasks-per-node=1 --distgpu=torchrun ./torchrun fallback.py
}

@test "options of a launcher that say what the step is not" {
    local step=(srun -N2 --ntasks-per-node=1 --distgpu=torchrun)
    local sets='leave it out: --distgpu=torchrun sets it'
    refused "distgpu: torchrun --nnodes=1: each of the step's 2 nodes would train alone; $sets" \
        "${step[@]}" ./torchrun --nnodes=1 fallback.py
    refused "distgpu: torchrun --node_rank 0: the same on every node, as the command line is, but each needs its own; $sets" \
        "${step[@]}" timeout 1h ./torchrun --nnodes=2 --node_rank 0 fallback.py
    refused "distgpu: torchrun --standalone: each of the step's 2 nodes would train alone; leave it out" \
        "${step[@]}" bash -c 'cd . && exec ./torchrun --standalone --nproc_per_node=4 fallback.py'
    refused "distgpu: torchrun --master_addr=10.77.1.2: rank 0 runs on node01; $sets" \
        "${step[@]}" ./torchrun --master_addr=10.77.1.2 fallback.py
    says '' "${step[@]}" ./torchrun --nnodes=2 --rdzv_id=7 fallback.py --nnodes=1
}

@test "a training that ssh starts outside the step" {
    printf '#!/bin/sh\n' >"$SCRATCH/ssh"
    chmod 755 "$SCRATCH/ssh"
    says 'distgpu: ./ssh node02 python3 train.py: ssh starts the program outside the step, where it has none of the variables of --distgpu=pytorch; leave ssh out: srun starts the tasks on the nodes of the step itself' \
        srun -N2 --ntasks-per-node=1 --distgpu=pytorch ./ssh node02 python3 train.py
    says '' srun -N2 --ntasks-per-node=1 --distgpu=pytorch ./ssh node02 hostname
}

@test "launchers in the file of --multi-prog" {
    printf '%s\n' '# which' '0  ./torchrun --nnodes=2 fallback.py' '1 timeout 1h ./torchrun --node_rank=1 fallback.py' >"$SCRATCH/programs"
    refused "distgpu: torchrun --node_rank=1: the same on every node, as the command line is, but each needs its own; leave it out: --distgpu=torchrun sets it" \
        srun -N2 --ntasks-per-node=1 --distgpu=torchrun --multi-prog programs
    printf '%s\n' '0 python3 fallback.py' '1 ./torchrun fallback.py' >"$SCRATCH/programs"
    says '' srun -N2 --ntasks-per-node=1 --distgpu=torchrun --multi-prog programs
}

@test "options of a launcher that a node finds wrong" {
    says 'distgpu: torchrun --master_port=29500: not the port that distgpu tests, which is 25100; leave it out, or write --distgpu=torchrun,port=29500' \
        srun -N2 --ntasks-per-node=1 --distgpu=torchrun,port=25100 ./torchrun --master_port=29500 fallback.py
    rm "$SCRATCH"/started.*
    # Before the tasks exist, nobody knows the node's GPUs.
    says '' srun -N2 --ntasks-per-node=1 --gres=gpu:4 --distgpu=composer bash -c "composer -n 4 || true"
    refused 'distgpu: composer -n 3: --distgpu=composer counts 2 processes on each node; leave it out, or write --distgpu=composer,nproc=3' \
        srun -N2 --ntasks-per-node=1 --distgpu=composer,nproc=2 bash -c "composer -n 3 fallback.py"
}

@test "a refused program leaves the allocation usable" {
    run submit salloc --quiet -N2 --ntasks-per-node=2 \
        sh -c 'srun --distgpu=pytorch ./torchrun fallback.py; srun --distgpu=pytorch python3 fallback.py'
    [ "$status" -eq 0 ]
    [ "$(grep '^rank' <<<"$output" | sort)" = "$(printf 'rank %s of 4\n' 0 1 2 3)" ]
}

@test "a step without GPUs on nodes that have some" {
    cp "$root/tests/topologies/power9-4v100.xml" "$SCRATCH/topology.xml"
    local none='distgpu: --distgpu=pytorch: the step has no GPU, but node01 has 4; use --gres=gpu:4'
    says "$none, or gpus=keep if none is meant" srun -N2 --ntasks-per-node=4 --distgpu=pytorch true
    says "$none with --ntasks-per-node=4, or gpus=keep if none is meant" \
        srun -N2 --ntasks-per-node=2 --distgpu=pytorch true
    says '' srun -N2 --ntasks-per-node=4 --distgpu=pytorch,gpus=keep true
    # On one node: of more, each may say it.
    refused "${none/pytorch/vllm}, or gpus=keep if none is meant" \
        srun -w node01 -n1 --distgpu=vllm "$SCRATCH/distgpu" exec -- true
}

@test "nproc= without a launcher" {
    refused 'distgpu: --distgpu=pytorch,nproc=4: nproc is for a launcher, but pytorch has a task for each process; write torchrun,nproc=4 with --ntasks-per-node=1, or leave nproc out and use --ntasks-per-node=4' \
        srun -N2 --ntasks-per-node=2 --distgpu=pytorch,nproc=4 python3 fallback.py
}

@test "--distgpu without its mode takes the program for it" {
    refused 'distgpu: --distgpu=python3: a program, and no mode; write the mode before it, as in --distgpu=pytorch python3' \
        srun -n2 --distgpu python3 fallback.py
    refused 'distgpu: --distgpu=-n2: an option, and no mode; write the mode before it, as in --distgpu=pytorch -n2' \
        srun --distgpu -n2 python3 fallback.py
    run -2 "$command" plan -- srun -n2 --distgpu python3 train.py
    [ "$output" = 'distgpu: --distgpu=python3: a program, and no mode; write the mode before it, as in --distgpu=pytorch python3' ]
}

@test "--distgpu where Slurm does not look for it" {
    says 'distgpu: --distgpu=pytorch: it stands behind the program, where srun does not read it; write it before python3' \
        srun -n2 python3 fallback.py --distgpu=pytorch
    says '' srun -n2 python3 fallback.py --distgpu=4
    says '' srun -n2 --distgpu=pytorch python3 fallback.py --distgpu=pytorch
    printf '%s\n' '#!/bin/bash' '#SBATCH -N2 -o /dev/null' 'cd .' '#SBATCH --distgpu=pytorch' 'srun true' >"$SCRATCH/late.sbatch"
    says 'distgpu: late.sbatch: line 4: --distgpu=pytorch: it stands below the first command, where sbatch does not read it; move the line up to the other #SBATCH lines' \
        sbatch late.sbatch
    run -2 "$command" plan -- srun -n2 python3 train.py --distgpu=pytorch
    [ "$output" = 'distgpu: --distgpu=pytorch: it stands behind the program, where srun does not read it; write it before python3' ]
    run --separate-stderr "$command" plan "$SCRATCH/late.sbatch"
    [[ $stderr == *"late.sbatch: line 4: --distgpu=pytorch: it stands below the first command, where sbatch does not read it;"* ]]
}

@test "help in a variable" {
    refused 'distgpu: SLURM_DISTGPU=help: a question, and no mode: no step would run; unset SLURM_DISTGPU, and ask with srun --distgpu=help' \
        env SLURM_DISTGPU=help srun -n2 python3 fallback.py
    refused 'distgpu: SBATCH_DISTGPU=help: a question, and no mode: no step would run; unset SBATCH_DISTGPU, and ask with srun --distgpu=help' \
        env SBATCH_DISTGPU=help sbatch -n2 -o /dev/null --wrap 'srun true'
}

@test "MASTER_ADDR that is not rank 0's" {
    local loopback=": each of the step's 2 nodes would look for rank 0 on itself; unset MASTER_ADDR"
    local step=(srun -N2 -n2 --distgpu=pytorch python3 fallback.py)
    refused "distgpu: MASTER_ADDR=localhost$loopback" env MASTER_ADDR=localhost "${step[@]}"
    refused "distgpu: MASTER_ADDR=::1$loopback" env MASTER_ADDR=::1 "${step[@]}"
    refused 'distgpu: MASTER_ADDR=node02: rank 0 runs on node01; unset MASTER_ADDR' \
        env MASTER_ADDR=node02 "${step[@]}"
    refused 'distgpu: MASTER_ADDR=10.77.1.2: rank 0 runs on node01; unset MASTER_ADDR' \
        env MASTER_ADDR=10.77.1.2 "${step[@]}"
    refused "distgpu: master=localhost: each of the step's 2 nodes would look for rank 0 on itself; leave master= out" \
        srun -N2 -n2 --distgpu=pytorch,master=localhost python3 fallback.py
    says '' env MASTER_ADDR=node01 "${step[@]}"
    # Names that only the node itself can tell apart.
    printf '%s\n' '10.77.1.1 node01-ib0' '192.0.2.7 yesterday01' \
        >>"/run/distgpu-sandbox/$CLUSTER/etc/hosts"
    says '' env MASTER_ADDR=node01-ib0 "${step[@]}"
    for address in yesterday01 192.0.2.7 2001:db8::7; do
        ended "distgpu: MASTER_ADDR=$address: not an address of node01, where rank 0 runs; unset MASTER_ADDR" \
            env MASTER_ADDR=$address "${step[@]}"
    done
    ended 'distgpu: MASTER_ADDR=nowhere.example: an unknown name on node01, where rank 0 runs; unset MASTER_ADDR' \
        env MASTER_ADDR=nowhere.example "${step[@]}"
    ended 'distgpu: master=yesterday01: not an address of node01, where rank 0 runs; leave master= out' \
        srun -N2 -n2 --distgpu=pytorch,master=yesterday01 python3 fallback.py
    ended 'distgpu: MASTER_ADDR=192.0.2.7: not an address of node01, where rank 0 runs; unset MASTER_ADDR' \
        env MASTER_ADDR=192.0.2.7 srun -w node01 -n2 --distgpu=pytorch python3 fallback.py
    # As rank 0 of another order sees it, and without others that would look for it.
    says '' env MASTER_ADDR=10.77.1.2 srun -n2 -m arbitrary -w node02,node01 --distgpu=pytorch python3 fallback.py
    says '' env MASTER_ADDR=192.0.2.7 srun -N1 -n1 --distgpu=pytorch python3 fallback.py
    says '' env MASTER_ADDR=localhost srun -n2 --distgpu=pytorch python3 fallback.py
}

@test "MASTER_ADDR is judged as the tasks get it" {
    # Without a PATH.
    local step=(-N2 -n2 --distgpu=pytorch /usr/bin/python3 fallback.py)
    says '' env MASTER_ADDR=localhost srun --export=NONE "${step[@]}"
    says '' srun --export=ALL,MASTER_ADDR=node01 "${step[@]}"
    refused "distgpu: MASTER_ADDR=localhost: each of the step's 2 nodes would look for rank 0 on itself; unset MASTER_ADDR" \
        srun --export=ALL,MASTER_ADDR=localhost "${step[@]}"
    # Of a heterogeneous step only the nodes know the whole, in each component one.
    run submit env MASTER_ADDR=localhost srun --quiet -n1 --distgpu=pytorch python3 fallback.py \
        : -n1 --distgpu=pytorch python3 fallback.py
    [ "$status" -ne 0 ]
    [ "$(distgpu_lines | sort -u)" = "distgpu: MASTER_ADDR=localhost: each of the step's 2 nodes would look for rank 0 on itself; unset MASTER_ADDR" ]
}
