#!/usr/bin/env bats
# The portable command in a container of pyxis whose image has a C library older than the machine's
# and no hwloc, put there by enroot's fstab line of packaging/recipes. Needs root, `packaging/build
# portable`, and the archives that DISTGPU_CONTAINERS names.
# shellcheck source=tests/packaging/packages.bash
source "$BATS_TEST_DIRNAME/packages.bash"
# shellcheck source=tests/matrix/root.bash
source "$root/tests/matrix/root.bash"
load ../containers/containers

cache=${DISTGPU_CACHE:-$root/.cache}

setup_file() {
    have_containers || return 0
    needs_root
    containers_up before --nodes 2
    local mounts=$PREFIX/etc/enroot/mounts.d base=$cache/portable-roots/bullseye
    # This image has a /usr of its own.
    rm "$mounts/30-usr.fstab"
    tar -C "$PREFIX" -xf "$portable/distgpu-$version-linux-x86_64.tar.gz"
    chmod -R go+rX "$PREFIX"/distgpu-*
    sed "s|^/opt/distgpu/|$(echo "$PREFIX"/distgpu-*)/|" "$root/packaging/recipes/enroot/40-distgpu.fstab" \
        >"$mounts/40-distgpu.fstab"
    make_root bullseye "$base" >&2
    [ -z "$(find "$base/usr/lib" -name 'libhwloc*')" ]
    mksquashfs "$base" "$images/bullseye.sqsh" -all-root -noappend -no-progress -comp lzo \
        -wildcards -e 'dev/*' 'var/cache/*' 'usr/share/doc/*' 'usr/local/bin/*' >/dev/null
    chmod 644 "$images/bullseye.sqsh"
}

@test "topo, exec and plan run in the image" {
    in_image -0 bullseye -N1 -n1 -- 'ldd --version && distgpu topo --format json &&
        distgpu exec pytorch -- sh -c "echo rank \$RANK of \$WORLD_SIZE" &&
        distgpu plan pytorch -N2 --ntasks-per-node=2'
    [[ $output == *"GLIBC 2.31"* ]]
    [[ $output == *"rank 0 of 1"* ]]
    [[ $output == *'"distgpu.topo/1"'* ]]
    [ "$(grep -cE '^ +[0-3] +node[12] ' <<<"$output")" -eq 4 ]
}

@test "exec prepares each task in the image, without the plugin" {
    in_image -0 bullseye -N2 --ntasks-per-node=2 --distgpu=off -- \
        'exec distgpu exec pytorch -- sh -c "echo rank \$RANK of \$WORLD_SIZE"'
    [ "$(grep '^rank' <<<"$output" | sort)" = "rank 0 of 4
rank 1 of 4
rank 2 of 4
rank 3 of 4" ]
}

@test "check runs in the image" {
    in_image -0 bullseye -N2 --ntasks-per-node=2 --distgpu=pytorch -- 'exec distgpu check'
    [[ $output == *'ready: 4 ranks on 2 nodes reach rank 0 at 10.77.1.1:'* ]]
}
