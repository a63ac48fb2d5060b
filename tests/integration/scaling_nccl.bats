#!/usr/bin/env bats
# nccl-scaling's back end for NCCL as a whole, where no GPU is: two nodes of two GPUs, which are
# stand-ins for NCCL and CUDA in processes of mpirun. They do the collectives on host memory, and
# refuse what NCCL's documentation forbids (tests/gpu/mocks). Nothing here is a measurement.
# shellcheck disable=SC2154 # run sets output and status

load cluster

program=${DISTGPU_SCALING:-$root/build/dev/nccl_scaling/nccl-scaling}
fakes=$root/tests/gpu/mocks

setup_file() {
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    export OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_btl_vader_single_copy_mechanism=none
    make_libraries new
    make_libraries old -DVERSION=21805 -DWITHOUT_ALL_TO_ALL
    make_libraries ancient -DWITHOUT_SPLIT
}

make_libraries() { # NAME COMPILER_ARGUMENT...
    local folder=$BATS_FILE_TMPDIR/$1
    mkdir "$folder"
    compile "$folder/libcuda.so.1" "$fakes/fake_cuda.c"
    compile "$folder/libnccl.so.2" "${@:2}" "$fakes/fake_nccl.c"
}

compile() { # LIBRARY ARGUMENT...
    mpicc -std=gnu11 -O1 -g -Wall -Wextra -Werror -shared -fPIC -o "$@"
}

setup() { results=$BATS_TEST_TMPDIR/results.json; }

