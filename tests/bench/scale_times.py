"""Times srun with and without distgpu on 1, 8 and 64 nodes, and what scripts use instead.

Runs inside the sandbox (tests/bench/scale). Each round runs every case once, in an order drawn anew.
A step is compared with the one of its own round on as many nodes without a plugin, so that a slow
moment of the machine hits both. srun's own CPU time hardly depends on what else runs.
"""

import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

STEPS = [1, 8, 64]
BARE = "no plugin"
BESIDE = {
    "scontrol show hostnames, 64": ["scontrol", "show", "hostnames", "node[01-64]"],
    "scontrol show hostnames, 10000": ["scontrol", "show", "hostnames", "cloud[00001-10000]"],
    "hwloc-bind core:0 true": ["hwloc-bind", "core:0", "true"],
    "true": ["true"],
}


def quartiles(values: Sequence[float], digits: int) -> str:
    low, middle, high = statistics.quantiles(values, n=4)
    return f"{middle:.{digits}f} ({low:.{digits}f} to {high:.{digits}f})"


class Cost(NamedTuple):
    """Milliseconds of one run, and of CPU time in its own process."""

    wall: float
    cpu: float


def run(command: list[str]) -> tuple[Cost, str]:
    """With what it wrote on standard error."""
    begin = time.perf_counter()
    with tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=errors)
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - begin
        process.returncode = os.waitstatus_to_exitcode(status)
        errors.seek(0)
        text = errors.read()
    if process.returncode != 0:
        sys.exit(f"{' '.join(command)}: status {process.returncode}: {text}")
    return Cost(wall * 1e3, (usage.ru_utime + usage.ru_stime) * 1e3), text


class Cluster:
    """The sandbox's cluster: its hosts' plugstack.conf, and what distgpu needs there."""

    def __init__(self, state: Path, scratch: str) -> None:
        self.hosts = [state / "login", *sorted(state.glob("node*"))]
        arguments = (
            f"{scratch}/spank_distgpu.so command={scratch}/distgpu topology={scratch}/topology.json"
        )
        used = ["--distgpu=pytorch"]
        self.variants: dict[str, tuple[str, list[str]]] = {
            BARE: ("", []),
            "loaded, unused": (f"required {arguments}\n", []),
            "used": (f"required {arguments}\n", used),
            "used, timed": (f"required {scratch}/spank_timing.so {arguments}\n", used),
        }
        self.plugin_in_srun: dict[int, list[float]] = {nodes: [] for nodes in STEPS}

    def run_step(self, variant: str, nodes: int) -> Cost:
        """Of the timed variant also notes how many milliseconds the plugin took in srun."""
        line, options = self.variants[variant]
        for host in self.hosts:
            (host / "slurm" / "plugstack.conf").write_text(line)
        size = [f"-N{nodes}", f"-n{nodes}", f"--nodelist=node[01-{nodes:02d}]"]
        cost, errors = run(["srun", "--quiet", *size, *options, "true"])
        for micros in re.findall(r"timing: slurm_spank_local_user_init (\d+)", errors):
            self.plugin_in_srun[nodes].append(float(micros) / 1e3)
        return cost


def cost_of(command: list[str]) -> Cost:
    return run(command)[0]


def print_steps(costs: dict[str, list[Cost]], cluster: Cluster) -> None:
    print("milliseconds: median (quartiles); added and ratio: of the pairs with no plugin")
    for nodes in STEPS:
        bare = costs[f"{BARE}, {nodes}"]
        for variant in cluster.variants:
            runs = costs[f"{variant}, {nodes}"]
            print(
                f"{nodes:>3} nodes {variant:<15}",
                f"{quartiles([each.wall for each in runs], 0):<24}",
                f"ratio {quartiles([a.wall / b.wall for a, b in zip(runs, bare)], 3):<26}",
                f"srun's CPU {quartiles([each.cpu for each in runs], 1):<22}",
                f"added {quartiles([a.cpu - b.cpu for a, b in zip(runs, bare)], 2)}",
            )
    for nodes, milliseconds in cluster.plugin_in_srun.items():
        print(f"{nodes:>3} nodes, plugin in srun before launch: {quartiles(milliseconds, 2)}")


def main() -> None:
    rounds, state, scratch = int(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
    cluster = Cluster(state, scratch)
    cases: dict[str, Callable[[], Cost]] = {}
    for variant in cluster.variants:
        for nodes in STEPS:
            cases[f"{variant}, {nodes}"] = partial(cluster.run_step, variant, nodes)
    for name, command in BESIDE.items():
        cases[name] = partial(cost_of, command)
    for case in cases.values():  # the first run of each loads files
        case()
    for values in cluster.plugin_in_srun.values():
        values.clear()
    subprocess.run(["sdiag", "--reset"], check=True, stdout=subprocess.DEVNULL)
    costs: dict[str, list[Cost]] = {name: [] for name in cases}
    load = []
    for _ in range(rounds):
        for name in random.sample(list(cases), len(cases)):
            costs[name].append(cases[name]())
        load.append(os.getloadavg()[0])
    print(f"{rounds} rounds, load average {min(load):.0f} to {max(load):.0f}")
    print_steps(costs, cluster)
    for name in BESIDE:
        wall, cpu = zip(*costs[name])
        print(f"{name:<32} {quartiles(wall, 2):<24} CPU {quartiles(cpu, 2)}")
    diagnosis = subprocess.run(["sdiag"], check=True, stdout=subprocess.PIPE, text=True).stdout
    print(*re.findall(r"REQUEST_STEP_LAYOUT .*", diagnosis), sep="\n")


if __name__ == "__main__":
    main()
