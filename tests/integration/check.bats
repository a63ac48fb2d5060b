#!/usr/bin/env bats
# `distgpu check` in real steps: what it says of a good one, and that it names each fault.

load cluster

setup_file() {
    cluster_up --nodes 2 --gpus 2
    null_gpus 2
}

teardown_file() {
    [[ ! -e $SCRATCH/munge-made ]] || rmdir /run/munge
    cluster_down
}

setup() {
    assert_cluster_clean
    check=("$SCRATCH/distgpu" check)
    two_and_two=(srun -N2 -n4 --ntasks-per-node=2)
    rate='[0-9.]+ [MG]b/s'
    # Of a shell that becomes the check: $1 is a command for the rank $0, before.
    in_rank='[[ $SLURM_PROCID != "$0" ]] || eval "$1"; exec '"${check[*]}"
}

# A step with a fault: runs it, and fails unless it ends with this status and verdict.
judged() { # STATUS VERDICT COMMAND...
    run submit "${@:3}"
    echo "$output"
    [ "$status" -eq "$1" ]
    [[ $'\n'$output == *$'\n'"$2"* ]]
}

# bats test_tags=short
@test "a good step is ready, in every shape, as text and in JSON, and one with a fault is not" {
    judged 0 'ready: 4 ranks on 2 nodes reach rank 0 at 10.77.1.1:' \
        "${two_and_two[@]}" --distgpu=pytorch "${check[@]}"
    [[ $output =~ node01\ +0-1\ +0-1\ +0\ +eth0\ +$rate\ +$rate\ +none\ +ok ]]
    [[ $output =~ node02\ +2-3\ +0-1\ +0\ +eth0\ +$rate\ +$rate\ +none\ +ok ]]
    # Without a GPU nothing uses it.
    [[ $output != *NCCL* ]]
    judged 0 'ready: 4 ranks on 2 nodes' "${two_and_two[@]}" -m cyclic --distgpu=pytorch "${check[@]}"
    [[ $output == *$'\nnode02  1,3 '* ]]
    judged 0 'ready: 3 ranks on 2 nodes' srun -N2 -n3 --distgpu=pytorch "${check[@]}"
    judged 0 'ready: 1 rank on 1 node reach' srun -n1 --distgpu=pytorch "${check[@]}"
    run -0 submit "${two_and_two[@]}" --distgpu=pytorch "${check[@]}" --format json
    told '.schema == "distgpu.check/1" and .ready and .ranks == 4 and .mode == "pytorch"'
    [ "$(told '[.nodes[] | [.node, .ranks, .state, .cpus]]')" = '[["node01",[0,1],"ok","0-1"],["node02",[2,3],"ok","0-1"]]' ]
    told '.missing == [] and .not_checked == []'
    run ! submit "${two_and_two[@]}" --distgpu=pytorch bash -c \
        '((SLURM_PROCID != 3)) || export RANK=7; exec "$@"' check "${check[@]}" --format json
    [ "$(told '[.ready, .findings[0].weight, .findings[0].ranks, .findings[0].object]')" = '[false,"failed",[3],"RANK"]' ]
}

# What of the document a query of jq tells.
told() { # QUERY
    sed -n '/^{/,/^}/p' <<<"$output" | jq --compact-output --exit-status "$1"
}

@test "a node that differs from the others is named, so is a wrong clock, and a step without one is not" {
    local four=("${two_and_two[@]}" --distgpu=pytorch)
    judged 1 'not ready: ranks 2-3 on node02: NCCL, Gloo and UCX variables: NCCL_ALGO=Ring, but node01 has none; make them the same, or exclude the odd nodes with --exclude=node02' \
        "${four[@]}" bash -c \
        '[[ $SLURMD_NODENAME != node02 ]] || export NCCL_ALGO=Ring; exec "$@"' check "${check[@]}"
    [[ $output == *$'\nleave out: --exclude=node02'* ]]
    judged 1 "not ready: rank 1 on node02: clock: 5 s ahead of that of rank 0's node; start an NTP service, such as chronyd, on that node" \
        srun -N2 -n2 --distgpu=pytorch bash -c \
        'case $SLURMD_NODENAME in node02) exec faketime -f +5s "$@" ;; *) exec "$@" ;; esac' check "${check[@]}"
    judged 1 "not ready: rank 1 on node02: clock: 5 s behind that of rank 0's node" \
        srun -N2 -n2 --distgpu=pytorch bash -c \
        'case $SLURMD_NODENAME in node02) exec faketime -f -5s "$@" ;; *) exec "$@" ;; esac' check "${check[@]}"
}

