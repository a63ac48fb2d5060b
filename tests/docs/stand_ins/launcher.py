#!/usr/bin/env python3
"""Stands for a framework's own launcher, by the name with which it is called.

It takes the launcher's variables or arguments, and starts the processes of this node with the
variables that it gives them: RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and MASTER_PORT. Only this may
stand in the launchers' place because tests/frameworks starts the real ones.
"""

import os
import re
import subprocess
import sys
from pathlib import Path


def number(name: str) -> int:
    return int(os.environ[name])


def given(names: str, words: list[str]) -> list[str]:
    """The values of these options, all of which have to stand before the program, which stays."""
    values = {}
    while words and words[0].startswith("--"):
        name, _, value = words.pop(0)[2:].partition("=")
        values[name] = value or words.pop(0)
    return [values.pop(name) for name in names.split()] + list(values)


def launch(name: str, words: list[str]) -> tuple[int, int, int, str, str]:
    """Of this node: its first rank and its ranks; all ranks; the address and port of rank 0. What
    is left of the words is the program."""
    if name == "torchrun":
        count, address, port = number("PET_NPROC_PER_NODE"), "PET_MASTER_ADDR", "PET_MASTER_PORT"
        first, ranks = number("PET_NODE_RANK") * count, number("PET_NNODES") * count
        return first, count, ranks, os.environ[address], os.environ[port]
    if name == "composer":
        first, count, ranks = map(number, ("BASE_RANK", "LOCAL_WORLD_SIZE", "WORLD_SIZE"))
        return first, count, ranks, os.environ["MASTER_ADDR"], os.environ["MASTER_PORT"]
    if name == "launch.py":
        names = "nproc_per_node nnodes node_rank master_addr master_port"
        per_node, nodes, node, address, port = given(names, words)
        return int(node) * int(per_node), int(per_node), int(nodes) * int(per_node), address, port
    if name == "accelerate":
        if [words.pop(0), words.pop(0)] != ["launch", "--multi_gpu"]:
            sys.exit("stand-in: not accelerate launch --multi_gpu")
        names = "num_machines num_processes machine_rank main_process_ip main_process_port"
        nodes, ranks_text, node, address, port = given(names, words)
        count = int(ranks_text) // int(nodes)
        return int(node) * count, count, int(ranks_text), address, port
    # deepspeed: of a hostfile it reads the number of hosts and their slots, without ssh.
    words.remove("--no_ssh")
    hosts, node, address, port = given("hostfile node_rank master_addr master_port", words)
    slots = [int(count) for count in re.findall(r"slots=(\d+)", Path(hosts).read_text())]
    return sum(slots[: int(node)]), slots[int(node)], sum(slots), address, port


def main() -> int:
    name, words = Path(sys.argv[0]).name, sys.argv[1:]
    if name == "horovod-rendezvous":  # its server is the stand-in's rank 0
        os.execvp(words[0], words)
    first, count, ranks, address, port = launch(name, words)
    world = os.environ | {"WORLD_SIZE": str(ranks), "MASTER_ADDR": address, "MASTER_PORT": port}
    world["STAND_IN_PROCESSES"] = str(count)
    children = [
        subprocess.Popen(
            [sys.executable, *words],
            env=world | {"RANK": str(first + local), "LOCAL_RANK": str(local)},
        )
        for local in range(count)
    ]
    return max(child.wait() for child in children)


if __name__ == "__main__":
    sys.exit(main())
