# Where a test's stacks come from. Loaded after ../cluster.bash, by why.bats and watch.bats.
# shellcheck shell=bash

# Puts py-spy into PATH, or skips the test.
with_py_spy() {
    local python
    python=$("$root/tests/frameworks/environment" pyspy 3>&-) || skip "py-spy cannot be had here"
    PATH=${python%/*}:$PATH
}
