"""Times srun with and without the plugin, one round of all variants at a time.

Runs inside the sandbox, so that only srun itself is timed. Each round runs the
variants once, in an order drawn anew; a variant is compared with the bare run of
its own round, so that a slow moment of the machine hits both. Those that only tell
what an option costs are in every fourth round, because the slowest of them, and
their processes that end later, disturb the rest.
"""

import math
import os
import random
import statistics
import subprocess
import sys
import time
from pathlib import Path

BARE = "no plugin"
PROGRAM = ["/bin/true"]
OPTIONS = ("used, discovering", "used, bind=none", "used, signal", "used, report")

# Of one variant, by round.
Times = dict[int, float]


def variants(plugin: str, scratch: str, few: bool, before: str) -> dict[str, tuple[str, list[str]]]:
    """Name -> (line of plugstack.conf, options of srun). `before`: empty, or another build."""
    discovering = f"required {plugin} topology={scratch}/none.json\n"
    saved = f"required {plugin} topology={scratch}/topology.json\n"
    use = ["--distgpu=pytorch"]
    jail = f"required {scratch}/jail.so {scratch}/jail\n"
    cases: dict[str, tuple[str, list[str]]] = {
        BARE: ("", []),
        "no plugin again": ("", []),
        "an empty plugin": (f"required {scratch}/empty.so\n", []),
        "loaded, unused": (saved, []),
        "used, topology saved": (saved, use),
        "used, discovering": (discovering, use),
        "used, bind=none": (saved, ["--distgpu=pytorch,bind=none"]),
        "used, signal": (saved, ["--distgpu=pytorch,signal"]),
        "used, report": (saved, [f"--distgpu=pytorch,report={scratch}/%j.json"]),
        # Saved by slurmd when it started.
        "used, one line": (f"required {plugin}\n", use),
        "in a jail": (jail, []),
        "in a jail, used": (f"{jail}required {plugin}\n", use),
    }
    if few:
        cases = {name: cases[name] for name in (BARE, "used, topology saved")}
    if before:
        old = f"required {before} topology={scratch}/topology.json\n"
        cases["before: used, saved"] = (old, use)
        if not few:
            cases["before: unused"] = (old, [])
    return cases


def timed_run(command: list[str], hosts: list[Path], line: str, options: list[str]) -> float:
    for host in hosts:
        (host / "slurm" / "plugstack.conf").write_text(line)
    # What a variant allocates moves what srun allocates later, to where it is read faster or slower
    # by up to 0.5%. A variable of another length each time moves it in all of them.
    moved = {**os.environ, "LAUNCH_TIMES": "x" * random.randrange(4096)}
    begin = time.perf_counter()
    subprocess.run(command + options + PROGRAM, check=True, env=moved)
    return (time.perf_counter() - begin) * 1e3


def quartiles(values: list[float]) -> tuple[float, float, float]:
    low, middle, high = statistics.quantiles(values, n=4)
    return low, middle, high


def median_interval(values: list[float]) -> tuple[float, float, float]:
    """The median and its 95% interval, by the order statistics that the sign test allows."""
    ordered = sorted(values)
    half, off = len(ordered) / 2, 0.98 * math.sqrt(len(ordered))
    low = max(math.floor(half - off), 1) - 1
    high = min(math.ceil(half + off) + 1, len(ordered)) - 1
    return ordered[low], statistics.median(ordered), ordered[high]


def ratios_of(times: Times, base: Times) -> list[float]:
    return [time / base[number] for number, time in times.items()]


def compare(times: dict[str, Times], pairs: dict[str, str]) -> None:
    print("ratio of the two in one round: median (its 95% interval)")
    for name, base in pairs.items():
        ratios = ratios_of(times[name], times[base])
        low, middle, high = median_interval(ratios)
        print(f"{name} / {base}: {middle:.4f} ({low:.4f}-{high:.4f})")


def main() -> None:
    rounds, state, plugin, scratch = int(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], sys.argv[4]
    nodes, few = sys.argv[5], bool(sys.argv[6])
    before = sys.argv[7] if len(sys.argv) > 7 else ""
    hosts = [state / "login", *state.glob("node*")]
    command = ["srun", "--quiet", f"-N{nodes}", f"-n{nodes}"]
    cases = variants(plugin, scratch, few, before)
    times: dict[str, Times] = {name: {} for name in cases}
    order = list(cases)
    for line, options in cases.values():  # the first run of each loads files
        timed_run(command, hosts, line, options)
    for number in range(rounds):
        random.shuffle(order)
        for name in order:
            if name not in OPTIONS or number % 4 == 0:
                times[name][number] = timed_run(command, hosts, *cases[name])
    print(
        f"{rounds} rounds of {' '.join(command + PROGRAM)}; milliseconds and ratios: median (quartiles)"
    )
    for name, values in times.items():
        low, middle, high = quartiles(list(values.values()))
        ratio_low, ratio, ratio_high = quartiles(ratios_of(values, times[BARE]))
        print(
            f"{name:<20} {middle:6.2f} ({low:.2f}-{high:.2f})"
            f"  {ratio:.3f} ({ratio_low:.3f}-{ratio_high:.3f})"
        )
    pairs = {
        "no plugin again": BARE,
        "an empty plugin": BARE,
        "loaded, unused": "an empty plugin",
        "used, topology saved": "loaded, unused",
        "used, signal": "used, topology saved",
        "used, report": "used, topology saved",
        "used, one line": "loaded, unused",
        "in a jail, used": "in a jail",
    }
    if few:
        pairs = {"used, topology saved": BARE}
    compare(times, pairs)
    if before:
        pairs = {"before: used, saved": BARE, "used, topology saved": "before: used, saved"}
        if not few:
            pairs["loaded, unused"] = "before: unused"
        compare(times, pairs)


if __name__ == "__main__":
    main()
