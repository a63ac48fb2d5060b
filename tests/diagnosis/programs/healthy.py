"""What a healthy training does before a step: each is called on every rank with the step's number."""

import os
import pathlib
import random
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import fault_plan
import faults
import torch
from torch.utils.data import DataLoader, Dataset

SECOND = 20_000_000  # turns of awk's loop, about


def build(seconds: int) -> None:
    """Waits for a child that computes, as a compiler does."""
    turns = seconds * SECOND
    subprocess.run(["awk", f"BEGIN {{ for (i = 0; i < {turns}; i++) n += i }}"], check=True)


def compute(seconds: float) -> None:
    end = time.monotonic() + seconds
    matrix = torch.ones(64, 64)
    while time.monotonic() < end:
        matrix = (matrix @ matrix).clamp(max=1)


class Batches(Dataset[torch.Tensor]):
    def __init__(self, plan: fault_plan.Plan, blocks: bool) -> None:
        self.plan = plan
        self.blocks = blocks

    def __len__(self) -> int:
        return 10**6

    def __getitem__(self, index: int) -> torch.Tensor:
        if self.blocks and index == self.plan.step:
            faults.call_as(
                self.plan.names[0], self.plan.ranks[0], lambda: time.sleep(faults.FOR_EVER)
            )
        time.sleep(0.01)
        return torch.ones(4)


def batches(plan: fault_plan.Plan, is_struck: bool) -> Iterator[torch.Tensor] | None:
    """Of workers, one of which may block; null where the kind has none."""
    if plan.kind not in ("loader", "loaders"):
        return None
    blocks = is_struck and plan.kind == "loader"
    workers = 1 + plan.choice % 2 if plan.kind == "loader" else 2
    return iter(DataLoader(Batches(plan, blocks), batch_size=None, num_workers=workers))


def data_bound(world: Any, number: int) -> None:
    """A file server outside the job takes its time, most of all with one rank."""
    longest = 8.0 if world.rank == world.plan.choice % 4 else 0.5
    if number == 0:
        host, port = world.plan.service.split(":")
        world.connection = socket.create_connection((host, int(port)))
    world.connection.sendall(b"%f\n" % random.uniform(0, longest))
    world.connection.recv(100)


def evaluation(world: Any, number: int) -> None:
    if world.rank == 0 and number % 20 == 10:
        compute(60)


def checkpoint_minute(world: Any, number: int) -> None:
    if number % 20 == 10:
        if world.rank == 0:
            save_slowly(pathlib.Path(world.plan.folder, "checkpoint"))
        torch.distributed.barrier()


def save_slowly(file: pathlib.Path) -> None:
    with file.open("wb") as out:
        for _ in range(300):
            out.write(bytes(1 << 18))
            os.fsync(out.fileno())
            time.sleep(0.2)
    file.unlink()


def slow_steps(world: Any, number: int) -> None:
    compute(random.uniform(4, 10))


def first_compile(world: Any, number: int) -> None:
    """One after the other, as nvcc does."""
    if world.rank == 0 and number % 40 == 3:
        for _ in range(40):
            build(2)


def compile_child(world: Any, number: int) -> None:
    if world.rank == 0 and number % 40 == 3:
        build(80)


def uneven(world: Any, number: int) -> None:
    for _ in range((world.rank + world.plan.choice) % 4 * 3):
        compute(0.3)


def long_step(world: Any, number: int) -> None:
    """In one call, which takes some seconds."""
    if number:
        torch.linalg.svd(torch.rand(1400, 1400, dtype=torch.float64))


ENVIRONMENT = """
import random, time
while input():
    time.sleep(random.uniform(0, 8))
    print("observation", flush=True)
"""


def environment(world: Any, number: int) -> None:
    """As of reinforcement learning: another process answers."""
    if number == 0:
        world.environment = subprocess.Popen(
            [sys.executable, "-c", ENVIRONMENT], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
    world.environment.stdin.write(b"action\n")
    world.environment.stdin.flush()
    world.environment.stdout.readline()


def plain(world: Any, number: int) -> None:
    compute(0.1)


titled = loaders = plain
