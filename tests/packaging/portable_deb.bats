#!/usr/bin/env bats
# Debian's packages of the portable builds: what they contain, and that apt installs them on each
# release, the plugin only with its Slurm. Those for arm64 are unpacked and run by qemu. Needs root and
# `packaging/build portable`.
# shellcheck source=tests/packaging/packages.bash
source "$BATS_TEST_DIRNAME/packages.bash"
# shellcheck source=tests/packaging/hardening.bash
source "$BATS_TEST_DIRNAME/hardening.bash"
# shellcheck source=tests/matrix/root.bash
source "$root/tests/matrix/root.bash"
cache=${DISTGPU_CACHE:-$root/.cache}
declare -gA releases=([bookworm]=22.05 [trixie]=24.11 [forky]=26.05)

setup_file() { needs_root; }

command_debs() { printf '%s\n' "$portable"/{distgpu,nccl-scaling}_"$version-1_$1.deb"; } # ARCHITECTURE
plugin_deb() { echo "$portable/slurm-spank-distgpu_$version-1+slurm$1_$2.deb"; }         # SLURM ARCHITECTURE

depends() { dpkg-deb --field "$1" Depends; } # FILE

# What the packages that packaging/build deb makes have, without --backend mpi. In PluginDir is the
# file that is also offered alone.
@test "their files are those of a site's packages, and the programs are hardened" {
    local architecture names slurm folder
    declare -A machines=([amd64]=x86_64 [arm64]=aarch64)
    for architecture in "${!machines[@]}"; do
        for slurm in "${releases[@]}"; do
            folder=$BATS_TEST_TMPDIR/$architecture-$slurm
            for file in $(command_debs "$architecture") "$(plugin_deb "$slurm" "$architecture")"; do
                dpkg-deb --extract "$file" "$folder"
            done
            cat "$BATS_TEST_DIRNAME"/deb/*.txt | sed -n 's/^-[-rwx]* //p' |
                sed "/libnccl_scaling_mpi/d; s/TRIPLET/${machines[$architecture]}-linux-gnu/" | sort >"$folder.expected"
            diff "$folder.expected" <(cd "$folder" && find . -type f | sed 's|^\.||; s|^/lib/|/usr/lib/|' |
                grep -vE '^/usr/share/doc/distgpu/(docs|examples)/' | sort)
            for part in '' _step; do
                cmp "$folder/usr/lib/${machines[$architecture]}-linux-gnu/slurm-wlm/spank_distgpu$part.so" \
                    "$portable/spank_distgpu-$version-slurm$slurm-${machines[$architecture]}$part.so"
            done
            run -0 all_hardened "$folder" "${programs[@]:0:5}"
        done
    done
}

@test "they need glibc 2.28, and the plugin its command and its Slurm" {
    local slurm next architecture
    for architecture in amd64 arm64; do
        [ "$(depends "$portable/distgpu_$version-1_$architecture.deb")" = "python3:any, libc6 (>= 2.28)" ]
        [ "$(depends "$portable/nccl-scaling_$version-1_$architecture.deb")" = "libc6 (>= 2.28)" ]
        while read -r slurm next; do
            [ "$(depends "$(plugin_deb "$slurm" "$architecture")")" = "distgpu (= $version-1), \
slurm-wlm-basic-plugins (>= $slurm) | slurm-smd (>= $slurm), \
slurm-wlm-basic-plugins (<< $next~) | slurm-smd (<< $next~), libc6 (>= 2.28)" ]
        done <<<"22.05 22.06
24.11 24.12
26.05 26.06"
    done
}

# distgpu-task is a static PIE, which lintian takes for a library; packaging/owner.bash names no maintainer yet.
@test "lintian finds nothing" {
    run -0 lintian --allow-root --fail-on error,warning --suppress-tags initial-upload-closes-no-bugs,\
shared-library-lacks-prerequisites,bogus-mail-host,bogus-mail-host-in-debian-changelog,root-in-contact \
        "$portable"/*.deb
}

# A copy of the release's bare root, with all packages below /debs.
make_copy() { # RELEASE
    make_root "$1" "$cache/portable-roots/$1" >&2
    copy=$BATS_TEST_TMPDIR/root
    cp -a "$cache/portable-roots/$1" "$copy"
    mkdir "$copy/debs"
    cp "$portable"/*.deb "$copy/debs"
    inside apt-get --quiet update
}

inside() { in_root "$copy" "$BATS_TEST_TMPDIR" env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 "$@"; }

install_in() { inside apt-get --quiet --assume-yes --no-install-recommends install "$@"; } # FILE...

# On a release with this Slurm.
installs_in() { # RELEASE
    local slurm=${releases[$1]} other conf
    make_copy "$1"
    install_in "/debs/distgpu_$version-1_amd64.deb" "/debs/nccl-scaling_$version-1_amd64.deb" \
        "/debs/slurm-spank-distgpu_$version-1+slurm${slurm}_amd64.deb" slurm-client >&2
    run -0 inside dpkg-query --show --showformat '${db:Status-Abbrev}${Version}\n' distgpu slurm-spank-distgpu
    [ "$output" = "ii $version-1
ii $version-1+slurm$slurm" ]
    run -0 inside distgpu plan pytorch --nodes 2 --tasks-per-node 1
    run -0 inside nccl-scaling --help
    run -1 inside /usr/libexec/distgpu/distgpu-task
    [[ $output == "distgpu-task: started by srun "* ]]
    printf '%s\n' ClusterName=test SlurmctldHost=localhost NodeName=localhost PartitionName=all\ Nodes=localhost \
        >"$copy/etc/slurm/slurm.conf"
    conf=/etc/slurm/plugstack.conf.d/zz-distgpu.conf.sample
    run -0 inside distgpu check-config "$conf"
    [ -z "$output" ]
    # Slurm itself loads it, from its PluginDir.
    echo "required spank_distgpu.so" >"$copy/etc/slurm/plugstack.conf"
    run -0 inside srun --distgpu=help
    [[ $output == *torchrun* ]]
    for other in "${releases[@]}"; do
        [[ $other != "$slurm" ]] || continue
        run -100 inside apt-get --simulate install "/debs/slurm-spank-distgpu_$version-1+slurm${other}_amd64.deb"
        [[ $output == *"slurm-spank-distgpu : Depends: slurm-wlm-basic-plugins ("* ]]
    done
    # Those for arm64, as apt resolves them on a machine of that architecture that has no package yet.
    local arm=(-o APT::Architecture=arm64 -o APT::Architectures=arm64 -o Dir::State::status=/dev/null)
    inside apt-get --quiet "${arm[@]}" update
    run -0 inside apt-get "${arm[@]}" --simulate install "/debs/distgpu_$version-1_arm64.deb" \
        "/debs/nccl-scaling_$version-1_arm64.deb" "/debs/slurm-spank-distgpu_$version-1+slurm${slurm}_arm64.deb"
    [[ $output == *"Conf slurm-spank-distgpu ($version-1+slurm$slurm "*" [arm64])"* ]]
}

@test "they install with Debian 12's Slurm 22.05, and with no other" { installs_in bookworm; }
@test "they install with Debian 13's Slurm 24.11, and with no other" { installs_in trixie; }
@test "they install with Debian forky's Slurm 26.05, and with no other" { installs_in forky; }

@test "the command installs in Debian 11, whose Slurm has no plugin" {
    local slurm
    make_copy bullseye
    install_in "/debs/distgpu_$version-1_amd64.deb" "/debs/nccl-scaling_$version-1_amd64.deb" >&2
    run -0 inside distgpu plan pytorch --nodes 2 --tasks-per-node 1
    for slurm in "${releases[@]}"; do
        run -100 inside apt-get --simulate install "/debs/slurm-spank-distgpu_$version-1+slurm${slurm}_amd64.deb"
    done
}

@test "those for arm64 run in Debian 12" {
    make_root bookworm "$cache/portable-roots/bookworm-arm64" arm64 >&2
    copy=$BATS_TEST_TMPDIR/root
    cp -a "$cache/portable-roots/bookworm-arm64" "$copy"
    local file
    for file in $(command_debs arm64) "$(plugin_deb 22.05 arm64)"; do
        dpkg-deb --extract "$file" "$BATS_TEST_TMPDIR/files"
    done
    # Into the root's own folders, one of which is a link.
    cp -R "$BATS_TEST_TMPDIR/files"/usr "$copy"
    run -0 in_arm_root "$copy" /usr/bin/distgpu --version
    [[ $output == *"$version"* ]]
    run -0 in_arm_root "$copy" /usr/bin/distgpu plan pytorch --nodes 2 --tasks-per-node 1
    run -0 in_arm_root "$copy" /usr/bin/nccl-scaling --help
    run -1 in_arm_root "$copy" /usr/libexec/distgpu/distgpu-task
    [[ $output == "distgpu-task: started by srun "* ]]
}
