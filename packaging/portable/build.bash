# Builds the portable programs, for any x86-64 Linux with glibc 2.28 or newer, as a tarball and as a
# wheel for pip. packaging/build sources this.
# shellcheck shell=bash
# shellcheck disable=SC2154 # packaging/build sets root, work, version and results

# Without the plugin, which fits only one Slurm, and --backend mpi, which fits only one MPI.
compile_portable() { # COMPILER
    cmake -S "$work/distgpu-$version" -B "$work/portable" -G Ninja -DCMAKE_BUILD_TYPE=Release \
        -DCMAKE_TOOLCHAIN_FILE="$root/packaging/portable/zig.cmake" -DDISTGPU_PORTABLE="$1" \
        -DBUILD_TESTING=OFF -DDISTGPU_PLUGIN=OFF -DDISTGPU_COMMAND=ON -DDISTGPU_NCCL_SCALING=ON \
        -DCMAKE_DISABLE_FIND_PACKAGE_MPI=ON -DCMAKE_INSTALL_PREFIX=/usr
    cmake --build "$work/portable" --target distgpu_command nccl_scaling
}

# Installs bin and share, as below a prefix.
install_portable() { # FOLDER
    local build=$work/portable tree=$work/distgpu-$version page
    install -D --strip --target-directory="$1/bin" "$build/tools/distgpu/distgpu" \
        "$build/nccl_scaling/nccl-scaling"
    install --target-directory="$1/bin" "$tree/tools/horovod_rendezvous/horovod-rendezvous"
    for page in "$tree"/packaging/man/*.[17]; do
        install -D -m 644 "$page" "$1/share/man/man${page##*.}/${page##*/}"
    done
    local completion=$tree/packaging/completion
    install -D -m 644 "$completion/distgpu" "$1/share/bash-completion/completions/distgpu"
    install -D -m 644 "$completion/_distgpu" "$1/share/zsh/site-functions/_distgpu"
    install -D -m 644 "$completion/distgpu.fish" "$1/share/fish/vendor_completions.d/distgpu.fish"
}

pack_tarball() { # FOLDER
    local name=distgpu-$version-linux-x86_64
    mkdir "$work/tarball"
    cp -R "$1" "$work/tarball/$name"
    install -m 644 --target-directory="$work/tarball/$name" "$root/LICENSE" "$root/README.md"
    tar -C "$work/tarball" --sort=name --owner=0 --group=0 --numeric-owner \
        --mtime="@$SOURCE_DATE_EPOCH" -cf - "$name" | gzip --no-name >"$work/$name.tar.gz"
    results+=("$work/$name.tar.gz")
}

pack_wheel() { # FOLDER COMPILER
    local wheel=$work/wheel info data
    info=$wheel/distgpu-$version.dist-info data=$wheel/distgpu-$version.data
    mkdir -p "$info/licenses" "$data/data"
    cp -R "$1/bin" "$data/scripts"
    cp -R "$1/share" "$data/data/share"
    cp "$root/LICENSE" "$info/licenses"
    sed "s/@VERSION@/$version/" "$root/packaging/portable/METADATA.in" >"$info/METADATA"
    printf '%s\n' "Wheel-Version: 1.0" "Generator: packaging/build" "Root-Is-Purelib: false" \
        "Tag: py3-none-manylinux_2_28_x86_64" >"$info/WHEEL"
    "$2/python/bin/wheel" pack --dest-dir "$work" "$wheel" >/dev/null
    results+=("$work"/distgpu-*.whl)
}

# The program of distgpu convert, for any Python version.
pack_convert_wheel() { # COMPILER
    "$1/python/bin/pip" --quiet wheel --no-deps --no-build-isolation --wheel-dir "$work" \
        "$work/distgpu-$version/tools/convert"
    results+=("$work"/distgpu_convert-*.whl)
}

build_portable() {
    needs cmake cmake
    needs ninja ninja-build
    local compiler=${DISTGPU_CACHE:-$root/.cache}/portable
    "$root/packaging/portable/prepare" "$compiler"
    build_tar
    results=()
    tar -C "$work" -xf "$archive"
    compile_portable "$(readlink -f "$compiler")"
    install_portable "$work/tree"
    pack_tarball "$work/tree"
    pack_wheel "$work/tree" "$compiler"
    pack_convert_wheel "$compiler"
}
