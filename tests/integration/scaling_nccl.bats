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
    make_libraries old -DVERSION=21805 -DWITHOUT_ALL_TO_ALL -DWITHOUT_MEM_ALLOC
    make_libraries ancient -DWITHOUT_SPLIT
}

make_libraries() { # NAME COMPILER_ARGUMENT...
    local folder=$BATS_FILE_TMPDIR/$1
    mkdir "$folder"
    compile "$folder/libcuda.so.1" "$fakes/fake_cuda.c"
    compile "$folder/libnccl.so.2" "${@:2}" "$fakes/fake_nccl.c" -lm
    compile "$folder/libnvidia-ml.so.1" "$fakes/fake_nvml.c"
}

compile() { # LIBRARY ARGUMENT...
    mpicc -std=gnu11 -O1 -g -Wall -Wextra -Werror -shared -fPIC -o "$@"
}

setup() { results=$BATS_TEST_TMPDIR/results.json; }

# Runs it in `ranks` processes with the libraries of that name; the status is rank 0's. Every rank
# has ended by itself.
ranks=4
scaling() { # LIBRARIES ARGUMENT...
    local statuses=$BATS_TEST_TMPDIR/statuses
    rm -rf "$statuses"
    mkdir "$statuses"
    MASTER_PORT=$((20000 + RANDOM % 10000)) LD_LIBRARY_PATH=$BATS_FILE_TMPDIR/$1 \
        run timeout --kill-after=5 100 mpirun --oversubscribe --bind-to none -np "$ranks" \
        "$root/tests/integration/scaling_nccl/task" "$statuses" "$program" --timeout 20 "${@:2}"
    echo "$output"
    status=$(cat "$statuses/0")
    local ended=("$statuses"/*)
    [ "${#ended[@]}" -eq "$ranks" ]
}

# An entry of the results' fingerprint.
fingerprint() { # NAME
    jq --raw-output --arg name "$1" '.fingerprint[] | select(.name == $name).value' "$results"
}

small=(-b 4K -e 4K --iterations 2 --warmup 1)

# What rank 0 complains of, without the phase.
complaint() { sed -n 's/^distgpu: nccl-scaling: [^:]*: //p' <<<"$output"; }

@test "a whole run: every collective and type, in and out of place" {
    scaling new -b 1K -e 16K -f 4 --type float,double,half,bfloat16,int8,int32,int64 \
        --iterations 2 --warmup 1 --json "$results"
    [ "$status" -eq 0 ]
    # 3 sizes of 7 types of 12 forms (7 collectives, 5 of them also in place), on one node and on
    # two, whose data was checked; each node alone at the largest size; 24 times the two rails.
    [ "$(jq '.measurements | length' "$results")" -eq $((3 * 7 * 12 * 2 + 2 * 3 + 24 * 2)) ]
    [ "$(jq --compact-output .failure "$results")" = null ]
    [[ ${lines[-1]} =~ ^"2 nodes: all-reduce "[0-9.e-]+" GB/s at 16 KiB, "[0-9]+"% of 1 node; limiter: " ]]
}

# The group of both nodes has 3 ranks, and so no halves.
@test "what must be asked for: gather, scatter, uneven parts, and halves where there are halves" {
    ranks=3 scaling new -b 4K -e 4K --iterations 2 --warmup 1 --json "$results" \
        --collective gather,scatter,all-to-all-v,bisection
    [ "$status" -eq 0 ]
    [ "$(jq --raw-output '. as $run | [.measurements[] | select($run.groups[.group].kind == "nodes") |
        "\($run.groups[.group].ranks) \(.collective)"] | sort | join(", ")' "$results")" = \
        '2 all-to-all-v, 2 bisection, 2 gather, 2 scatter, 3 all-to-all-v, 3 gather, 3 scatter' ]
}

@test "every operation of every type" {
    scaling new -b 4K -e 4K --iterations 2 --warmup 1 --op sum,max,min,prod,avg \
        --type float,double,half,bfloat16,int8,int32,int64 --json "$results" \
        --collective all-reduce,reduce-scatter,reduce,all-gather
    [ "$status" -eq 0 ]
    # Of the world: 3 collectives with 5 operations and one with none; in place and out of place.
    [ "$(jq '. as $run | [.measurements[] | select($run.groups[.group] | .kind == "nodes" and .ranks == 4)] |
        length' "$results")" -eq $((7 * (3 * 5 + 1) * 2)) ]
    [ "$(jq --raw-output '[.measurements[].op] | unique | join(" ")' "$results")" = 'avg max min none prod sum' ]
    grep --quiet 'all-reduce      max   float' <<<"$output"
}

@test "fp8, where the library has it" {
    scaling new "${small[@]}" --type f8e4m3,f8e5m2 --op sum,max,avg
    [ "$status" -eq 0 ]
    scaling old "${small[@]}" --type float,f8e5m2
    [ "$status" -eq 3 ]
    [[ $(complaint) == "rank "?" on node0"?": --type f8e5m2: the back end has it for none of the collectives asked for; leave it out; it needs NCCL 2.24 or newer" ]]
}

@test "averages of three ranks are measured, but not checked" {
    local one=(-b 4K -e 4K --iterations 2 --warmup 1 --collective all-reduce)
    DISTGPU_SCALING_CORRUPT=2:7 ranks=3 scaling new "${one[@]}" --op max
    [ "$status" -eq 5 ]
    DISTGPU_SCALING_CORRUPT=2:7 ranks=3 scaling new "${one[@]}" --op avg
    [ "$status" -eq 0 ]
}

@test "the results say what was measured" {
    scaling new "${small[@]}" --collective broadcast --json "$results"
    [ "$status" -eq 0 ]
    [ "$(fingerprint library)" = "$BATS_FILE_TMPDIR/new/libnccl.so.2" ]
    [ "$(fingerprint NCCL)" = 2.28.7 ]
    [ "$(fingerprint 'CUDA driver API')" = 13.0 ]
    [ "$(fingerprint GPU)" = 'Fake GPU' ]
    [ "$(fingerprint 'GPU clock')" = '1980 MHz' ]
    # The second GPU of the second node.
    [ "$(jq --raw-output '.nodes[1].gpus[1]' "$results")" = \
        'Fake GPU GPU-00010203-0405-0607-0809-0a0b0c0d0e01' ]
}

# Of the nodes: here none can be named.
@test "what is unusual of a node stands with it" {
    FAKE_NVML_SICK=3 scaling new "${small[@]}" --collective broadcast --json "$results"
    [ "$status" -eq 0 ]
    [ "$(jq --compact-output '.nodes[0].facts' "$results")" = '[]' ]
    diff <(jq --raw-output '.nodes[1].facts[]' "$results") - <<'FACTS'
GPU 1: Xid 79, 31 during the run
GPU 1: 2 uncorrected ECC errors since the driver was loaded
GPU 1: PCIe x8, where x16 is possible
GPU 1: PCIe generation 3, where 5 is possible
GPU 1: clocks held down by its hardware's slowdown, its temperature (by hardware)
FACTS
}

# Two ranks, so that the large buffers are used little.
large=(-b 64M -e 64M --iterations 1 --warmup 1 --check 0 --collective broadcast)

@test "where buffers are large copies are measured, and the slow GPU is told" {
    ranks=2
    FAKE_CUDA_SLOW=1 scaling new "${large[@]}" --json "$results"
    [ "$status" -eq 0 ]
    # In GB/s. Each byte is read and written at 1 TB/s; the second GPU has a quarter of that.
    [ "$(jq --compact-output '[.nodes[0].rates[] | [.memory, .to_gpu, .from_gpu, .port] |
        map(if . then . / 1e9 | round else . end)]' "$results")" = \
        '[[2000,50,50,null],[500,50,50,null]]' ]
    [ "$(jq --raw-output '.nodes[0].facts[]' "$results")" = \
        'GPU 1: copies within its memory at 40% of the median of all ranks, 500.0 GB/s' ]
}

@test "copies that fail do not end the run" {
    ranks=2
    FAKE_CUDA_NO_PINNED=0 scaling new "${large[@]}" --json "$results"
    [ "$status" -eq 0 ]
    [ "$(jq --raw-output '.nodes[0].facts[]' "$results")" = 'GPU 0: cuMemAllocHost: out of memory' ]
}

@test "all-to-all is the library's own where it has one, else sends and receives" {
    scaling new "${small[@]}" --collective all-to-all
    [ "$status" -eq 0 ]
    FAKE_NCCL_ERROR=1:ncclSend scaling new "${small[@]}" --collective all-to-all
    [ "$status" -eq 0 ]
    scaling old "${small[@]}" --collective all-to-all
    [ "$status" -eq 0 ]
    FAKE_NCCL_ERROR=1:ncclSend scaling old "${small[@]}" --collective all-to-all
    [ "$status" -eq 3 ]
}

# 8 ms for each collective, as without a graph.
@test "a timed loop as one graph: the same times, and CUDA's graphs are really used" {
    scaling new "${small[@]}" --graph --json "$results"
    [ "$status" -eq 0 ]
    [ "$(fingerprint 'timed loop')" = 'CUDA graph' ]
    [ "$(jq --compact-output '. as $run | [.measurements[] | select($run.groups[.group].kind == "nodes") |
        .time.median * 1e6 | round] | unique' "$results")" = '[8000]' ]
    FAKE_CUDA_NO_GRAPH=1 scaling new "${small[@]}"
    [ "$status" -eq 0 ]
    FAKE_CUDA_NO_GRAPH=1 scaling new "${small[@]}" --graph
    [ "$status" -eq 3 ]
    [ "$(complaint)" = 'rank 1 on node01: cuGraphLaunch: fake CUDA error' ]
}

@test "registered buffers: of NCCL's own memory, with every communicator" {
    scaling new "${small[@]}" --registered --json "$results"
    [ "$status" -eq 0 ]
    [ "$(fingerprint buffers)" = registered ]
    local call
    for call in ncclMemAlloc ncclCommRegister ncclCommDeregister; do
        FAKE_NCCL_ERROR=1:$call scaling new "${small[@]}"
        [ "$status" -eq 0 ]
        FAKE_NCCL_ERROR=1:$call scaling new "${small[@]}" --registered
        [ "$status" -eq 3 ]
        [[ $(complaint) == "rank 1 on node01: $call: unhandled system error: "* ]]
    done
    scaling old "${small[@]}" --registered
    [ "$status" -eq 3 ]
    [ "$(grep '^distgpu: ' <<<"$output")" = \
        'distgpu: --registered: NCCL 2.18.5 cannot do it; install NCCL 2.19 or newer, or leave it out' ]
}

@test "where kernels cannot be loaded the CPUs check, and the table says so" {
    FAKE_CUDA_NO_KERNEL=3 scaling new "${small[@]}" --collective broadcast --json "$results"
    [ "$status" -eq 0 ]
    local why='by CPUs: rank 0 on node01: kernels: built without CUDA; build it on a machine with nvcc'
    if PATH=$PATH:/usr/local/cuda/bin command -v nvcc >/dev/null; then
        why='by CPUs: rank 3 on node02: cuModuleLoadData: no kernel image is available for execution on the device'
    fi
    grep --fixed-strings --line-regexp "# check of data: $why" <<<"$output"
    [ "$(jq --raw-output .check "$results")" = "$why" ]
}

@test "wrong data is also found by the CPUs, and not looked for with --check 0" {
    FAKE_CUDA_NO_KERNEL=1 DISTGPU_SCALING_CORRUPT=1:7 scaling new "${small[@]}"
    [ "$status" -eq 5 ]
    [[ $(complaint) == "rank 1 on node01: wrong data: element 7 is "* ]]
    DISTGPU_SCALING_CORRUPT=1:7 scaling new "${small[@]}" --check 0
    [ "$status" -eq 0 ]
    grep --fixed-strings --line-regexp '# check of data: off' <<<"$output"
}

@test "too few CPUs are told, once" {
    taskset --cpu-list --pid 0 "$BASHPID" >/dev/null
    scaling new "${small[@]}" --collective broadcast
    [ "$status" -eq 0 ]
    [ "$(grep CPU <<<"$output")" = \
        'distgpu: rank 0: may use 1 CPU, where NCCL needs about 4; if the other ranks have no more, start them with --cpus-per-task=4' ]
}

@test "another version on one rank is named before NCCL meets it" {
    FAKE_NCCL_VERSION=2:21805 scaling new "${small[@]}"
    [ "$status" -eq 3 ]
    [ "$(complaint)" = 'rank 2 on node02: NCCL is 2.18.5, on rank 0 2.28.7' ]
}

@test "an error of NCCL is passed on, on one line" {
    local case text='socketPollConnect: connect to 10.0.0.7 failed No route to host'
    for case in 0:ncclGetUniqueId=ncclGetUniqueId 2:ncclCommInitRank=ncclCommInitRank \
        1:ncclCommSplit=ncclCommSplit 3:ncclReduceScatter='collective of NCCL' \
        1:ncclRecv='collective of NCCL' 2:ncclCommDestroy=ncclCommDestroy; do
        FAKE_NCCL_ERROR=${case%=*} scaling old "${small[@]}"
        [ "$status" -eq 3 ]
        [[ $(complaint) == "rank ${case%%:*} on node0"?": ${case#*=}: unhandled system error: $text; run again with NCCL_DEBUG=INFO" ]]
    done
}

@test "a collective that never ends, as another rank is lost, is left" {
    SECONDS=0
    FAKE_NCCL_HANG=1 scaling new "${small[@]}"
    [ "$status" -eq 3 ]
    [ "$SECONDS" -lt 20 ] # the time-out
    [ "$(complaint)" = 'rank 1 on node01: collective of NCCL: remote process exited or there was a network error: connection closed by remote peer 10.0.0.7; run again with NCCL_DEBUG=INFO' ]
}

@test "the rank that died is named, not the one whose connection broke" {
    FAKE_NCCL_DIES=3 FAKE_NCCL_HANG=2 scaling new "${small[@]}"
    [ "$status" -eq 3 ]
    [ "$(complaint)" = 'rank 3 on node02: has died' ]
}

@test "two ranks on one GPU: what NCCL says, and what to do" {
    FAKE_CUDA_DEVICES=1 scaling new "${small[@]}"
    [ "$status" -eq 3 ]
    [[ $(complaint) == "rank "?" on node0"?": ncclCommInitRank: invalid usage: Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 0; give each task a GPU of its own; NCCL_DEBUG=INFO shows more" ]]
}

@test "a node without GPUs" {
    FAKE_CUDA_DEVICES=0 scaling new "${small[@]}"
    [ "$status" -eq 3 ]
    [[ $(complaint) == "rank "?" on node0"?": local rank "?": sees 0 GPUs; start one task per GPU" ]]
}

@test "a library that is too old" {
    scaling ancient "${small[@]}"
    [ "$status" -eq 3 ]
    [ "$(grep '^distgpu: ' <<<"$output")" = \
        "distgpu: $BATS_FILE_TMPDIR/ancient/libnccl.so.2 (2.28.7): has no ncclCommSplit; install NCCL 2.18 or newer" ]
}

# Not by waiting for the others in ncclCommDestroy.
@test "wrong data ends the run at once" {
    SECONDS=0
    DISTGPU_SCALING_CORRUPT=1:7 scaling new "${small[@]}"
    [ "$status" -eq 5 ]
    [ "$SECONDS" -lt 20 ]
    [[ $(complaint) == "rank 1 on node01: wrong data: element 7 is "* ]]
}
