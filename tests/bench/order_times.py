#!/usr/bin/env python3
"""Times an all-reduce over Gloo with ranks by RANK and by SLURM_PROCID, in pairs; see tests/bench/order.

    srun ... order_times.py ROUNDS TITLE

Rank 0 prints the medians in milliseconds with their quartiles, and the ratio of each round's two.
"""

import datetime
import os
import random
import statistics
import sys
import time
from collections.abc import Sequence
from typing import Any

import torch
import torch.distributed

# The classes of process groups are not exported in a way that every release of torch types.
dist: Any = torch.distributed
FLOATS = 1 << 19  # 2 MiB: a ring sends 3.5 MiB over each of its links


def group(name: str, store: Any, rank: int) -> Any:
    size = int(os.environ["WORLD_SIZE"])
    limit = datetime.timedelta(seconds=120)
    return dist.ProcessGroupGloo(dist.PrefixStore(name, store), rank, size, limit)


def reduce_once(ring: Any, world: int) -> float:
    """Seconds, from one barrier to the next; what every rank must have then."""
    values = torch.ones(FLOATS)
    ring.barrier().wait()
    begin = time.perf_counter()
    ring.allreduce([values]).wait()
    ring.barrier().wait()
    seconds = time.perf_counter() - begin
    if not bool((values == world).all()):
        sys.exit("order_times.py: a wrong sum")
    return seconds


def quartiles(values: Sequence[float], digits: int) -> str:
    low, middle, high = statistics.quantiles(values, n=4)
    return f"{middle:.{digits}f} ({low:.{digits}f} to {high:.{digits}f})"


def main() -> None:
    rounds, title = int(sys.argv[1]), sys.argv[2]
    rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    address, port = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
    store = dist.TCPStore(address, port, world, rank == 0)
    rings = {
        "switch": group("switch", store, rank),
        "name": group("name", store, int(os.environ["SLURM_PROCID"])),
    }
    draw = random.Random(title)  # the same on every rank
    times: dict[str, list[float]] = {name: [] for name in rings}
    for number in range(-2, rounds):  # the first two connect
        for name in draw.sample(sorted(rings), len(rings)):
            seconds = reduce_once(rings[name], world)
            if number >= 0:
                times[name].append(seconds)
    if rank == 0:
        by_name, by_switch = times["name"], times["switch"]
        ratios = [a / b for a, b in zip(by_name, by_switch)]
        print(f"{title}, {rounds} rounds:")
        print(f"  by name    {quartiles([1e3 * t for t in by_name], 0)} ms")
        print(f"  by switch  {quartiles([1e3 * t for t in by_switch], 0)} ms")
        print(f"  name / switch {quartiles(ratios, 3)}", flush=True)
    rings["name"].barrier().wait()


if __name__ == "__main__":
    main()
