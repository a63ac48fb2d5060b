#!/usr/bin/env bats
# The portable programs, from the tarball and from the wheel: what they need, that they find the
# devices that the packaged command finds, and that they run on other releases, in containers, and
# on a cluster without the plugin. Needs root and `packaging/build portable`; the command built here
# is $DISTGPU_COMMAND.
# shellcheck disable=SC2016 # the shells inside expand them
# shellcheck disable=SC2154 # run sets output and status
# shellcheck source=tests/packaging/packages.bash
source "$BATS_TEST_DIRNAME/packages.bash"
# shellcheck source=tests/matrix/root.bash
source "$root/tests/matrix/root.bash"
cache=${DISTGPU_CACHE:-/var/cache/distgpu}
command=${DISTGPU_COMMAND:-$root/build/dev/tools/distgpu/distgpu}

setup_file() {
    needs_root
    export PORTABLE=$BATS_FILE_TMPDIR/distgpu-$version-linux-x86_64
    tar -C "$BATS_FILE_TMPDIR" -xf "$packages/${PORTABLE##*/}.tar.gz"
    chmod a+rx "$BATS_FILE_TMPDIR"
}

@test "they need nothing but a C library, 2.28 or newer" {
    local program
    for program in distgpu nccl-scaling; do
        run -0 readelf --dynamic --wide "$PORTABLE/bin/$program"
        [ -z "$(sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' <<<"$output" |
            grep -vE '^(lib(c|m|dl|pthread|rt)|ld-linux-x86-64)\.so')" ]
        run -0 objdump --dynamic-syms "$PORTABLE/bin/$program"
        newest=$(grep -oE 'GLIBC_[0-9.]+' <<<"$output" | sort -Vu | tail -n 1)
        echo "$program: $newest"
        [ "$(printf '%s\n' "$newest" GLIBC_2.28 | sort -V | tail -n 1)" = GLIBC_2.28 ]
        [ "$(stat -c %s "$PORTABLE/bin/$program")" -lt 8000000 ]
    done
}

# hwloc's own records of machines with PCI devices, laid over /sys, and two GPUs beside them.
@test "topo finds the devices that the packaged command finds" {
    local tree name=0 file
    for tree in "$cache"/portable/apt/hwloc-*/tests/hwloc/linux/{2pa-pcidomain32bits,32em64t-2n8c+1mic,40intel64-2g2n4c+pci,nvidiagpunumanodes}.tar.bz2; do
        local folder=$BATS_TEST_TMPDIR/$((++name))
        mkdir "$folder"
        tar -C "$folder" -xf "$tree"
        folder=$(find "$folder" -maxdepth 3 -type d -name sys)
        # Whatever they were, devices of class 3D controller by NVIDIA are GPUs.
        for file in $(find "$folder/bus/pci/devices/" -maxdepth 1 -name '*0:0*' | sort | head -n 2); do
            chmod u+w "$file/"{vendor,class,config}
            echo 0x10de >"$file/vendor"
            echo 0x030200 >"$file/class"
            printf '\xde\x10' | dd of="$file/config" conv=notrunc status=none
            printf '\x00\x02\x03' | dd of="$file/config" bs=1 seek=9 conv=notrunc status=none
        done
        for file in "$command" "$PORTABLE/bin/distgpu"; do
            unshare --mount bash -c 'mount --bind "$0" /sys; exec "$1" topo --format json' \
                "$folder" "$file" >"$BATS_TEST_TMPDIR/${file//\//_}.json"
        done
        cmp "$BATS_TEST_TMPDIR"/*.json
        echo "$tree: $(jq -c '[(.cores, .gpus, .hcas) | length]' "$BATS_TEST_TMPDIR/"*portable*.json)" >&3
    done
    cmp <("$command" topo --format json) <("$PORTABLE/bin/distgpu" topo --format json)
    for file in "$root"/tests/topologies/*.xml; do
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
        distgpu self-test | grep -E "^(system|plan|network|devices) +ok"
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

# The user has Python and srun, no root and no plugin on the cluster.
@test "pip installs the command, and exec trains" {
    local venv=$BATS_FILE_TMPDIR/venv sandbox=$root/tools/sandbox/sandbox
    cp "$packages"/distgpu-*.whl "$BATS_FILE_TMPDIR"
    install -d -o sandbox "$venv"
    "$sandbox" up --name portable --nodes 2
    as_user() { "$sandbox" run --name portable -- "$@"; }
    as_user python3 -m venv "$venv"
    as_user "$venv/bin/pip" install --quiet --no-index "$BATS_FILE_TMPDIR"/distgpu-*.whl
    as_user "$venv/bin/distgpu" self-test >&3
    cp -r "$root/examples" "$BATS_FILE_TMPDIR"
    run as_user env OMP_NUM_THREADS=1 PATH="$venv/bin:$cache/frameworks/torch/bin:$PATH" \
        srun -N2 --ntasks-per-node=2 --cpus-per-task=2 distgpu exec pytorch -- \
        python3 "$BATS_FILE_TMPDIR/examples/train.py"
    echo "$output" >&3
    "$sandbox" down --name portable
    [ "$status" -eq 0 ]
    [[ $output == *"4 ranks on 2 nodes agree"* ]]
}

@test "the same sources give the same programs" {
    mkdir -p "$BATS_TEST_TMPDIR/in/a/folder/of/another/length"
    TMPDIR="$BATS_TEST_TMPDIR/in/a/folder/of/another/length" \
        "$root/packaging/build" portable --output "$BATS_TEST_TMPDIR/again" >&2
    cmp "$packages/${PORTABLE##*/}.tar.gz" "$BATS_TEST_TMPDIR/again/${PORTABLE##*/}.tar.gz"
    cmp "$packages"/distgpu-*.whl "$BATS_TEST_TMPDIR"/again/distgpu-*.whl
}
