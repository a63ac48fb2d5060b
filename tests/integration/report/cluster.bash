# A cluster on whose nodes scripted_nvml.c stands in for NVIDIA's library. Loaded after
# ../cluster.bash and ../binding/cluster.bash.
# shellcheck shell=bash

# Raises it; arguments go to `sandbox up`. The addresses are those of the nodes' made-up GPUs, the
# scripts are in $SCRIPTS.
scripted_gpus_up() { # [SANDBOX_ARGUMENT...]
    binding_cluster_up "$@"
    export SCRIPTS=$SCRATCH/scripts
    mkdir -m 755 "$SCRIPTS" "$SCRATCH/nvml"
    cc -shared -fPIC -Wl,-soname,libnvidia-ml.so.1 -DSCRIPTS="\"$SCRIPTS\"" \
        -o "$SCRATCH/nvml/libnvidia-ml.so.1" "$root/tests/integration/report/scripted_nvml.c"
    # A cache of the loader, by which the nodes' programs find it.
    printf '%s\n' "$SCRATCH/nvml" 'include /etc/ld.so.conf' >"$SCRATCH/ld.so.conf"
    ldconfig -X -C "$SCRATCH/ld.so.cache" -f "$SCRATCH/ld.so.conf" 2>/dev/null
    on_nodes mount --bind "$SCRATCH/ld.so.cache" /etc/ld.so.cache
}
