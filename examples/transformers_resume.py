#!/usr/bin/env python3
"""Trains with Hugging Face's Trainer, and goes on from its checkpoint when it is started again.

    distgpu run --progress checkpoints/last -- \\
        srun --distgpu=transformers python3 examples/transformers_resume.py --steps 1000

Saves every few steps, and when SIGUSR2 says that the time limit is near; then all ranks end with
status 0. The Trainer restores the model, the optimizer, the random generators and the place in the
data. It downloads nothing: the model is built from its configuration, and the data is generated.
Works on GPUs and CPUs.
"""

# mypy: allow-subclassing-any
import argparse
import hashlib
import os
import pathlib
import signal
import time
from typing import Any

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


class Sentences(Dataset[dict[str, torch.Tensor]]):
    """Random words; the label is the half of the vocabulary that the first word is from."""

    def __init__(self) -> None:
        generator = torch.Generator().manual_seed(1)
        self.words = torch.randint(WORDS, (SAMPLES, LENGTH), generator=generator)

    def __len__(self) -> int:
        return SAMPLES

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        words = self.words[index]
        return {"input_ids": words, "labels": (words[0] >= WORDS // 2).long()}


class StopWhenNotified(TrainerCallback):
    """All ranks save and stop at the same step, also if the signal reaches them at different ones."""

    def __init__(self, last: pathlib.Path, pause: float) -> None:
        self.last, self.pause, self.stopped = last, pause, False

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if state.is_world_process_zero:
            attempt = os.environ.get("DISTGPU_RESTART", "0")
            print(f"attempt {attempt} begins at step {state.global_step}", flush=True)

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        time.sleep(self.pause)
        flag = torch.tensor([float(notified)], device=args.device)
        dist.all_reduce(flag, op=dist.ReduceOp.MAX)
        if flag.item():
            control.should_save = control.should_training_stop = self.stopped = True

    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Every rank has written its part: a link names the checkpoint as the last whole one."""
        dist.barrier()
        if state.is_world_process_zero:
            new = self.last.with_suffix(".new")
            new.unlink(missing_ok=True)
            new.symlink_to(f"checkpoint-{state.global_step}")
            os.replace(new, self.last)
            if self.stopped:
                print(f"saved at step {state.global_step}", flush=True)


def digest(model: nn.Module) -> str:
    values = torch.cat([parameter.detach().cpu().flatten() for parameter in model.parameters()])
    return hashlib.sha256(values.numpy().tobytes()).hexdigest()[:16]


def main() -> None:
    arguments = parse_arguments()
    signal.signal(signal.SIGUSR2, on_notice)
    settings = TrainingArguments(
        str(arguments.checkpoints),
        use_cpu=not torch.cuda.is_available(),
        per_device_train_batch_size=BATCH,
        max_steps=arguments.steps,
        learning_rate=0.005,
        logging_strategy="no",
        save_strategy="steps",
        save_steps=arguments.every,
        save_total_limit=3,  # one that is being written, one cut short before, the last whole one
        report_to="none",
        disable_tqdm=True,
        seed=1,
        ddp_find_unused_parameters=False,
    )
    config = BertConfig(
        vocab_size=WORDS,
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=LENGTH,
    )
    torch.manual_seed(0)
    # Not get_last_checkpoint: it takes the folder with the highest number, whole or not.
    last = arguments.checkpoints / "last"
    stop = StopWhenNotified(last, arguments.pause)
    trainer = Trainer(
        model=BertForSequenceClassification(config),
        args=settings,
        train_dataset=Sentences(),
        callbacks=[stop],
    )
    trainer.train(resume_from_checkpoint=str(last.resolve()) if last.exists() else None)
    if settings.process_index == 0 and not stop.stopped:
        steps, parameters = arguments.steps, digest(trainer.model)
        print(f"trained {steps} steps, parameters {parameters}", flush=True)


if __name__ == "__main__":
    main()