@test "every mode that distgpu prepared is ready, so is what distgpu exec prepared, and a script itself" {
    local mode
    for mode in lightning accelerate megatron horovod,backend=gloo ompi tensorflow jax deepspeed \
        pytorch,port=29123,master=name; do
        judged 0 'ready: 4 ranks on 2 nodes' "${two_and_two[@]}" --distgpu=$mode "${check[@]}"
    done
    for mode in torchrun,nproc=2 composer,nproc=2 lightning,per-node; do
        judged 0 'ready: 2 ranks on 2 nodes' srun -N2 -n2 --distgpu=$mode "${check[@]}"
    done
    judged 0 'ready: 4 ranks on 2 nodes reach rank 0 at node01:' \
        "${two_and_two[@]}" "$SCRATCH/distgpu" exec pytorch -- "${check[@]}"
    judged 0 'ready: 4 ranks on 2 nodes reach rank 0 at node01:29511' "${two_and_two[@]}" bash -c \
        'RANK=$SLURM_PROCID WORLD_SIZE=4 LOCAL_RANK=$SLURM_LOCALID LOCAL_WORLD_SIZE=2 \
        NODE_RANK=$SLURM_NODEID GROUP_RANK=$SLURM_NODEID GROUP_WORLD_SIZE=2 \
        MASTER_ADDR=node01 MASTER_PORT=29511 exec '"${check[*]} pytorch"
}

@test "a step whose layout no variable tells is ready, as distgpu hands it on, but not to a step inside" {
    judged 0 'ready: 4 ranks on 2 nodes' srun -n4 -m arbitrary -w node02,node01,node02,node01 \
        --distgpu=pytorch "${check[@]}"
    [[ $output == *$'\nnode01  1,3    0-1 '* ]]
    [[ $output == *$'\nnode02  0,2    0-1 '* ]]
    # Three tasks on node01 and one on node02, as a job and as a step of one allocation.
    local component=(--quiet --distgpu=pytorch "${check[@]}")
    judged 0 'ready: 4 ranks on 2 nodes' srun -w node01 -n3 "${component[@]}" : -w node02 -n1 "${check[@]}"
    [[ $output == *$'\nnode01  0-2    0-1 '* ]]
    [[ $output == *$'\nnode02  3      0-1 '* ]]
    run -0 submit salloc --quiet -N2 --exclusive srun -n2 -m arbitrary -w node02,node01 \
        --distgpu=pytorch bash -c '
        [[ $SLURM_DISTGPU_LAYOUT == "$SLURM_JOB_ID.$SLURM_STEP_ID node"* ]] || exit 7
        ((RANK > 0)) || exec srun --overlap -m block -N2 -n4 --ntasks-per-node=2 --distgpu=pytorch "$0" check' \
        "$SCRATCH/distgpu"
    [[ $output == *$'ready: 4 ranks on 2 nodes'* ]]
    # Every release derives this one.
    run -1 submit srun -N2 -n3 -m cyclic --distgpu=pytorch printenv SLURM_DISTGPU_LAYOUT
    [[ $output != *'.0 node'* ]]
}

# Node or nodes whose Slurm does not load the plugin; without one, all load it again.
without_plugin() { # NODE...
    local node own=/etc/slurm/plugstack.conf
    for node in node01 node02; do
        on "$node" bash -c "[[ -e $own.all ]] || cp $own $own.all; cat $own.all >$own"
    done
    for node; do on "$node" bash -c ">$own"; done
}

