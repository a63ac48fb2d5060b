#!/usr/bin/env python3
"""Trains a small model with Lightning and checks that all ranks agree.

    srun -N4 --ntasks-per-node=4 --gres=gpu:4 --distgpu=lightning \\
        python3 examples/lightning_train.py

One process per GPU; without GPUs it trains on the CPUs. Lightning can also start the processes
of a node itself:

    srun -N4 --ntasks-per-node=1 --gres=gpu:4 --distgpu=lightning,per-node \\
        python3 examples/lightning_train.py --devices=4

Exit status: 0 all ranks agree and the loss fell, 1 they do not, 2 wrong usage.
"""

# mypy: allow-subclassing-any
import argparse
import hashlib
import os
import socket
import sys
from typing import Any, NoReturn

import lightning as L
import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

SAMPLES, FEATURES, BATCH = 4096, 16, 32


def gather(value: Any) -> list[Any]:
    """The value of every rank, in the order of the ranks, on every rank."""
    values = [None] * dist.get_world_size()
    dist.all_gather_object(values, value)
    return values


class Classifier(L.LightningModule):
    """Learns on which side of a plane points are."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(FEATURES, 32), nn.ReLU(), nn.Linear(32, 1))
        self.losses: list[float] = []

    def training_step(self, batch: list[Tensor]) -> Tensor:
        points, labels = batch
        loss = nn.functional.binary_cross_entropy_with_logits(self.layers(points), labels)
        self.log("loss", loss, on_step=False, on_epoch=True, sync_dist=True)
        return loss

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.Adam(self.parameters(), lr=0.01)

    def on_train_epoch_end(self) -> None:
        self.losses.append(float(self.trainer.callback_metrics["loss"]))  # of all ranks
        if self.trainer.is_global_zero:
            print(f"epoch {self.current_epoch + 1}: loss {self.losses[-1]:.3f}", flush=True)

    def checksum(self) -> str:
        digest = hashlib.sha256()
        for parameter in self.parameters():
            digest.update(parameter.detach().cpu().numpy().tobytes())
        return digest.hexdigest()[:12]


class PrintRanks(L.Callback):
    """Prints the table of ranks and counts the nodes."""

    def __init__(self, rank: int | None) -> None:
        self.planned_rank, self.nodes = rank, 0

    def on_fit_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        rank = trainer.global_rank
        if self.planned_rank not in (None, rank):
            sys.exit(f"lightning_train.py: Lightning's rank is {rank}, RANK is {self.planned_rank}")
        row = (rank, socket.gethostname(), trainer.local_rank, pl_module.device)
        rows = gather([str(cell) for cell in row])
        self.nodes = len({host for _, host, *_ in rows})
        if trainer.is_global_zero:
            for cells in [["rank", "host", "local", "device"], *rows]:
                print("{:>4}  {:<12} {:>5}  {}".format(*cells))


def make_data(seed: int) -> TensorDataset:
    generator = torch.Generator().manual_seed(seed)
    points = torch.randn(SAMPLES, FEATURES, generator=generator)
    plane = torch.randn(FEATURES, 1, generator=generator)
    return TensorDataset(points, (points @ plane > 0).float())


def finish(succeeded: bool) -> NoReturn:
    """Ends the process without torch's clean-up, in which torch 2.15 sometimes aborts."""
    dist.destroy_process_group()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0 if succeeded else 1)


def main() -> NoReturn:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--devices", type=int, help="processes per node; default: tasks per node")
    arguments = parser.parse_args()
    missing = [name for name in ("MASTER_ADDR", "MASTER_PORT") if not os.environ.get(name)]
    if missing:
        print(
            f"lightning_train.py: {', '.join(missing)}: not set; start it with "
            "'srun --distgpu=lightning python3 lightning_train.py'",
            file=sys.stderr,
        )
        sys.exit(2)

    nodes = int(os.environ["SLURM_NNODES"])
    devices = arguments.devices or int(os.environ["LOCAL_WORLD_SIZE"])
    own_rank = None if arguments.devices else int(os.environ["RANK"])
    table, model = PrintRanks(own_rank), Classifier()
    trainer = L.Trainer(
        strategy="ddp",
        devices=devices,
        num_nodes=nodes,
        max_epochs=5,
        callbacks=[table],
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(model, DataLoader(make_data(seed=1), batch_size=BATCH, shuffle=True))

    checksums, losses = gather(model.checksum()), model.losses
    same = len(checksums) == nodes * devices and len(set(checksums)) == 1
    fell = losses[-1] < losses[0]
    if trainer.is_global_zero:
        who = f"{len(checksums)} ranks on {table.nodes} node{'s' if table.nodes > 1 else ''}"
        fall = f"loss {losses[0]:.3f} -> {losses[-1]:.3f}{'' if fell else ' DID NOT FALL'}"
        found = " ".join(sorted(set(checksums)))
        print(f"{who} {'agree' if same else 'DISAGREE'}: {fall}, parameters {found}")
    finish(same and fell)


if __name__ == "__main__":
    main()
