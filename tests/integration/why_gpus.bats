#!/usr/bin/env bats
# How busy the ranks' GPUs are, in `distgpu why`. A library stands in for NVIDIA's management library
# (tests/unit/node/discovery/fake_nvml.c, with the addresses of these nodes' made-up GPUs), for real
# GPUs it shows nothing.

load cluster
load binding/cluster

setup_file() {
    binding_cluster_up --nodes 1
    cp "$root/tests/integration/why/ranks.py" "$SCRATCH"
    stand_in quick ''
    stand_in hanging 'for (;;) sleep(9);'
    on node01 mount --bind "$SCRATCH/quick.cache" /etc/ld.so.cache
}

# A library, and a cache of the loader by which the node's programs find it. GPUs 1 and 3 are at 97 %.
stand_in() { # NAME STATEMENT_AT_THE_BEGINNING
    local folder=$SCRATCH/$1
    mkdir "$folder"
    sed -e '/"0000:07:00.0"/s/strcmp(address, "0000:07:00.0") == 0/strstr("0000:14:00.0 0000:94:00.0", address) != 0/' \
        -e 's/0000:06:00.0/0000:13:00.0/' -e "s/^    ++sessions;/    $2 ++sessions;/" -e '1i #include <unistd.h>' \
        "$root/tests/unit/node/discovery/fake_nvml.c" >"$folder/nvml.c"
    cc -shared -fPIC -Wl,-soname,libnvidia-ml.so.1 -o "$folder/libnvidia-ml.so.1" "$folder/nvml.c"
    printf '%s\n' "$folder" 'include /etc/ld.so.conf' >"$folder/ld.so.conf"
    ldconfig -X -C "$SCRATCH/$1.cache" -f "$folder/ld.so.conf" 2>/dev/null
}

setup() {
    assert_cluster_clean
    begin_step 2 -N1 -n2 --overcommit --gres=gpu:4 --distgpu=pytorch,gpus=isolate \
        /usr/bin/python3 ranks.py load_batch 1
}

teardown() { finish_step; }

why() { # ARGUMENT...
    run -0 submit ./distgpu why "$job" --repeat 1 "$@"
}

@test "a column where the library tells, and each GPU at each moment in the JSON" {
    why
    grep -qE '^  RANKS .* GPUS BUSY$' <<<"$output"
    grep -qE '^  ranks 0-1 .* 97 %$' <<<"$output"
    why --format json
    [ "$(jq -c '.groups[0].gpus_busy' <<<"$output")" = '{"least":97,"most":97}' ]
    [ "$(jq -c '[.details[].gpus[] | [.pci, .busy]] | sort' <<<"$output")" = \
        '[["0000:14:00.0",[97,97,97]],["0000:94:00.0",[97,97,97]]]' ]
}

@test "a driver that hangs costs two seconds, and no more than the column" {
    on node01 umount /etc/ld.so.cache
    on node01 mount --bind "$SCRATCH/hanging.cache" /etc/ld.so.cache
    local begun=$SECONDS
    why
    ((SECONDS - begun < 8))
    [[ $output != *'GPUS BUSY'* && $output == *'ranks 0-1 '* ]]
    # It was killed.
    [ -z "$(on node01 pgrep --full 'distgpu why --gpus')" ]
}
