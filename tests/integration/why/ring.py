"""Ranks that wait for ever in all_reduce, but one, which does something else.

usage: ring.py WAY RANK

WAY is a function below. No framework is needed.
"""

import ctypes
import os
import signal
import sys


def all_reduce() -> None:
    signal.pause()


def load_batch() -> None:
    signal.pause()


def stop() -> None:
    os.kill(os.getpid(), signal.SIGSTOP)


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def main() -> None:
    way, odd = sys.argv[1:]
    if way == "forbid":
        undumpable = 4  # PR_SET_DUMPABLE
        ctypes.CDLL(None).prctl(undumpable, 0)
    is_odd = os.environ["RANK"] == odd
    print("waits", flush=True)
    if is_odd and way in globals():
        globals()[way]()
    all_reduce()


if __name__ == "__main__":
    main()
