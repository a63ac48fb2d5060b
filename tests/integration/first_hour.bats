#!/usr/bin/env bats
# Mistakes of a first hour that Slurm takes for orders: a training of one that nobody notices, or a
# hang. Each ends in one line that says what to write.

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
    run ! submit "${@:2}"
    [ "$(distgpu_lines)" = "$1" ]
    [[ $'\n'$output != *$'\nrank '* ]]
    run ! compgen -G "$SCRATCH/started.*"
}

# ended LINE COMMAND...: it fails with the line; other nodes may have started the program before.
ended() {
    run ! submit "${@:2}"
    [ "$(distgpu_lines)" = "$1" ]
}

no_srun='it has no srun, and --distgpu=pytorch prepares only what srun starts, so the program trains alone, as rank 0 of 1; write srun before the program'

# bats test_tags=short
@test "a job and an allocation without srun" {
    says "distgpu: --wrap: $no_srun" \
        sbatch -N2 --ntasks-per-node=4 --gres=gpu:4 --distgpu=pytorch -o /dev/null --wrap 'python3 fallback.py'
    printf '%s\n' '#!/bin/bash' '#SBATCH -N2 --distgpu=pytorch -o /dev/null' \
        '. venv/bin/activate # and then srun' 'python3 fallback.py' >"$SCRATCH/train.sbatch"
    says "distgpu: train.sbatch: $no_srun" sbatch --nodes 2 train.sbatch
    says "distgpu: the script: $no_srun" sh -c 'sbatch <train.sbatch'
    printf '%s\n' '#!/bin/sh' '#SBATCH -N1 -o /dev/null --distgpu=pytorch' '#SBATCH hetjob' \
        '#SBATCH -N1 --distgpu=pytorch' true >"$SCRATCH/het.sbatch"
    says "distgpu: het.sbatch: $no_srun" sbatch het.sbatch
    says "distgpu: python3 fallback.py: $no_srun" \
        salloc --quiet -N 2 --gres=gpu:4 --distgpu=pytorch python3 fallback.py
}

@test "a job with srun, or whose steps another script or file may start" {
    printf '%s\n' '#!/bin/bash' '#SBATCH -N2 --distgpu=pytorch -o /dev/null' 'srun true' >"$SCRATCH/train.sbatch"
    says '' sbatch train.sbatch
    says '' sh -c 'sbatch <train.sbatch'
    says '' sbatch -N2 --distgpu=off -o /dev/null --wrap true
    # The script cannot be read twice: nothing is said of it.
    says '' sh -c 'printf "#!/bin/sh\n#SBATCH -o /dev/null\ntrue\n" | sbatch --distgpu=pytorch'
    says '' salloc --quiet -N2 --distgpu=pytorch srun -N2 -n2 python3 fallback.py
    # Programs of PATH are looked at.
    printf '%s\n' '#!/bin/bash' 'srun "$@"' >"$SCRATCH/launch"
    chmod 755 "$SCRATCH/launch"
    printf '%s\n' '#!/bin/bash' '#SBATCH -N2 --distgpu=pytorch -o /dev/null' 'launch true' >"$SCRATCH/train.sbatch"
    says '' env PATH="$SCRATCH:$PATH" sbatch train.sbatch
}

@test "one task in all, and nodes of the allocation that the step leaves idle" {
    says 'distgpu: --distgpu=pytorch: the step has one task, which trains alone, as rank 0 of 1; use -N NODES, --ntasks-per-node=GPUS and --gres=gpu:GPUS, or -n1 if you want one task' \
        srun --distgpu=pytorch python3 fallback.py
    says '' srun -n1 --distgpu=pytorch python3 fallback.py
    says 'distgpu: --distgpu=pytorch: the step runs on 1 of the 2 nodes of the allocation; use -N2, or -N1 if you want that' \
        salloc --quiet -N2 srun -n1 --distgpu=pytorch python3 fallback.py
    says '' salloc --quiet -N2 srun -N1 -n1 --distgpu=pytorch python3 fallback.py
    says '' salloc --quiet -N2 srun --distgpu=pytorch python3 fallback.py
}

@test "plain python where a launcher starts the processes, and launchers in the file of --multi-prog" {
    says 'distgpu: python3 fallback.py: --distgpu=torchrun leaves the processes to a launcher, so each task trains alone, as rank 0 of 1; start the script with torchrun, or use --distgpu=pytorch with a task for each GPU' \
        srun -N2 --ntasks-per-node=1 --distgpu=torchrun python3 fallback.py
    printf '%s\n' '# which' '0  ./torchrun --nnodes=2 fallback.py' '1 timeout 1h ./torchrun --node_rank=1 fallback.py' >"$SCRATCH/programs"
    refused "distgpu: torchrun --node_rank=1: every node would get the same value, but each needs its own; leave it out: --distgpu=torchrun sets it" \
        srun -N2 --ntasks-per-node=1 --distgpu=torchrun --multi-prog programs
    printf '%s\n' '0 python3 fallback.py' '1 ./torchrun fallback.py' >"$SCRATCH/programs"
    says '' srun -N2 --ntasks-per-node=1 --distgpu=torchrun --multi-prog programs
}

