#!/usr/bin/env bats
# `--distgpu=MODE,check`: the step's own check before its program starts.

load cluster
load gate/faults

setup_file() {
    export nodes
    gate_cluster_up 4
}

eight=(srun -N4 -n8 --ntasks-per-node=2 --cpus-per-task=2 --gres=gpu:2)

# bats test_tags=short
@test "all is well: one line, and every rank runs, with nothing of the check left" {
    run --separate-stderr submit srun -N4 -n4 --cpus-per-task=2 --gres=gpu:1 --distgpu=pytorch,check bash -c \
        'echo "$RANK $WORLD_SIZE"; [[ $RANK != 0 ]] ||
            python3 -c "import socket; socket.socket().bind((\"\", $MASTER_PORT))"'
    echo "$output" "$stderr"
    [ "$status" -eq 0 ]
    [[ $stderr =~ ^'distgpu: check: 4 ranks on 4 nodes ready in '[0-9]\.[0-9]' s'$ ]]
    [ "$(sort <<<"$output")" = "$(printf '%s 4\n' {0..3})" ]
    run -1 on node01 pgrep -f 'distgpu check'
}

@test "not asked for, nothing is opened or started" {
    printf '#!/bin/sh\necho "$*" >>%s/asked\nexec %s/distgpu "$@"\n' "$SCRATCH" "$SCRATCH" >"$SCRATCH/noted"
    chmod 755 "$SCRATCH/noted"
    set_plugstack "required $SCRATCH/${plugin##*/} command=$SCRATCH/noted"
    run submit "${eight[@]}" --distgpu=pytorch true
    run -0 submit "${eight[@]}" --distgpu=pytorch,check=off true
    [ ! -e "$SCRATCH/asked" ]
    run submit "${eight[@]}" --distgpu=pytorch,check true
    restore_plugstack
    [ "$status" -eq 0 ]
    [ "$(sort -u "$SCRATCH/asked")" = 'check --gate --variables=/proc/self/fd/0 --timeout=10' ]
}

# It is started by a process that was root's, and judges what the program will have. Slurm sets the
# limit of core files last. From 26.05 on a task ignores the signals that slurmd was started to ignore.
# bats test_tags=short
@test "the check has the user, groups, CPUs, limits and control group of its task" {
    cat >"$SCRATCH/self" <<'END'
grep -E '^(Uid|Gid|Groups|Cap...|Cpus_allowed_list|NoNewPrivs|Sig(Blk|Cgt))' /proc/self/status
cat /proc/self/cgroup
grep -v core /proc/self/limits
readlink /proc/self/cwd /proc/self/root /proc/self/ns/{user,mnt,pid,net,ipc,cgroup}
END
    printf '#!/bin/bash\nbash %s/self >%s/check.$SLURMD_NODENAME\nexec %s/distgpu "$@"\n' \
        "$SCRATCH" "$SCRATCH" "$SCRATCH" >"$SCRATCH/noted"
    chmod 755 "$SCRATCH/noted"
    set_plugstack "required $SCRATCH/${plugin##*/} command=$SCRATCH/noted"
    run submit srun -w 'node[03-04]' -n2 -c2 --propagate=NOFILE --distgpu=pytorch,check \
        bash -c 'bash "$1/self" >"$1/task.$SLURMD_NODENAME"' - "$SCRATCH"
    restore_plugstack
    [ "$status" -eq 0 ]
    grep -q '^CapEff:[[:space:]]*0*$' "$SCRATCH/check.node03"
    diff "$SCRATCH/task.node03" "$SCRATCH/check.node03"
}

# The step ends before its program starts, with the finding, who is to be left out, and status 1.
refused() { # FAULT
    run ! submit "${eight[@]}" --distgpu=pytorch,check touch "$SCRATCH/started-$1"
    [ ! -e "$SCRATCH/started-$1" ]
    grep "^distgpu: check: .*$(said_of "$1")" <<<"$output"
    grep '^distgpu: check: not ready, but the other nodes are: use --exclude=node03$' <<<"$output"
}

