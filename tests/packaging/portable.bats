#!/usr/bin/env bats
# The portable programs, from the tarball and from the wheel: what they need, that they find the
# devices that the packaged command finds, and that they run on other releases, in containers, and
# on a cluster without the plugin; those for aarch64 by qemu. Needs root and `packaging/build
# portable`; the command built here is $DISTGPU_COMMAND.
# shellcheck source=tests/packaging/packages.bash
source "$BATS_TEST_DIRNAME/packages.bash"
# shellcheck source=tests/packaging/hardening.bash
source "$BATS_TEST_DIRNAME/hardening.bash"
# shellcheck source=tests/matrix/root.bash
source "$root/tests/matrix/root.bash"
cache=${DISTGPU_CACHE:-$root/.cache}
command=${DISTGPU_COMMAND:-$root/build/dev/tools/distgpu/distgpu}

setup_file() {
    needs_root
    export PORTABLE=$BATS_FILE_TMPDIR/distgpu-$version-linux-x86_64
    export PORTABLE_ARM=$BATS_FILE_TMPDIR/distgpu-$version-linux-aarch64
    local tree
    for tree in "$PORTABLE" "$PORTABLE_ARM"; do
        tar -C "$BATS_FILE_TMPDIR" -xf "$portable/${tree##*/}.tar.gz"
    done
    # Open to the user whose jobs run there, which bats's own folders are not.
    export SHARED=/tmp/distgpu-portable
    rm -rf "$SHARED"
    mkdir "$SHARED"
}

