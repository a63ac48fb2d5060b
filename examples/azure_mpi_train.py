#!/usr/bin/env python3
"""Trains with PyTorch in an Azure ML MPI job, and unchanged under Slurm.

    srun -N2 --ntasks-per-node=4 --gres=gpu:4 --distgpu=ompi python3 examples/azure_mpi_train.py

Such a job describes its processes in Open MPI's variables and the main node in
AZ_BATCH_MASTER_NODE; the script passes these on to torch.distributed. It calls no MPI itself.
Exit status: 0 all ranks agree and the loss fell, 1 they do not, 2 wrong usage.
"""

import hashlib
import os
import socket
import sys
from typing import Any, NoReturn

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

SAMPLES, FEATURES, BATCH, EPOCHS = 4096, 16, 32, 5


def set_environment_from_mpi() -> None:
    """Sets the variables of torch.distributed from those of an MPI job of Azure ML."""
    try:
        os.environ["RANK"] = os.environ["OMPI_COMM_WORLD_RANK"]
        os.environ["WORLD_SIZE"] = os.environ["OMPI_COMM_WORLD_SIZE"]
        os.environ["LOCAL_RANK"] = os.environ["OMPI_COMM_WORLD_LOCAL_RANK"]
        address, port = os.environ["AZ_BATCH_MASTER_NODE"].split(":")
    except KeyError as name:
        print(
            f"azure_mpi_train.py: {name}: not set; start it with "
            "'srun --distgpu=ompi python3 azure_mpi_train.py', or as an MPI job of Azure ML",
            file=sys.stderr,
        )
        sys.exit(2)
    os.environ["MASTER_ADDR"], os.environ["MASTER_PORT"] = address, port


def choose_device() -> torch.device:
    if not torch.cuda.is_available():
        return torch.device("cpu")
    # A task that sees only one GPU (--gpus-per-task=1) numbers it 0.
    index = int(os.environ["LOCAL_RANK"]) % torch.cuda.device_count()
    torch.cuda.set_device(index)
    return torch.device("cuda", index)


def gather(value: Any) -> list[Any]:
    """The value of every rank, in the order of the ranks, on every rank."""
    values = [None] * dist.get_world_size()
    dist.all_gather_object(values, value)
    return values


def print_ranks(device: torch.device) -> int:
    """Prints the table of ranks and returns the number of nodes."""
    local = os.environ["LOCAL_RANK"]
    rows = gather((dist.get_rank(), socket.gethostname(), local, str(device)))
    if dist.get_rank() == 0:
        for cells in [("rank", "host", "local", "device"), *rows]:
            print("{:>4}  {:<12} {:>5}  {}".format(*cells))
    return len({host for _, host, *_ in rows})


def checksum(model: nn.Module) -> str:
    digest = hashlib.sha256()
    for parameter in model.parameters():
        digest.update(parameter.detach().cpu().numpy().tobytes())
    return digest.hexdigest()[:12]


def finish(succeeded: bool) -> NoReturn:
    """Ends the process at once: torch's clean-up sometimes hangs or aborts."""
    dist.destroy_process_group()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0 if succeeded else 1)


def train() -> NoReturn:
    device = choose_device()
    dist.init_process_group("nccl" if device.type == "cuda" else "gloo")
    rank, ranks = dist.get_rank(), dist.get_world_size()
    nodes = print_ranks(device)

    # Points that a random plane separates, the same on every rank; a share for each.
    generator = torch.Generator().manual_seed(1)
    points = torch.randn(SAMPLES, FEATURES, generator=generator)
    labels = (points @ torch.randn(FEATURES, 1, generator=generator) > 0).float()
    share = slice(rank, SAMPLES // ranks * ranks, ranks)
    points, labels = points[share].to(device), labels[share].to(device)

    torch.manual_seed(rank)  # different weights, until DistributedDataParallel copies rank 0's
    layers = nn.Sequential(nn.Linear(FEATURES, 32), nn.ReLU(), nn.Linear(32, 1)).to(device)
    model = DistributedDataParallel(layers)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    losses = []
    for epoch in range(EPOCHS):
        total = torch.zeros(1, device=device)
        for batch, targets in zip(points.split(BATCH), labels.split(BATCH)):
            optimizer.zero_grad()
            loss = nn.functional.binary_cross_entropy_with_logits(model(batch), targets)
            loss.backward()
            optimizer.step()
            total += loss.detach() * len(batch)
        dist.all_reduce(total)
        losses.append(float(total) / (len(points) * ranks))
        if rank == 0:
            print(f"epoch {epoch + 1}: loss {losses[-1]:.3f}", flush=True)

    checksums = set(gather(checksum(model)))
    same, fell = len(checksums) == 1, losses[-1] < losses[0]
    if rank == 0:
        who = f"{ranks} ranks on {nodes} node{'s' if nodes > 1 else ''}"
        fall = f"loss {losses[0]:.3f} -> {losses[-1]:.3f}{'' if fell else ' DID NOT FALL'}"
        found = " ".join(sorted(checksums))
        print(f"{who} {'agree' if same else 'DISAGREE'}: {fall}, parameters {found}")
    finish(same and fell)


if __name__ == "__main__":
    set_environment_from_mpi()
    train()