@test "each fault of a node's GPUs, HCAs, links, interfaces and clock" {
    local fault
    for fault in missing-gpu other-gpu hca-down slow-link one-way closed-port no-interface clock; do
        plant $fault
        if [[ $fault == no-interface ]]; then NCCL_SOCKET_IFNAME="=eth0" refused $fault; else refused $fault; fi
        mend $fault
        [ "$status" -eq 1 ]
    done
}

@test "a node without the plugin: the others do not wait for it, and its program is ended" {
    plant no-plugin
    SECONDS=0
    run submit "${eight[@]}" --distgpu=pytorch,check sleep 60
    mend no-plugin
    [ "$status" -ne 0 ]
    ((SECONDS < 20))
    grep "^distgpu: check: ranks 4-5 $(said_of no-plugin)" <<<"$output"
    grep '^distgpu: check: not ready, but the other nodes are: use --exclude=node03$' <<<"$output"
}

@test "one node that is slow: the line to leave it out leads to a step that runs, and check=warn goes on" {
    plant slow-link
    run -0 submit srun -N3 -n3 --exclude=node03 --distgpu=pytorch,check echo runs
    [ "$(grep -c '^runs$' <<<"$output")" -eq 3 ]
    run submit "${eight[@]}" --distgpu=pytorch,check=warn bash -c 'echo "$RANK runs"'
    mend slow-link
    [ "$status" -eq 0 ]
    grep "^distgpu: check: .*$(said_of slow-link)" <<<"$output"
    [ "$(grep -c '^distgpu: check=warn: the program starts anyway$' <<<"$output")" -eq 1 ]
    [ "$(grep -c '^[0-7] runs$' <<<"$output")" -eq 8 ]
}

@test "one node's variables that a wrapper changes, by the gate in its place" {
    run -1 submit "${eight[@]}" --distgpu=pytorch "${gate_in_wrapper[@]}"
    grep "^distgpu: check: ranks 4-5 on $(said_of wrapper)" <<<"$output"
}

@test "heterogeneous steps, per-node launchers, distgpu exec, and what the site asks for" {
    run -0 submit srun --quiet -w node01 -n3 --distgpu=pytorch,check bash -c 'echo "$RANK runs"' : \
        -w node02 -n1 bash -c 'echo "$RANK runs"'
    [[ $output == *'distgpu: check: 4 ranks on 2 nodes ready in '* ]]
    [ "$(grep -c '^[0-3] runs$' <<<"$output")" -eq 4 ]
    local mode
    for mode in torchrun,nproc=2 composer,nproc=2 lightning,per-node; do
        run submit srun -N4 --ntasks-per-node=1 --distgpu=$mode,check echo runs
        [[ $output == *'distgpu: check: 4 ranks on 4 nodes ready in '* ]]
        [ "$(grep -c '^runs$' <<<"$output")" -eq 4 ]
    done
    run submit "${eight[@]}" ./distgpu exec pytorch,check -- echo runs
    [[ $output == *'distgpu: check: 8 ranks on 4 nodes ready in '* ]]
    [ "$(grep -c '^runs$' <<<"$output")" -eq 8 ]
    on_nodes sed -i 's/$/ check=warn/' /etc/slurm/plugstack.conf
    run submit "${eight[@]}" --distgpu=pytorch echo runs
    run -0 submit "${eight[@]}" --distgpu=pytorch,check=off echo runs
    local without=$output
    on_nodes sed -i 's/ check=warn$//' /etc/slurm/plugstack.conf
    [[ $without != *check* ]]
}

# The check of a rank on NODE is stopped in its midst: gate/freeze.py.
freeze() { # NODE KIND
    local freezer
    for _ in {1..5}; do # a busy machine may miss the moment: it comes too early, or the check is ready before
        rm -f "$SCRATCH/ran-frozen"
        on "$1" python3 "$BATS_TEST_DIRNAME/gate/freeze.py" "$2" 3>&- >"$SCRATCH/frozen" &
        freezer=$!
        SECONDS=0
        run submit "${eight[@]}" --distgpu=pytorch,check touch "$SCRATCH/ran-frozen"
        wait "$freezer" || true
        [[ $output == *' ready in '* || $output == *'rank 0 does not answer there'* ]] || break
        on "$1" kill -KILL "$(<"$SCRATCH/frozen")" || true
    done
    # Slurm itself may take half a minute.
    on "$1" kill -KILL "$(<"$SCRATCH/frozen")" || true
    assert_cluster_clean
    echo "$output" "$SECONDS s"
    [ "$status" -ne 0 ]
    [ ! -e "$SCRATCH/ran-frozen" ]
}

