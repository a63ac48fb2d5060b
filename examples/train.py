#!/usr/bin/env python3
"""Trains a small model with DistributedDataParallel and checks that all ranks agree.

    srun -N4 --ntasks-per-node=4 --gres=gpu:4 --distgpu=pytorch python3 examples/train.py

One process per GPU; without GPUs it trains on the CPUs. Works with torch 1.13 and later.
Exit status: 0 all ranks agree and the loss fell, 1 they do not, 2 wrong usage.
"""

import argparse
import hashlib
import os
import socket
import sys
from typing import Any, NoReturn

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

SAMPLES, FEATURES, BATCH = 4096, 16, 32


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=(__doc__ or "").partition("\n")[0],
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument("--epochs", type=int, default=5, help="passes over the data, 2 or more")
    parser.add_argument("--seed", type=int, default=1, help="random seed of data and model")
    # torch.distributed.launch passes it; LOCAL_RANK has the same value.
    parser.add_argument("--local-rank", "--local_rank", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.epochs < 2:
        parser.error(f"--epochs={arguments.epochs}: the loss cannot fall; give 2 or more")
    return arguments


def require_launcher() -> None:
    names = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT")
    missing = [name for name in names if not os.environ.get(name)]
    if missing:
        print(
            f"train.py: {', '.join(missing)}: not set; start it with "
            "'srun --distgpu=pytorch python3 train.py', or with torchrun",
            file=sys.stderr,
        )
        sys.exit(2)


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


def own_address() -> str:
    """This host's address from which rank 0 is reached."""
    target = (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
    family, kind, _, _, address = socket.getaddrinfo(*target, type=socket.SOCK_DGRAM)[0]
    with socket.socket(family, kind) as probe:
        probe.connect(address)  # a datagram socket: nothing is sent
        return str(probe.getsockname()[0])


def print_ranks(device: torch.device) -> int:
    """Prints the table of ranks and returns the number of nodes."""
    row = (dist.get_rank(), socket.gethostname(), own_address(), os.environ["LOCAL_RANK"], device)
    rows = gather([str(cell) for cell in row])
    if dist.get_rank() == 0:
        for cells in [["rank", "host", "address", "local", "device"], *rows]:
            print("{:>4}  {:<12} {:<15} {:>5}  {}".format(*cells))
    return len({host for _, host, *_ in rows})


def make_data(seed: int) -> TensorDataset:
    """Points that a random plane separates, the same on every rank."""
    generator = torch.Generator().manual_seed(seed)
    points = torch.randn(SAMPLES, FEATURES, generator=generator)
    plane = torch.randn(FEATURES, 1, generator=generator)
    return TensorDataset(points, (points @ plane > 0).float())


def train_epoch(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    batches: DataLoader[Any],
    device: torch.device,
) -> float:
    """One pass over the data; the mean loss over all ranks."""
    total = torch.zeros(2, device=device)
    for points, labels in batches:
        points, labels = points.to(device), labels.to(device)
        optimizer.zero_grad()
        loss: Tensor = nn.functional.binary_cross_entropy_with_logits(model(points), labels)
        loss.backward()  # DistributedDataParallel averages the gradients here
        optimizer.step()
        total += torch.stack((loss.detach() * len(points), loss.new_tensor(len(points))))
    dist.all_reduce(total)
    return float(total[0] / total[1])


def checksum(model: nn.Module) -> str:
    digest = hashlib.sha256()
    for parameter in model.parameters():
        digest.update(parameter.detach().cpu().numpy().tobytes())
    return digest.hexdigest()[:12]


def finish(succeeded: bool) -> NoReturn:
    """Ends the process at once, without torch's clean-up, which sometimes hangs or aborts.

    With Gloo, torch 1.13 joins a thread that waits for the interpreter's lock when the model
    is freed, so call this before; torch 2.15 aborts when the interpreter ends.
    """
    dist.destroy_process_group()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0 if succeeded else 1)


def train(arguments: argparse.Namespace) -> NoReturn:
    device = choose_device()
    dist.init_process_group("nccl" if device.type == "cuda" else "gloo")
    rank, ranks = dist.get_rank(), dist.get_world_size()
    nodes = print_ranks(device)

    # Different on each rank: DistributedDataParallel starts all ranks from the values of rank 0.
    torch.manual_seed(arguments.seed + rank)
    layers = nn.Sequential(nn.Linear(FEATURES, 32), nn.ReLU(), nn.Linear(32, 1)).to(device)
    model = DistributedDataParallel(layers)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    data = make_data(arguments.seed)
    # Each rank's share of the data.
    sampler: DistributedSampler[Any] = DistributedSampler(data, seed=arguments.seed)
    batches = DataLoader(data, batch_size=BATCH, sampler=sampler)
    losses = []
    for epoch in range(arguments.epochs):
        sampler.set_epoch(epoch)
        losses.append(train_epoch(model, optimizer, batches, device))
        if rank == 0:
            print(f"epoch {epoch + 1}: loss {losses[-1]:.3f}", flush=True)

    checksums = gather(checksum(model))
    same, fell = len(set(checksums)) == 1, losses[-1] < losses[0]
    if rank == 0:
        who = f"{ranks} ranks on {nodes} node{'s' if nodes > 1 else ''}"
        fall = f"loss {losses[0]:.3f} -> {losses[-1]:.3f}{'' if fell else ' DID NOT FALL'}"
        found = " ".join(sorted(set(checksums)))
        print(f"{who} {'agree' if same else 'DISAGREE'}: {fall}, parameters {found}")
    finish(same and fell)


if __name__ == "__main__":
    arguments = parse_arguments()
    require_launcher()
    train(arguments)
