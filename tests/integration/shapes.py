#!/usr/bin/env python3
"""Launches steps of many modes and shapes and compares every task with `distgpu plan`.

shapes.py --distgpu PROGRAM --topology FILE [--launcher plugin|exec|mpirun] MODES SHAPES SEED

Runs as a user of a sandbox cluster with four nodes, node01 to node04, and the administrator's
topology FILE. First each mode once, then SHAPES random ones. Each task writes its place and its
environment, which have to be what the plan of the same shape has for its rank. Launchers: the
plugin; without it `srun distgpu exec SPEC`; `mpirun distgpu exec SPEC` in an allocation.

Prints each launch and exits with 1 where anything differs.
"""

import argparse
import functools
import json
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

# What no command line tells: the interface that holds the node's address, and the step's id.
UNKNOWN_BEFOREHAND = {"NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME", "PET_RDZV_ID"}
# Launchers take one task a node. Without nproc= they start a process for each of the CPUs that
# Slurm gives the step.
PER_NODE = {
    "torchrun,nproc=2",
    "composer,nproc=2",
    "lightning,per-node,nproc=2",
    "accelerate,per-node,nproc=2",
    "deepspeed,per-node",
}
# mpirun tells nothing of CPUs, and Slurm's variables are those of its daemon.
UNKNOWN_TO_MPIRUN = {"OMP_NUM_THREADS", "SLURM_LOCALID"}
NODES = ["node01", "node02", "node03", "node04"]
CPUS_PER_TASK = 2
SAVE = """
cpus=$(grep Cpus_allowed_list: /proc/self/status)
rank=${PMIX_RANK:-$SLURM_PROCID}
echo "$(hostname) $SLURM_LOCALID ${cpus##*[[:space:]]}" >place.$rank
env -0 >env.$rank
"""


Shape = tuple[list[str], list[str]]  # as a launcher and as `distgpu plan` are told it


def plain_shape(tasks: int, nodes: int, distribution: str) -> Shape:
    """Tasks dealt by Slurm over the first nodes."""
    names = f"node[01-{nodes:02}]"
    return (
        [f"-N{nodes}", f"-n{tasks}", "-w", names, "-m", distribution],
        ["--nodelist", names, "--ntasks", str(tasks), "--distribution", distribution],
    )


def arbitrary_shape(order: list[str]) -> Shape:
    """A node for each task; Slurm numbers the nodes by their names."""
    listed, nodes = ",".join(order), ",".join(sorted(set(order)))
    return (
        [f"-n{len(order)}", "-m", "arbitrary", "-w", listed],
        ["--nodelist", nodes, "--distribution", f"arbitrary={listed}"],
    )


def mpirun_shape(tasks_per_node: int, nodes: int) -> Shape:
    """As many tasks on each node, all of an allocation."""
    names = f"node[01-{nodes:02}]"
    allocation = ["salloc", "--quiet", "--exclusive", f"-N{nodes}", "-w", names]
    return (
        [*allocation, f"--ntasks-per-node={tasks_per_node}", "mpirun", "--bind-to", "none"],
        ["--nodelist", names, "--ntasks", str(nodes * tasks_per_node)],
    )


def random_shape(mode: str, source: random.Random, launcher: str) -> Shape:
    """Up to four nodes and twelve tasks."""
    nodes = source.randint(1, 4)
    if launcher == "mpirun":
        return mpirun_shape(1 if mode in PER_NODE else source.randint(1, 3), nodes)
    if mode in PER_NODE:
        return plain_shape(nodes, nodes, "block")
    kind = source.choice(["block", "cyclic", "plane", "arbitrary"])
    if kind == "arbitrary" and launcher == "plugin":
        return arbitrary_shape([source.choice(NODES) for _ in range(source.randint(1, 8))])
    tasks = source.randint(nodes, 12)
    if kind == "plane":
        return plain_shape(tasks, nodes, f"plane={source.randint(1, 3)}")
    return plain_shape(tasks, nodes, "block" if kind == "arbitrary" else kind)


@functools.cache
def mpi_type() -> str:
    """One of MPI's that this Slurm has: Debian's 26.05 comes without PMIx."""
    listed = subprocess.run(["srun", "--mpi=list"], capture_output=True, text=True, check=True)
    return "pmix" if "pmix" in listed.stdout + listed.stderr else "pmi2"