@test "a node without the plugin is named, with the line that it lacks, or says so itself" {
    local cause="plugin: srun asked for distgpu, but this node's slurmd did not load its plugin; ask the administrator to add 'required $SCRATCH/${plugin##*/}' to plugstack.conf there, or to find in slurmd's log why it was not loaded"
    without_plugin node02
    judged 1 "not ready: ranks 2-3 on node02: $cause" "${two_and_two[@]}" --distgpu=pytorch "${check[@]}"
    [ "$(grep -c '^failed: ' <<<"$output")" -eq 1 ]
    [[ $output != *missing* && $output =~ node01\ +0-1\ +0-1\ +0\ +eth0\ +$rate\ +$rate\ +none\ +ok ]]
    judged 1 "not ready: ranks 1,3 on node02: $cause" \
        "${two_and_two[@]}" -m cyclic --distgpu=pytorch,master=name,port=29500 "${check[@]}"
    # Rank 0's own node: it listens all the same, and the others find it.
    without_plugin node01
    judged 1 "not ready: ranks 0-1 on node01: $cause" "${two_and_two[@]}" --distgpu=pytorch "${check[@]}"
    [ "$(grep -c '^failed: ' <<<"$output")" -eq 1 ]
    [[ $output == *'distgpu check: pytorch, 4 ranks on 2 nodes, rendezvous 10.77.1.1:'* ]]
    # At a port that it cannot know, too.
    judged 1 "not ready: ranks 0-1 on node01: $cause" \
        env MASTER_PORT=29513 "${two_and_two[@]}" --distgpu=pytorch bash -c "$in_rank" 0 'unset MASTER_PORT'
    without_plugin node02
    run submit "${two_and_two[@]}" --distgpu=pytorch bash -c '((SLURM_PROCID > 0)) || exec sleep 4
exec '"${check[*]} --timeout 2"
    without_plugin
    local said="srun asked for distgpu, but this node's slurmd did not load its plugin;"
    [ "$(grep -c "^distgpu: rank 2 on node02: plugin: $said" <<<"$output")" -eq 1 ]
    [ "$(grep -c "$said" <<<"$output")" -eq 1 ]
    # So does one that does not know its place, in a heterogeneous step whose nodes are listed in
    # another order than they have.
    without_plugin node01
    run submit srun --quiet -w node02 -n1 --distgpu=pytorch "${check[@]}" --timeout 2 : \
        -w node01 -n2 "${check[@]}" --timeout 2
    without_plugin
    [ "$(grep -c "^distgpu: plugin on node01: $said" <<<"$output")" -eq 1 ]
}

# bats test_tags=short
@test "a taken port" {
    listen node01 29511
    MASTER_PORT=29511 run submit "${two_and_two[@]}" --distgpu=pytorch "${check[@]}"
    stop_listening
    [ "$status" -eq 1 ]
    [[ $output == *$'\nnot ready: rank 0 on node01: port 29511 on node01: Address already in use; choose another with the key port=N, or unset MASTER_PORT'* ]]
    # All ranks reported, past that port.
    [[ $output != *missing* && $(grep -c '^failed: ' <<<"$output") -eq 1 ]]
}

@test "a GPU without permission" {
    on node02 chmod 600 /dev/nvidia1
    judged 1 'not ready: ranks 2-3 on node02: /dev/nvidia1: Permission denied; ask the administra' \
        "${two_and_two[@]}" --gres=gpu:2 --distgpu=pytorch "${check[@]}"
    # Another job's GPU is not this one's trouble.
    judged 0 'ready: 2 ranks on 2 nodes' srun -N2 -n2 --gres=gpu:1 --distgpu=pytorch "${check[@]}"
    on node02 chmod 666 /dev/nvidia1
}

