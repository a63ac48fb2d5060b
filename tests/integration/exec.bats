#!/usr/bin/env bats
# `distgpu exec`: a task without the plugin's help, under srun, under mpirun and alone, and how it
# becomes the program. The plugin is loaded, but the steps do not ask for it.

load cluster

setup_file() {
    cluster_up --cpus 24
    cp "$root/tests/integration/shapes.py" "$SCRATCH"
    chmod a+rx "$SCRATCH/shapes.py"
}

setup() {
    distgpu=$SCRATCH/distgpu
}

# Fails unless it ends with this status and message.
ends_with() { # STATUS MESSAGE ARGUMENT...
    run --separate-stderr "-$1" "$distgpu" exec "${@:3}"
    echo "$stderr"
    [ "$stderr" = "distgpu: $2" ]
}

# bats test_tags=short
@test "every task has what distgpu plan says, in a step of srun and under mpirun in an allocation" {
    local modes
    modes='pytorch lightning accelerate megatron ompi jax torchrun,nproc=2 composer,nproc=2 tensorflow'
    run -0 submit ./shapes.py --distgpu "$distgpu" --topology none --launcher exec "$modes" 20 7
    [ "${lines[-1]}" = "29 of 29 as planned" ]
    # Unlike srun it tells nothing of the nodes, but in an allocation they are known.
    local modes
    modes='pytorch lightning accelerate deepspeed megatron horovod ompi jax torchrun,nproc=2 composer,nproc=2 tensorflow'
    run -0 submit ./shapes.py --distgpu "$distgpu" --topology none --launcher mpirun "$modes" 20 7
    [ "${lines[-1]}" = "31 of 31 as planned" ]
}

# mpirun does not always pass on what a rank said that ended the launch: its text is in process_place_test.cpp.
@test "mpirun that deals ranks in turns is refused" {
    # Open MPI 5 does not always end after that.
    for _ in {1..3}; do
        run submit salloc --quiet --exclusive -N3 --ntasks-per-node=2 timeout --kill-after=5 20 \
            mpirun --map-by node "$distgpu" exec pytorch -- sleep 10
        [ "$status" -eq 124 ] || break
    done
    [ "$status" -eq 125 ]
}

# bats test_tags=short
@test "the program's status, signals and streams are its own; off runs it as it is, help runs none" {
    run -7 "$distgpu" exec pytorch -- bash -c 'exit 7'
    run -0 "$distgpu" exec pytorch -- cat <<<'from standard input'
    [ "$output" = 'from standard input' ]
    # It is the same process.
    run -0 bash -c '"$1" exec pytorch -- bash -c "echo \$\$" & wait; echo $!' bash "$distgpu"
    [ "${lines[0]}" = "${lines[1]}" ]
    run -143 "$distgpu" exec pytorch -- bash -c 'kill -TERM $$'
    run -0 "$distgpu" exec pytorch -- printf '%s\n' --help -x 'a b'
    [ "$output" = $'--help\n-x\na b' ]
    run -0 "$distgpu" exec off -- true
    run -0 "$distgpu" exec help -- none
    [[ $output == *"dry-run"* ]]
}

@test "what the launcher does not tell has to be given" {
    local ranks=(OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_LOCAL_RANK=0
        OMPI_COMM_WORLD_LOCAL_SIZE=1)
    run -125 env "${ranks[@]}" "$distgpu" exec pytorch -- true
    [ "$output" = "distgpu: MASTER_ADDR: mpirun does not say which node runs rank 0; give the key \
master=HOST, or export MASTER_ADDR" ]
    local host
    host=$(hostname)
    run --separate-stderr -0 env "${ranks[@]}" MASTER_ADDR="$host" "$distgpu" exec pytorch -- bash -c 'echo "$MASTER_ADDR"'
    [ "$output" = "$host" ]
    # It has to be this machine's, where rank 0 runs; the others cannot tell.
    run -125 env "${ranks[@]}" MASTER_ADDR=192.0.2.7 "$distgpu" exec pytorch -- true
    [[ $output == "distgpu: MASTER_ADDR=192.0.2.7: not an address of "*", where rank 0 runs; give the address of rank 0's node" ]]
    run -0 env "${ranks[@]}" OMPI_COMM_WORLD_RANK=1 MASTER_ADDR=192.0.2.7 "$distgpu" exec pytorch -- true
    run -125 env "${ranks[@]}" "$distgpu" exec tensorflow,master=n1 -- true
    [ "$output" = "distgpu: --distgpu=tensorflow: TF_CONFIG names every node, but mpirun does not name them; \
start it with srun" ]
}

