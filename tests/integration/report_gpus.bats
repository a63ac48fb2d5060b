#!/usr/bin/env bats
# What the key report says of GPUs. A library stands in for NVIDIA's (report/scripted_nvml.c), with
# the addresses of these nodes' made-up GPUs: for real GPUs it shows nothing.
#   DISTGPU_SCRIPTS=7 bats tests/integration/report_gpus.bats    seven times 16 scripts

load cluster
load binding/cluster
load report/cluster

setup_file() { scripted_gpus_up; }

setup() { assert_cluster_clean; }

@test "the report of random scripts is what they had the GPUs do" {
    local seed file
    for ((seed = 1; seed <= ${DISTGPU_SCRIPTS:-1}; ++seed)); do
        python3 -B "$root/tests/integration/report/scripts.py" make "$SCRIPTS" "$seed"
        run -0 submit srun -N4 --gres=gpu:4 --distgpu=pytorch,report,gpus=keep sleep 22
        file=$(ls "$SCRATCH"/*.json)
        python3 -B "$root/tests/integration/report/scripts.py" compare "$SCRIPTS" "$file"
        mv "$file" "$SCRATCH/last"
    done
}

# In windows of 1280 and 390 pixels, light and dark.
@test "its page in a browser: no error, no request, no text outside or too small" {
    run -0 "$SCRATCH/bin/distgpu" report "$SCRATCH/last" --html "$BATS_TEST_TMPDIR/page.html"
    run -0 env TMPDIR="$BATS_TEST_TMPDIR" python3 "$root/tests/integration/scaling_page/open_page.py" \
        chromium "$BATS_TEST_TMPDIR/page.html"
    echo "$output"
    [[ $output == 'page.html '*' 0 0 fits wrong tips: none requests: none errors: none' ]]
    # Of 16 GPUs and 4 ranks.
    [ "$(grep -c '<tr><td' "$BATS_TEST_TMPDIR/page.html")" -eq 20 ]
    [ "$(grep -c '<svg .*role="img"' "$BATS_TEST_TMPDIR/page.html")" -ge 4 ]
}
