#!/usr/bin/env bats
# JAX under `srun --distgpu=jax`, one process per task.
# shellcheck disable=SC2154 # run and launch set output, status and seconds

load frameworks

setup_file() { frameworks_up; }
teardown_file() { cluster_down; }
teardown() { assert_cluster_clean; }

setup() {
    need jax
    version=$(version_of jax)
}

train=examples/jax_train.py
# JAX with what it finds itself. A process that nobody answers waits for ten seconds.
by_itself='import jax
print("looks for the others", flush=True)
jax.distributed.initialize(initialization_timeout=10)
print("process", jax.process_index(), "of", jax.process_count())'

@test "jax without distgpu: the example says how to start it" {
    launch "${on_one_node[@]}" python "$train"
    [ "$status" -eq 2 ]
    [[ $output == *"JAX_COORDINATOR_ADDRESS: not set; start it with 'srun --distgpu=jax "* ]]
}

# bats test_tags=short
@test "jax trains on one node" {
    launch "${on_one_node[@]}" --distgpu=jax python "$train"
    assert_trained "${one_node[@]}"
    result jax "$version" jax '2'
}

@test "jax trains on two nodes without the user's environment" {
    launch "${in_blocks[@]}" --export=NONE --distgpu=jax "$python" "$train"
    assert_trained "${block[@]}"
    result jax "$version" jax '2 + 2'
}

@test "jax trains with a GPU for each task" {
    launch "${in_blocks[@]}" --gres=gpu:2 --distgpu=jax python "$train"
    assert_trained "${block[@]}"
    result jax "$version" jax '2 + 2, --gres=gpu:2'
}

@test "jax trains with ranks dealt out cyclically" {
    launch "${cyclically[@]}" --distgpu=jax python "$train"
    assert_trained "${cyclic[@]}"
    result jax "$version" jax 'cyclic'
}

@test "jax trains with three ranks on one node and one on the other" {
    launch "${unevenly[@]}" --distgpu=jax python "$train"
    assert_trained "${uneven[@]}"
    result jax "$version" jax '3 + 1'
}

# JAX takes the first node of the list for rank 0's, where nobody listens then.
@test "rank 0 on the second node stops JAX by itself, but not with distgpu" {
    launch "${in_blocks[@]}" python -c "$by_itself"
    [ "$status" -eq 0 ]
    [ "$(grep -c '^process [0-3] of 4$' <<<"$output")" -eq 4 ]
    launch_limit=60 launch "${in_reverse[@]}" python -c "$by_itself"
    [ "$status" -ne 0 ]
    [ "$(grep -c '^looks for the others$' <<<"$output")" -eq 4 ]
    [[ $output != *"of 4"* ]]

    launch "${in_reverse[@]}" --distgpu=jax python "$train"
    assert_trained "${reversed[@]}"
    result jax "$version" jax 'rank 0 on node02'
}

# JAX then takes the ranks of the mpirun that set it.
@test "a leaked OMPI_MCA_orte_hnp_uri stops JAX, but not with distgpu" {
    local leak='OMPI_MCA_orte_hnp_uri=1531576320.0;tcp://10.77.1.1:34911'
    launch "${on_one_node[@]}" --export="ALL,$leak" python -c "$by_itself"
    [ "$status" -ne 0 ]
    [[ $output == *"KeyError: 'OMPI_COMM_WORLD_SIZE'"* ]]
    [[ $output != *"of 2"* ]]

    launch "${on_one_node[@]}" --export="ALL,$leak" --distgpu=jax python "$train"
    assert_trained "${one_node[@]}"
}
