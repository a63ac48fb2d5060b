#!/usr/bin/env bats
# SGLang's own ServerArgs and PortArgs read what `distgpu exec` gives each node. No server: that needs GPUs.

load ../frameworks/steps

setup_file() {
    steps_up
    cp "$root/tests/serving/sglang_options.py" "$SCRATCH"
    echo '{"architectures": ["LlamaForCausalLM"], "model_type": "llama"}' >"$SCRATCH/config.json"
}

setup() {
    need sglang
    PYTHONPATH=$(echo "${python%/bin/python}"/lib/python3*/site-packages)
    export PYTHONPATH
    need vllm
    steps_setup ': ready at' 120
    export TMPDIR=/mnt HOME=$SCRATCH HF_HUB_OFFLINE=1
}

# Both nodes' line, with each port as its distance from the step's first.
read_options() { # OPTION...
    start srun -N2 --ntasks-per-node=1 --distgpu=sglang "$distgpu" exec -- \
        python3 sglang_options.py --model-path "$SCRATCH" --device cpu --tp 2 "$@"
    # The first node's may be ready before the other has read its options.
    for _ in {1..300}; do
        (($(grep -c '^node' "$log") < 2)) || break
        sleep 0.2
    done
    submit scancel --user "$user"
    injured
    ends
    within 14
    first=$(sed -n 's/^node 0 of 2: at 10.77.1.1:\([0-9]*\),.*/\1/p' "$log")
    read_lines=$(grep '^node' "$log" | sort | awk -v first="$first" '{
        while (match($0, /[: ][1-9][0-9][0-9][0-9][0-9]/)) {
            port = substr($0, RSTART + 1, 5)
            $0 = substr($0, 1, RSTART) "+" (port - first) substr($0, RSTART + 6)
        }
        print
    }')
    echo "$read_lines"
}

@test "every port of a node is that of its options" {
    read_options
    [ "$read_lines" = 'node 0 of 2: at 10.77.1.1:+0, API 10.77.1.1:+13, NCCL +14, tp 2;
node 1 of 2: at 10.77.1.1:+0, API 10.77.1.2:+13, NCCL +14, tp 2;' ]
}

@test "with attention's data parallelism, six ports behind the rendezvous are taken" {
    read_options --attn-dp-size 2
    taken='10.77.1.1:+1 10.77.1.1:+2 10.77.1.1:+3 10.77.1.1:+4 10.77.1.1:+5 10.77.1.1:+6'
    [ "$read_lines" = "node 0 of 2: at 10.77.1.1:+0, API 10.77.1.1:+13, NCCL +14, tp 2; $taken
node 1 of 2: at 10.77.1.1:+0, API 10.77.1.2:+13, NCCL +14, tp 2; $taken" ]
}
