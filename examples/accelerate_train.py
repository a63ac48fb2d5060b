#!/usr/bin/env python3
"""Trains a small model with Hugging Face Accelerate and checks that all ranks agree.

    srun -N4 --ntasks-per-node=4 --gres=gpu:4 --distgpu=accelerate \\
        python3 examples/accelerate_train.py

One process per GPU; without GPUs it trains on the CPUs. The same program works with one
launcher per node, which starts the processes itself:

    srun -N4 --ntasks-per-node=1 --gres=gpu:4 --distgpu=accelerate,per-node bash -c \\
        'accelerate launch --multi_gpu --num_machines 4 --num_processes 16 \\
        --machine_rank $NODE_RANK --main_process_ip $MASTER_ADDR \\
        --main_process_port $MASTER_PORT examples/accelerate_train.py'

Exit status: 0 all ranks agree and the loss fell, 1 they do not, 2 wrong usage.
"""

import hashlib
import os
import socket
import sys
from typing import Any, NoReturn

import torch
from accelerate import Accelerator
from accelerate.utils import gather_object, set_seed
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

SAMPLES, FEATURES, BATCH, EPOCHS = 4096, 16, 32, 5


def require_launcher() -> None:
    names = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT")
    missing = [name for name in names if not os.environ.get(name)]
    if missing:
        print(
            f"accelerate_train.py: {', '.join(missing)}: not set; start it with "
            "'srun --distgpu=accelerate python3 accelerate_train.py'",
            file=sys.stderr,
        )
        sys.exit(2)


def print_ranks(accelerator: Accelerator) -> int:
    """Prints the table of ranks and returns the number of nodes."""
    found = (accelerator.process_index, accelerator.num_processes)
    planned = (int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]))
    if found != planned:
        sys.exit(f"accelerate_train.py: Accelerate's rank and world are {found}, not {planned}")
    local = accelerator.local_process_index
    row = (accelerator.process_index, socket.gethostname(), local, accelerator.device)
    rows = gather_object([[str(cell) for cell in row]])
    if accelerator.is_main_process:
        for cells in [["rank", "host", "local", "device"], *rows]:
            print("{:>4}  {:<12} {:>5}  {}".format(*cells))
    return len({host for _, host, *_ in rows})


def make_data(seed: int) -> TensorDataset:
    """Points that a random plane separates, the same on every rank."""
    generator = torch.Generator().manual_seed(seed)
    points = torch.randn(SAMPLES, FEATURES, generator=generator)
    plane = torch.randn(FEATURES, 1, generator=generator)
    return TensorDataset(points, (points @ plane > 0).float())


def train_epoch(accelerator: Accelerator, model: Any, optimizer: Any, batches: Any) -> float:
    """One pass over the data; the mean loss over all ranks."""
    losses = []
    for points, labels in batches:
        optimizer.zero_grad()
        loss: Tensor = nn.functional.binary_cross_entropy_with_logits(model(points), labels)
        accelerator.backward(loss)
        optimizer.step()
        losses.append(loss.detach())
    return float(accelerator.reduce(torch.stack(losses).mean(), "mean"))


def checksum(model: nn.Module) -> str:
    digest = hashlib.sha256()
    for parameter in model.parameters():
        digest.update(parameter.detach().cpu().numpy().tobytes())
    return digest.hexdigest()[:12]


def finish(accelerator: Accelerator, succeeded: bool) -> NoReturn:
    """Ends the process without torch's clean-up, in which torch 2.15 sometimes aborts."""
    accelerator.end_training()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0 if succeeded else 1)


def main() -> NoReturn:
    require_launcher()
    accelerator = Accelerator(cpu=not torch.cuda.is_available())
    nodes = print_ranks(accelerator)

    # Different on each rank: Accelerate starts all ranks from the values of rank 0.
    set_seed(1 + accelerator.process_index)
    layers = nn.Sequential(nn.Linear(FEATURES, 32), nn.ReLU(), nn.Linear(32, 1))
    model, optimizer, batches = accelerator.prepare(
        layers,
        torch.optim.Adam(layers.parameters(), lr=0.01),
        DataLoader(make_data(seed=1), batch_size=BATCH, shuffle=True),
    )
    losses = []
    for epoch in range(EPOCHS):
        losses.append(train_epoch(accelerator, model, optimizer, batches))
        if accelerator.is_main_process:
            print(f"epoch {epoch + 1}: loss {losses[-1]:.3f}", flush=True)

    checksums = gather_object([checksum(model)])
    same, fell = len(set(checksums)) == 1, losses[-1] < losses[0]
    if accelerator.is_main_process:
        who = f"{len(checksums)} ranks on {nodes} node{'s' if nodes > 1 else ''}"
        fall = f"loss {losses[0]:.3f} -> {losses[-1]:.3f}{'' if fell else ' DID NOT FALL'}"
        hashes = " ".join(sorted(set(checksums)))
        print(f"{who} {'agree' if same else 'DISAGREE'}: {fall}, parameters {hashes}")
    finish(accelerator, same and fell)


if __name__ == "__main__":
    main()
