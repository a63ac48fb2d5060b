#!/usr/bin/env python3
"""Trains a small transformer with Hugging Face's Trainer and checks that all ranks agree.

    srun -N4 --ntasks-per-node=4 --gres=gpu:4 --distgpu=transformers \\
        python3 examples/transformers_train.py

One process per GPU; without GPUs it trains on the CPUs. It downloads nothing: the model is built
from its configuration, and the data is generated.
Exit status: 0 all ranks agree and the loss fell, 1 they do not, 2 wrong usage.
"""

# mypy: allow-subclassing-any
import hashlib
import os
import socket
import sys
import tempfile
from typing import Any, NoReturn

import torch
import torch.distributed as dist
from torch import nn
from torch.utils.data import Dataset
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    Trainer,
    TrainerCallback,
    TrainingArguments,
)

SAMPLES, WORDS, LENGTH, BATCH = 2048, 64, 8, 32


def require_launcher() -> None:
    names = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT")
    missing = [name for name in names if not os.environ.get(name)]
    if missing:
        print(
            f"transformers_train.py: {', '.join(missing)}: not set; start it with "
            "'srun --distgpu=transformers python3 transformers_train.py'",
            file=sys.stderr,
        )
        sys.exit(2)


def gather(value: Any) -> list[Any]:
    """The value of every rank, in the order of the ranks, on every rank."""
    values = [None] * dist.get_world_size()
    dist.all_gather_object(values, value)
    return values


def print_ranks(arguments: TrainingArguments) -> int:
    """Prints the table of ranks and returns the number of nodes."""
    found = (arguments.process_index, arguments.world_size)
    planned = (int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]))
    if found != planned:
        sys.exit(f"transformers_train.py: the Trainer's rank and world are {found}, not {planned}")
    local = arguments.local_process_index
    row = (arguments.process_index, socket.gethostname(), local, arguments.device)
    rows = gather([str(cell) for cell in row])
    if arguments.process_index == 0:
        for cells in [["rank", "host", "local", "device"], *rows]:
            print("{:>4}  {:<12} {:>5}  {}".format(*cells), flush=True)
    return len({host for _, host, *_ in rows})


class Sentences(Dataset[dict[str, torch.Tensor]]):
    """Random words; the label is the half of the vocabulary that the first word is from."""

    def __init__(self, seed: int) -> None:
        generator = torch.Generator().manual_seed(seed)
        self.words = torch.randint(WORDS, (SAMPLES, LENGTH), generator=generator)

    def __len__(self) -> int:
        return SAMPLES

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        words = self.words[index]
        return {"input_ids": words, "labels": (words[0] >= WORDS // 2).long()}


class PrintLoss(TrainerCallback):
    """Keeps the mean loss of each epoch, which the Trainer reduces over all ranks."""

    def __init__(self) -> None:
        self.losses: list[float] = []

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
        if "loss" in logs:
            self.losses.append(float(logs["loss"]))
            if state.is_world_process_zero:
                print(f"epoch {len(self.losses)}: loss {self.losses[-1]:.3f}", flush=True)


def checksum(model: nn.Module) -> str:
    digest = hashlib.sha256()
    for parameter in model.parameters():
        digest.update(parameter.detach().cpu().numpy().tobytes())
    return digest.hexdigest()[:12]


def finish(succeeded: bool) -> NoReturn:
    """Ends the process without torch's clean-up, in which torch 2.15 sometimes aborts."""
    dist.destroy_process_group()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0 if succeeded else 1)


def main() -> NoReturn:
    require_launcher()
    folder = tempfile.mkdtemp()  # stays empty
    arguments = TrainingArguments(
        folder,
        use_cpu=not torch.cuda.is_available(),
        per_device_train_batch_size=BATCH,
        num_train_epochs=4,
        learning_rate=0.005,
        logging_strategy="epoch",
        save_strategy="no",
        report_to="none",
        disable_tqdm=True,
        seed=1,
    )
    nodes = print_ranks(arguments)
    config = BertConfig(
        vocab_size=WORDS,
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=LENGTH,
    )
    loss = PrintLoss()
    trainer = Trainer(
        model=BertForSequenceClassification(config),
        args=arguments,
        train_dataset=Sentences(seed=1),
        callbacks=[loss],
    )
    trainer.train()
    os.rmdir(folder)

    losses, checksums = loss.losses, gather(checksum(trainer.model))
    same, fell = len(set(checksums)) == 1, losses[-1] < losses[0]
    if arguments.process_index == 0:
        who = f"{len(checksums)} ranks on {nodes} node{'s' if nodes > 1 else ''}"
        fall = f"loss {losses[0]:.3f} -> {losses[-1]:.3f}{'' if fell else ' DID NOT FALL'}"
        found = " ".join(sorted(set(checksums)))
        print(f"{who} {'agree' if same else 'DISAGREE'}: {fall}, parameters {found}")
    finish(same and fell)


if __name__ == "__main__":
    main()
