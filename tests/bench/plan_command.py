#!/usr/bin/env python3
"""Time and memory of `distgpu plan` for one node of steps that grow to a million ranks.

    tests/bench/plan_command.py [ROUNDS]    default 20; the release preset must be built

8 ranks a node, the last node selected, each distribution in each round once, in an order drawn
anew. The table has the median of the wall time in milliseconds and the largest memory in MiB; the
last line is what all ranks of 100,000 take.
"""

import os
import random
import statistics
import subprocess
import sys
import time
from pathlib import Path

COMMAND = Path(__file__).resolve().parents[2] / "build/release/tools/distgpu/distgpu"
RANKS = [1_000, 10_000, 100_000, 1_000_000]
DISTRIBUTIONS = ["block", "cyclic", "plane=4"]
FORMATS = ["table", "json"]


def measure(arguments: list[str]) -> tuple[float, float]:
    """Milliseconds and MiB of one run."""
    with open(os.devnull, "w", encoding="ascii") as sink:
        begin = time.perf_counter()
        process = subprocess.Popen([str(COMMAND), "plan", "pytorch", *arguments], stdout=sink)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - begin
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"distgpu plan {' '.join(arguments)}: status {process.returncode}")
    return seconds * 1e3, usage.ru_maxrss / 1024


def one_node(ranks: int, distribution: str, form: str) -> list[str]:
    nodes = ranks // 8
    shape = ["--nodelist", f"n[1-{nodes}]", "--tasks-per-node", "8", "--distribution", distribution]
    return [*shape, "--node", f"n{nodes}", "--format", form, "--cpus-per-task", "8"]


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    cases = [(r, d, f) for r in RANKS for d in DISTRIBUTIONS for f in FORMATS]
    results: dict[tuple[int, str, str], list[tuple[float, float]]] = {case: [] for case in cases}
    for _ in range(rounds):
        for case in random.sample(cases, len(cases)):
            results[case].append(measure(one_node(*case)))
    for case, runs in results.items():
        times, memory = zip(*runs)
        text = f"{case[0]:>9,}  {case[1]:<8} {case[2]:<6}"
        print(f"{text} {statistics.median(times):7.1f} ms  {max(memory):6.1f} MiB")
    everything = ["--nodes", "12500", "--tasks-per-node", "8", "--format", "json"]
    milliseconds, mebibytes = measure(everything)
    print(f"all of 100,000 as json: {milliseconds:.0f} ms, {mebibytes:.1f} MiB")


if __name__ == "__main__":
    main()
