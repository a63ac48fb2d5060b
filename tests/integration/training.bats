#!/usr/bin/env bats
# Real training with Debian's torch: examples/train.py, judged by its verdict, which says that all
# ranks hold the same parameters and that the loss fell. Current frameworks, in every shape:
# tests/frameworks.

load cluster

setup_file() {
    # Two threads in each of several ranks would wait for the machine's few CPUs.
    export OMP_NUM_THREADS=1
    cluster_up --nodes 2
    cp -r "$root/examples" "$SCRATCH"
    chmod -R go+rX "$SCRATCH/examples"
}

need_debian_torch() {
    [[ -d /usr/lib/python3/dist-packages/torch ]] || {
        echo "python3-torch: not installed; apt-get install python3-torch" >&2
        return 1
    }
    PATH=/usr/bin:$PATH
}

# A run that hangs is ended before Slurm or bats would.
launch() { run submit timeout --kill-after=5 90 srun "$@"; }

# The ranks' rows "RANK HOST ADDRESS LOCAL" and the verdict on them.
assert_trained() { # ROW...
    local verdict='^4 ranks on 2 nodes agree: loss 0\.[0-9]+ -> 0\.[0-9]+, parameters [0-9a-f]{12}$'
    echo "$output"
    [ "$status" -eq 0 ]
    [ "$(awk '$NF == "cpu" { print $1, $2, $3, $4 }' <<<"$output")" = "$(printf '%s\n' "$@")" ]
    [ "$(grep -cE "$verdict" <<<"$output")" -eq 1 ]
}

block=('0 node01 10.77.1.1 0' '1 node01 10.77.1.1 1' '2 node02 10.77.1.2 0' '3 node02 10.77.1.2 1')

@test "srun without --distgpu: the same command does not train" {
    need_debian_torch
    launch -N2 --ntasks-per-node=2 -c2 --gres=gpu:2 python3 examples/train.py
    [ "$status" -eq 2 ]
    [ "${lines[0]}" = "train.py: RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR, MASTER_PORT: not set; start it with 'srun --distgpu=pytorch python3 train.py', or with torchrun" ]
}

# bats test_tags=short
@test "srun trains on two nodes, also with three ranks on one and one on the other, and sbatch" {
    need_debian_torch
    launch -N2 --ntasks-per-node=2 -c2 --gres=gpu:2 --distgpu=pytorch python3 examples/train.py
    assert_trained "${block[@]}"
    need_debian_torch
    launch -N2 -n4 -c2 -m plane=3 --distgpu=pytorch python3 examples/train.py
    assert_trained '0 node01 10.77.1.1 0' '1 node01 10.77.1.1 1' '2 node01 10.77.1.1 2' '3 node02 10.77.1.2 0'
    need_debian_torch
    batch -N2 --ntasks-per-node=2 --gres=gpu:2 examples/train.sbatch
    assert_trained "${block[@]}"
}
