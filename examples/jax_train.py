#!/usr/bin/env python3
"""Trains a small model with JAX over all processes' devices and checks that all agree.

    srun -N2 --ntasks-per-node=4 --gres=gpu:4 --distgpu=jax python3 examples/jax_train.py

Every process may have one GPU or more; without GPUs it trains on the CPUs.
Exit status: 0 all ranks agree and the loss fell, 1 they do not, 2 wrong usage.
"""

import hashlib
import os
import socket
import sys
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import multihost_utils
from jax.sharding import NamedSharding, PartitionSpec

SAMPLES, FEATURES, HIDDEN, STEPS = 4096, 16, 32, 100


def initialize() -> None:
    names = ("JAX_COORDINATOR_ADDRESS", "SLURM_NTASKS", "SLURM_PROCID", "SLURM_LOCALID")
    missing = [name for name in names if name not in os.environ]
    if missing:
        print(
            f"jax_train.py: {', '.join(missing)}: not set; start it with "
            "'srun --distgpu=jax python3 jax_train.py'",
            file=sys.stderr,
        )
        sys.exit(2)
    jax.distributed.initialize()  # reads its rank and the number of ranks from Slurm's variables


def gather(text: str) -> list[str]:
    """The text of every process, in the order of the ranks, on every process."""
    letters = np.frombuffer(text.encode().ljust(256)[:256], np.uint8)
    rows = multihost_utils.process_allgather(letters)
    return [bytes(row).decode().rstrip() for row in np.asarray(rows).reshape(-1, 256)]


def print_ranks() -> int:
    """Prints the table of ranks and returns the number of nodes."""
    local = " ".join(str(device) for device in jax.local_devices())
    host, number = socket.gethostname(), os.environ["SLURM_LOCALID"]
    rows = gather(f"{jax.process_index():>4}  {host:<12} {number:>5}  {local}")
    if jax.process_index() == 0:
        print("rank  host         local  devices", *rows, sep="\n")
    return len(set(gather(host)))


def make_data(seed: int) -> tuple[Any, Any]:
    """Points that a random plane separates, the same on every rank."""
    generator = np.random.default_rng(seed)
    points = generator.standard_normal((SAMPLES, FEATURES), np.float32)
    plane = generator.standard_normal((FEATURES, 1), np.float32)
    return points, (points @ plane > 0).astype(np.float32)


def make_model(seed: int) -> dict[str, Any]:
    first, second = jax.random.split(jax.random.key(seed))
    return {
        "hidden": jax.random.normal(first, (FEATURES, HIDDEN)) / FEATURES**0.5,
        "output": jax.random.normal(second, (HIDDEN, 1)) / HIDDEN**0.5,
    }


def mean_loss(model: dict[str, Any], points: Any, labels: Any) -> Any:
    logits = jnp.maximum(points @ model["hidden"], 0) @ model["output"]
    return jnp.mean(jnp.logaddexp(0, logits) - labels * logits)


def step(model: dict[str, Any], points: Any, labels: Any) -> tuple[dict[str, Any], Any]:
    # The mean is over all processes' points: XLA adds up the gradients between the devices.
    loss, gradient = jax.value_and_grad(mean_loss)(model, points, labels)
    return jax.tree.map(lambda weights, slope: weights - 0.5 * slope, model, gradient), loss


def train() -> bool:
    rank, ranks = jax.process_index(), jax.process_count()
    nodes = print_ranks()

    mesh = jax.make_mesh((jax.device_count(),), ("data",))
    shared, whole = (NamedSharding(mesh, PartitionSpec(*axes)) for axes in (("data",), ()))
    points, labels = make_data(seed=1)
    length = SAMPLES // jax.device_count() * jax.local_device_count()  # this process's share
    share = slice(rank * length, (rank + 1) * length)
    data = [
        jax.make_array_from_process_local_data(shared, part[share]) for part in (points, labels)
    ]
    # Different on each rank, until rank 0's are broadcast.
    model = multihost_utils.broadcast_one_to_all(make_model(seed=rank))
    model = jax.tree.map(lambda part: jax.make_array_from_process_local_data(whole, part), model)

    compiled = jax.jit(step)
    losses = []
    for number in range(STEPS):
        model, loss = compiled(model, *data)
        losses.append(float(loss))
        if rank == 0 and number % 20 == 19:
            print(f"step {number + 1}: loss {losses[-1]:.3f}", flush=True)

    weights = b"".join(np.asarray(part).tobytes() for part in jax.tree.leaves(model))
    checksums = set(gather(hashlib.sha256(weights).hexdigest()[:12]))
    planned = (int(os.environ["SLURM_PROCID"]), int(os.environ["SLURM_NTASKS"]))
    ranks_match = gather(str(planned)) == [str((number, ranks)) for number in range(ranks)]
    same, fell = ranks_match and len(checksums) == 1, losses[-1] < losses[0]
    if rank == 0:
        who = f"{ranks} ranks on {nodes} node{'s' if nodes > 1 else ''}"
        fall = f"loss {losses[0]:.3f} -> {losses[-1]:.3f}{'' if fell else ' DID NOT FALL'}"
        found = " ".join(sorted(checksums))
        print(f"{who} {'agree' if same else 'DISAGREE'}: {fall}, parameters {found}", flush=True)
    jax.distributed.shutdown()
    return same and fell


if __name__ == "__main__":
    initialize()
    sys.exit(0 if train() else 1)
