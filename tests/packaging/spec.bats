#!/usr/bin/env bats
# The spec as rpm reads it on EL 8, 9 and 10: el/N.macros has what that release defines of the macros
# that the spec uses, each body cut to what matters here. Nothing is built, and no package is needed.
# shellcheck source=tests/packaging/packages.bash
source "$BATS_TEST_DIRNAME/packages.bash"

setup() {
    sed "s/@VERSION@/$version/; /@HOMEPAGE@/d" "$root/packaging/rpm/distgpu.spec.in" >"$BATS_TEST_TMPDIR/distgpu.spec"
}

spec() { # EL OPTION...
    rpmspec --load "$BATS_TEST_DIRNAME/el/$1.macros" "${@:2}" "$BATS_TEST_TMPDIR/distgpu.spec"
}

# A line each, without the versions that a package needs of another.
build_requires() { spec "$1" --query --buildrequires | sed 's/ .*//' | sort; } # EL

# The lines of the parsed spec from %NAME to the next part. rpm omits the line %build: prep has its lines.
part() { # EL NAME
    spec "$1" --parse | sed -n "/^%$2\$/,/^%[a-z]/p" | sed '1d; /^%/d'
}

@test "a package needs the plugin's release of Slurm and its own command, and no package of a library" {
    local el
    for el in 8 9 10; do
        run -0 spec "$el" --query --requires
        # The shell is that of the scriptlets.
        [ "$(grep -v /bin/sh <<<"$output" | sort)" = "distgpu(x86-64) = $version-1.slurm$slurm.el$el
slurm(x86-64) < $next
slurm(x86-64) >= $slurm" ]
    done
}

@test "each release builds with a compiler that it has" {
    local el
    run -0 build_requires 8
    [[ $output == *$'\ngcc-toolset-13-annobin-plugin-gcc\ngcc-toolset-13-gcc-c++\n'*$'\nsystemd'* ]]
    run ! grep -xE 'gcc-c\+\+|libstdc\+\+-static|systemd-rpm-macros' <<<"$output"
    for el in 9 10; do
        run -0 build_requires "$el"
        [[ $output == *$'\ngcc-c++\n'*$'\nlibstdc++-static\n'*$'\nsystemd-rpm-macros' ]]
        run ! grep toolset <<<"$output"
    done
}

@test "the compiler is loaded before CMake looks for it, and only on EL 8" {
    local el
    run -0 part 8 prep
    [[ $output == *". /opt/rh/gcc-toolset-13/enable"*"/usr/bin/cmake -S . "* ]]
    for el in 9 10; do
        run -0 part "$el" prep
        [[ $output == *"/usr/bin/cmake -S . "* ]]
        [[ $output != */opt/rh/* ]]
    done
}

@test "each release's own macros build, install, test and list the files" {
    local el
    for el in 8 9 10; do
        run -0 spec "$el" --parse
        # Not those for Debian, and none that the release lacks.
        [[ $output != *CMAKE_INSTALL_SO_NO_EXE* ]]
        grep -qx /usr/lib64/slurm/spank_distgpu.so <<<"$output"
        run ! grep -nE '%\{|%(cmake|ctest|systemd)' <<<"$output"
        run -0 part "$el" prep
        [[ $output == *' -B "x86_64-redhat-linux-gnu" '*'cmake --build "x86_64-redhat-linux-gnu"'* ]]
        run -0 part "$el" install
        [[ $output == *'cmake --install "x86_64-redhat-linux-gnu"'* ]]
        run -0 part "$el" check
        [[ $output == *"ctest "*"--label-regex '^(unit|golden)\$' --no-tests=error"* ]]
        run -0 part "$el" preun
        [[ $output == *"disable --now distgpu-topology.service"* ]]
    done
}
