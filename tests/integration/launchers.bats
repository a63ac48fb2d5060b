#!/usr/bin/env bats
# Launchers beside and inside distgpu: mpirun, --pty, and nodes without the plugin.

load cluster

setup_file() { cluster_up --conf LaunchParameters=use_interactive_step; }

# bats test_tags=short
@test "mpirun under #SBATCH --distgpu: its daemons and ranks are left alone" {
    command -v mpirun >/dev/null || {
        echo "mpirun: not installed; apt-get install openmpi-bin" >&2
        return 1
    }
    cat >"$SCRATCH/job" <<'TEXT'
#!/bin/bash
#SBATCH --distgpu=pytorch -N2 --ntasks-per-node=2
mpirun sh -c 'echo "mpi $OMPI_COMM_WORLD_RANK rank=$RANK master=$MASTER_ADDR left=$(env | grep -c "^SLURM_DISTGPU")"'
srun sh -c 'echo "srun $RANK"'
TEXT
    # srun waits, and says so, where the step of mpirun's daemons is not over yet.
    run -0 submit sbatch --quiet --wait -o "$SCRATCH/out" -e "$SCRATCH/err" "$SCRATCH/job"
    run -0 sort "$SCRATCH/out"
    [ "$output" = "$(printf '%s\n' 'mpi 0 rank= master= left=0' 'mpi 1 rank= master= left=0' \
        'mpi 2 rank= master= left=0' 'mpi 3 rank= master= left=0' 'srun 0' 'srun 1' 'srun 2' 'srun 3')" ]
}

@test "a terminal by --pty, salloc's interactive shell, which gets nothing, and an empty twin" {
    run -0 submit script -qec 'srun -n1 --pty --distgpu=pytorch sh -c "tty >/dev/null && echo terminal rank=\$RANK"' /dev/null
    [[ $output == *"terminal rank=0"* ]]
    run -0 submit script -qec 'salloc --quiet -n1 --distgpu=pytorch' /dev/null <<<'echo "shell=$RANK"; srun sh -c "echo \"task=\$RANK\""; exit'
    [[ $output == *"shell="$'\r'* ]]
    [[ $output == *"task=0"* ]]
    run -0 submit env SLURM_DISTGPU= srun -n1 sh -c 'echo "rank=$RANK"'
    [ "$output" = "rank=" ]
}

# bats test_tags=short
@test "--mpi=pmix: MPI keeps Slurm's ranks, the variables agree" {
    [ "$(mpi_type)" = pmix ] || skip "Slurm's PMIx plugin is not installed"
    run -0 submit srun -N2 -n4 --mpi=pmix --distgpu=pytorch sh -c 'echo $PMIX_RANK $RANK'
    [ "$(sort <<<"$output")" = "$(printf '%s\n' '0 0' '1 1' '2 2' '3 3')" ]
}

@test "the command of an allocation gets nothing" {
    run -0 submit salloc --quiet -n1 --distgpu=pytorch \
        sh -c 'env | grep -cE "^(RANK|MASTER_ADDR)="; srun sh -c "echo rank=\$RANK"'
    # The srun inside has what its allocation asked for.
    [ "${lines[-2]} ${lines[-1]}" = "0 rank=0" ]
}

# without_plugin NODE COMMAND...
without_plugin() {
    on "$1" sh -c 'mv /etc/slurm/plugstack.conf /etc/slurm/plugstack.conf.away; : >/etc/slurm/plugstack.conf'
    run submit "${@:2}"
    on "$1" mv /etc/slurm/plugstack.conf.away /etc/slurm/plugstack.conf
    echo "$output"
    [ "$status" -eq 0 ]
}
address='echo "$(hostname) $RANK ${MASTER_ADDR:-none}"'
not_loaded=distgpu-is-not-loaded-on-this-node

@test "on a node without the plugin the tasks run, and MASTER_ADDR says so, on no other" {
    without_plugin node02 srun -N3 -n3 --distgpu=pytorch sh -c 'echo "$(hostname) rank=$RANK ${SLURM_DISTGPU_STEP:+carried}"'
    [ "$(sort <<<"$output")" = "$(printf '%s\n' 'node01 rank=0 ' 'node02 rank= carried' 'node03 rank=2 ')" ]
    local mode
    for mode in '--distgpu=pytorch' '--export=ALL,A=1 --distgpu=megatron'; do
        # shellcheck disable=SC2086 # several words
        without_plugin node02 srun -N3 -n3 $mode sh -c "$address"
        [ "$(sort <<<"$output")" = "$(printf '%s\n' 'node01 0 10.77.1.1' "node02  $not_loaded" 'node03 2 10.77.1.1')" ]
    done
    # Every component; and what an outer step's distgpu gave is not its user's own.
    # The one without the plugin does not wait for the other, which asks slurmctld about it.
    without_plugin node02 srun --quiet -w node01 -n1 --distgpu=pytorch sh -c "$address" : \
        -w node02 -n1 sh -c "$address; sleep 3"
    [ "$(sort <<<"$output")" = "$(printf '%s\n' 'node01 0 10.77.1.1' "node02  $not_loaded")" ]
    without_plugin node02 salloc --quiet -N2 -n2 srun -w node01 -N1 -n1 --overlap --distgpu=pytorch \
        srun -N2 -n2 --overlap --distgpu=pytorch sh -c "$address"
    [ "$(sort <<<"$output")" = "$(printf '%s\n' 'node01 0 10.77.1.1' "node02 0 $not_loaded")" ]
}

@test "MASTER_ADDR stays the user's, and as it was where the step's mode has none" {
    local step
    without_plugin node02 env MASTER_ADDR=node01 srun -N2 -n2 --distgpu=pytorch sh -c "$address"
    [ "$(sort <<<"$output")" = "$(printf '%s\n' 'node01 0 node01' 'node02  node01')" ]
    without_plugin node02 srun --export=ALL,MASTER_ADDR=node01 -N2 -n2 --distgpu=pytorch sh -c "$address"
    [ "$(sort <<<"$output")" = "$(printf '%s\n' 'node01 0 node01' 'node02  node01')" ]
    for step in '--distgpu=horovod,backend=gloo' '--distgpu=off' '--export=NONE --distgpu=pytorch'; do
        # shellcheck disable=SC2086 # several words
        without_plugin node02 srun -w node02 -n1 $step /bin/sh -c "$address"
        [ "$output" = 'node02  none' ]
    done
    printf '#!/bin/sh\n%s\n' "$address" >"$SCRATCH/prted"
    chmod +x "$SCRATCH/prted"
    for step in node01 node02; do
        without_plugin node02 srun -w "$step" -n1 --distgpu=ompi ./prted
        [ "$output" = "$step  none" ]
    done
}

@test "the nodes with the plugin leave nothing of the address that srun sends" {
    local step
    for step in pytorch torchrun ray pytorch,check; do
        run -0 submit srun -N2 -n2 --distgpu="$step" sh -c 'env | grep "=distgpu-is-not" || echo clean'
        [ "$(grep -c clean <<<"$output")" -eq 2 ]
        [[ $output != *distgpu-is-not* ]]
    done
    without_plugin node01 srun -N1 -n1 -w node01 --distgpu=pytorch "$SCRATCH/distgpu" exec pytorch -- sh -c "$address"
    [ "$output" = 'node01 0 10.77.1.1' ]
}
