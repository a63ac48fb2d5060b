"""A training over torch's gloo in which one rank goes astray after three steps.

usage: hang.py WAY RANK

WAY is a function below; "slow" steps for ever, two seconds each.
"""

import ctypes
import datetime
import os
import pathlib
import signal
import sys
import time

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, Dataset


class Batches(Dataset[torch.Tensor]):
    """Of which one blocks the worker that is to read it."""

    def __init__(self, blocks: bool) -> None:
        self.blocks = blocks

    def __len__(self) -> int:
        return 1000

    def __getitem__(self, index: int) -> torch.Tensor:
        if self.blocks and index == 3:
            read_from_a_dead_disk()
        return torch.ones(4)


def read_from_a_dead_disk() -> None:
    time.sleep(3600)


def load_batch() -> None:
    time.sleep(3600)


def compute() -> None:
    while True:
        torch.ones(64, 64) @ torch.ones(64, 64)


def stop() -> None:
    os.kill(os.getpid(), signal.SIGSTOP)


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def wait_for_the_dead() -> None:
    """As gloo would not: it ends where a neighbour's connection does."""
    dist.distributed_c10d._get_default_store().wait(["its-step"], datetime.timedelta(hours=1))


def other_collective() -> None:
    dist.broadcast(torch.ones(4), src=dist.get_rank())


def vfork() -> None:
    """Leaves this process in the kernel until the child, which shares its memory, ends."""
    if ctypes.CDLL(None).vfork() == 0:
        time.sleep(3600)


def dead_mount() -> None:
    pathlib.Path("/mnt/dead/file").stat()


def step(batch: torch.Tensor) -> None:
    dist.all_reduce(batch)


def main() -> None:
    way, odd = sys.argv[1], int(sys.argv[2])
    dist.init_process_group("gloo")
    is_odd = dist.get_rank() == odd
    workers = 1 if way == "dataloader" else 0
    batches = DataLoader(
        Batches(is_odd and way == "dataloader"), batch_size=None, num_workers=workers
    )
    for number, batch in enumerate(batches):
        if number == 3 and is_odd and way in globals():
            globals()[way]()
        if way == "slow":
            time.sleep(2 if is_odd else 0.5)
        if number == 3 and way == "die":
            wait_for_the_dead()
        step(batch)
        if number == 2:
            print("three steps", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
