#!/usr/bin/env bats
# libdistgpu.so as it is installed: what it exports and needs, and that programs outside the tree
# find it and get the plans of `distgpu plan`. Needs no cluster.
# shellcheck disable=SC2154 # run sets output and status
bats_require_minimum_version 1.5.0

root=$(readlink -f "$BATS_TEST_DIRNAME/../..")
build=${DISTGPU_BUILD:-$root/build/dev}
command=${DISTGPU_COMMAND:-$build/tools/distgpu/distgpu}
example=$root/examples/c_api

# Moved after it was installed: the tree says nowhere where it lies.
setup_file() {
    local part
    for part in library development; do
        cmake --install "$build" --prefix "$BATS_FILE_TMPDIR/installed" --component "$part"
    done
    mv "$BATS_FILE_TMPDIR/installed" "$BATS_FILE_TMPDIR/prefix"
    export PREFIX=$BATS_FILE_TMPDIR/prefix
    LD_LIBRARY_PATH=$(dirname "$(find "$PREFIX" -name libdistgpu.so)")
    export LD_LIBRARY_PATH PKG_CONFIG_PATH=$LD_LIBRARY_PATH/pkgconfig
    local flags
    read -ra flags <<<"$(pkg-config --cflags --libs distgpu)"
    cc -std=c99 -Wall -Wextra -Wpedantic -Werror "$example/plan.c" "${flags[@]}" \
        -o "$BATS_FILE_TMPDIR/plan"
}

# What cmake --install leaves in the build folder.
teardown_file() { rm -f "$build"/install_manifest_{library,development}.txt; }

# What the example prints of a node, made of distgpu.plan/1.
of_command() { # SPEC NODELIST TASKS_PER_NODE NODE
    "$command" plan "$1" --nodelist "$2" --tasks-per-node "$3" --format json |
        python3 -c 'import json, sys
for task in json.load(sys.stdin)["tasks"]:
    if task["node"] == sys.argv[1]:
        print("rank", task["rank"], "on", task["node"])
        for name in task["unset"]:
            print("  unset", name)
        for name, value in task["set"].items():
            print(f"  {name}={value}")' "$4"
}

@test "only the functions of mapping.h are exported, each with its version" {
    local functions
    mapfile -t functions < <(grep -o 'distgpu_[a-z_0-9]*(' "$PREFIX/include/distgpu/mapping.h" |
        tr -d '(')
    [ "${#functions[@]}" -eq 17 ]
    run -0 nm -D --defined-only --format=just-symbols "$LD_LIBRARY_PATH/libdistgpu.so"
    [ "$(sort <<<"$output")" = \
        "$(printf '%s\n' DISTGPU_0.1 "${functions[@]/%/@@DISTGPU_0.1}" | sort)" ]
}

@test "it needs the C library and no other" {
    run -0 readelf --dynamic "$LD_LIBRARY_PATH/libdistgpu.so"
    [[ $output == *"soname: [libdistgpu.so.0]"* ]]
    local needed
    needed=$(sed -n 's/.*NEEDED.*\[\(.*\)\.so.*/\1/p' <<<"$output" | sort)
    [[ $needed == *libc* ]]
    run -1 grep -vE '^(libc|libm|ld-linux-.*)$' <<<"$needed"
}

@test "one header is installed, which is C99 and C++11" {
    [ "$(cd "$PREFIX/include" && find . -type f)" = ./distgpu/mapping.h ]
    echo '#include <distgpu/mapping.h>' >"$BATS_TEST_TMPDIR/header.c"
    cp "$BATS_TEST_TMPDIR/header.c" "$BATS_TEST_TMPDIR/header.cpp"
    cc -std=c99 -Wall -Wextra -Wpedantic -Werror -I"$PREFIX/include" -fsyntax-only \
        "$BATS_TEST_TMPDIR/header.c"
    c++ -std=c++11 -Wall -Wextra -Wpedantic -Werror -I"$PREFIX/include" -fsyntax-only \
        "$BATS_TEST_TMPDIR/header.cpp"
}

@test "a program that pkg-config helped prints the plan" {
    run -0 "$BATS_FILE_TMPDIR/plan" pytorch,port=29500 'n[1-2]' 1 n2
    [ "$output" = "rank 1 on n2
  unset TORCHELASTIC_*
  unset PET_*
  unset OMPI_COMM_WORLD_*
  MASTER_ADDR=n1
  MASTER_PORT=29500
  WORLD_SIZE=2
  RANK=1
  LOCAL_RANK=0
  LOCAL_WORLD_SIZE=1
  NODE_RANK=1
  GROUP_RANK=1
  GROUP_WORLD_SIZE=2
  OMP_NUM_THREADS=1" ]
}

# Configures the project outside the tree.
configure() { # VERSION
    cmake -S "$root/tests/packaging/consumer" -B "$BATS_TEST_TMPDIR" -G Ninja -DWANTED="$1" \
        -DEXAMPLE="$example" -DCMAKE_PREFIX_PATH="$PREFIX"
}

@test "so does one that find_package helped" {
    unset LD_LIBRARY_PATH PKG_CONFIG_PATH
    configure 0.1
    cmake --build "$BATS_TEST_TMPDIR"
    run -0 "$BATS_TEST_TMPDIR/plan" pytorch n1 1 n1
    [ "${lines[0]}" = "rank 0 on n1" ]
}

@test "find_package takes no other minor version" {
    local version
    for version in 0.0 0.2 1.1; do
        run -1 configure "$version"
        [[ $output == *"requested version \"$version\""* ]]
    done
}

@test "C and Python print what the command plans" {
    local step
    for step in "pytorch n[1-3] 2,1(x2) n1" "torchrun n[1-2] 1 n2" "tf,ps=1 n[1-2] 2 n1" \
        "horovod n[1-2] 2 n2" "jax n1 3 n1"; do
        local arguments
        read -ra arguments <<<"$step"
        of_command "${arguments[@]}" >"$BATS_TEST_TMPDIR/expected"
        grep -q "^rank .* on ${arguments[3]}$" "$BATS_TEST_TMPDIR/expected"
        "$BATS_FILE_TMPDIR/plan" "${arguments[@]}" | diff "$BATS_TEST_TMPDIR/expected" -
        "$example/plan.py" "${arguments[@]}" | diff "$BATS_TEST_TMPDIR/expected" -
    done
}

@test "a refusal arrives as the command words it" {
    local program
    for program in "$BATS_FILE_TMPDIR/plan" "$example/plan.py"; do
        run --separate-stderr -1 "$program" pytroch n1 1 n1
        [ "$stderr" = "distgpu: SPEC=pytroch: unknown mode; did you mean 'pytorch'?" ]
        [ -z "$output" ]
        run -2 "$program"
    done
}