@test "they need nothing but a C library, 2.28 or newer" {
    local program newest
    for program in "$PORTABLE"/bin/{distgpu,nccl-scaling} "$PORTABLE_ARM"/bin/{distgpu,nccl-scaling}; do
        needed=$(readelf --dynamic --wide "$program" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
        grep -qx libc.so.6 <<<"$needed"
        run -1 grep -vE '^(lib(c|m|dl|pthread|rt)|ld-linux-(x86-64|aarch64))\.so' <<<"$needed"
        newest=$(newest_glibc "$program")
        echo "$program: $newest"
        [ "$(printf '%s\n' "$newest" 2.28 | sort -V | tail -n 1)" = 2.28 ]
        [ "$(stat -c %s "$program")" -lt 8000000 ]
    done
    # They need no library: one starts in containers, from an open file of the host.
    mkdir "$BATS_TEST_TMPDIR/nothing"
    cp /usr/bin/qemu-aarch64-static "$BATS_TEST_TMPDIR/nothing"
    for name in distgpu-task distgpu-sampler; do
        cp "$PORTABLE/libexec/distgpu/$name" "$BATS_TEST_TMPDIR/nothing"
        run -1 chroot "$BATS_TEST_TMPDIR/nothing" "/$name"
        [[ $output == "$name: started by srun "* ]]
        cp "$PORTABLE_ARM/libexec/distgpu/$name" "$BATS_TEST_TMPDIR/nothing"
        run -1 chroot "$BATS_TEST_TMPDIR/nothing" /qemu-aarch64-static "/$name"
        [[ $output == "$name: started by srun "* ]]
    done
}

@test "they are hardened" {
    local tree
    for tree in "$PORTABLE" "$PORTABLE_ARM"; do
        run -0 all_hardened "$tree" distgpu distgpu-sampler distgpu-task nccl-scaling
    done
}

@test "tarball and wheel of an architecture have its programs" {
    local wheel architecture machine tree data program
    while read -r architecture machine; do
        wheel=$portable/distgpu-$version-py3-none-manylinux_2_28_$architecture.whl
        python3 -m zipfile --extract "$wheel" "$BATS_TEST_TMPDIR/$architecture"
        tree=$BATS_FILE_TMPDIR/distgpu-$version-linux-$architecture
        data=$BATS_TEST_TMPDIR/$architecture/distgpu-$version.data
        diff -r "$data/scripts" "$tree/bin"
        diff -r "$data/data/libexec" "$tree/libexec"
        for program in "$tree"/{bin/{distgpu,nccl-scaling},libexec/distgpu/distgpu-{sampler,task}}; do
            run -0 readelf --file-header "$program"
            [[ $output == *"Machine: "*"$machine"* ]]
        done
    done <<<"x86_64 X86-64
aarch64 AArch64"
}

# One of hwloc's own records of machines, laid over /sys, in which four devices have become GPUs.
made_up_machine() { # RECORD
    local folder=$BATS_TEST_TMPDIR/$1 devices device changed=0
    mkdir "$folder"
    tar -C "$folder" -xf "$cache"/portable/hwloc-*/tests/hwloc/linux/"$1.tar.bz2"
    sys=$folder/$1/sys
    mapfile -t devices < <(grep -LE '^0x06' "$sys"/bus/pci/devices/*/class | xargs -n 1 dirname)
    for device in "${devices[@]}"; do
        ((changed < 4)) || break
        # Not one that has become something for another part of the kernel.
        [[ ! -e $device/net && ! -e $device/infiniband ]] || continue
        chmod u+w "$device"/{vendor,class,config}
        echo 0x10de >"$device/vendor"
        echo 0x030200 >"$device/class"
        printf '\xde\x10' | dd of="$device/config" conv=notrunc status=none
        printf '\x00\x02\x03' | dd of="$device/config" bs=1 seek=9 conv=notrunc status=none
        ((changed += 1))
    done
    ((changed == 4))
}

@test "topo finds the devices that the packaged command finds" {
    local record sys file
    for record in 32em64t-2n8c+1mic 40intel64-2g2n4c+pci; do
        made_up_machine "$record"
        for file in "$command" "$PORTABLE/bin/distgpu"; do
            unshare --mount bash -c 'mount --bind "$0" /sys; exec "$1" topo --format json' \
                "$sys" "$file" >"$sys.$([ "$file" = "$command" ] && echo packaged || echo portable)"
        done
        cmp "$sys".{packaged,portable}
        [ "$(jq -c '[(.gpus, .hcas) | length]' "$sys.portable")" = '[4,1]' ]
    done
    cmp <("$command" topo --format json) <("$PORTABLE/bin/distgpu" topo --format json)
    for file in "${DISTGPU_MACHINES:-$root/build/dev/tests/topologies}"/*.xml; do
        cmp <("$command" topo --format json --topology "$file") \
            <("$PORTABLE/bin/distgpu" topo --format json --topology "$file")
    done
}

# RELEASE...: in a bare root of each, where no hwloc is.
runs_in() { # RELEASE
    local base=$cache/portable-roots/$1
    make_root "$1" "$base" >&2
    [ -z "$(find "$base/usr/lib" -name 'libhwloc*')" ]
    cp "$PORTABLE"/bin/{distgpu,nccl-scaling} "$base/usr/local/bin"
    run in_root "$base" "$BATS_TEST_TMPDIR" bash -e -c '
        distgpu check --node 2>&1 | grep "save the topology at boot"
        distgpu topo --format json | grep -q distgpu.topo/1
        distgpu plan pytorch -N2 --ntasks-per-node=2 | grep -c "node[12]" | grep -qx 5
        [ "$(distgpu exec pytorch -- sh -c "echo \$WORLD_SIZE \$RANK")" = "1 0" ]
        distgpu check 2>&1 | grep -q "not a task of srun"
        nccl-scaling --help >/dev/null
        echo all run'
    echo "$output" >&3
    [ "$status" -eq 0 ]
    [[ $output == *"all run" ]]
}

@test "they run in Debian 11" { runs_in bullseye; }
@test "they run in Debian 12" { runs_in bookworm; }
@test "they run in Debian 13" { runs_in trixie; }
@test "they run in Debian forky" { runs_in forky; }

@test "those for aarch64 run in Debian 12" {
    local base=$cache/portable-roots/bookworm-arm64
    make_root bookworm "$base" arm64 >&2
    install -D --target-directory="$base/usr/local/bin" "$PORTABLE_ARM"/bin/{distgpu,nccl-scaling}
    distgpu_arm() { in_arm_root "$base" /usr/local/bin/distgpu "$@"; }
    run -0 distgpu_arm --version
    [[ $output == *"$version"* ]]
    diff <(distgpu_arm topo --format json) <("$PORTABLE/bin/distgpu" topo --format json)
    diff <(distgpu_arm plan pytorch -N2 --ntasks-per-node=2) \
        <("$PORTABLE/bin/distgpu" plan pytorch -N2 --ntasks-per-node=2)
    run -0 distgpu_arm exec pytorch -- /qemu /bin/sh -c 'echo $WORLD_SIZE $RANK'
    [ "$output" = "1 0" ]
    run distgpu_arm check
    [[ $output == *"not a task of srun"* ]]
    run -0 in_arm_root "$base" /usr/local/bin/nccl-scaling --help
}

teardown_file() {
    "$root/tools/sandbox/sandbox" down --name portable >/dev/null 2>&1 || true
    rm -rf "$SHARED"
}

# The user has Python and srun, no root and no plugin on the cluster.
@test "pip installs the command, and exec trains" {
    local venv=$SHARED/user/venv wheel python sandbox=$root/tools/sandbox/sandbox
    python=$("$root/tests/frameworks/environment" torch 3>&-)
    wheel=$(basename "$portable"/distgpu-*x86_64.whl)
    "$sandbox" up --name portable --nodes 2
    as_user() { "$sandbox" run --name portable -- "$@"; }
    install -d -m 755 -o sandbox "$SHARED/user"
    install -m 644 -t "$SHARED" "$portable/$wheel" "$root/examples/train.py"
    # The machine's own Python, which every user may run.
    as_user /usr/bin/python3 -m venv "$venv"
    as_user "$venv/bin/pip" install --quiet --no-index "$SHARED/$wheel"
    as_user test -f "$venv/share/man/man1/distgpu.1"
    as_user test -x "$venv/libexec/distgpu/distgpu-task"
    as_user "$venv/bin/distgpu" topo >/dev/null
    run as_user env OMP_NUM_THREADS=1 PATH="$venv/bin:$PATH" \
        srun -N2 --ntasks-per-node=2 --cpus-per-task=2 distgpu exec pytorch -- \
        "$python" "$SHARED/train.py"
    echo "$output" >&3
    [ "$status" -eq 0 ]
    [[ $output == *"4 ranks on 2 nodes agree"* ]]
}
