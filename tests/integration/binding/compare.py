#!/usr/bin/env python3
"""Launches a step with and without distgpu and compares its tasks with `distgpu plan`.

compare.py --distgpu PROGRAM --topology FILE --show PROGRAM [--gpus LIST] [--given]
           [--spec SPEC] [--plan-spec SPEC] -- srun ...

The plan is made of the CPU masks that Slurm gives without distgpu and of the node's GPUs in
--gpus (default none). Where tasks number their GPUs from 0, those of LIST are counted so.
--given: Slurm bound GPUs to tasks, so CUDA_VISIBLE_DEVICES has to stay. --plan-spec: what the
plan is asked for where it cannot know what Slurm was told, as --cpu-bind.

Prints `CPUS GPUS` of every task and exits with 1 where anything differs.
"""

import argparse
import json
import subprocess
import sys
from dataclasses import dataclass


@dataclass(frozen=True)
class Task:
    """One line of show_task.sh."""

    cpus: frozenset[int]
    gpus: tuple[str, ...]


Tasks = dict[str, list[Task]]  # of each host, by local rank


def cpu_list(text: str) -> frozenset[int]:
    """Reads "0-3,8"."""
    cpus: set[int] = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        cpus.update(range(int(first), int(last or first) + 1))
    return frozenset(cpus)


def launch(command: list[str], show: str) -> Tasks:
    """What each task of the step says."""
    step = subprocess.run([*command, show], capture_output=True, text=True, check=False)
    if step.returncode != 0:
        sys.exit(f"{' '.join(command)}: status {step.returncode}\n{step.stdout}{step.stderr}")
    found: dict[str, dict[int, Task]] = {}
    for line in step.stdout.splitlines():
        host, local_rank, cpus, gpus = line.split()
        names = () if gpus == "none" else tuple(gpus.split(","))
        found.setdefault(host, {})[int(local_rank)] = Task(cpu_list(cpus), names)
    return {host: [tasks[i] for i in sorted(tasks)] for host, tasks in sorted(found.items())}


def planned(options: argparse.Namespace, host: str, slurm: list[Task]) -> list[Task]:
    """The tasks of one host as `distgpu plan` has them."""
    masks = ":".join(",".join(map(str, sorted(task.cpus))) for task in slurm)
    command = [options.distgpu, "plan", options.plan_spec or options.spec, "--nodelist", host]
    command += ["--tasks-per-node", str(len(slurm)), "--topology", options.topology]
    command += ["--format", "json"]
    command += ["--cpu-masks", masks]
    command += ["--gpu-list", options.gpus] if options.gpus else ["--gpus-per-node", "0"]
    plan = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    tasks = []
    for task in plan["tasks"]:
        visible = task["set"].get("CUDA_VISIBLE_DEVICES", "")
        tasks.append(Task(cpu_list(task["cpus"]), tuple(visible.split(",")) if visible else ()))
    return tasks


def expected(options: argparse.Namespace, host: str, slurm: list[Task]) -> list[Task]:
    """The planned tasks, their GPUs named as Slurm names them on this cluster."""
    plan = planned(options, host, slurm)
    if options.given or not options.gpus:
        return [Task(task.cpus, base.gpus) for task, base in zip(plan, slurm, strict=True)]
    name_of = dict(zip(options.gpus.split(","), slurm[0].gpus, strict=True))
    return [Task(task.cpus, tuple(name_of[gpu] for gpu in task.gpus)) for task in plan]


def main() -> int:
    """See the text above."""
    own, srun = sys.argv[1:], []
    if "--" in own:
        own, srun = own[: own.index("--")], own[own.index("--") + 1 :]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for option in ("--distgpu", "--topology", "--show"):
        parser.add_argument(option, required=True)
    parser.add_argument("--gpus", default="")
    parser.add_argument("--spec", default="pytorch")
    parser.add_argument("--plan-spec", default="")
    parser.add_argument("--given", action="store_true")
    options = parser.parse_args(own)
    slurm = launch(srun, options.show)
    bound = launch([*srun, f"--distgpu={options.spec}"], options.show)
    wrong = 0
    for host, tasks in slurm.items():
        wanted = expected(options, host, tasks)
        for local_rank, (base, want, got) in enumerate(
            zip(tasks, wanted, bound[host], strict=True)
        ):
            print(
                f"{host} {local_rank}: CPUs {sorted(got.cpus)} GPUs {','.join(got.gpus) or 'none'}"
            )
            if got != want or not got.cpus <= base.cpus or not set(got.gpus) <= set(base.gpus):
                print(f"  Slurm alone: {base}\n  planned: {want}\n  got: {got}")
                wrong += 1
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
