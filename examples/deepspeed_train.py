#!/usr/bin/env python3
"""Trains a small model with DeepSpeed's ZeRO and checks that all ranks agree.

    srun -N4 --ntasks-per-node=4 --gres=gpu:4 --distgpu=deepspeed \\
        python3 examples/deepspeed_train.py

One process per GPU, without ssh, pdsh or a hostfile; without GPUs it trains on the CPUs.
Exit status: 0 all ranks agree and the loss fell, 1 they do not, 2 wrong usage.
"""

import argparse
import hashlib
import os
import socket
import sys
from typing import Any, NoReturn

import deepspeed
import torch
import torch.distributed as dist
from torch import nn
from torch.utils.data import TensorDataset

SAMPLES, FEATURES, BATCH, EPOCHS = 4096, 16, 32, 5

CONFIG = {
    "train_micro_batch_size_per_gpu": BATCH,
    "zero_optimization": {"stage": 1},  # each rank keeps its share of the optimizer's state
    "zero_allow_untested_optimizer": True,
    "steps_per_print": 1_000_000,
}


def require_launcher() -> None:
    names = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT")
    missing = [name for name in names if not os.environ.get(name)]
    if missing:
        print(
            f"deepspeed_train.py: {', '.join(missing)}: not set; start it with "
            "'srun --distgpu=deepspeed python3 deepspeed_train.py'",
            file=sys.stderr,
        )
        sys.exit(2)


def gather(value: Any) -> list[Any]:
    """The value of every rank, in the order of the ranks, on every rank."""
    values = [None] * dist.get_world_size()
    dist.all_gather_object(values, value)
    return values


def print_ranks(engine: Any) -> int:
    """Prints the table of ranks and returns the number of nodes."""
    found = (engine.global_rank, engine.world_size, engine.local_rank)
    planned = tuple(int(os.environ[name]) for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK"))
    if found != planned:
        sys.exit(f"deepspeed_train.py: rank, world and local rank are {found}, not {planned}")
    row = (engine.global_rank, socket.gethostname(), engine.local_rank, engine.device)
    rows = gather([str(cell) for cell in row])
    if engine.global_rank == 0:
        for cells in [["rank", "host", "local", "device"], *rows]:
            print("{:>4}  {:<12} {:>5}  {}".format(*cells))
    return len({host for _, host, *_ in rows})


def make_data(seed: int) -> TensorDataset:
    """Points that a random plane separates, the same on every rank."""
    generator = torch.Generator().manual_seed(seed)
    points = torch.randn(SAMPLES, FEATURES, generator=generator)
    plane = torch.randn(FEATURES, 1, generator=generator)
    return TensorDataset(points, (points @ plane > 0).float())


def train_epoch(engine: Any, batches: Any) -> float:
    """One pass over the data; the mean loss over all ranks."""
    losses = []
    for points, labels in batches:
        points, labels = points.to(engine.device), labels.to(engine.device)
        loss = nn.functional.binary_cross_entropy_with_logits(engine(points), labels)
        engine.backward(loss)
        engine.step()
        losses.append(loss.detach())
    mean = torch.stack(losses).mean()
    deepspeed.comm.all_reduce(mean)
    return float(mean) / int(engine.world_size)


def checksum(model: nn.Module) -> str:
    digest = hashlib.sha256()
    for parameter in model.parameters():
        digest.update(parameter.detach().cpu().numpy().tobytes())
    return digest.hexdigest()[:12]


def finish(succeeded: bool) -> NoReturn:
    """Ends the process without torch's clean-up, in which torch 2.15 sometimes aborts."""
    dist.destroy_process_group()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0 if succeeded else 1)


def main() -> NoReturn:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    # The deepspeed launcher passes it; LOCAL_RANK has the same value.
    parser.add_argument("--local-rank", "--local_rank", help=argparse.SUPPRESS)
    parser.parse_args()
    require_launcher()

    deepspeed.init_distributed()
    torch.manual_seed(1 + dist.get_rank())  # different, until DeepSpeed copies rank 0's
    layers = nn.Sequential(nn.Linear(FEATURES, 32), nn.ReLU(), nn.Linear(32, 1))
    engine, _, batches, _ = deepspeed.initialize(
        model=layers,
        optimizer=torch.optim.Adam(layers.parameters(), lr=0.01),
        training_data=make_data(seed=1),
        config=CONFIG,
    )
    nodes = print_ranks(engine)
    losses = []
    for epoch in range(EPOCHS):
        batches.data_sampler.set_epoch(epoch)
        losses.append(train_epoch(engine, batches))
        if engine.global_rank == 0:
            print(f"epoch {epoch + 1}: loss {losses[-1]:.3f}", flush=True)

    checksums = gather(checksum(layers))
    same, fell = len(set(checksums)) == 1, losses[-1] < losses[0]
    if engine.global_rank == 0:
        who = f"{len(checksums)} ranks on {nodes} node{'s' if nodes > 1 else ''}"
        fall = f"loss {losses[0]:.3f} -> {losses[-1]:.3f}{'' if fell else ' DID NOT FALL'}"
        hashes = " ".join(sorted(set(checksums)))
        print(f"{who} {'agree' if same else 'DISAGREE'}: {fall}, parameters {hashes}")
    finish(same and fell)


if __name__ == "__main__":
    main()
