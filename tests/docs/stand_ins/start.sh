#!/bin/bash
# A user's start script, which loses a variable on one rank: docs/check.md shows what distgpu check says.
[[ $RANK != 5 ]] || unset LOCAL_RANK
exec "$@"
