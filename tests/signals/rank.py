"""A rank that writes down which signals it gets and how long it lives: `rank.py NAME`.

In the current folder: NAME.RANK has a line for each signal, "TERM 1764.25", also of its worker,
which it forks as a DataLoader does; NAME.RANK.alive has when it was last alive."""

import os
import signal
import sys
import time

SIGNALS = ("TERM", "INT", "HUP", "USR1", "USR2")


def main() -> None:
    name = sys.argv[1]
    rank = os.environ.get("RANK", os.environ.get("SLURM_PROCID", "0"))
    log = os.open(f"{name}.{rank}", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    alive = os.open(f"{name}.{rank}.alive", os.O_WRONLY | os.O_CREAT, 0o644)
    who = ""

    def write_down(number: int, _frame: object) -> None:
        os.write(log, f"{who}{signal.Signals(number).name[3:]} {time.time():.2f}\n".encode())

    for word in SIGNALS:
        signal.signal(getattr(signal, "SIG" + word), write_down)
    if os.fork() == 0:
        who = "worker:"
    while True:
        if not who:
            os.pwrite(alive, f"{time.time():14.2f}".encode(), 0)
        time.sleep(0.1)


main()