@test "a rank that never starts, and rank 0, of which the others tell, one per node" {
    judged 4 'not ready: rank 3 on node02: no report within 2 s; see their own messages' \
        "${two_and_two[@]}" --distgpu=pytorch bash -c '((SLURM_PROCID < 3)) || exec sleep 4
exec '"${check[*]} --timeout 2"
    [[ $output =~ node02\ +2-3\ .*\ 1\ of\ 2\ missing ]]
    run -4 submit "${two_and_two[@]}" --distgpu=pytorch bash -c '((SLURM_PROCID > 0)) || exec sleep 4
exec '"${check[*]} --timeout 2"
    [ "$(grep -c '^distgpu: rank 2 on node02: rank 0 at 10.77.1.1:[0-9]*: Connection refused; ' \
        <<<"$output")" -eq 1 ]
    grep '^distgpu: rank 1 on node01: rank 0 at 10.77.1.1:[0-9]*: Connection refused; ' <<<"$output"
    [ "$(grep '^distgpu: rank' <<<"$output" | grep -vc ' failed first: ')" -eq 2 ]
}

@test "a node whose link is cut" {
    local step
    submit "${two_and_two[@]}" --distgpu=pytorch bash -c 'touch started.$SLURM_PROCID
until [[ -e cut ]]; do sleep 0.1; done
exec '"${check[*]} --timeout 3" >"$SCRATCH/said" 2>&1 3>&- &
    step=$!
    until [[ -e $SCRATCH/started.0 && -e $SCRATCH/started.1 && -e $SCRATCH/started.2 &&
        -e $SCRATCH/started.3 ]]; do sleep 0.1; done
    "$sandbox" link --name "$CLUSTER" cut node02
    touch "$SCRATCH/cut"
    # Rank 0 does not wait for the link.
    until_so 8 grep '^not ready: ranks 2-3 on node02: no report within 3 s; ' "$SCRATCH/said"
    "$sandbox" link --name "$CLUSTER" restore node02
    status=0
    wait "$step" || status=$?
    cat "$SCRATCH/said"
    [ "$status" -eq 4 ]
    grep 'distgpu: rank 2 on node02: rank 0 at 10.77.1.1:[0-9]*: Network is unreachable; ' "$SCRATCH/said"
}

# A program of another user, which tells rank 0 at address $1 and port 29511 that rank 3 is well.
forge='
import json, socket, subprocess, sys, time
report = {"rank": 3, "node": 1, "cpus": "0", "gpus": 0, "interface": "eth0", "ports": "",
          "rendezvous": sys.argv[1] + ":29511", "findings": []}
line = json.dumps(report).encode()
for attempt in range(200):
    try:
        rank0 = socket.create_connection(("10.77.1.1", 29511))
        break
    except OSError:
        time.sleep(0.05)
words = rank0.makefile().readline().split()
print(*words, flush=True)
if "munge" in words:
    line = subprocess.run(["munge"], input=words[-1].encode() + b"\n" + line,
                          capture_output=True, check=True).stdout.strip()
rank0.sendall(line + b"\n")
print("answer:", rank0.recv(100), flush=True)
'

# A step whose rank 3 says nothing, and the forger's report in its place.
forged() { # ADDRESS STATUS VERDICT COMMAND...
    on node02 timeout 60 python3 -c "$forge" "$1" >"$SCRATCH/forger" 2>&1 3>&- &
    MASTER_PORT=29511 judged "${@:2}"
    wait $!
    cat "$SCRATCH/forger"
    grep '^distgpu check [0-9]*\.0' "$SCRATCH/forger"
}

# The check of all ranks but rank 3, whose process stays.
without_rank3='((SLURM_PROCID < 3)) || exec sleep 5; exec "$@" check --timeout 3'

