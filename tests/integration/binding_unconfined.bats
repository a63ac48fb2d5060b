#!/usr/bin/env bats
# Where nothing confines a step to its CPUs (TaskPlugin=task/none), they are not distgpu's to
# divide: two jobs on a node would narrow onto the same cores. GPUs are ordered all the same.

load cluster
load binding/cluster

setup_file() { binding_cluster_up --nodes 1; }

# bats test_tags=short
@test "two jobs on a node keep all its CPUs" {
    submit srun -n1 --gres=gpu:2 --distgpu=pytorch,cpus=near \
        bash -c './show_task.sh >first; sleep 60' 3>&- &
    until [[ -s $SCRATCH/first ]]; do sleep 0.1; done
    run -0 submit srun -n1 --gres=gpu:2 --distgpu=pytorch,cpus=near ./show_task.sh
    [[ $output == *"node01 0 0,1 2,3" ]]
    [ "$(<"$SCRATCH/first")" = "node01 0 0,1 0,1" ]
    submit scancel --user="$(submit id -un)"
    wait
}
