#!/usr/bin/env bats
# What the key report says of GPUs. A library stands in for NVIDIA's (report/scripted_nvml.c), with
# the addresses of these nodes' made-up GPUs: for real GPUs it shows nothing.
#   DISTGPU_SCRIPTS=7 bats tests/integration/report_gpus.bats    seven times 16 scripts

load cluster
load binding/cluster

setup_file() {
    binding_cluster_up
    export SCRIPTS=$SCRATCH/scripts
    mkdir -m 755 "$SCRIPTS" "$SCRATCH/nvml"
    cc -shared -fPIC -Wl,-soname,libnvidia-ml.so.1 -DSCRIPTS="\"$SCRIPTS\"" \
        -o "$SCRATCH/nvml/libnvidia-ml.so.1" "$root/tests/integration/report/scripted_nvml.c"
    # A cache of the loader, by which the nodes' programs find it.
    printf '%s\n' "$SCRATCH/nvml" 'include /etc/ld.so.conf' >"$SCRATCH/ld.so.conf"
    ldconfig -X -C "$SCRATCH/ld.so.cache" -f "$SCRATCH/ld.so.conf" 2>/dev/null
    on_nodes mount --bind "$SCRATCH/ld.so.cache" /etc/ld.so.cache
}

setup() { assert_cluster_clean; }

@test "the report of random scripts is what they had the GPUs do" {
    local seed file
    for ((seed = 1; seed <= ${DISTGPU_SCRIPTS:-1}; ++seed)); do
        python3 -B "$root/tests/integration/report/scripts.py" make "$SCRIPTS" "$seed"
        run -0 submit srun -N4 --gres=gpu:4 --distgpu=pytorch,report,gpus=keep sleep 22
        file=$(ls "$SCRATCH"/*.json)
        python3 -B "$root/tests/integration/report/scripts.py" compare "$SCRIPTS" "$file"
        rm "$file"
    done
}
