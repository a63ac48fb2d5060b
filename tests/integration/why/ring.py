"""Ranks that wait for ever in all_reduce, but one, which does something else.

usage: ring.py WAY RANK

WAY is a function below. No framework is needed.
"""

import ctypes
import os
import signal
import socket
import subprocess
import sys


def all_reduce() -> None:
    signal.pause()


def load_batch() -> None:
    signal.pause()


def stop() -> None:
    os.kill(os.getpid(), signal.SIGSTOP)


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def connect() -> None:
    """Beside a child, on a connection of which it has not read what came."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        with socket.create_connection(server.getsockname()) as client:
            with server.accept()[0], subprocess.Popen(["sleep", "600"]):
                client.sendall(b"7 bytes")
                signal.pause()


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
