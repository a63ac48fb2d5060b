#!/usr/bin/env python3
"""Bus bandwidth of all-reduce by nccl-scaling's mpi back end beside a plain loop of MPI_Allreduce.

    tests/bench/scaling_bandwidth.py [ROUNDS [SMALLEST [LARGEST]]]

Defaults: 15 rounds, 8 B to 64 MiB. The release preset must be built, with MPI.

Two ranks on this machine. Each round launches both programs once, in an order drawn anew; each
goes through the sizes and times whole loops, as nccl-tests does. For each size: the median over the
rounds, and the median of the rounds' ratios (1: equal) with its standard error. Where a process gets
its memory moves all its sizes by several per cent, so it takes some hundred rounds to tell two per
cent.
"""

import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "release"
ARGUMENTS = [int(argument) for argument in sys.argv[1:]]
ROUNDS, SMALLEST, LARGEST = ARGUMENTS + [15, 8, 2**26][len(ARGUMENTS) :]
SIZES = [SMALLEST * 2**i for i in range((LARGEST // SMALLEST).bit_length())]
ITERATIONS, WARMUP = "20", "5"
MPIRUN = ["mpirun", "--allow-run-as-root", "-np", "2"]
# Both ranks have a CPU of their own here; f is 1 for two ranks.
BUS_FACTOR = 1.0


def output_of(command: list[str]) -> str:
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=os.environ)
    return done.stdout


def by_nccl_scaling() -> dict[int, float]:
    """Mean seconds by size."""
    with tempfile.TemporaryDirectory() as folder:
        file = f"{folder}/results.json"
        program = [f"{BUILD}/nccl_scaling/nccl-scaling", "--backend", "mpi", "--collective"]
        sizes = ["-b", str(SIZES[0]), "-e", str(SIZES[-1]), "--iterations", ITERATIONS]
        output_of(MPIRUN + program + ["all-reduce"] + sizes + ["--warmup", WARMUP, "--json", file])
        results = json.loads(Path(file).read_text(encoding="utf-8"))
    return {
        measurement["bytes"]: measurement["time"]["mean"]
        for measurement in results["measurements"]
        if not measurement["in_place"] and results["groups"][measurement["group"]]["ranks"] == 2
    }


def by_plain_loop() -> dict[int, float]:
    """The same."""
    loop = [f"{BUILD}/tests/bench/all_reduce_loop", ITERATIONS, WARMUP] + list(map(str, SIZES))
    rows = (line.split() for line in output_of(MPIRUN + loop).splitlines())
    return {int(size): float(seconds) for size, seconds in rows}


def main() -> None:
    ours: list[dict[int, float]] = []
    plain: list[dict[int, float]] = []
    for _ in range(ROUNDS):
        for measure, into in random.sample([(by_nccl_scaling, ours), (by_plain_loop, plain)], 2):
            into.append(measure())
    print("      bytes  nccl-scaling  plain loop  GB/s   ratio  error")
    for size in SIZES:
        busbw = [
            statistics.median(size * BUS_FACTOR / each[size] for each in runs) / 1e9
            for runs in (ours, plain)
        ]
        ratios = [b[size] / a[size] for a, b in zip(ours, plain)]
        error = 1.25 * statistics.stdev(ratios) / len(ratios) ** 0.5  # of a median
        print(
            f"{size:>11}  {busbw[0]:12.4f}  {busbw[1]:10.4f}        "
            f"{statistics.median(ratios):6.3f}  {error:.3f}"
        )


if __name__ == "__main__":
    main()
