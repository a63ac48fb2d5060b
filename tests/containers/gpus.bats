#!/usr/bin/env bats
# GPUs in a container: an image or its user may leave some of the step's out, by
# NVIDIA_VISIBLE_DEVICES. A script in place of nvidia-container-cli puts the device files into the
# container; those of the driver are made up (../integration/gpu_identity.bats).

load containers
load ../integration/binding/cluster

setup_file() {
    have_containers || return 0
    build_containers
    install -m 755 "$here/nvidia-container-cli" "$PREFIX/bin"
    # Else all of the node's devices are in each container.
    sed -i '$a ENROOT_RESTRICT_DEV y' "$PREFIX/etc/enroot/enroot.conf"
    # shellcheck disable=SC2034 # cluster_up uses it
    plugins_before=("${pyxis[@]}")
    binding_cluster_up --nodes 1 --conf TaskPlugin=task/affinity
    # What enroot expects of every machine.
    on node01 sh -c 'mkdir /dev/mqueue; touch /dev/log'
    image all NVIDIA_VISIBLE_DEVICES=all
    # GPU 14, near CPU 1, and GPU 93, near CPU 0.
    image some NVIDIA_VISIBLE_DEVICES=1,2
}

setup() {
    need_containers
    two_cpus_here
}

# Fails unless the two tasks print these lines: the GPUs that CUDA gives them, by PCI bus and device
# file, and their CPUs.
tasks_have() { # IMAGE SPEC LINE...
    in_image -0 "$1" -n2 --gres=gpu:4 --container-mounts="$SCRATCH" --distgpu="$2" -- \
        "$SCRATCH/cuda_view.sh"
    [ "$(distgpu_free_lines | sort)" = "$(printf '%s\n' "${@:3}")" ]
}

@test "all GPUs: as outside" {
    local gpus='93/nvidia2=yes 13/nvidia0=yes 14/nvidia1=yes 94/nvidia3=yes'
    tasks_have all pytorch "0: $gpus CPUs 0" "1: $gpus CPUs 1"
}

@test "some of the step's GPUs: only those, the near one for each task" {
    in_image -0 some -n1 --gres=gpu:4 -- 'cd /dev; echo nvidia[0-9]'
    [ "$output" = 'nvidia1 nvidia2' ]
    local gpus='93/nvidia2=yes 14/nvidia1=yes'
    tasks_have some pytorch "0: $gpus CPUs 0" "1: $gpus CPUs 1"
    tasks_have some pytorch,gpu-ids=uuid "0: $gpus CPUs 0" "1: $gpus CPUs 1"
    tasks_have some pytorch,gpus=isolate '0: 93/nvidia2=yes CPUs 0' '1: 14/nvidia1=yes CPUs 1'
}

@test "the user's own choice wins over the image's" {
    NVIDIA_VISIBLE_DEVICES=0,3 in_image -0 all -n1 --gres=gpu:4 -- 'cd /dev; echo nvidia[0-9]'
    [ "$output" = 'nvidia0 nvidia3' ]
    local gpus='94/nvidia3=yes 13/nvidia0=yes'
    NVIDIA_VISIBLE_DEVICES=0,3 tasks_have all pytorch "0: $gpus CPUs 0" "1: $gpus CPUs 1"
}
