"""Several ranks on this machine, as a launcher would start them; each can be stopped or killed."""

import contextlib
import os
import pathlib
import random
import signal
import subprocess
import time
from collections.abc import Iterator

from gpu_kit.kit import Kit


class Ranks:
    """The ranks' processes: their ids and statuses, which each rank notes in a folder."""

    def __init__(self, processes: list[subprocess.Popen[str]], notes: pathlib.Path) -> None:
        self.processes = processes
        self.notes = notes

    def signal(self, rank: int, number: signal.Signals) -> None:
        os.kill(int((self.notes / f"pid.{rank}").read_text()), number)

    def status(self, rank: int) -> int | None:
        """Of the rank's program; None: it has not ended."""
        with contextlib.suppress(FileNotFoundError, ValueError):
            return int((self.notes / f"status.{rank}").read_text())
        return None

    def wait(self, rank: int, deadline: float) -> int | None:
        while self.status(rank) is None and time.monotonic() < deadline:
            time.sleep(0.05)
        return self.status(rank)

    def text(self, rank: int) -> str:
        return (self.notes / f"output.{rank}").read_text(errors="replace")


@contextlib.contextmanager
def ranks(kit: Kit, count: int, program: list[str], **environment: str) -> Iterator[Ranks]:
    """Starts the program `count` times, a rank and a node each, all on the first GPU. NCCL takes
    two ranks on one GPU for a mistake, but where they say that they are on two hosts."""
    notes = pathlib.Path(kit.scratch) / f"ranks.{time.monotonic_ns()}"
    notes.mkdir()
    port = str(random.randrange(20000, 30000))
    commands = []
    for rank in range(count):
        own = {
            "RANK": str(rank),
            "WORLD_SIZE": str(count),
            "LOCAL_RANK": "0",
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": port,
            "SLURMD_NODENAME": f"node{rank + 1:02}",
            "NCCL_HOSTID": f"node{rank + 1:02}",
            "NCCL_SOCKET_IFNAME": "lo",
            "NCCL_IB_DISABLE": "1",
            "CUDA_DEVICE_MAX_CONNECTIONS": "1",
        } | environment
        words = [f"{name}={value}" for name, value in own.items()]
        commands.append(["env", *words, kit.script("as_rank"), str(notes), *program])
    with contextlib.ExitStack() as stack:
        yield Ranks([stack.enter_context(kit.started(c)) for c in launched(kit, commands)], notes)


def launched(kit: Kit, commands: list[list[str]]) -> list[list[str]]:
    """The stand-in for NCCL works over MPI, whose ranks mpirun starts."""
    if not kit.mocks:
        return commands
    together = ["mpirun", "--oversubscribe", "--bind-to", "none"]
    for command in commands:
        together += ["-np", "1", *command, ":"]
    return [together[:-1]]
