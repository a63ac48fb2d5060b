"""vLLM within a program that has a process for each part of the model: external_launcher.py MODEL."""

import os
import sys

from vllm import LLM, SamplingParams  # type: ignore[attr-defined]  # not the stand-in

model = LLM(
    sys.argv[1],
    tensor_parallel_size=int(os.environ["WORLD_SIZE"]),
    distributed_executor_backend="external_launcher",
    load_format="dummy",
    enforce_eager=True,
    max_model_len=128,
    dtype="float32",
    seed=0,
)
answer = model.generate("a", SamplingParams(max_tokens=5, ignore_eos=True))[0].outputs[0]
print(f"rank {os.environ['RANK']} of {os.environ['WORLD_SIZE']}: {len(answer.token_ids)} tokens")