@test "a forged report is ignored, with the secret of the step, or MUNGE; without, nothing is proven" {
    forged 10.77.1.1 4 'not ready: rank 3 on node02: no report within 3 s;' "${two_and_two[@]}" \
        --distgpu=pytorch bash -c "$without_rank3" bash "$SCRATCH/distgpu"
    grep "^answer: b''" "$SCRATCH/forger"
    [[ $output == *$'\nwarning: rank 0 on node01: reports: ignored 1 connection to rank 0 that did not come from this step; find out which other program connects to 10.77.1.1:29511'* ]]
    local unproven=$'\nwarning: rank 0 on node01: reports: not proven to come from this step, because the plugin did not prepare it and MUNGE does not answer; start it with srun --distgpu=MODE'
    local exec=("$SCRATCH/distgpu" exec pytorch --)
    judged 0 'ready: 4 ranks on 2 nodes' "${two_and_two[@]}" "${exec[@]}" "${check[@]}"
    [[ $output == *"$unproven"* ]]
    # The cluster's own MUNGE, where its library looks for one.
    local munge=/run/distgpu-sandbox/$CLUSTER/munge
    [[ -d /run/munge ]] || { mkdir /run/munge && touch "$SCRATCH/munge-made"; }
    ln -s socket "$munge/munge.socket.2"
    on node01 mount --bind "$munge" /run/munge
    on node02 mount --bind "$munge" /run/munge
    judged 0 'ready: 4 ranks on 2 nodes' "${two_and_two[@]}" "${exec[@]}" "${check[@]}"
    [[ $output != *warning* ]]
    # Root's credential is not the user's.
    forged node01 4 'not ready: rank 3 on node02: no report within 3 s;' "${two_and_two[@]}" \
        "${exec[@]}" bash -c "$without_rank3" bash "$SCRATCH/distgpu"
    grep "^answer: b''" "$SCRATCH/forger"
    grep '^distgpu check .* munge ' "$SCRATCH/forger"
    on node01 umount /run/munge
    on node02 umount /run/munge
}

@test "the secret is each step's own, known to its tasks alone" {
    local secrets
    run -0 submit "${two_and_two[@]}" --distgpu=pytorch,verbose bash -c 'echo "secret $SLURM_DISTGPU_SECRET"
        [[ ! -v SLURM_DISTGPU_STEP ]]'
    secrets=$(grep -o 'secret .*' <<<"$output" | sort -u)
    [ "$(wc -l <<<"$secrets")" -eq 1 ]
    [[ $secrets =~ ^secret\ ([0-9a-f]{64})$ ]]
    local first=${BASH_REMATCH[1]}
    run -0 submit "${two_and_two[@]}" --distgpu=pytorch bash -c 'echo "secret $SLURM_DISTGPU_SECRET"'
    [[ $output == *secret* && $output != *"$first"* ]]
    # No daemon has written it down.
    run -1 grep -rc "$first" "/run/distgpu-sandbox/$CLUSTER/log"
    [[ $output == *slurmctld.log:0* ]]
}

@test "the checks that are chosen, and no others; what it cannot check it says" {
    # A fault of which the check interfaces would tell.
    export NCCL_SOCKET_IFNAME=ib
    judged 1 'not ready: ranks 0-3 on node[01-02]: NCCL_SOCKET_IFNAME: ' \
        "${two_and_two[@]}" --distgpu=pytorch "${check[@]}" --only interfaces,gpus
    [[ $output == *$'\nnot checked: variables, ports, cpus, limits, memory, nvlink, fabric, names, nodes, network\n'* ]]
    [[ $output == *$'\nnode02  2-3    0-1   0          ib         not checked  '* ]]
    # Told once, not by every rank.
    run -2 submit "${two_and_two[@]}" --distgpu=pytorch "${check[@]}" --only gpu
    [[ $(distgpu_lines) == "distgpu: --only=gpu: unknown check 'gpu'; did you mean 'gpus'?" ]]
    run -2 submit "${two_and_two[@]}" "${check[@]}"
    [[ $(distgpu_lines) == 'distgpu: distgpu check: distgpu did not prepare this process, so its mode is unknown; start it with srun --distgpu=MODE distgpu check, or name the mode: srun distgpu check MODE' ]]
}
