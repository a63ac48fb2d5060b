#!/usr/bin/env bats
# JAX under `srun --distgpu=jax`, one process per task.

load frameworks

setup() { need jax jax; }

train=examples/jax_train.py
trains() { in_shape "$1" jax jax "$python" "$train"; }
# JAX with what it finds itself. A process that nobody answers waits for ten seconds.
by_itself='import jax
print("looks for the others", flush=True)
jax.distributed.initialize(initialization_timeout=10)
print("process", jax.process_index(), "of", jax.process_count())'

@test "jax without distgpu: the example says how to start it" {
    launch -2 "${on_one_node[@]}" python "$train"
    [[ $output == *"JAX_COORDINATOR_ADDRESS: not set; start it with 'srun --distgpu=jax "* ]]
}

# bats test_tags=short
@test "jax trains on one node" { trains one_node; }
@test "jax trains on two nodes without the user's environment" { trains block; }

@test "jax trains with a GPU for each task" {
    trains_as block jax jax '2 + 2, --gres=gpu:2' "${in_blocks[@]}" --gres=gpu:2 --distgpu=jax python "$train"
}

@test "jax trains with ranks dealt out cyclically" { trains cyclic; }
@test "jax trains with three ranks on one node and one on the other" { trains uneven; }

# JAX takes the first node of the list for rank 0's, where nobody listens then.
@test "rank 0 on the second node stops JAX by itself, but not with distgpu" {
    launch -0 "${in_blocks[@]}" python -c "$by_itself"
    [ "$(grep -c '^process [0-3] of 4$' <<<"$output")" -eq 4 ]
    launch_limit=60 launch ! "${in_reverse[@]}" python -c "$by_itself"
    [ "$(grep -c '^looks for the others$' <<<"$output")" -eq 4 ]
    [[ $output != *"of 4"* ]]

    trains_as reversed jax jax 'rank 0 on node02' "${in_reverse[@]}" --distgpu=jax python "$train"
}

# JAX then takes the ranks of the mpirun that set it.
@test "a leaked OMPI_MCA_orte_hnp_uri stops JAX, but not with distgpu" {
    local leak='OMPI_MCA_orte_hnp_uri=1531576320.0;tcp://10.77.1.1:34911'
    launch ! "${on_one_node[@]}" --export="ALL,$leak" python -c "$by_itself"
    [[ $output == *"KeyError: 'OMPI_COMM_WORLD_SIZE'"* ]]
    [[ $output != *"of 2"* ]]

    launch "${on_one_node[@]}" --export="ALL,$leak" --distgpu=jax python "$train"
    assert_trained "${one_node[@]}"
}
