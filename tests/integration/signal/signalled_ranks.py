"""Ranks that print each signal that they get: `signalled_ranks.py [--deaf RANK] [--save] [--launch N]`.
With --save they end then, as if they had saved. With --launch it starts N ranks, as a launcher does.
Each rank has a forked worker, which inherits its handlers as a DataLoader's does."""

import functools
import os
import signal
import subprocess
import sys
import time

SIGNALS = ("TERM", "INT", "HUP", "USR1", "USR2", "CONT")


def say(*words: str) -> None:
    """In one write, as several processes have one output."""
    os.write(1, f"{' '.join(words)}\n".encode())


def launch(count: int) -> None:
    words = [word for word in sys.argv if word != "--launch"][1:-1]
    first = count * int(os.environ["SLURM_NODEID"])
    ranks = [
        subprocess.Popen([sys.executable, __file__, *words], env=dict(os.environ, RANK=str(rank)))
        for rank in range(first, first + count)
    ]
    for rank in ranks:
        rank.wait()


def train() -> None:
    rank = os.environ.get("RANK", os.environ["SLURM_PROCID"])
    who = rank

    def on_signal(name: str, _number: int, _frame: object) -> None:
        say(who, name)
        if "--save" in sys.argv:
            os.kill(worker, signal.SIGKILL)
            sys.exit(0)

    is_deaf = "--deaf" in sys.argv and sys.argv[sys.argv.index("--deaf") + 1] == rank
    for name in SIGNALS:
        number = getattr(signal, "SIG" + name)
        if is_deaf:
            signal.signal(number, signal.SIG_DFL)
        else:
            signal.signal(number, functools.partial(on_signal, name))
    worker = os.fork()
    if worker == 0:
        who = f"worker of {rank}"
    else:
        say(rank, "up")
    end = time.monotonic() + 300
    while time.monotonic() < end:
        signal.pause()


if "--launch" in sys.argv:
    launch(int(sys.argv[-1]))
else:
    train()
