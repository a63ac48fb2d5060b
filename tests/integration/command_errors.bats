#!/usr/bin/env bats
# Every error of command_errors.txt, with its exit status and its message. Needs no cluster.

load cluster

setup() {
    cd "$BATS_TEST_TMPDIR" || return
    cp "$machines/one-socket-gpus.xml" node.xml
    printf '#!/bin/bash\r\nexport MASTER_PORT=1\r\nsrun python3 train.py\r\n' >windows.sbatch
}

# Fails unless `distgpu ARGUMENTS` ends as expected, and prints nothing else.
ends_so() { # ARGUMENTS STATUS MESSAGE
    local words
    read -ra words <<<"$1"
    run --separate-stderr "-$2" "$command" "${words[@]}"
    # CLI11 writes a range as [1 - 3600] from 2.4 on.
    stderr=$(sed -E 's/\[([0-9]+) - ([0-9]+)\]/\1 to \2/' <<<"$stderr")
    [[ $stderr != "$3" || -n $output ]] || return 0
    printf 'distgpu %s\nexpected: %s\nseen:     %s\n%s\n' "$1" "$3" "$stderr" "$output"
    return 1
}

# bats test_tags=short
@test "each error says what, where and what to do" {
    local line count=0
    while read -r line; do
        [[ $line =~ ^([0-9]+)\ (.*)\ \|\ (.*)$ ]]
        ends_so "${BASH_REMATCH[2]}" "${BASH_REMATCH[1]}" "distgpu: ${BASH_REMATCH[3]}"
        ((count += 1))
    done < <(grep -vE '^(#|$)' "$root/tests/integration/command_errors.txt")
    ((count >= 25))
}

@test "a missing distgpu-convert is named, with the way to get it" {
    cp "$command" distgpu
    run --separate-stderr -3 env PATH=/usr/bin:/bin ./distgpu convert windows.sbatch
    [ -z "$output" ]
    [ "$stderr" = "distgpu: distgpu-convert: not found; install it: pipx install distgpu-convert" ]
}

@test "the name alone lists the subcommands, as a mistake" {
    run --separate-stderr -2 "$command"
    [ -z "$output" ]
    mapfile -t lines <<<"$stderr"
    [ "${lines[0]}" = "usage: distgpu SUBCOMMAND [ARGUMENT]..." ]
    [ "${lines[2]}" = "  check-config  Check plugstack.conf on this host" ]
    [ "${lines[-1]}" = "see distgpu --help, distgpu SUBCOMMAND --help" ]
    for name in check check-config convert exec plan topo vars; do
        grep -qE "^  $name +[A-Z].*[a-z]$" <<<"$stderr"
    done
}

# bats test_tags=short
@test "--version tells the version" {
    run --separate-stderr -0 "$command" --version
    [ "$output" = "distgpu $(sed -n 's/^project(distgpu VERSION \([0-9.]*\) .*/\1/p' "$root/CMakeLists.txt")" ]
    [ -z "$stderr" ]
}

# bats test_tags=short
@test "--version --verbose tells what the command was built from" {
    run --separate-stderr -0 "$command" --version --verbose
    [ "${lines[0]}" = "$("$command" --version)" ]
    # Unknown where the sources are neither a checkout nor an archive.
    [[ ${lines[1]} =~ ^commit\ ([0-9a-f]{40,}|unknown)$ ]]
    [[ ${lines[2]} =~ ^compiler\ [A-Za-z]+\ [0-9.]+$ ]]
    [[ ${lines[3]} =~ ^Slurm\ ([0-9]{2}\.[0-9]{2}\.[0-9]+|none: built without the plugin)$ ]]
    [[ ${lines[4]} =~ ^hwloc\ 2\.[0-9.]+ ]]
    [ "${#lines[@]}" -eq 5 ]
    [ -z "$stderr" ]
    run -0 "$command" --verbose --version
    [ "${#lines[@]}" -eq 5 ]
}
