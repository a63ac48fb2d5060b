#!/usr/bin/env python3
"""Stands for a framework's own launcher, by the name with which it is called.

It takes the launcher's variables or arguments, and starts the processes of this node with the
variables that it gives them: RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and MASTER_PORT. Only this may
stand in the launchers' place because tests/frameworks starts the real ones.
"""

import argparse
import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass
class Launch:
    first_rank: int  # of this node
    processes: int  # on this node
    ranks: int
    address: str
    port: str
    program: list[str]


def number(name: str) -> int:
    return int(os.environ[name])


def arguments(names: list[str], words: list[str]) -> argparse.Namespace:
    """These options, all of them needed, and the program."""
    parser = argparse.ArgumentParser(allow_abbrev=False)
    for name in names:
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("program", nargs=argparse.REMAINDER)
    return parser.parse_args(words)


def torchrun(words: list[str]) -> Launch:
    count = number("PET_NPROC_PER_NODE")
    return Launch(
        number("PET_NODE_RANK") * count,
        count,
        number("PET_NNODES") * count,
        os.environ["PET_MASTER_ADDR"],
        os.environ["PET_MASTER_PORT"],
        words,
    )


def torch_launch(words: list[str]) -> Launch:
    names = ["nproc_per_node", "nnodes", "node_rank", "master_addr", "master_port"]
    given = arguments(names, words)
    count = int(given.nproc_per_node)
    first, ranks = int(given.node_rank) * count, int(given.nnodes) * count
    return Launch(first, count, ranks, given.master_addr, given.master_port, given.program)


def composer(words: list[str]) -> Launch:
    return Launch(
        number("BASE_RANK"),
        number("LOCAL_WORLD_SIZE"),
        number("WORLD_SIZE"),
        os.environ["MASTER_ADDR"],
        os.environ["MASTER_PORT"],
        words,
    )


def accelerate(words: list[str]) -> Launch:
    if words[:2] != ["launch", "--multi_gpu"]:
        sys.exit(f"stand-in: accelerate {' '.join(words)}: not accelerate launch --multi_gpu")
    names = ["num_machines", "num_processes", "machine_rank"]
    given = arguments([*names, "main_process_ip", "main_process_port"], words[2:])
    ranks, count = int(given.num_processes), int(given.num_processes) // int(given.num_machines)
    address, port = given.main_process_ip, given.main_process_port
    return Launch(int(given.machine_rank) * count, count, ranks, address, port, given.program)


def deepspeed(words: list[str]) -> Launch:
    """Of a hostfile it reads the number of hosts and their slots, without ssh."""
    words.remove("--no_ssh")
    given = arguments(["hostfile", "node_rank", "master_addr", "master_port"], words)
    slots = [int(count) for count in re.findall(r"slots=(\d+)", Path(given.hostfile).read_text())]
    node = int(given.node_rank)
    first = sum(slots[:node])
    return Launch(
        first, slots[node], sum(slots), given.master_addr, given.master_port, given.program
    )


def start(launch: Launch) -> int:
    world = {
        "WORLD_SIZE": str(launch.ranks),
        "MASTER_ADDR": launch.address,
        "MASTER_PORT": launch.port,
        "STAND_IN_PROCESSES": str(launch.processes),
    }
    children = [
        subprocess.Popen(
            [sys.executable, *launch.program],
            env=os.environ
            | world
            | {"RANK": str(launch.first_rank + local), "LOCAL_RANK": str(local)},
        )
        for local in range(launch.processes)
    ]
    return max(child.wait() for child in children)


LAUNCHERS: dict[str, Callable[[list[str]], Launch]] = {
    "torchrun": torchrun,
    "launch.py": torch_launch,
    "composer": composer,
    "accelerate": accelerate,
    "deepspeed": deepspeed,
}


def main() -> int:
    name = Path(sys.argv[0]).name
    if name == "horovod-rendezvous":  # its server is the stand-in's rank 0
        os.execvp(sys.argv[1], sys.argv[1:])
    return start(LAUNCHERS[name](sys.argv[1:]))


if __name__ == "__main__":
    sys.exit(main())