# Runs it in `ranks` processes with the libraries of that name; the status is rank 0's. Every rank
# has ended by itself, rank 0 with that status.
ranks=4
scaling() { # -STATUS LIBRARIES ARGUMENT...
    local statuses=$BATS_TEST_TMPDIR/statuses expected=${1#-}
    shift
    rm -rf "$statuses"
    mkdir "$statuses"
    MASTER_PORT=$((20000 + RANDOM % 10000)) LD_LIBRARY_PATH=$BATS_FILE_TMPDIR/$1 \
        run timeout --kill-after=5 100 mpirun --oversubscribe --bind-to none -np "$ranks" \
        "$root/tests/integration/scaling_nccl/task" "$statuses" "$program" --timeout 20 "${@:2}"
    echo "$output"
    status=$(cat "$statuses/0")
    local ended=("$statuses"/*)
    [ "${#ended[@]}" -eq "$ranks" ]
    [ "$status" -eq "$expected" ]
}

# An entry of the results' fingerprint.
fingerprint() { # NAME
    jq --raw-output --arg name "$1" '.fingerprint[] | select(.name == $name).value' "$results"
}

small=(-b 4K -e 4K --iterations 2 --warmup 1)

# What rank 0 complains of, without the phase.
complaint() { sed -n 's/^distgpu: nccl-scaling: [^:]*: //p' <<<"$output"; }

@test "a whole run: every collective and type, in and out of place" {
    scaling -0 new -b 1K -e 16K -f 4 --type float,half,bfloat16 --iterations 2 --warmup 1 --json "$results"
    # 3 sizes of 3 types of 10 forms (6 collectives, 4 of them also in place), on one node and on two,
    # whose data was checked; each node alone at the largest size; 24 times the two rails.
    [ "$(jq '.measurements | length' "$results")" -eq $((3 * 3 * 10 * 2 + 2 * 3 + 24 * 2)) ]
    [ "$(jq --compact-output .failure "$results")" = null ]
    [[ ${lines[-1]} =~ ^"2 nodes: all-reduce "[0-9.e-]+" GB/s at 16 KiB, "[0-9]+"% of 1 node; limiter: " ]]
}

@test "the results say what was measured" {
    scaling -0 new "${small[@]}" --collective broadcast --json "$results"
    [ "$(fingerprint library)" = "$BATS_FILE_TMPDIR/new/libnccl.so.2" ]
    [ "$(fingerprint NCCL)" = 2.28.7 ]
    [ "$(fingerprint 'CUDA driver API')" = 13.0 ]
    [ "$(fingerprint GPU)" = 'Fake GPU' ]
    [ "$(fingerprint 'GPU clock')" = '1980 MHz' ]
    # The second GPU of the second node.
    [ "$(jq --raw-output '.nodes[1].gpus[1]' "$results")" = \
        'Fake GPU GPU-00010203-0405-0607-0809-0a0b0c0d0e01' ]
}

@test "no check of data, and another version on one rank, which is named before NCCL meets it" {
    DISTGPU_SCALING_CORRUPT=1:7 scaling -0 new "${small[@]}" --check 0
    grep --fixed-strings --line-regexp '# data check: off' <<<"$output"
    FAKE_NCCL_VERSION=2:21805 scaling -3 new "${small[@]}"
    [ "$(complaint)" = "rank 2 on node02: NCCL is '2.28.7' on rank 0, '2.18.5' here" ]
}

@test "too few CPUs are told, once" {
    taskset --cpu-list --pid 0 "$BASHPID" >/dev/null
    scaling -0 new "${small[@]}" --collective broadcast
    [ "$(grep CPU <<<"$output")" = \
        'distgpu: rank 0: has 1 CPU, but NCCL needs about 4; if the other ranks have no more, start with --cpus-per-task=4' ]
}

@test "an error of NCCL is passed on, on one line" {
    local case text='socketPollConnect: connect to 10.0.0.7 failed No route to host'
    for case in 0:ncclGetUniqueId=ncclGetUniqueId 2:ncclCommInitRank=ncclCommInitRank \
        1:ncclCommSplit=ncclCommSplit 3:ncclReduceScatter='collective of NCCL' \
        1:ncclRecv='collective of NCCL' 2:ncclCommDestroy=ncclCommDestroy; do
        FAKE_NCCL_ERROR=${case%=*} scaling -3 old "${small[@]}"
        [[ $(complaint) == "rank ${case%%:*} on node0"?": ${case#*=}: unhandled system error: $text; run again with NCCL_DEBUG=INFO" ]]
    done
}

@test "a lost rank ends a collective, and the one that died is named" {
    SECONDS=0
    FAKE_NCCL_HANG=1 scaling -3 new "${small[@]}"
    [ "$SECONDS" -lt 20 ] # the time-out
    [ "$(complaint)" = 'rank 1 on node01: collective of NCCL: remote process exited or there was a network error: connection closed by remote peer 10.0.0.7; run again with NCCL_DEBUG=INFO' ]
    FAKE_NCCL_DIES=3 FAKE_NCCL_HANG=2 scaling -3 new "${small[@]}"
    [ "$(complaint)" = 'rank 3 on node02: has died' ]
}

@test "two ranks on one GPU, a node without GPUs, and a library that is too old" {
    FAKE_CUDA_DEVICES=1 scaling -3 new "${small[@]}"
    [[ $(complaint) == "rank "?" on node0"?": ncclCommInitRank: invalid usage: Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 0; give each task its own GPU; NCCL_DEBUG=INFO shows more" ]]
    FAKE_CUDA_DEVICES=0 scaling -3 new "${small[@]}"
    [[ $(complaint) == "rank "?" on node0"?": local rank "?": sees 0 GPUs; start one task per GPU" ]]
    scaling -3 ancient "${small[@]}"
    [ "$(grep '^distgpu: ' <<<"$output")" = \
        "distgpu: $BATS_FILE_TMPDIR/ancient/libnccl.so.2 (2.28.7): has no ncclCommSplit; install NCCL 2.18 or newer" ]
}

# Not by waiting for the others in ncclCommDestroy.
@test "wrong data ends the run at once" {
    SECONDS=0
    DISTGPU_SCALING_CORRUPT=1:7 scaling -5 new "${small[@]}"
    [ "$SECONDS" -lt 20 ]
    [[ $(complaint) == "rank 1 on node01: wrong data: element 7 is "* ]]
}
