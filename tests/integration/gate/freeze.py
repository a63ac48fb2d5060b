"""Stops a process of this node's `distgpu check --gate` where its sockets show a point of the check,
and prints its id.

usage: freeze.py first|second|rank0
  first: the first rank of a node, in the trial of the network, so behind its report
  second: another rank of a node, which has reported and waits for the verdict
  rank0: rank 0, in the trial, so behind the reports of all
"""

import collections
import os
import pathlib
import re
import signal
import subprocess
import sys
import time


def sockets() -> dict[int, collections.Counter[str]]:
    """Of each check on this node, how many it has in each state, and of Unix domain."""
    found: dict[int, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    for family in ("--tcp", "--unix"):
        command = ["ss", family, "--all", "--numeric", "--processes", "--no-header"]
        listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        for line in listed.splitlines():
            for pid in re.findall(r"pid=(\d+)", line):
                found[int(pid)][line.split()[0] if family == "--tcp" else "unix"] += 1
    return {pid: states for pid, states in found.items() if is_check(pid)}


def of_process(pid: int, name: str) -> bytes:
    try:
        return pathlib.Path(f"/proc/{pid}/{name}").read_bytes()
    except OSError:
        return b""


def is_check(pid: int) -> bool:
    return b"check\0--gate" in of_process(pid, "cmdline")


def is_first(pid: int) -> bool:
    """Whether its variables, which it has as its input, are those of the node's first rank."""
    return b"\0SLURM_LOCALID=0\0" in of_process(pid, "fd/0")


def main() -> None:
    end = time.monotonic() + 20
    while time.monotonic() < end:
        time.sleep(0.005)
        for pid, states in sockets().items():
            tcp = states["LISTEN"] + states["ESTAB"]
            there = {
                "first": is_first(pid) and states["ESTAB"] >= 2,
                "second": not is_first(pid) and tcp == 0 and states["unix"] > 0,
                "rank0": states["LISTEN"] == 1 and states["ESTAB"] >= 3,
            }
            if there[sys.argv[1]]:
                os.kill(pid, signal.SIGSTOP)
                print(pid)
                return
    sys.exit("freeze.py: the check never came to that point")


main()
