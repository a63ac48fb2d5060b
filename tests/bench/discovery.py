#!/usr/bin/env python3
"""The time of `distgpu topo` beside that of hwloc's own lstopo on this machine.

    tests/bench/discovery.py [ROUNDS]    default 200; the release preset must be built

Each round runs every command once, in an order drawn anew. lstopo is told to keep all
I/O devices with their bridges, as distgpu does. Milliseconds: median (quartiles).
"""

import random
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COMMANDS = {
    "distgpu topo": [f"{ROOT}/build/release/tools/distgpu/distgpu", "topo", "--format", "json"],
    "lstopo, all I/O": ["lstopo-no-graphics", "--filter", "io:all", "--of", "xml"],
    "lstopo": ["lstopo-no-graphics", "--of", "xml"],
}


def milliseconds(command: list[str]) -> float:
    begin = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return (time.perf_counter() - begin) * 1e3


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    times: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for _ in range(rounds):
        for name in random.sample(list(COMMANDS), len(COMMANDS)):
            times[name].append(milliseconds(COMMANDS[name]))
    for name, values in times.items():
        low, middle, high = statistics.quantiles(values, n=4)
        print(f"{name:<16} {middle:6.2f} ({low:.2f}-{high:.2f})")


if __name__ == "__main__":
    main()
