#!/usr/bin/env bats
# `distgpu vars`: which contract a SPEC is. Needs no cluster. What it prints of a contract is in
# tests/unit/tools/vars_test.cpp.

load cluster

# bats test_tags=short
@test "of a SPEC its contract, without one all of them" {
    run -0 "$command" vars lightning,per-node,nproc=4
    [[ $output == 'lightning,per-node: '* ]]
    run -0 "$command" vars tf --format json
    [ "$(jq -c '[.modes[].mode]' <<<"$output")" = '["tensorflow"]' ]
    run -0 "$command" vars
    [[ ${lines[0]} == "MODE "*ALIASES*KEYS*SUMMARY ]]
    [[ $output == *$'\npytorch '*$'\njax '*$'\nSet in every mode:\n'* ]]
    run -0 "$command" vars --format json
    jq --exit-status '[.modes[].mode] | contains(["pytorch", "torchrun,rdzv=c10d", "jax"])' <<<"$output"
}

@test "help is the text of --distgpu=help" {
    run --separate-stderr -0 "$command" vars help
    [[ $output == "usage: --distgpu=MODE[,KEY[=VALUE]]..."*Modes:*Keys:*Environment:* ]]
    [ -z "$stderr" ]
}
