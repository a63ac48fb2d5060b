# Builds for any Linux with glibc 2.28 or newer, on x86-64 and aarch64: the programs, as a tarball, as a
# wheel for pip and as Debian's packages, and the plugin for each Slurm, as a file and as Debian's
# package. packaging/build sources this.
# shellcheck shell=bash
# shellcheck disable=SC2154 # packaging/build sets root, slurm, work, version and results

# Prepares the compilers and libraries in $portable, and the sources.
prepare_portable() {
    needs cmake cmake
    needs ninja ninja-build
    needs dh debhelper
    local folder=${DISTGPU_CACHE:-$root/.cache}/portable
    "$root/packaging/portable/prepare" "$folder"
    portable=$(readlink -f "$folder")
    build_tar
    results=()
    # With the same permissions for root and others.
    tar -C "$work" --no-same-permissions -xf "$archive"
}

compile_portable() { # ARCHITECTURE FOLDER TARGETS CMAKE_OPTION...
    cmake -S "$work/distgpu-$version" -B "$2" -G Ninja -DCMAKE_BUILD_TYPE=Release \
        -DCMAKE_TOOLCHAIN_FILE="$root/packaging/portable/zig.cmake" -DDISTGPU_PORTABLE="$portable/$1" \
        -DBUILD_TESTING=OFF -DCMAKE_INSTALL_PREFIX=/usr -DDISTGPU_PLUGIN=OFF -DDISTGPU_COMMAND=OFF \
        -DDISTGPU_NCCL_SCALING=OFF -DCMAKE_DISABLE_FIND_PACKAGE_MPI=ON "${@:4}"
    # shellcheck disable=SC2086 # words
    cmake --build "$2" --target $3
}

# Installs into $work/installed/usr.
install_portable() { # FOLDER
    rm -rf "$work/installed"
    DESTDIR=$work/installed cmake --install "$1"
}

# Debian's packages with these names, for every release with glibc 2.28 or newer.
pack_debs() { # ARCHITECTURE SLURM_HEADER PACKAGE...
    local tree=$work/distgpu-$version packages=("${@:3}")
    add_debian "$tree"
    # The folder of the module for MPI.
    sed -i '\|^usr/lib/|d' "$tree/debian/nccl-scaling.install"
    (cd "$tree" && env INSTALLED="$work/installed" SLURM_HEADER="$2" DEB_BUILD_OPTIONS=nocheck \
        DEB_RULES_REQUIRES_ROOT=no DH_OPTIONS="${packages[*]/#/--package=}" \
        dpkg-architecture --host-arch "${debian_names[$1]}" --command debian/rules binary)
}

pack_tarball() { # ARCHITECTURE
    local name=distgpu-$version-linux-$1
    mkdir -p "$work/tarball/$name"
    cp -R "$work/installed/usr"/{bin,libexec,share} "$work/tarball/$name"
    install -m 644 --target-directory="$work/tarball/$name" "$root/LICENSE" "$root/README.md"
    tar -C "$work/tarball" --sort=name --owner=0 --group=0 --numeric-owner \
        --mtime="@$SOURCE_DATE_EPOCH" -cf - "$name" | gzip --no-name >"$work/$name.tar.gz"
    results+=("$work/$name.tar.gz")
}

pack_wheel() { # ARCHITECTURE
    local wheel=$work/wheel-$1 tag=py3-none-manylinux_2_28_$1 info data
    info=$wheel/distgpu-$version.dist-info data=$wheel/distgpu-$version.data
    mkdir -p "$data/data"
    cp -R "$work/installed/usr/bin" "$data/scripts"
    cp -R "$work/installed/usr"/{libexec,share} "$data/data"
    install -D -m 644 --target-directory="$info/licenses" "$root/LICENSE"
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
    local architecture build static
    for architecture in "${architectures[@]}"; do
        build=$work/$architecture
        compile_portable "$architecture" "$build" "distgpu_command nccl_scaling" -DDISTGPU_COMMAND=ON \
            -DDISTGPU_NCCL_SCALING=ON
        # zig has no static glibc. musl lacks the name of a type of glibc's.
        static="-target $architecture-linux-musl -D__rlimit_resource_t=int"
        compile_portable "$architecture" "$build-static" distgpu_task -DDISTGPU_COMMAND=ON \
            -DCMAKE_C_FLAGS="$static" -DCMAKE_CXX_FLAGS="$static"
        cp "$build-static/tools/distgpu/distgpu-task" "$build/tools/distgpu"
        install_portable "$build"
        pack_tarball "$architecture"
        pack_wheel "$architecture"
        pack_debs "$architecture" /dev/null distgpu nccl-scaling
    done
    pack_convert_wheel
    results+=("$work"/*.deb)
}

# For the Slurm that --slurm names, or for each of Debian's.
build_plugin() {
    [[ ! $slurm ]] || needs_slurm
    prepare_portable
    # PluginDir of SchedMD's packages, or of Debian's.
    local architecture prefix file plugins=${slurm:+slurm}
    for architecture in "${architectures[@]}"; do
        for prefix in ${slurm:-"$portable/$architecture/slurm"/*}; do
            compile_portable "$architecture" "$work/$architecture" spank_distgpu -DDISTGPU_PLUGIN=ON \
                -DSlurm_INCLUDE_DIR="$prefix/include" \
                -DDISTGPU_PLUGIN_DIR="lib/$architecture-linux-gnu/${plugins:-slurm-wlm}"
            file=$work/spank_distgpu-$version-slurm$(slurm_release "$prefix")-$architecture.so
            install -m 644 "$work/$architecture/spank_plugin/spank_distgpu.so" "$file"
            results+=("$file")
            install_portable "$work/$architecture"
            pack_debs "$architecture" "$prefix/include/slurm/slurm_version.h" slurm-spank-distgpu
        done
    done
    results+=("$work"/*.deb)
}
