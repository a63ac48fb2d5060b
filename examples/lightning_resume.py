#!/usr/bin/env python3
"""Trains with Lightning, and goes on from its checkpoint when it is started again.

    distgpu run --progress checkpoints/last.ckpt -- \\
        srun --distgpu=lightning python3 examples/lightning_resume.py --steps 1000

Saves every few steps, and when SIGUSR2 says that the time limit is near; then all ranks end with
status 0. Lightning restores the model, the optimizer and its counters, but neither the random
generators nor the place in the data: here the data follows from the step. Works on GPUs and CPUs.
"""

# mypy: allow-subclassing-any
import argparse
import hashlib
import itertools
import os
import pathlib
import signal
import time
from collections.abc import Iterator
from typing import Any

import lightning as L
import torch
from lightning.pytorch.callbacks import ModelCheckpoint
from lightning.pytorch.plugins.io import TorchCheckpointIO
from torch import Tensor, nn
from torch.utils.data import DataLoader, IterableDataset

FEATURES, BATCH = 16, 32
notified = False


def on_notice(_number: int, _frame: object) -> None:
    global notified
    notified = True


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--steps", type=int, default=100, help="of the whole training")
    parser.add_argument("--every", type=int, default=10, help="steps between two checkpoints")
    parser.add_argument("--checkpoints", type=pathlib.Path, default=pathlib.Path("checkpoints"))
    parser.add_argument("--pause", type=float, default=0, help="seconds that a step takes longer")
    return parser.parse_args()


class Batches(IterableDataset[Tensor]):
    """Endless. The data of a step depends on the step alone, not on what happened before."""

    def __init__(self, begin: int, rank: int) -> None:
        self.begin, self.rank = begin, rank

    def __iter__(self) -> Iterator[Tensor]:
        for step in itertools.count(self.begin):
            generator = torch.Generator().manual_seed(1000 * step + self.rank)
            yield torch.randn(BATCH, FEATURES, generator=generator)


class Model(L.LightningModule):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(FEATURES, 1)

    def training_step(self, inputs: Tensor) -> Tensor:
        loss: Tensor = (self.layer(inputs) - inputs.sum(dim=1, keepdim=True)).pow(2).mean()
        return loss

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.SGD(self.parameters(), lr=0.01, momentum=0.9)

    def train_dataloader(self) -> DataLoader[Tensor]:
        """Lightning asks for it when it has loaded the checkpoint."""
        begin, rank = self.trainer.global_step, self.trainer.global_rank
        return DataLoader(Batches(begin, rank), batch_size=None)


class WholeFiles(TorchCheckpointIO):
    """Replaces the old checkpoint when the new one is whole. Lightning's own way is to write to
    the temporary folder first, and to copy from there if that is another file system."""

    def save_checkpoint(self, checkpoint: Any, path: Any, storage_options: Any = None) -> None:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        torch.save(checkpoint, f"{path}.new")
        os.replace(f"{path}.new", path)


class StopWhenNotified(L.Callback):
    """All ranks save and stop at the same step, also if the signal reaches them at different ones."""

    def __init__(self, checkpoint: pathlib.Path, pause: float) -> None:
        self.checkpoint, self.pause, self.stopped = checkpoint, pause, False

    def on_train_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        # Lightning's handler would keep a rank that waits for a failed one until Slurm kills it.
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        if trainer.is_global_zero:
            attempt = os.environ.get("DISTGPU_RESTART", "0")
            print(f"attempt {attempt} begins at step {trainer.global_step}", flush=True)

    def on_train_batch_end(self, trainer: L.Trainer, *_: Any) -> None:
        time.sleep(self.pause)
        self.stopped = trainer.strategy.reduce_boolean_decision(notified, all=False)
        if self.stopped:
            trainer.save_checkpoint(self.checkpoint, weights_only=False)
            trainer.should_stop = True
            if trainer.is_global_zero:
                print(f"saved at step {trainer.global_step}", flush=True)


def digest(model: nn.Module) -> str:
    values = torch.cat([parameter.detach().cpu().flatten() for parameter in model.parameters()])
    return hashlib.sha256(values.numpy().tobytes()).hexdigest()[:16]


def main() -> None:
    arguments = parse_arguments()
    signal.signal(signal.SIGUSR2, on_notice)
    torch.manual_seed(0)
    checkpoint = arguments.checkpoints / "last.ckpt"
    stop = StopWhenNotified(checkpoint, arguments.pause)
    saving = ModelCheckpoint(
        arguments.checkpoints,
        filename=checkpoint.stem,
        enable_version_counter=False,  # otherwise it would write last-v1.ckpt if there is a last.ckpt
        every_n_train_steps=arguments.every,
    )
    trainer = L.Trainer(
        strategy="ddp",
        devices=int(os.environ["LOCAL_WORLD_SIZE"]),
        num_nodes=int(os.environ["SLURM_NNODES"]),
        max_steps=arguments.steps,
        callbacks=[stop, saving],
        plugins=[WholeFiles()],
        logger=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    model = Model()
    trainer.fit(model, ckpt_path=checkpoint if checkpoint.exists() else None)
    if trainer.is_global_zero and not stop.stopped:
        print(f"trained {arguments.steps} steps, parameters {digest(model)}", flush=True)


if __name__ == "__main__":
    main()
