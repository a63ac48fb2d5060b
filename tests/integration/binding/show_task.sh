#!/bin/bash
# A task's place: host, local id, CPUs, and how it names its GPUs.
printf '%s %s %s %s\n' "$(hostname)" "$SLURM_LOCALID" "$(taskset -pc $$ | sed 's/.*: //')" \
    "${CUDA_VISIBLE_DEVICES:-none}"
