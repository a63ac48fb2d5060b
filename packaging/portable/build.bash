# Builds for any Linux with glibc 2.28 or newer, on x86-64 and aarch64: the programs, as a tarball and
# as a wheel for pip, and the plugin for each Slurm. packaging/build sources this.
# shellcheck shell=bash
# shellcheck disable=SC2154 # packaging/build sets root, slurm, work, version and results

# Prepares the compilers and libraries in $portable, and the sources.
prepare_portable() {
    needs cmake cmake
    needs ninja ninja-build
    local folder=${DISTGPU_CACHE:-$root/.cache}/portable
    "$root/packaging/portable/prepare" "$folder"
    portable=$(readlink -f "$folder")
    build_tar
    results=()
    tar -C "$work" -xf "$archive"
}

compile_portable() { # ARCHITECTURE TARGETS CMAKE_OPTION...
    cmake -S "$work/distgpu-$version" -B "$work/$1" -G Ninja -DCMAKE_BUILD_TYPE=Release \
        -DCMAKE_TOOLCHAIN_FILE="$root/packaging/portable/zig.cmake" -DDISTGPU_PORTABLE="$portable/$1" \
        -DBUILD_TESTING=OFF -DCMAKE_INSTALL_PREFIX=/usr "${@:3}"
    # shellcheck disable=SC2086 # words
    cmake --build "$work/$1" --target $2
}

# Installs bin and share, as below a prefix.
install_portable() { # ARCHITECTURE FOLDER
    local tree=$work/distgpu-$version page
    install -D --target-directory="$2/bin" "$work/$1/tools/distgpu/distgpu" \
        "$work/$1/nccl_scaling/nccl-scaling"
    install --target-directory="$2/bin" "$tree/tools/horovod_rendezvous/horovod-rendezvous"
    for page in "$tree"/packaging/man/*.[17]; do
        install -D -m 644 "$page" "$2/share/man/man${page##*.}/${page##*/}"
    done
    local completion=$tree/packaging/completion
    install -D -m 644 "$completion/distgpu" "$2/share/bash-completion/completions/distgpu"
    install -D -m 644 "$completion/_distgpu" "$2/share/zsh/site-functions/_distgpu"
    install -D -m 644 "$completion/distgpu.fish" "$2/share/fish/vendor_completions.d/distgpu.fish"
}

pack_tarball() { # ARCHITECTURE FOLDER
    local name=distgpu-$version-linux-$1
    mkdir -p "$work/tarball"
    cp -R "$2" "$work/tarball/$name"
    install -m 644 --target-directory="$work/tarball/$name" "$root/LICENSE" "$root/README.md"
    tar -C "$work/tarball" --sort=name --owner=0 --group=0 --numeric-owner \
        --mtime="@$SOURCE_DATE_EPOCH" -cf - "$name" | gzip --no-name >"$work/$name.tar.gz"
    results+=("$work/$name.tar.gz")
}

pack_wheel() { # ARCHITECTURE FOLDER
    local wheel=$work/wheel-$1 tag=py3-none-manylinux_2_28_$1 info data
    info=$wheel/distgpu-$version.dist-info data=$wheel/distgpu-$version.data
    mkdir -p "$info/licenses" "$data/data"
    cp -R "$2/bin" "$data/scripts"
    cp -R "$2/share" "$data/data/share"
    cp "$root/LICENSE" "$info/licenses"
    sed "s/@VERSION@/$version/" "$root/packaging/portable/METADATA.in" >"$info/METADATA"
    printf '%s\n' "Wheel-Version: 1.0" "Generator: packaging/build" "Root-Is-Purelib: false" \
        "Tag: $tag" >"$info/WHEEL"
    "$portable/python/bin/wheel" pack --dest-dir "$work" "$wheel" >/dev/null
    results+=("$work/distgpu-$version-$tag.whl")
}

# The program of distgpu convert, for any Python version.
pack_convert_wheel() {
    "$portable/python/bin/pip" --quiet wheel --no-deps --no-build-isolation --wheel-dir "$work" \
        "$work/distgpu-$version/tools/convert"
    results+=("$work"/distgpu_convert-*.whl)
}

# Without the plugin, which fits only one Slurm, and --backend mpi, which fits only one MPI.
build_portable() {
    prepare_portable
    local architecture tree
    for architecture in "${architectures[@]}"; do
        tree=$work/tree-$architecture
        compile_portable "$architecture" "distgpu_command nccl_scaling" -DDISTGPU_PLUGIN=OFF -DDISTGPU_COMMAND=ON \
            -DDISTGPU_NCCL_SCALING=ON -DCMAKE_DISABLE_FIND_PACKAGE_MPI=ON
        install_portable "$architecture" "$tree"
        pack_tarball "$architecture" "$tree"
        pack_wheel "$architecture" "$tree"
    done
    pack_convert_wheel
}

# For the Slurm that --slurm names, or for each of Debian's.
build_plugin() {
    [[ ! $slurm ]] || needs_slurm
    prepare_portable
    local architecture prefix name
    for architecture in "${architectures[@]}"; do
        for prefix in ${slurm:-"$portable/$architecture/slurm"/*}; do
            name=spank_distgpu-$version-slurm$(slurm_release "$prefix")-$architecture.so
            compile_portable "$architecture" spank_distgpu -DDISTGPU_PLUGIN=ON -DDISTGPU_COMMAND=OFF \
                -DDISTGPU_NCCL_SCALING=OFF -DSlurm_INCLUDE_DIR="$prefix/include"
            install -m 644 "$work/$architecture/spank_plugin/spank_distgpu.so" "$work/$name"
            results+=("$work/$name")
        done
    done
}
