#!/usr/bin/env python3
"""Trains a small model with MosaicML Composer and checks that all ranks agree.

    srun -N4 --ntasks-per-node=1 --gres=gpu:4 --distgpu=composer composer examples/composer_train.py

One task per node: Composer's launcher starts one process per GPU, and reads its settings
from the environment. Without GPUs, --distgpu=composer,nproc=4 starts four processes per node.
Exit status: 0 all ranks agree and the loss fell, 1 they do not, 2 wrong start.
"""

import hashlib
import os
import socket
import sys
from typing import Any

import torch
from composer import ComposerModel, Trainer
from composer.utils import dist
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

SAMPLES, FEATURES, BATCH = 4096, 16, 32


class Separator(ComposerModel):  # type: ignore[misc] # untyped where Composer is not installed
    """Learns on which side of a plane points are."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(FEATURES, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, batch: list[Tensor]) -> Tensor:
        return self.layers(batch[0])  # type: ignore[no-any-return]

    def loss(self, outputs: Tensor, batch: list[Tensor]) -> Tensor:
        return nn.functional.binary_cross_entropy_with_logits(outputs, batch[1])


def require_launcher() -> None:
    names = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "NODE_RANK", "MASTER_ADDR", "MASTER_PORT")
    missing = [name for name in names if not os.environ.get(name)]
    if missing:
        print(
            f"composer_train.py: {', '.join(missing)}: not set; start it with "
            "'srun --ntasks-per-node=1 --distgpu=composer composer composer_train.py'",
            file=sys.stderr,
        )
        sys.exit(2)


def make_data() -> TensorDataset:
    """Points that a random plane separates, the same on every rank."""
    generator = torch.Generator().manual_seed(1)
    points = torch.randn(SAMPLES, FEATURES, generator=generator)
    plane = torch.randn(FEATURES, 1, generator=generator)
    return TensorDataset(points, (points @ plane > 0).float())


def print_ranks() -> tuple[int, bool]:
    """Prints the table of ranks; returns the number of nodes, and whether no rank is missing."""
    row = (dist.get_global_rank(), socket.gethostname(), dist.get_local_rank())
    rows = sorted(dist.all_gather_object((*row, dist.get_node_rank())))
    if dist.get_global_rank() == 0:
        for cells in [("rank", "host", "local", "node"), *rows]:
            print("{:>4}  {:<12} {:>5} {:>4}".format(*cells))
    return len({row[1] for row in rows}), [row[0] for row in rows] == list(range(len(rows)))


@torch.no_grad()
def mean_loss(model: Separator, batches: DataLoader[Any], device: torch.device) -> float:
    """The loss over the data of all ranks."""
    total = torch.zeros(2, device=device)
    for batch in batches:
        batch = [tensor.to(device) for tensor in batch]
        total += torch.stack((model.loss(model(batch), batch), torch.ones((), device=device)))
    dist.all_reduce(total)
    return float(total[0] / total[1])


def checksum(model: nn.Module) -> str:
    digest = hashlib.sha256()
    for parameter in model.parameters():
        digest.update(parameter.detach().cpu().numpy().tobytes())
    return digest.hexdigest()[:12]


def main() -> bool:
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    dist.initialize_dist("gpu" if device.type == "cuda" else "cpu")
    nodes, complete = print_ranks()

    torch.manual_seed(dist.get_global_rank())  # different, until Composer copies rank 0's
    model = Separator()
    data = make_data()
    batches = DataLoader(data, batch_size=BATCH, sampler=dist.get_sampler(data, shuffle=True))
    trainer = Trainer(
        model=model,
        train_dataloader=batches,
        optimizers=torch.optim.Adam(model.parameters(), lr=0.01),
        max_duration="5ep",
        progress_bar=False,
    )
    before = mean_loss(model, batches, device)
    trainer.fit()
    after = mean_loss(model, batches, device)

    checksums = set(dist.all_gather_object(checksum(model)))
    same, fell = complete and len(checksums) == 1, after < before
    if dist.get_global_rank() == 0:
        who = f"{dist.get_world_size()} ranks on {nodes} node{'s' if nodes > 1 else ''}"
        fall = f"loss {before:.3f} -> {after:.3f}{'' if fell else ' DID NOT FALL'}"
        found = " ".join(sorted(checksums))
        print(f"{who} {'agree' if same else 'DISAGREE'}: {fall}, parameters {found}")
    return same and fell


if __name__ == "__main__":
    require_launcher()
    succeeded = main()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0 if succeeded else 1)  # torch's clean-up sometimes aborts or hangs
