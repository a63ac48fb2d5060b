"""Ranks of a step that is watched. No framework is needed.

usage: ranks.py WAY [RANK]

hang   RANK waits for a disk, the others wait for it
send   the same, but a thread of RANK sends to another node
train  all go from step to step
"""

import os
import random
import signal
import socket
import sys
import threading
import time


def all_reduce() -> None:
    signal.pause()


def load_batch() -> None:
    signal.pause()


def send(address: str) -> None:
    """Some 300 KB a second, to a port that nobody has."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as wire:
        while True:
            try:
                wire.sendto(bytes(1400), (address, 9))
            except ConnectionRefusedError:
                pass
            time.sleep(0.005)


def forward() -> None:
    time.sleep(random.uniform(0.2, 0.9))


def backward() -> None:
    time.sleep(random.uniform(0.2, 0.9))


def main() -> None:
    way = sys.argv[1]
    odd = len(sys.argv) > 2 and sys.argv[2] == os.environ["RANK"]
    print("waits", flush=True)
    if way == "train":
        while True:
            forward()
            backward()
    if odd and way == "send":
        threading.Thread(target=send, args=(os.environ["TO"],), daemon=True).start()
    if odd:
        load_batch()
    all_reduce()


if __name__ == "__main__":
    main()
