#!/usr/bin/env bats
# order=: ranks in another order of the nodes than Slurm's, on a cluster whose two switches have
# every other node.

load cluster

setup_file() {
    cluster_up --gpus 0 --switch 's1=node[01,03]' --switch 's2=node[02,04]' \
        --conf "SchedulerParameters=batch_sched_delay=0,sched_interval=2,bf_interval=1" \
        --conf SlurmctldTimeout=5
    printf '%s\n' '# the other way round' node04 'node[02-03]' node01 >"$SCRATCH/ring"
}

# A test that failed may have left another line.
teardown() { on login cp /etc/slurm/plugstack.usual /etc/slurm/plugstack.conf 2>/dev/null || true; }

# What each task has, a line for each, by rank.
show='echo "$RANK $SLURMD_NODENAME $LOCAL_RANK $NODE_RANK $GROUP_RANK $MASTER_ADDR"'
ranks() { # SRUN_ARGUMENT...
    run -0 submit srun "$@" bash -c "$show"
    distgpu_free_lines | sort -n
}

by_switch='0 node01 0 0 0 10.77.1.1
1 node01 1 0 0 10.77.1.1
2 node03 0 1 1 10.77.1.1
3 node03 1 1 1 10.77.1.1
4 node02 0 2 2 10.77.1.1
5 node02 1 2 2 10.77.1.1
6 node04 0 3 3 10.77.1.1
7 node04 1 3 3 10.77.1.1'

by_ring='0 node04 0 0 0 10.77.1.4
1 node02 0 1 1 10.77.1.4
2 node03 0 2 2 10.77.1.4
3 node01 0 3 3 10.77.1.4'

two_each=(-N4 --ntasks-per-node=2)

# Fails unless the ranks are these.
ranks_are() { # LINES SRUN_ARGUMENT...
    run -0 ranks "${@:2}"
    [ "$(grep -E '^[0-9]+ node' <<<"$output" | sort -nu)" = "$1" ]
}

# bats test_tags=short
@test "order=switch and order=PATH and order='\$NAME', also from a batch script's option" {
    ranks_are "$by_switch" "${two_each[@]}" --distgpu=pytorch,order=switch
    ranks_are "$by_ring" -N4 --distgpu=pytorch,order=./ring
    ranks_are "$by_ring" -N4 --distgpu="pytorch,order=$SCRATCH/ring"
    RING='node04,node[02-03],node01' ranks_are "$by_ring" -N4 '--distgpu=pytorch,order=$RING'
    printf '%s\n' '#!/bin/bash' '#SBATCH -N4 --distgpu=pytorch,order=./ring' "srun bash -c '$show'" \
        >"$SCRATCH/job.sbatch"
    batch job.sbatch
    [ "$status" -eq 0 ]
    [ "$(sort -n <<<"$output")" = "$by_ring" ]
}

@test "SLURM_PROCID and SLURM_LOCALID stay" {
    run -0 submit srun -N4 --ntasks-per-node=2 --distgpu=pytorch,order=./ring bash -c \
        'echo "$SLURMD_NODENAME $SLURM_PROCID $SLURM_LOCALID"'
    local ordered
    ordered=$(distgpu_free_lines | sort)
    run submit srun -N4 --ntasks-per-node=2 --distgpu=pytorch bash -c \
        'echo "$SLURMD_NODENAME $SLURM_PROCID $SLURM_LOCALID"'
    [ "$(distgpu_free_lines | sort)" = "$ordered" ]
    [ "$(wc -l <<<"$ordered")" -eq 8 ]
}

@test "verbose, dry-run and plan say what the ring crosses" {
    local line='order: switch, ring crosses switches 2 times (by name: 4)'
    local option
    for option in verbose dry-run; do
        run -0 submit srun "${two_each[@]}" --distgpu=pytorch,order=switch,$option true
        [ "$(grep -Fxc "distgpu: $line" <<<"$output")" -eq 1 ]
    done
    run -0 submit ./distgpu plan pytorch,order=switch -w 'node[01-04]' --tasks-per-node 2
    [ "${lines[1]}" = "$line" ]
    [ "$(awk '$1 ~ /^[0-9]+$/ { print $1, $2, $3 }' <<<"$output" | sort -n)" = \
        "$(cut -d ' ' -f 1-3 <<<"$by_switch")" ]
    run -0 submit ./distgpu plan --format json pytorch,order=./ring -w 'node[01-04]'
    [ "$(jq -c .step.order <<<"$output")" = '["node04","node02","node03","node01"]' ]
    run -0 submit ./distgpu plan -- srun -w 'node[01-04]' --distgpu=pytorch,order=./ring true
    [ "${lines[1]}" = 'order: ./ring' ]
}