def command_line(options: argparse.Namespace, spec: str, launch: list[str]) -> list[str]:
    """What a user types."""
    by_exec = [options.distgpu, "exec", spec, "--"]
    if options.launcher == "mpirun":
        return launch + by_exec
    step = [
        "srun",
        f"--mpi={mpi_type()}",
        f"--cpus-per-task={CPUS_PER_TASK}",
        "--exclusive",
        *launch,
    ]
    return step + (by_exec if options.launcher == "exec" else [f"--distgpu={spec}"])


def matches(pattern: str, name: str) -> bool:
    return name.startswith(pattern[:-1]) if pattern.endswith("*") else name == pattern


def differences(task: dict[str, Any], folder: Path, unknown: set[str]) -> list[str]:
    """Where a task is not what the plan has for its rank."""
    rank = task["rank"]
    found = []
    entries = (folder / f"env.{rank}").read_bytes().decode().rstrip("\0").split("\0")
    environment = dict(entry.split("=", 1) for entry in entries)
    node, local_rank, cpus = (folder / f"place.{rank}").read_text().split()
    if node != task["node"]:
        found.append(f"rank {rank}: on {node}, planned on {task['node']}")
    if "SLURM_LOCALID" not in unknown and local_rank != str(task["local_rank"]):
        found.append(f"rank {rank}: local rank {local_rank}, planned {task['local_rank']}")
    if task["cpus"] is not None and cpus != task["cpus"]:
        found.append(f"rank {rank}: CPUs {cpus}, planned {task['cpus']}")
    for name, value in task["set"].items():
        if name not in unknown and environment.get(name) != value:
            found.append(f"rank {rank}: {name}={environment.get(name)}, planned {value}")
    for name in environment:
        removed = any(matches(pattern, name) for pattern in task["unset"])
        if removed and name not in task["set"]:
            found.append(f"rank {rank}: {name} is there, planned removed")
    return found


def compare(options: argparse.Namespace, mode: str, port: int, shape: Shape) -> bool:
    """One launch; whether it is as planned."""
    launch, planned = shape
    spec = f"{mode},master=name,port={port}"
    print(spec, *launch, flush=True)
    command = [options.distgpu, "plan", spec, "--format", "json", *planned]
    command += ["--cpus-per-task", str(CPUS_PER_TASK)]
    if options.launcher == "plugin":  # a node without GPUs whose tasks have this process's CPUs
        masks = ",".join(map(str, sorted(os.sched_getaffinity(0))))
        command += ["--topology", options.topology, "--gpus-per-node", "0", "--cpu-masks", masks]
    plan = subprocess.run(command, capture_output=True, text=True, check=False)
    with tempfile.TemporaryDirectory(dir=os.getcwd()) as name:
        program = [*command_line(options, spec, launch), "bash", "-c", SAVE]
        step = subprocess.run(program, cwd=name, capture_output=True, text=True, check=False)
        if plan.returncode or step.returncode:  # the framework cannot run so: both say the same
            print(f"  plan: {plan.stderr.strip()}\n  step: {step.stderr.strip()}")
            return plan.returncode != 0 and plan.stderr.strip() in step.stderr
        tasks = json.loads(plan.stdout)["tasks"]
        unknown = UNKNOWN_BEFOREHAND | (
            UNKNOWN_TO_MPIRUN if options.launcher == "mpirun" else set()
        )
        found = [line for task in tasks for line in differences(task, Path(name), unknown)]
        if len(list(Path(name).glob("env.*"))) != len(tasks):
            found.append(f"not {len(tasks)} tasks as planned")
    print("".join(f"  {line}\n" for line in found), end="")
    return not found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--distgpu", required=True)
    parser.add_argument("--topology", required=True)
    parser.add_argument("--launcher", choices=["plugin", "exec", "mpirun"], default="plugin")
    parser.add_argument("modes")
    parser.add_argument("shapes", type=int)
    parser.add_argument("seed", type=int)
    options = parser.parse_args()
    modes = options.modes.split()
    source = random.Random(options.seed)
    chosen = modes + [source.choice(modes) for _ in range(options.shapes)]
    results = [
        compare(options, mode, 25000 + 16 * i, random_shape(mode, source, options.launcher))
        for i, mode in enumerate(chosen)
    ]
    print(f"{results.count(True)} of {len(results)} as planned")
    sys.exit(0 if all(results) else 1)


if __name__ == "__main__":
    main()
