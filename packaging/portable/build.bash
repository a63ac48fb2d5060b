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

# The plugin alone, which fits only one Slurm, as its two files and as Debian's package.
build_plugin() { # ARCHITECTURE SLURM_PREFIX
    # PluginDir of SchedMD's packages, or of Debian's.
    local plugins="slurm" file part
    [[ $2 != "$portable"/* ]] || plugins="slurm-wlm"
    compile_portable "$1" "$work/$1" spank_distgpu -DDISTGPU_PLUGIN=ON -DSlurm_INCLUDE_DIR="$2/include" \
        -DDISTGPU_PLUGIN_DIR="lib/$1-linux-gnu/$plugins"
    file=$work/spank_distgpu-$version-slurm$(slurm_release "$2")-$1
    for part in '' _step; do
        install -m 644 "$work/$1/spank_plugin/spank_distgpu$part.so" "$file$part.so"
        results+=("$file$part.so")
    done
    install_portable "$work/$1"
    pack_debs "$1" "$2/include/slurm/slurm_version.h" slurm-spank-distgpu
}

# Without --backend mpi, which fits only one MPI.
build_programs() { # ARCHITECTURE
    local build=$work/$1 static
    compile_portable "$1" "$build" "distgpu_command nccl_scaling" -DDISTGPU_COMMAND=ON \
        -DDISTGPU_NCCL_SCALING=ON
    # zig has no static glibc. musl lacks the name of a type of glibc's.
    static="-target $1-linux-musl -D__rlimit_resource_t=int"
    compile_portable "$1" "$build-static" "distgpu_task distgpu_sampler" -DDISTGPU_COMMAND=ON \
        -DCMAKE_C_FLAGS="$static" -DCMAKE_CXX_FLAGS="$static"
    cp "$build-static/tools/distgpu"/distgpu-{task,sampler} "$build/tools/distgpu"
    install_portable "$build"
    pack_tarball "$1"
    pack_wheel "$1"
    pack_debs "$1" /dev/null distgpu nccl-scaling
}

# The plugin for the Slurm that --slurm names, or for each of Debian's and those in build/slurm.
build_portable() {
    [[ ! $slurm ]] || needs_slurm
    prepare_portable
    shopt -s nullglob
    local architecture prefix
    for architecture in "${architectures[@]}"; do
        build_programs "$architecture"
        for prefix in ${slurm:-"$portable/$architecture/slurm"/* "$root/build/slurm"/*}; do
            build_plugin "$architecture" "$prefix"
        done
    done
    pack_convert_wheel
    results+=("$work"/*.deb)
}