@test "distgpu plan, exec and check in a step know its order, and exec puts the nodes in order without the plugin" {
    run -0 submit srun -N4 --distgpu=pytorch,order=./ring bash -c '((SLURM_PROCID)) || ./distgpu plan pytorch'
    [[ $output == *$'\norder: node[04,02-03,01]\n'* ]]
    [ "$(awk '$1 ~ /^[0-9]+$/ { print $1, $2 }' <<<"$output" | sort -n)" = \
        "$(cut -d ' ' -f 1-2 <<<"$by_ring")" ]
    run -0 submit srun -N4 --distgpu=pytorch,order=./ring ./distgpu exec pytorch -- bash -c "$show"
    [ "$(distgpu_free_lines | sort -n)" = "$by_ring" ]
    run -0 submit srun -N4 --distgpu=pytorch,order=./ring ./distgpu exec pytorch,order=./ring -- bash -c "$show"
    [ "$(distgpu_free_lines | sort -n)" = "$by_ring" ]
    run -125 submit srun -N4 --distgpu=pytorch,order=./ring ./distgpu exec pytorch,order=./another -- true
    [ "$(distgpu_lines | grep -v ' failed first: ')" = 'distgpu: order=./another: the step already has order=./ring; give it to srun --distgpu=pytorch, and leave it out here' ]
    run -0 submit srun -N4 --distgpu=pytorch,order=./ring ./distgpu check
    [[ $output == *'10.77.1.4:'* ]]
    run -0 submit srun -N4 ./distgpu exec pytorch,order=switch -- bash -c 'echo "$RANK $SLURMD_NODENAME"'
    [ "$(distgpu_free_lines | sort -n | cut -d ' ' -f 2 | xargs)" = 'node01 node03 node02 node04' ]
}

# Fails unless srun says this, and no task starts.
refused() { # MESSAGE SRUN_ARGUMENT...
    run ! submit srun "${@:2}" bash -c 'echo started'
    [[ $output != *started* ]]
    [ "$(distgpu_lines)" = "distgpu: $1" ]
}

# Not opened by root: what the user may not read is refused as his shell would.
@test "a list that the user may not read" {
    install -m 600 /dev/null "$SCRATCH/private"
    refused "order=./private: Permission denied; give a file with one node or range of nodes per line" \
        -N4 --distgpu=pytorch,order=./private
}

@test "a heterogeneous step, and a submit host without the plugin" {
    run ! submit srun -Q --distgpu=pytorch,order=switch -N1 bash -c 'echo started' : -N1 bash -c 'echo started'
    [[ $output != *started* ]]
    [[ $output == *'distgpu: order=switch: not supported in a heterogeneous step; leave order out'* ]]
    # The nodes know no order, and each would guess.
    keep_plugstack
    on login sh -c '>/etc/slurm/plugstack.conf'
    SLURM_DISTGPU=pytorch,order=switch run ! submit srun -N4 bash -c 'echo started'
    [[ $output != *started* ]]
    [ "$(distgpu_lines)" = "distgpu: order=switch: the node order was not sent with the step; load the plugin on srun's host too, or leave order out" ]
}

keep_plugstack() { on login cp /etc/slurm/plugstack.conf /etc/slurm/plugstack.usual; }

# An scontrol that counts who asks it.
count_questions() {
    mkdir -p "$SCRATCH/bin"
    printf '#!/bin/sh\necho asked >>%s/asked\nexec %s "$@"\n' "$SCRATCH" "${1:-$(type -P scontrol)}" \
        >"$SCRATCH/bin/scontrol"
    chmod 755 "$SCRATCH/bin" "$SCRATCH/bin/scontrol"
    install -m 666 /dev/null "$SCRATCH/asked"
}

@test "slurmctld is asked once for a step, and for no step without order=switch" {
    count_questions
    PATH=$SCRATCH/bin:$PATH ranks_are "$by_switch" "${two_each[@]}" --distgpu=pytorch,order=switch
    [ "$(wc -l <"$SCRATCH/asked")" -eq 1 ]
    PATH=$SCRATCH/bin:$PATH ranks_are "$by_ring" -N4 --distgpu=pytorch,order=./ring
    PATH=$SCRATCH/bin:$PATH run -0 submit srun -N4 --distgpu=pytorch true
    [ "$(wc -l <"$SCRATCH/asked")" -eq 1 ]
    # Where Slurm has no topology it says nothing.
    count_questions "$(type -P true)"
    PATH=$SCRATCH/bin:$PATH refused "order=switch: Slurm knows no switches above the step's nodes; name the nodes in a file (order=./FILE), or leave order out" \
        -N4 --distgpu=pytorch,order=switch
}

@test "the administrator's order: for whom it can be, unless the user has another" {
    keep_plugstack
    on login sed -i 's/$/ order=switch/' /etc/slurm/plugstack.conf
    ranks_are "$by_switch" "${two_each[@]}" --distgpu=pytorch
    ranks_are "$by_ring" -N4 --distgpu=pytorch,order=./ring
    run -0 submit srun -N4 -m cyclic --distgpu=pytorch,order=slurm bash -c 'echo "$RANK $SLURM_PROCID"'
    [ "$(distgpu_free_lines | awk '$1 == $2' | wc -l)" -eq 4 ]
    # No order there, and no complaint.
    run -0 submit srun -N4 --distgpu=jax true
    [ -z "$output" ]
    run -0 submit srun -w 'node[01-02]' -N2 -n3 -m cyclic --distgpu=pytorch bash -c \
        'echo "$RANK $SLURM_PROCID"'
    [ "$(distgpu_free_lines | awk '$1 == $2' | wc -l)" -eq 3 ]
}

@test "the cluster is left clean" { assert_cluster_clean; }
