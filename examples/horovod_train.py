#!/usr/bin/env python3
r"""Trains a small model with Horovod and checks that all ranks agree.

    srun --mpi=pmix -N4 --ntasks-per-node=4 --gres=gpu:4 --distgpu=horovod \
        python3 examples/horovod_train.py

One process per GPU; without GPUs it trains on the CPUs. Without MPI, over Gloo:

    srun -N4 --ntasks-per-node=4 --gres=gpu:4 --distgpu=horovod,backend=gloo \
        horovod-rendezvous python3 examples/horovod_train.py

Exit status: 0 all ranks agree and the loss fell, 1 they do not, 2 wrong start.
"""

import hashlib
import os
import socket
import sys
from typing import Any

import horovod.torch as hvd
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

SAMPLES, FEATURES, BATCH, EPOCHS = 4096, 16, 32, 5


def require_launcher() -> None:
    names = ("HOROVOD_CONTROLLER", "OMPI_COMM_WORLD_SIZE")  # of distgpu and horovodrun; of mpirun
    if not any(os.environ.get(name) for name in names):
        print(
            f"horovod_train.py: {', '.join(names)}: not set; start it with "
            "'srun --mpi=pmix --distgpu=horovod python3 horovod_train.py'",
            file=sys.stderr,
        )
        sys.exit(2)


def choose_device() -> torch.device:
    if not torch.cuda.is_available():
        return torch.device("cpu")
    # A task that sees only one GPU (--gpus-per-task=1) numbers it 0.
    index = hvd.local_rank() % torch.cuda.device_count()
    torch.cuda.set_device(index)
    return torch.device("cuda", index)


def has_planned_ranks() -> bool:
    """Whether Horovod's ranks are HOROVOD_RANK, which follows order=, or otherwise Slurm's."""
    rank = "HOROVOD_RANK" if "HOROVOD_RANK" in os.environ else "SLURM_PROCID"
    names = (rank, "SLURM_NTASKS", "SLURM_LOCALID")
    found = (hvd.rank(), hvd.size(), hvd.local_rank())
    return all(int(os.environ.get(name, value)) == value for name, value in zip(names, found))


def print_ranks() -> tuple[int, bool]:
    """Prints the table of ranks; returns the number of nodes, and whether all are as planned."""
    numbers = (hvd.local_rank(), hvd.local_size(), hvd.cross_rank(), hvd.cross_size())
    rows = hvd.allgather_object((hvd.rank(), socket.gethostname(), *numbers, has_planned_ranks()))
    if hvd.rank() == 0:
        for cells in [("rank", "host", "local", "of", "cross", "of"), *rows]:
            print("{:>4}  {:<12} {:>5} {:>2} {:>5} {:>2}".format(*cells[:6]))
    return len({row[1] for row in rows}), all(row[-1] for row in rows)


def make_data() -> TensorDataset:
    """Points that a random plane separates, the same on every rank."""
    generator = torch.Generator().manual_seed(1)
    points = torch.randn(SAMPLES, FEATURES, generator=generator)
    plane = torch.randn(FEATURES, 1, generator=generator)
    return TensorDataset(points, (points @ plane > 0).float())


def train_epoch(
    model: nn.Module, optimizer: Any, batches: DataLoader[Any], device: torch.device
) -> float:
    """One pass over the data; the mean loss over all ranks."""
    total = torch.zeros(2)
    for points, labels in batches:
        optimizer.zero_grad()
        outputs: Tensor = model(points.to(device))
        loss = nn.functional.binary_cross_entropy_with_logits(outputs, labels.to(device))
        loss.backward()
        optimizer.step()  # Horovod averages the gradients before it
        total += torch.tensor([float(loss), 1.0])
    total = hvd.allreduce(total, op=hvd.Sum)
    return float(total[0] / total[1])


def checksum(model: nn.Module) -> str:
    digest = hashlib.sha256()
    for parameter in model.parameters():
        digest.update(parameter.detach().cpu().numpy().tobytes())
    return digest.hexdigest()[:12]


def main() -> bool:
    hvd.init()
    device = choose_device()
    nodes, planned = print_ranks()

    torch.manual_seed(hvd.rank())  # different on each rank, until rank 0's are broadcast
    model = nn.Sequential(nn.Linear(FEATURES, 32), nn.ReLU(), nn.Linear(32, 1)).to(device)
    hvd.broadcast_parameters(model.state_dict(), root_rank=0)
    optimizer = hvd.DistributedOptimizer(
        torch.optim.Adam(model.parameters(), lr=0.01), named_parameters=model.named_parameters()
    )
    data = make_data()
    sampler: DistributedSampler[Any] = DistributedSampler(data, hvd.size(), hvd.rank())
    batches = DataLoader(data, batch_size=BATCH, sampler=sampler)
    losses = []
    for epoch in range(EPOCHS):
        sampler.set_epoch(epoch)
        losses.append(train_epoch(model, optimizer, batches, device))

    checksums = set(hvd.allgather_object(checksum(model)))
    same, fell = planned and len(checksums) == 1, losses[-1] < losses[0]
    if hvd.rank() == 0:
        who = f"{hvd.size()} ranks on {nodes} node{'s' if nodes > 1 else ''}"
        fall = f"loss {losses[0]:.3f} -> {losses[-1]:.3f}{'' if fell else ' DID NOT FALL'}"
        found = " ".join(sorted(checksums))
        print(f"{who} {'agree' if same else 'DISAGREE'}: {fall}, parameters {found}")
    hvd.shutdown()
    return same and fell


if __name__ == "__main__":
    require_launcher()
    succeeded = main()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0 if succeeded else 1)  # torch's clean-up sometimes aborts or hangs
