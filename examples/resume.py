#!/usr/bin/env python3
"""Trains with DistributedDataParallel, and goes on from its checkpoint when it is started again.

    distgpu run --progress checkpoint.pt -- \\
        srun --distgpu=torchrun torchrun examples/resume.py --steps 1000

Saves every few steps, and when SIGUSR2 says that the time limit is near; then all ranks end with
status 0. An interrupted training ends with the same parameters as one that was not, but for the
order in which DDP sums in its first step. Works on GPUs and CPUs, with torch 1.13 and later.
"""

import argparse
import hashlib
import os
import pathlib
import signal
import time

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

FEATURES, BATCH = 16, 32
notified = False


def on_notice(_number: int, _frame: object) -> None:
    global notified
    notified = True


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--steps", type=int, default=100, help="of the whole training")
    parser.add_argument("--every", type=int, default=10, help="steps between two checkpoints")
    parser.add_argument("--checkpoint", type=pathlib.Path, default=pathlib.Path("checkpoint.pt"))
    parser.add_argument("--pause", type=float, default=0, help="seconds that a step takes longer")
    return parser.parse_args()


def batch_of(step: int, device: torch.device) -> Tensor:
    """The data of a step depends on the step alone, not on what happened before."""
    generator = torch.Generator().manual_seed(1000 * step + dist.get_rank())
    return torch.randn(BATCH, FEATURES, generator=generator).to(device)


def any_rank_is_notified(device: torch.device) -> bool:
    """All ranks stop at the same step, also if the signal reaches them at different ones."""
    flag = torch.tensor([float(notified)], device=device)
    dist.all_reduce(flag, op=dist.ReduceOp.MAX)
    return bool(flag.item())


def save(path: pathlib.Path, state: dict[str, object]) -> None:
    """Rank 0 replaces the old checkpoint when the new one is whole."""
    if dist.get_rank() == 0:
        new = path.with_suffix(".new")
        torch.save(state, new)
        os.replace(new, path)
    dist.barrier()


def digest(model: nn.Module) -> str:
    values = torch.cat([parameter.detach().cpu().flatten() for parameter in model.parameters()])
    return hashlib.sha256(values.numpy().tobytes()).hexdigest()[:16]


def main() -> None:
    arguments = parse_arguments()
    signal.signal(signal.SIGUSR2, on_notice)
    has_gpu = torch.cuda.is_available()
    dist.init_process_group("nccl" if has_gpu else "gloo")
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if has_gpu else torch.device("cpu")
    torch.manual_seed(0)
    model = DistributedDataParallel(nn.Linear(FEATURES, 1).to(device))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    begin = 0
    if arguments.checkpoint.exists():
        state = torch.load(arguments.checkpoint, map_location=device)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        begin = state["step"]
    is_first = dist.get_rank() == 0
    if is_first:
        print(
            f"attempt {os.environ.get('DISTGPU_RESTART', '0')} begins at step {begin}", flush=True
        )
    for step in range(begin, arguments.steps):
        optimizer.zero_grad()
        inputs = batch_of(step, device)
        loss = (model(inputs) - inputs.sum(dim=1, keepdim=True)).pow(2).mean()
        loss.backward()
        optimizer.step()
        time.sleep(arguments.pause)
        is_last = any_rank_is_notified(device)
        if is_last or (step + 1) % arguments.every == 0:
            state = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
            save(arguments.checkpoint, {**state, "step": step + 1})
        if is_last:
            if is_first:
                print(f"saved at step {step + 1}", flush=True)
            return
    if is_first:
        print(f"trained {arguments.steps} steps, parameters {digest(model)}", flush=True)


main()
