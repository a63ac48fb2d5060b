#!/usr/bin/env bats
# tools/demo with released files: it trains with those of this machine's Slurm, without a compiler,
# and says which files a folder has in place of those. Needs root and `packaging/build portable`.
# shellcheck source=tests/packaging/packages.bash
source "$BATS_TEST_DIRNAME/packages.bash"
demo=$root/tools/demo
tarball=distgpu-$version-linux-x86_64.tar.gz

setup_file() { needs_root; }

setup() { folder=$BATS_TEST_TMPDIR; }

@test "16 ranks agree, and nothing is compiled" {
    run "$demo" --no-install --prebuilt "$portable"
    echo "$output"
    [ "$status" -eq 0 ]
    [[ $output == *"
== plugin
$tarball
spank_distgpu-$version-slurm$slurm-x86_64.so
spank_distgpu-$version-slurm$slurm-x86_64_step.so

== cluster
"* ]]
    [ "$(grep -c '^16 ranks on 4 nodes agree: ' <<<"$output")" = 2 ]
}

@test "a missing folder is refused" {
    run -2 "$demo" --prebuilt "$folder/none"
    [ "$output" = "demo: --prebuilt $folder/none: no such folder; name one with a release's files" ]
}

@test "another version than the checkout's is refused" {
    touch "$folder"/distgpu-0.0.{1,2}-linux-x86_64.tar.gz
    run -1 "$demo" --prebuilt "$folder"
    [ "$output" = "demo: $folder/$tarball: not found; this checkout is version $version, and the folder has \
distgpu-0.0.1-linux-x86_64.tar.gz distgpu-0.0.2-linux-x86_64.tar.gz" ]
}

@test "plugins for other Slurm releases are named" {
    touch "$folder/$tarball" "$folder/spank_distgpu-$version-slurm$next-x86_64"{,_step}.so
    run -1 "$demo" --no-install --prebuilt "$folder"
    [[ $output == *"
demo: $folder/spank_distgpu-$version-slurm$slurm-x86_64.so: not found; this machine has Slurm $slurm, and the folder \
has spank_distgpu-$version-slurm$next-x86_64.so" ]]
}