@test "a step that the framework cannot run in is refused by one rank for all" {
    run -125 submit srun -N2 -n3 "$distgpu" exec lightning -- true
    [ "$(distgpu_lines)" = "distgpu: --distgpu=lightning: the nodes have 1 to 2 tasks, but Lightning needs the same number on every node; use --ntasks-per-node=N" ]
}

@test "under the plugin it agrees or refuses, and knows also a layout that no variable tells" {
    run -0 submit srun -N2 -n4 --distgpu=pytorch "$distgpu" exec pytorch -- bash -c 'echo "$RANK $WORLD_SIZE"'
    [ "$(grep -vE "$waited" <<<"$output" | sort)" = "0 4
1 4
2 4
3 4" ]
    run -125 submit srun -n2 --distgpu=pytorch env RANK=7 "$distgpu" exec pytorch -- true
    [[ $output == *"distgpu: RANK: the task was prepared with 7, but distgpu exec computed 0; prepare the task \
only once, or unset SLURM_DISTGPU_PREPARED"* ]]
    local print='echo "$SLURMD_NODENAME $RANK/$WORLD_SIZE $LOCAL_RANK"'
    run -0 submit srun -n3 -m arbitrary -w node02,node01,node02 --distgpu=pytorch "$distgpu" exec \
        pytorch -- bash -c "$print"
    [ "$(grep -vE "$waited" <<<"$output" | sort)" = "node01 1/3 0
node02 0/3 0
node02 2/3 1" ]
    run -0 submit srun --quiet -w node01 -n1 --distgpu=pytorch "$distgpu" exec pytorch -- bash -c \
        "$print" : -w node02 -n2 "$distgpu" exec pytorch -- bash -c "$print"
    [ "$(distgpu_free_lines | sort)" = "node01 0/3 0
node02 1/3 0
node02 2/3 1" ]
}

# topology_order.bats has the other layouts that slurmctld is asked for.
@test "without the plugin it asks slurmctld, and is refused where there is no sattach" {
    local arbitrary=(-n3 -m arbitrary -w 'node02,node01,node02')
    run -0 submit srun "${arbitrary[@]}" "$distgpu" exec pytorch -- \
        bash -c 'echo "$SLURMD_NODENAME $RANK $NODE_RANK $MASTER_ADDR"'
    [ "$(grep -vE "$waited" <<<"$output" | sort)" = "node01 1 1 node02
node02 0 0 node02
node02 2 0 node02" ]
    run -125 submit srun "${arbitrary[@]}" env PATH=/none "$distgpu" exec pytorch -- /bin/true
    [[ $output == *": only slurmctld knows which node each task runs on, and sattach --layout failed: "*"; use srun \
-m cyclic or -m plane=N, or srun --distgpu"* ]]
}

# Takes this port of the machine, or any, until `release`; it is then in $port.
hold() { # [PORT]
    rm -f "$SCRATCH/port"
    python3 -c 'import socket, sys, time
s = socket.create_server(("", int(sys.argv[1]))); print(s.getsockname()[1], flush=True); time.sleep(60)' \
        "${1-0}" >"$SCRATCH/port" 3>&- &
    holder=$!
    until [[ -s $SCRATCH/port ]]; do sleep 0.05; done
    port=$(<"$SCRATCH/port")
}
release() { kill "$holder" && { wait "$holder" || true; }; }

@test "a taken port is refused, an exported one not, and alone a second one takes another" {
    hold
    ends_with 125 "port $port (from port=$port) on $(hostname): already in use; choose another with the key port=N" \
        "pytorch,port=$port" -- true
    MASTER_PORT=$port run -0 "$distgpu" exec pytorch -- true
    release
    hold "$("$distgpu" exec pytorch -- printenv MASTER_PORT)"
    [ "$("$distgpu" exec pytorch -- printenv MASTER_PORT)" -eq $((port + 16)) ]
    release
}

@test "dry-run prints and runs nothing, verbose prints and runs" {
    run --separate-stderr -0 "$distgpu" exec pytorch,dry-run,master=name -- touch "$SCRATCH/ran"
    [ ! -e "$SCRATCH/ran" ]
    [[ $output == *"  RANK=0"* ]]
    [[ $stderr == "distgpu: pytorch: world size 1 on 1 node ("* ]]
    run --separate-stderr -0 "$distgpu" exec pytorch,verbose -- echo ran
    [ "$output" = ran ]
    [[ $stderr == *"distgpu: pytorch: world size 1 on 1 node ("*$'\ndistgpu:    0  '* ]]
}
