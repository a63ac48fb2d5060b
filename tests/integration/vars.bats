#!/usr/bin/env bats
# `distgpu vars`: which contract a SPEC is, and what is refused. Needs no cluster. What it prints of
# a contract is in tests/unit/tools/vars_test.cpp.
# shellcheck disable=SC2154 # set by cluster.bash and bats

load cluster

# refused MESSAGE ARGUMENT...: with status 2, this one line, and no result.
refused() {
    local message=$1
    shift
    run --separate-stderr -2 "$command" vars "$@"
    [ "$stderr" = "distgpu: $message" ]
    [ -z "$output" ]
}

# The contract's mode as the table and JSON tell it.
contract() { # SPEC
    "$command" vars "$1" | sed -n '1s/:.*//p'
    "$command" vars "$1" --format json |
        python3 -c 'import json, sys; print(*[mode["mode"] for mode in json.load(sys.stdin)["modes"]])'
}

@test "a mode, its alias, and the variant that a key selects" {
    [ "$(contract jax)" = $'jax\njax' ]
    [ "$(contract tf)" = $'tensorflow\ntensorflow' ]
    [ "$(contract lightning,per-node,nproc=4)" = $'lightning,per-node\nlightning,per-node' ]
    [ "$(contract horovod,backend=gloo)" = $'horovod,backend=gloo\nhorovod,backend=gloo' ]
    [ "$(contract pytorch,per-node)" = $'torchrun\ntorchrun' ]
}

@test "without a mode all of them" {
    run -0 "$command" vars
    [[ ${lines[0]} == "MODE "*ALIASES*KEYS*SUMMARY ]]
    [[ $output == *$'\npytorch '*$'\njax '*$'\nSet in every mode:\n'* ]]
    "$command" vars --format json | python3 -c 'import json, sys
modes = [mode["mode"] for mode in json.load(sys.stdin)["modes"]]
assert {"pytorch", "torchrun,rdzv=c10d", "jax"} <= set(modes), modes'
}

@test "help is the text of --distgpu=help" {
    run --separate-stderr -0 "$command" vars help
    [[ $output == "usage: --distgpu=MODE[,KEY[=VALUE]]..."*Modes:*Keys:*Environment:* ]]
    [ -z "$stderr" ]
}

@test "wrong usage is refused with status 2" {
    refused "pytroch: unknown mode; did you mean 'pytorch'?" pytroch
    refused "pytorch,prot=1: unknown key 'prot'; did you mean 'port'?" pytorch,prot=1
    refused "off: sets nothing; give the mode of a framework" off
    refused "command line: --format: xml not in {table,json}; see distgpu vars --help" --format xml
}

@test "output that nobody takes is refused with status 3" {
    run -3 bash -c "'$command' vars 2>&1 >/dev/full"
    [ "$output" = "distgpu: standard output: No space left on device" ]
}