@test "a rank that stops after its report: no program starts, and it is named" {
    local silent='reported, but did not answer within 3 s after that; '
    freeze node03 first
    grep "^distgpu: check: rank 4 on node03: check: $silent" <<<"$output"
    grep '^distgpu: check: not ready, but the other nodes are: use --exclude=node03$' <<<"$output"
    freeze node03 second
    grep "^distgpu: check: rank 5 on node03: check: $silent" <<<"$output"
    grep '^distgpu: check: not ready, but the other nodes are: use --exclude=node03$' <<<"$output"
    freeze node01 second
    grep "^distgpu: check: rank 1 on node01: check: $silent" <<<"$output"
}

@test "rank 0 stops in its check: one line says who waited for it" {
    freeze node01 first
    [ "$(grep -c 'rank 2 on node02: rank 0 on node01 did not answer; .*--exclude=node01$' <<<"$output")" -eq 1 ]
}

@test "rank 0's own node has no loopback: one rank there says why the others cannot report" {
    on node01 ip link set lo down
    run submit "${eight[@]}" --distgpu=pytorch,check touch "$SCRATCH/ran-alone"
    on node01 ip link set lo up
    [ "$status" -ne 0 ]
    [ ! -e "$SCRATCH/ran-alone" ]
    grep '^distgpu: check: rank 1 on node01: no report within 10 s; ' <<<"$output"
    [ "$(grep -c '^distgpu: rank 1 on node01: rank 0 at 10.77.1.1:[0-9]*: ' <<<"$output")" -eq 1 ]
}

@test "a command that cannot be started is an error that says so, once" {
    on_nodes sed -i "s|command=.*|command=/no/distgpu|" /etc/slurm/plugstack.conf
    run submit "${eight[@]}" --distgpu=pytorch,check echo runs
    on_nodes sed -i "s|command=.*|command=$SCRATCH/bin/distgpu|" /etc/slurm/plugstack.conf
    [ "$status" -ne 0 ]
    [ "$(grep -c 'distgpu: check: /no/distgpu on node01: cannot be started; name the command with command=PATH in plugstack.conf, or leave the key check out' <<<"$output")" -eq 1 ]
    [[ $output != *runs* ]]
}

@test "a step that is cancelled in its check leaves nothing" {
    plant no-plugin
    submit "${eight[@]}" --distgpu=pytorch,check sleep 60 >"$SCRATCH/said" 2>&1 3>&- &
    until on node01 pgrep -f 'distgpu check --gate' >/dev/null; do sleep 0.1; done
    submit scancel --user=sandbox
    wait $! || true
    mend no-plugin
    assert_cluster_clean
    run -1 on node01 pgrep -f 'distgpu check --gate'
}

@test "check --node: one line for Slurm's reason, of a node that is well and of one that is not" {
    run -0 on node03 "$SCRATCH/distgpu" check --node
    [ "$output" = 'node03: all devices are as they were at boot' ]
    plant missing-gpu
    run on node03 "$SCRATCH/distgpu" check --node
    mend missing-gpu
    [ "$status" -eq 1 ]
    [ "$output" = 'node03: /dev/nvidia1: No such file or directory' ]
    on node03 mv /run/distgpu/topology.json /run/distgpu/kept
    run on node03 "$SCRATCH/distgpu" check --node
    on node03 mv /run/distgpu/kept /run/distgpu/topology.json
    [ "$status" -eq 3 ]
    [[ $output == 'distgpu: /run/distgpu/topology.json: No such file or directory; save the topology at boot: '* ]]
}
