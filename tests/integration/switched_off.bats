#!/usr/bin/env bats
# The administrator's switch for emergencies, `off` in plugstack.conf, and the record of use.

load cluster

setup_file() { cluster_up; }

# Puts an argument behind the plugin's line on some hosts, until the test has ended.
argument() { # ARGUMENT HOST...
    local host
    for host in "${@:2}"; do
        on "$host" sed -i "/spank_distgpu/s|\$| $1|" /etc/slurm/plugstack.conf
    done
}
teardown() {
    on_all sed -i '/spank_distgpu/s/ \(off\|log=\).*//' /etc/slurm/plugstack.conf
    assert_cluster_clean
}

everywhere=(login node01 node02 node03 node04)
here='switched off on this cluster by the administrator'
again='start the step again when distgpu is back on, or set the ranks yourself and omit --distgpu'
alone='so the step runs without it; unless the program finds its ranks itself, each task trains alone'

# bats test_tags=short
@test "off: steps that ask are refused in one line, from srun and from a batch script; others run" {
    argument off "${everywhere[@]}"
    run ! submit srun -N2 -n4 --distgpu=pytorch touch started
    [ "$(distgpu_lines)" = "distgpu: --distgpu=pytorch: $here; $again" ]
    printf '%s\n' '#!/bin/bash' '#SBATCH -N2 --distgpu=pytorch,verbose' 'srun touch started' >"$SCRATCH/job"
    batch "$SCRATCH/job"
    [ "$status" -ne 0 ]
    [ "$(distgpu_lines)" = "distgpu: --distgpu=pytorch,verbose: $here; $again" ]
    [ ! -e "$SCRATCH/started" ]
    run -0 submit srun -N2 -n4 true
    [ -z "$output" ]
    run -0 submit srun -n1 --distgpu=off true
    [ -z "$output" ]
    run submit srun --distgpu=help
    [[ $output == 'usage: --distgpu='* ]]
    printf '%s\n' '#!/bin/sh' 'echo "RANK=$RANK"' >"$SCRATCH/prted"
    chmod +x "$SCRATCH/prted"
    SLURM_DISTGPU=ompi run -0 submit srun -N2 -n2 ./prted
    [ "$output" = $'RANK=\nRANK=' ]
}

@test "off=run: steps that ask run unprepared, told in one line" {
    local tasks
    argument off=run "${everywhere[@]}"
    for tasks in '-N2 -n4 --distgpu=pytorch' '-n1 --distgpu=pytorch' '-w node01 -n1 --distgpu=pytorch sh -c true : -w node02 -n1'; do
        # shellcheck disable=SC2086 # several words
        run --separate-stderr -0 submit srun --quiet $tasks sh -c 'echo "RANK=$RANK"'
        [ "$(sort -u <<<"$output")" = RANK= ]
        [ "$stderr" = "distgpu: --distgpu=pytorch: $here, $alone" ]
    done
    SLURM_DISTGPU=pytorch run --separate-stderr -0 submit srun --export=NONE -N2 -n2 /bin/sh -c 'echo "RANK=$RANK"'
    [ "$output" = $'RANK=\nRANK=' ]
    [ "$stderr" = "distgpu: --distgpu=pytorch: $here, $alone" ]
}

# refused_by NODE: a step of all nodes, in one line.
refused_by() {
    started=$SECONDS
    run ! submit srun -N4 -n8 --kill-on-bad-exit=0 --distgpu=pytorch sleep 60
    [ "$(distgpu_lines)" = "distgpu: --distgpu=pytorch: switched off on $1 by the administrator; $again" ]
    ((SECONDS - started < 15))
    assert_cluster_clean
}

@test "nodes that are switched off, but not srun's host, refuse the step, or run one of their own unprepared" {
    argument off node02
    refused_by node02
    argument off=run node01 node03 node04
    refused_by node01
    teardown
    argument off=run node02
    run --separate-stderr -0 submit srun -w node02 -n2 --distgpu=pytorch sh -c 'echo "RANK=$RANK$SLURM_DISTGPU"'
    [ "$output" = $'RANK=\nRANK=' ]
    [ "$stderr" = "distgpu: --distgpu=pytorch: switched off on node02 by the administrator, $alone" ]
}

@test "log=steps: a line for each prepared step, in the log of one node" {
    argument log=steps "${everywhere[@]}"
    run --separate-stderr -0 submit srun -N4 -n8 --distgpu=pytorch true
    [ -z "$stderr" ]
    submit srun --quiet -w node01 -n1 --distgpu=torchrun sleep 1 : -w node02 -n1 sleep 1
    submit srun -N2 -n2 true
    run grep -h -o 'distgpu: step .*' "/run/distgpu-sandbox/$CLUSTER/log"/slurmd-node0*.log
    local uid
    uid=$(submit id -u)
    [[ ${lines[0]} =~ ^distgpu:\ step\ [0-9]+\.0:\ mode=pytorch\ uid=$uid\ nodes=4\ tasks=8$ ]]
    [[ ${lines[1]} =~ ^distgpu:\ step\ [0-9]+\.0:\ mode=torchrun\ uid=$uid\ nodes=2\ tasks=2$ ]]
    [ "${#lines[@]}" -eq 2 ]
}
