#!/usr/bin/env python3
"""Trains a small model with NumPy and MPI and checks that all ranks agree.

    srun -N2 --ntasks-per-node=4 --mpi=pmix --distgpu=ompi python3 examples/mpi4py_train.py

MPI averages the gradients. Its ranks come from Slurm through PMIx; code that does not use MPI
finds them in OMPI_COMM_WORLD_*. Works with mpi4py 3.1 and later.
Exit status: 0 all ranks agree and the loss fell, 1 they do not, 2 wrong usage.
"""

import hashlib
import os
import socket
import sys
from typing import Any

import mpi4py
import numpy as np

mpi4py.rc.initialize = False  # MPI_Init ends the program if srun does not provide PMIx
from mpi4py import MPI  # noqa: E402

SAMPLES, FEATURES, BATCH, EPOCHS = 4096, 16, 32, 5
VARIABLES = [f"OMPI_COMM_WORLD_{name}" for name in ("RANK", "SIZE", "LOCAL_RANK", "LOCAL_SIZE")]


def require_launcher() -> None:
    missing = [name for name in VARIABLES if name not in os.environ]
    if missing:
        print(
            f"mpi4py_train.py: {', '.join(missing)}: not set; start it with "
            "'srun --mpi=pmix --distgpu=ompi python3 mpi4py_train.py', or with mpirun",
            file=sys.stderr,
        )
        sys.exit(2)


def print_ranks(world: MPI.Intracomm) -> tuple[int, bool]:
    """Prints the table of ranks; returns the number of nodes, and whether the variables agree."""
    node = world.Split_type(MPI.COMM_TYPE_SHARED)
    ranks = (world.rank, world.size, node.rank, node.size)
    equal = ranks == tuple(int(os.environ[name]) for name in VARIABLES)
    rows = world.gather((world.rank, socket.gethostname(), node.rank, node.size, equal))
    for cells in [("rank", "host", "local", "of", "variables agree"), *(rows or [])]:
        if world.rank == 0:
            print("{:>4}  {:<12} {:>5} {:>3}  {!s}".format(*cells))
    return len(set(world.allgather(socket.gethostname()))), world.allreduce(equal, MPI.LAND)


def make_data(seed: int) -> tuple[Any, Any]:
    """Points that a random plane separates, the same on every rank."""
    generator = np.random.default_rng(seed)
    points = generator.standard_normal((SAMPLES, FEATURES))
    return points, (points @ generator.standard_normal(FEATURES) > 0).astype(float)


def loss_and_gradient(weights: Any, points: Any, labels: Any) -> tuple[float, Any]:
    """The loss of logistic regression, and its gradient."""
    logits = points @ weights
    loss = np.mean(np.logaddexp(0, logits) - labels * logits)
    return float(loss), points.T @ (1 / (1 + np.exp(-logits)) - labels) / len(labels)


def train(world: MPI.Intracomm) -> bool:
    nodes, ok = print_ranks(world)
    points, labels = make_data(seed=1)
    # Different on each rank, until rank 0's are broadcast.
    weights = np.random.default_rng(world.rank).standard_normal(FEATURES)
    world.Bcast(weights)
    losses = []
    for epoch in range(EPOCHS):
        order = np.random.default_rng(epoch).permutation(SAMPLES)
        shares = order[: SAMPLES // world.size * world.size].reshape(-1, world.size)
        mine = shares[:, world.rank]  # the same number on each rank, so the same number of steps
        total = 0.0
        for batch in np.array_split(mine, len(mine) // BATCH):
            loss, gradient = loss_and_gradient(weights, points[batch], labels[batch])
            world.Allreduce(MPI.IN_PLACE, gradient)
            weights -= 0.5 * gradient / world.size
            total += loss * len(batch)
        losses.append(world.allreduce(total) / shares.size)
        if world.rank == 0:
            print(f"epoch {epoch + 1}: loss {losses[-1]:.3f}", flush=True)

    checksums = set(world.allgather(hashlib.sha256(weights.tobytes()).hexdigest()[:12]))
    same, fell = ok and len(checksums) == 1, losses[-1] < losses[0]
    if world.rank == 0:
        who = f"{world.size} ranks on {nodes} node{'s' if nodes > 1 else ''}"
        fall = f"loss {losses[0]:.3f} -> {losses[-1]:.3f}{'' if fell else ' DID NOT FALL'}"
        found = " ".join(sorted(checksums))
        print(f"{who} {'agree' if same else 'DISAGREE'}: {fall}, parameters {found}")
    return same and fell


if __name__ == "__main__":
    require_launcher()
    MPI.Init()
    succeeded = train(MPI.COMM_WORLD)
    MPI.Finalize()
    sys.exit(0 if succeeded else 1)
