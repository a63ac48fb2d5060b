"""Ranks that wait for ever in all_reduce, but RANK, which does something else. No framework is needed.

usage: ranks.py WAY [RANK]

WAY is a function below, or one_cpu: RANK first leaves all CPUs but the lowest; forbid: none lets
others look into it. `train` and `offer` are what all ranks do.
"""

import ctypes
import os
import pathlib
import random
import signal
import socket
import subprocess
import sys
import threading
import time


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


def serve() -> None:
    """Waits for a service, which answers after two seconds, again and again."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        with socket.create_connection(server.getsockname()) as client, server.accept()[0] as peer:
            while True:
                time.sleep(2)
                peer.sendall(b"answer")
                client.recv(6)


def poll() -> None:
    """Looks each second for a file that nobody writes."""
    while not os.path.exists("/tmp/nobody-writes-this"):
        time.sleep(1)


def build() -> None:
    """Waits for a child that computes."""
    child = os.posix_spawn(
        "/usr/bin/awk", ["awk", "BEGIN { while (1) n++ }"], dict(os.environ, RANK="")
    )
    os.waitpid(child, 0)


def send() -> None:
    """Waits, but a thread sends some 300 KB a second to another node, to a port that nobody has."""
    threading.Thread(target=send_to, args=(os.environ["TO"],), daemon=True).start()
    load_batch()


def send_to(address: str) -> None:
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


def offer() -> None:
    """Each has a file as torch's recorder writes, and rank 0 answers as NCCL's RAS does."""
    pathlib.Path(os.environ["TORCH_FR_DUMP_TEMP_FILE"] + os.environ["RANK"]).touch()
    if os.environ["RANK"] == "0":
        threading.Thread(target=answer, daemon=True).start()


def forward() -> None:
    time.sleep(random.uniform(0.2, 0.9))


def backward() -> None:
    time.sleep(random.uniform(0.2, 0.9))


def train() -> None:
    while True:
        forward()
        backward()


def main() -> None:
    way = sys.argv[1]
    is_odd = sys.argv[2:] == [os.environ.get("RANK", "")]
    if way == "forbid":
        undumpable = 4  # PR_SET_DUMPABLE
        ctypes.CDLL(None).prctl(undumpable, 0)
    if way == "one_cpu" and is_odd:
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    print("waits", flush=True)
    if (is_odd or way in ("train", "offer")) and way in globals():
        globals()[way]()
    all_reduce()


if __name__ == "__main__":
    main()
