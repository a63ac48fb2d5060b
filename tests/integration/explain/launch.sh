#!/bin/bash
# A launcher once a node, as torchrun: launch.sh [--reversed] PROGRAM... starts two ranks of it here.
# --reversed: the nodes in another order.
set -u
node=$PET_NODE_RANK
[[ $1 != --reversed ]] || { node=$((1 - node)) && shift; }
for local in 0 1; do
    RANK=$((2 * node + local)) LOCAL_RANK=$local WORLD_SIZE=4 LOCAL_WORLD_SIZE=2 GROUP_RANK=$node \
        TORCHELASTIC_RUN_ID=x "$@" &
done
wait