@test "options of a launcher that a node finds wrong" {
    # Before the tasks exist, nobody knows the node's GPUs.
    says '' srun -N2 --ntasks-per-node=1 --gres=gpu:4 --distgpu=composer bash -c "composer -n 4 || true"
    refused 'distgpu: composer -n 3: --distgpu=composer expects 2 processes on each node; leave it out, or write --distgpu=composer,nproc=3' \
        srun -N2 --ntasks-per-node=1 --distgpu=composer,nproc=2 bash -c "composer -n 3 fallback.py"
}

@test "a step without GPUs on nodes that have some" {
    cp "$machines/power9-4v100.xml" "$SCRATCH/topology.xml"
    local none='distgpu: --distgpu=pytorch: the step has no GPU, but node01 has 4; use --gres=gpu:4'
    says "$none, or gpus=keep if it needs none" srun -N2 --ntasks-per-node=4 --distgpu=pytorch true
    says '' srun -N2 --ntasks-per-node=4 --distgpu=pytorch,gpus=keep true
    # On one node: of more, each may say it.
    refused "${none/pytorch/vllm}, or gpus=keep if it needs none" \
        srun -w node01 -n1 --distgpu=vllm "$SCRATCH/distgpu" exec -- true
}

@test "--distgpu without its mode takes the program for it, and help in a variable is no mode" {
    refused 'distgpu: --distgpu=python3: a program, not a mode; write the mode before it, as in --distgpu=pytorch python3' \
        srun -n2 --distgpu python3 fallback.py
    refused 'distgpu: SLURM_DISTGPU=help: not a mode, so no step would run; unset SLURM_DISTGPU, and run srun --distgpu=help' \
        env SLURM_DISTGPU=help srun -n2 python3 fallback.py
    refused 'distgpu: SBATCH_DISTGPU=help: not a mode, so no step would run; unset SBATCH_DISTGPU, and run srun --distgpu=help' \
        env SBATCH_DISTGPU=help sbatch -n2 -o /dev/null --wrap 'srun true'
}

@test "--distgpu where Slurm does not look for it" {
    says 'distgpu: --distgpu=pytorch: it comes after the program, where srun does not read it; write it before python3' \
        srun -n2 python3 fallback.py --distgpu=pytorch
    says '' srun -n2 python3 fallback.py --distgpu=4
    says '' srun -n2 --distgpu=pytorch python3 fallback.py --distgpu=pytorch
    printf '%s\n' '#!/bin/bash' '#SBATCH -N2 -o /dev/null' 'cd .' '#SBATCH --distgpu=pytorch' 'srun true' >"$SCRATCH/late.sbatch"
    says 'distgpu: late.sbatch: line 4: --distgpu=pytorch: it comes after the first command, where sbatch does not read it; move the line up to the other #SBATCH lines' \
        sbatch late.sbatch
    run --separate-stderr "$command" plan "$SCRATCH/late.sbatch"
    [[ $stderr == *"late.sbatch: line 4: --distgpu=pytorch: it comes after the first command, where sbatch does not read it;"* ]]
}

@test "MASTER_ADDR that is not rank 0's, as the tasks get it" {
    local loopback=": each of the step's 2 nodes would look for rank 0 on itself; unset MASTER_ADDR"
    # On these, also while the nodes of the step before are not free yet.
    local step=(srun -N2 -n2 -w 'node[01-02]' --distgpu=pytorch python3 fallback.py)
    refused "distgpu: MASTER_ADDR=localhost$loopback" env MASTER_ADDR=localhost "${step[@]}"
    # Names that only the node itself can tell apart.
    printf '%s\n' '10.77.1.1 node01-ib0' '192.0.2.7 yesterday01' >>"/run/distgpu-sandbox/$CLUSTER/etc/hosts"
    says '' env MASTER_ADDR=node01-ib0 "${step[@]}"
    ended 'distgpu: MASTER_ADDR=yesterday01: not an address of node01, where rank 0 runs; unset MASTER_ADDR' \
        env MASTER_ADDR=yesterday01 "${step[@]}"
    ended 'distgpu: MASTER_ADDR=nowhere.example: an unknown name on node01, where rank 0 runs; unset MASTER_ADDR' \
        env MASTER_ADDR=nowhere.example "${step[@]}"
    # As rank 0 of another order sees it, and without others that would look for it.
    says '' env MASTER_ADDR=10.77.1.2 srun -n2 -m arbitrary -w node02,node01 --distgpu=pytorch python3 fallback.py
    # Without a PATH.
    local step=(-N2 -n2 -w 'node[01-02]' --distgpu=pytorch /usr/bin/python3 fallback.py)
    says '' env MASTER_ADDR=localhost srun --export=NONE "${step[@]}"
    says '' srun --export=ALL,MASTER_ADDR=node01 "${step[@]}"
    refused "distgpu: MASTER_ADDR=localhost$loopback" \
        srun --export=ALL,MASTER_ADDR=localhost "${step[@]}"
    # Of a heterogeneous step only the nodes know the whole, in each component one.
    run ! submit env MASTER_ADDR=localhost srun --quiet -n1 --distgpu=pytorch python3 fallback.py \
        : -n1 --distgpu=pytorch python3 fallback.py
    [ "$(distgpu_lines | sort -u)" = "distgpu: MASTER_ADDR=localhost$loopback" ]
}
