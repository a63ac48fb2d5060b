#!/usr/bin/env python3
"""Starts steps of random shapes in random orders of their nodes, and judges them by their tasks.

    random_orders.py COUNT [SEED]

In an allocation of node01 to node04 with 8 CPUs each. The expected ranks are worked out here, from
what each task says of SLURM_PROCID and its node; the last line counts what was found. Exit status:
0 none wrong, 1 some.
"""

import random
import subprocess
import sys
from dataclasses import dataclass

HOSTS = ["node01", "node02", "node03", "node04"]
NAMES = "SLURM_PROCID SLURMD_NODENAME SLURM_LOCALID RANK LOCAL_RANK WORLD_SIZE NODE_RANK".split()
NAMES += ["GROUP_RANK", "MASTER_ADDR"]
REFUSAL = "the tasks are dealt to the nodes in turns, and those have "
Task = dict[str, str]


@dataclass
class Case:
    options: list[str]
    order: list[str]


def make_case(draw: random.Random) -> Case:
    nodes = sorted(draw.sample(HOSTS, draw.randint(1, 4)))
    options = ["-w", ",".join(nodes), "-N", str(len(nodes))]
    even = draw.random() < 0.5
    tasks = len(nodes) * draw.randint(1, 4) if even else draw.randint(len(nodes), 3 * len(nodes))
    options += ["-n", str(tasks)]
    kind = draw.choice(["", "block", "cyclic", "plane=2", "plane=3"])
    options += ["-m", kind] if kind else []
    return Case(options, draw.sample(nodes, len(nodes)))


def write_order(draw: random.Random, order: list[str], number: int) -> tuple[str, str]:
    """The key's value, and what the variable ORDER has."""
    if draw.random() < 0.5:
        return "$ORDER", ",".join(order)
    path = f"./ring{number}"
    with open(path, "w", encoding="ascii") as file:
        file.write("# the order\n" + "".join(f"{name}\n" for name in order))
    return path, ""


def start(case: Case, value: str, variable: str) -> tuple[int, str]:
    show = "echo task " + " ".join(f"{name}=${name}" for name in NAMES)
    command = ["env", f"ORDER={variable}", "srun", *case.options]
    command += [f"--distgpu=pytorch,master=name,order={value}", "bash", "-c", show]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    return done.returncode, done.stdout + done.stderr


def parse_tasks(output: str) -> list[Task]:
    lines = [line.split() for line in output.splitlines() if line.startswith("task ")]
    tasks = [dict(word.split("=", 1) for word in line[1:]) for line in lines]
    return sorted(tasks, key=lambda task: int(task["SLURM_PROCID"]))


def expected_hosts(hosts: list[str], order: list[str]) -> list[str] | None:
    """The node of each rank, given those of Slurm's tasks; nothing: a refusal."""
    slurms = list(dict.fromkeys(hosts))
    blocks = [host for node in slurms for host in [node] * hosts.count(node)]
    if hosts == blocks:
        return [host for node in order for host in [node] * hosts.count(node)]
    if any(hosts.count(a) != hosts.count(b) for a, b in zip(slurms, order)):
        return None
    return [order[slurms.index(host)] for host in hosts]


def problems(tasks: list[Task], order: list[str]) -> list[str]:
    hosts = [task["SLURMD_NODENAME"] for task in tasks]
    wanted = expected_hosts(hosts, order)
    if wanted is None:
        return ["started, but the nodes have other numbers of tasks"]
    found = []
    by_rank = sorted(tasks, key=lambda task: int(task["RANK"]))
    if [task["RANK"] for task in by_rank] != [str(rank) for rank in range(len(tasks))]:
        found.append("not each rank once")
    if [task["SLURMD_NODENAME"] for task in by_rank] != wanted:
        found.append(f"not in the order {wanted}")
    for task in tasks:
        node_rank = str(order.index(task["SLURMD_NODENAME"]))
        rules = {
            "LOCAL_RANK": task["SLURM_LOCALID"],
            "WORLD_SIZE": str(len(tasks)),
            "NODE_RANK": node_rank,
            "GROUP_RANK": node_rank,
            "MASTER_ADDR": order[0],
        }
        found += [
            f"task {task['SLURM_PROCID']}: {name}={task[name]}, not {value}"
            for name, value in rules.items()
            if task[name] != value
        ]
    for node in order:  # the ranks of a node follow its local ranks
        locals_by_rank = [t["LOCAL_RANK"] for t in by_rank if t["SLURMD_NODENAME"] == node]
        if locals_by_rank != sorted(locals_by_rank, key=int):
            found.append(f"{node}: ranks against local ranks")
    return found


def judge(case: Case, status: int, output: str) -> tuple[list[str], bool]:
    """What is wrong, and whether the step was refused."""
    if REFUSAL in output:
        # The same step without an order, to see that it has to be refused.
        plain = start(Case(case.options, case.order), "slurm", "")
        hosts = [task["SLURMD_NODENAME"] for task in parse_tasks(plain[1])]
        wrong = expected_hosts(hosts, case.order) is not None or parse_tasks(output)
        return ["refused"] if wrong else [], True
    tasks = parse_tasks(output)
    if status != 0 or not tasks:
        return [f"status {status}"], False
    return problems(tasks, case.order), False


def main() -> int:
    count, seed = int(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "1"
    wrong = refused = 0
    for number in range(count):
        draw = random.Random(f"{seed}/{number}")
        case = make_case(draw)
        value, variable = write_order(draw, case.order, number)
        status, output = start(case, value, variable)
        found, was_refused = judge(case, status, output)
        refused += was_refused
        if found:
            wrong += 1
            print(f"{number}: srun {' '.join(case.options)} in {case.order}: {'; '.join(found)}")
            print(output)
    print(f"{count} shapes in an order, {wrong} wrong, {refused} refused")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
