#!/usr/bin/env bats
# What users run in containers: training, torchrun, `distgpu check`; in those of pyxis and of
# charliecloud.

load ../frameworks/frameworks
load containers

setup_file() {
    have_containers || return 0
    export OMP_NUM_THREADS=1
    plugin_arguments+=(cpus=keep)
    containers_up before --nodes 2 --gpus 2
    cp -r "$root/examples" "$SCRATCH"
    chmod -R go+rX "$SCRATCH/examples"
    null_gpus 2
    hooks 50-slurm-pytorch.sh 50-slurm-pmi.sh
    # All that an image could set to mislead PyTorch.
    image pytorch PYTORCH_VERSION=2.9.0 RANK=0 LOCAL_RANK=0 WORLD_SIZE=1 MASTER_ADDR=nowhere.example \
        SLURM_PROCID=0 SLURM_LOCALID=0 TORCHELASTIC_USE_AGENT_STORE=True NCCL_DEBUG=VERSION
}

in_container() { # FOLDER...
    local mounts="$SCRATCH"
    (($# == 0)) || mounts+=$(printf ',%s' "$@")
    options=(--container-image="$images/pytorch.sqsh" --container-mounts="$mounts"
        --container-workdir="$SCRATCH")
}

@test "PyTorch trains in the image, one process per task" {
    need torch
    in_container "${python%/bin/python}"
    launch "${in_blocks[@]}" "${options[@]}" --distgpu=pytorch "$python" examples/train.py
    assert_trained "${block[@]}"
    assert_cluster_clean
    launch "${in_reverse[@]}" "${options[@]}" --distgpu=pytorch "$python" examples/train.py
    assert_trained "${reversed[@]}"
}

@test "torchrun trains in the image" {
    need torch
    in_container "${python%/bin/python}"
    launch -N2 --ntasks-per-node=1 "${options[@]}" --distgpu=torchrun,nproc=2 \
        "${python%/*}/torchrun" examples/train.py
    assert_trained "${block[@]}"
}

@test "distgpu run starts a training in the image again" {
    need torch
    in_container "${python%/bin/python}"
    printf '%s\n' '#!/bin/bash' "./distgpu run --progress checkpoint.pt -- srun ${options[*]} --distgpu=torchrun,nproc=1 \
        ${python%/*}/torchrun examples/resume.py --steps 40 --pause 0.2" >"$SCRATCH/job.sh"
    (
        until_so 60 test -s "$SCRATCH/checkpoint.pt"
        on node02 pkill -KILL -o -f 'python.*-u examples/resume.py'
    ) 3>&- &
    batch -N2 --ntasks-per-node=1 -c 2 "$SCRATCH/job.sh"
    wait
    echo "$output"
    grep -q '^distgpu: run: torchrun on node0[12] failed first: .*; restart 1 of 3$' <<<"$output"
    grep -qE '^attempt 1 begins at step [123]0$' <<<"$output"
    grep -q '^trained 40 steps' <<<"$output"
    [ "$status" -eq 0 ]
}

# `ray start` and its workers run in each node's container, as `distgpu exec` does, and /tmp is the
# container's.
@test "Ray runs in the image, and nothing of it is left" {
    local node
    need ray
    image ray PATH="${python%/*}:/usr/bin:/bin" RAY_ADDRESS=10.9.9.9:6379 RANK=0
    cp "$root/tests/frameworks/programs/ray_driver.py" "$SCRATCH"
    in_container "${python%/bin/python}"
    options[0]=--container-image="$images/ray.sqsh"
    launch -N2 --ntasks-per-node=1 -c 2 "${options[@]}" --distgpu=ray \
        "$SCRATCH/distgpu" exec -- python3 ray_driver.py 2 7
    [ "$status" -eq 7 ]
    [ "$(grep -E '^(task|token|nodes)' <<<"$output")" = 'task on node01 leaked
task on node02 leaked
token token 64
nodes 2 of 2' ]
    for node in node01 node02; do [ -z "$(on "$node" pgrep -u "$(submit id -un)")" ]; done
}

# With the stand-ins of integration/serving.bats. The image has variables of its own, and srun's end is
# the servers'.
@test "the servers of vLLM and SGLang run in the image, and nothing of them is left" {
    local node program
    cp -r "$root/tests/integration/serving/"* "$SCRATCH"
    image serving MASTER_ADDR=nowhere.example RANK=0 VLLM_HOST_IP=10.9.9.9 SGLANG_HOST_IP=10.9.9.9
    in_container
    options[0]=--container-image="$images/serving.sqsh"
    for program in 'vllm python3 vllm serve m' 'sglang python3 -m sglang.launch_server --model-path m'; do
        # shellcheck disable=SC2086 # words
        run -124 submit timeout --kill-after=20 12 srun -N2 --ntasks-per-node=1 "${options[@]}" \
            --distgpu="${program%% *}" "$SCRATCH/distgpu" exec -- ${program#* } --tensor-parallel-size 2
        [ "$(grep -c '^options .* --nnodes 2 --node-rank [01] ' <<<"$output")" -eq 2 ]
        grep -qx "distgpu: ${program%% *}: ready at http://10.77.1.1:[0-9]* after [0-9]* s" <<<"$output"
        assert_cluster_clean
        for node in node01 node02; do [ -z "$(on "$node" pgrep -u "$(submit id -un)")" ]; done
    done
}

# Its libraries are the machine's, as the image's programs are.
@test "distgpu check runs in the image, and names what the image sets otherwise" {
    in_container
    NCCL_DEBUG=INFO run -0 submit srun -N2 --ntasks-per-node=2 "${options[@]}" --distgpu=pytorch \
        "$SCRATCH/distgpu" check
    [[ $output == *'ready: 4 ranks on 2 nodes reach rank 0 at 10.77.1.1:'* ]]
    [[ $output == *"NCCL_DEBUG: the container overrides the value that you exported; 'INFO' is used; remove it from the image, or do not export it"* ]]
}

# From outside: the step's processes have other numbers in the container where that has its own.
@test "distgpu explain shows what a rank in the image got, and what its wrapper changed" {
    in_container
    begin_step 4 -N2 --ntasks-per-node=2 "${options[@]}" --distgpu=pytorch sh -c '
        [ $SLURM_PROCID != 3 ] || export NCCL_ALGO=Tree
        echo waits; sleep 60; exit'
    run submit "$SCRATCH/distgpu" explain "$job"
    finish_step
    [ "$status" -eq 0 ]
    [[ ${lines[0]} == 'step '*'.0: 4 ranks on 2 nodes, prepared by --distgpu=pytorch' ]]
    [ "$(grep -A1 '^rank 3 on node02:$' <<<"$output" | tail -1)" = \
        '  NCCL_ALGO is Tree, and was not set when the task began' ]
    [[ $output == *'ranks 0-2 on node01, node02 are unchanged since they began'* ]]
}

# charliecloud is a program within the task: what distgpu set is in its environment.
@test "ch-run keeps what distgpu set" {
    ((EUID == 0)) && command -v ch-run >/dev/null || skip "charliecloud is not installed"
    unsquashfs -quiet -no-progress -dest "$SCRATCH/charlie" "$images/pytorch.sqsh" >/dev/null
    mkdir -p "$SCRATCH/charlie"/mnt/{0,1,2,3,4,5,6,7,8,9}
    chmod -R a+rX "$SCRATCH/charlie"
    run -0 submit srun -N2 --ntasks-per-node=2 --distgpu=pytorch \
        ch-run --bind=/usr "$SCRATCH/charlie" -- sh -c 'echo $RANK $LOCAL_RANK $WORLD_SIZE $MASTER_ADDR'
    [ "$(grep '^[0-9]' <<<"$output" | sort)" = "0 0 4 10.77.1.1
1 1 4 10.77.1.1
2 0 4 10.77.1.1
3 1 4 10.77.1.1" ]
}

# pyxis enters the container in the task, before its parent is forked there; the program of that is
# the host's, of which the image has nothing.
@test "Slurm's signals reach the ranks in the image, and its status and terminal are the program's" {
    cp "$root/tests/integration/signal/signalled_ranks.py" "$SCRATCH"
    in_container
    submit srun --unbuffered -N2 -n4 "${options[@]}" --distgpu=pytorch,signal \
        bash -c 'python3 signalled_ranks.py; exit $?' >"$SCRATCH/log" 2>&1 3>&- &
    until_so 60 eval '[ "$(grep -c " up$" "$SCRATCH/log")" -eq 4 ]' || { cat "$SCRATCH/log" && return 1; }
    # The parent is in the container too.
    run -0 on node01 sh -c 'readlink "/proc/$(pgrep -o -x distgpu-task)/ns/mnt" "/proc/$(pgrep -o -x python3)/ns/mnt"'
    [ "${lines[0]}" = "${lines[1]}" ]
    [ "${lines[0]}" != "$(on node01 readlink /proc/self/ns/mnt)" ]
    submit scancel --signal=USR2 "$(submit squeue --noheader --format=%A).0"
    sleep 1.5
    [ "$(grep ' USR2$' "$SCRATCH/log" | sort)" = "$(printf '%s USR2\n' {0..3})" ]
    submit scancel --signal=KILL --user "$(submit id -un)"
    wait $! || true
    assert_cluster_clean
    run -7 submit srun -n1 "${options[@]}" --distgpu=pytorch,signal sh -c 'exit 7'
    run -0 script --quiet --return --command "$sandbox run --name $CLUSTER -- srun -n1 --pty ${options[*]} \
        --distgpu=pytorch,signal sh -c 'tty; cat /proc/1/comm'" /dev/null
    [[ $output == *'/dev/pts/'* ]]
    run -0 submit srun -N2 -n4 "${options[@]}" --mpi=pmix --distgpu=ompi,signal sh -c 'echo $PMIX_RANK'
    [ "$(grep -E '^[0-3]$' <<<"$output" | sort)" = "$(printf '%s\n' {0..3})" ]
}
