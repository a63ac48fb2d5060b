"""Ranks of a step that is watched. No framework is needed.

usage: ranks.py WAY [RANK]

hang   RANK waits for a disk, the others wait for it
serve  RANK waits for a service, again and again, the others wait for it
build  RANK waits for a child that computes, the others wait for it
send   the same as hang, but a thread of RANK sends to another node
train  all go from step to step
offer  all wait; rank 0 answers as NCCL's RAS does, and each has a file as torch's recorder writes
"""

import os
import pathlib
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


def ask_service() -> None:
    time.sleep(8)


def compile_kernel() -> None:
    child = os.posix_spawn(
        "/usr/bin/awk", ["awk", "BEGIN { while (1) n++ }"], dict(os.environ, RANK="")
    )
    os.waitpid(child, 0)


def send(address: str) -> None:
    """Some 300 KB a second, to a port that nobody has."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as wire:
        while True:
            try:
                wire.sendto(bytes(1400), (address, 9))
            except ConnectionRefusedError:
                pass
            time.sleep(0.005)


def answer() -> None:
    """The protocol of src/ras/client_support.cc, NCCL 2.28: no NCCL runs without a GPU."""
    host, _, port = os.environ["NCCL_RAS_ADDR"].rpartition(":")
    with socket.create_server((host, int(port))) as server:
        while True:
            client, _ = server.accept()
            with client, client.makefile("rw") as lines:
                for line in lines:
                    answers = {"CLIENT": "SERVER PROTOCOL 2", "TIMEOUT": "OK"}
                    print(
                        answers.get(line.split()[0], "3 ranks are missing"), file=lines, flush=True
                    )
                    if line.startswith("STATUS"):
                        break


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
    while odd and way == "serve":
        ask_service()
    if odd and way == "build":
        compile_kernel()
    if odd and way == "send":
        threading.Thread(target=send, args=(os.environ["TO"],), daemon=True).start()
    if way == "offer":
        pathlib.Path(os.environ["TORCH_FR_DUMP_TEMP_FILE"] + os.environ["RANK"]).touch()
        if os.environ["RANK"] == "0":
            threading.Thread(target=answer, daemon=True).start()
    if odd:
        load_batch()
    all_reduce()


if __name__ == "__main__":
    main()
