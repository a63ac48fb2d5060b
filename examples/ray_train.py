#!/usr/bin/env python3
"""Trains a small model with Ray Train and checks that all ranks agree.

    srun -N4 --ntasks-per-node=1 --gres=gpu:4 --distgpu=ray \\
        distgpu exec -- python3 examples/ray_train.py

This is the driver; Ray starts one process per GPU, or without GPUs one per node on its CPUs.
Exit status: 0 all ranks agree and the loss fell, 1 they do not, 2 wrong usage.
"""

import hashlib
import os
import socket
import sys
import tempfile
from pathlib import Path
from typing import Any

import ray
import ray.train
import torch
import torch.distributed as dist
from ray.train.torch import TorchTrainer, prepare_data_loader, prepare_model
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

SAMPLES, FEATURES, BATCH, EPOCHS = 4096, 16, 32, 5


def gather(value: Any) -> list[Any]:
    """The value of every rank, in the order of the ranks, on every rank."""
    values = [None] * dist.get_world_size()
    dist.all_gather_object(values, value)
    return values


def make_data(seed: int) -> TensorDataset:
    """Points that a random plane separates, the same on every rank."""
    generator = torch.Generator().manual_seed(seed)
    points = torch.randn(SAMPLES, FEATURES, generator=generator)
    plane = torch.randn(FEATURES, 1, generator=generator)
    return TensorDataset(points, (points @ plane > 0).float())


def train_epoch(
    model: nn.Module, optimizer: torch.optim.Optimizer, batches: DataLoader[Any]
) -> float:
    """One pass over the data; the mean loss over all ranks."""
    total = torch.zeros(2, device=ray.train.torch.get_device())
    for points, labels in batches:
        optimizer.zero_grad()
        loss: Tensor = nn.functional.binary_cross_entropy_with_logits(model(points), labels)
        loss.backward()
        optimizer.step()
        total += torch.stack((loss.detach() * len(points), loss.new_tensor(len(points))))
    dist.all_reduce(total)
    return float(total[0] / total[1])


def checksum(model: nn.Module) -> str:
    digest = hashlib.sha256()
    for parameter in model.parameters():
        digest.update(parameter.detach().cpu().numpy().tobytes())
    return digest.hexdigest()[:12]


def train() -> None:
    """Runs in each of Ray's workers, and reports to the driver."""
    context = ray.train.get_context()
    torch.manual_seed(context.get_world_rank())
    model = prepare_model(nn.Sequential(nn.Linear(FEATURES, 32), nn.ReLU(), nn.Linear(32, 1)))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    batches = prepare_data_loader(DataLoader(make_data(seed=1), batch_size=BATCH, shuffle=True))
    losses = [train_epoch(model, optimizer, batches) for _ in range(EPOCHS)]
    row = (context.get_world_rank(), socket.gethostname(), context.get_local_rank())
    metrics = {
        "rows": gather([str(cell) for cell in row]),
        "checksums": gather(checksum(model)),
        "losses": losses,
    }
    # The driver sees the metrics of the last checkpoint.
    with tempfile.TemporaryDirectory() as folder:
        torch.save(model.state_dict(), Path(folder, "model.pt"))
        is_first = context.get_world_rank() == 0
        checkpoint = ray.train.Checkpoint.from_directory(folder) if is_first else None
        ray.train.report(metrics, checkpoint=checkpoint)


def print_verdict(rows: list[list[str]], checksums: list[str], losses: list[float]) -> bool:
    """Prints the table of ranks and the verdict; returns whether training succeeded."""
    for cells in [["rank", "host", "local"], *rows]:
        print("{:>4}  {:<12} {:>5}".format(*cells))
    nodes = len({host for _, host, _ in rows})
    same, fell = len(set(checksums)) == 1, losses[-1] < losses[0]
    who = f"{len(rows)} ranks on {nodes} node{'s' if nodes > 1 else ''}"
    fall = f"loss {losses[0]:.3f} -> {losses[-1]:.3f}{'' if fell else ' DID NOT FALL'}"
    found = " ".join(sorted(set(checksums)))
    print(f"{who} {'agree' if same else 'DISAGREE'}: {fall}, parameters {found}", flush=True)
    return same and fell


def main() -> int:
    if not os.environ.get("RAY_ADDRESS"):
        print(
            "ray_train.py: RAY_ADDRESS: not set; start it with "
            "'srun --distgpu=ray distgpu exec -- python3 ray_train.py'",
            file=sys.stderr,
        )
        return 2
    ray.init(logging_level="warning")
    gpus = int(ray.cluster_resources().get("GPU", 0)) if torch.cuda.is_available() else 0
    # Checkpoints need a folder that all nodes share; the current one is usually shared.
    with tempfile.TemporaryDirectory(prefix="ray-train-", dir=os.getcwd()) as folder:
        trainer = TorchTrainer(
            train,
            scaling_config=ray.train.ScalingConfig(
                num_workers=gpus or len(ray.nodes()),
                use_gpu=gpus > 0,
                placement_strategy="PACK" if gpus else "SPREAD",
            ),
            run_config=ray.train.RunConfig(storage_path=folder),
        )
        metrics = trainer.fit().metrics
    if metrics is None:
        print("ray_train.py: the workers reported nothing", file=sys.stderr)
        return 1
    return 0 if print_verdict(metrics["rows"], metrics["checksums"], metrics["losses"]) else 1


if __name__ == "__main__":
    sys.exit(main())
