# What the tests of Ray share: a cluster, and a driver.
# shellcheck shell=bash
# shellcheck disable=SC2034 # the tests use what stands here

load steps

ray_up() { # SANDBOX_ARGUMENT...
    steps_up "$@"
    cp "$root/tests/frameworks/programs/"ray_*.py "$SCRATCH"
}

setup() {
    need ray ray
    export RAY_TMPDIR=/mnt
    steps_setup '^nodes' 170
}

on_each_node=(-N2 --ntasks-per-node=1 -c 2)
driver=(python3 ray_driver.py 2)
