"""What the tasks of one step must have been given, judged by the tasks alone."""

from collections import Counter
from dataclasses import dataclass
from typing import Callable

Task = dict[str, str]


def parse_tasks(output: str) -> list[Task]:
    """The lines of probe.c among the output of srun, in the order of Slurm's task ids."""
    lines = [line.split(" ") for line in output.splitlines()]
    tasks = [dict(word.split("=", 1) for word in line[1:]) for line in lines if line[0] == "task"]
    return sorted(tasks, key=lambda task: int(task.get("SLURM_PROCID", "-1")))


def parse_placement(text: str) -> list[str]:
    """The host of each rank in '0-2:node01 3,5:node02 4:node03'."""
    hosts: dict[int, str] = {}
    for part in text.split():
        ranks, host = part.split(":")
        for span in ranks.split(","):
            first, _, last = span.partition("-")
            hosts.update({rank: host for rank in range(int(first), int(last or first) + 1)})
    return [hosts[rank] for rank in range(len(hosts))]


def node_of(task: Task) -> tuple[str, str]:
    """Two components of a heterogeneous step that share a host are two nodes."""
    return task["COMPONENT"], task["HOST"]


@dataclass
class Rule:
    """One variable and what its value must be."""

    name: str
    wanted: Callable[[Task], str | None]
    reason: str

    def problem(self, task: Task) -> str | None:
        value, wanted = task.get(self.name), self.wanted(task)
        if value is not None and value == wanted:
            return None
        shown = "not set" if value is None else value
        return (
            f"task {task.get('SLURM_PROCID')}: {self.name} is {shown}, not {wanted} ({self.reason})"
        )


def node_ranks(tasks: list[Task]) -> dict[tuple[str, str], str]:
    """The nodes counted by their lowest task; `tasks` are in the order of Slurm's task ids."""
    nodes = dict.fromkeys(map(node_of, tasks))
    return {node: str(number) for number, node in enumerate(nodes)}


# What MASTER_ADDR is of task 0's host: the plugin knows its address, `distgpu exec` its name.
MASTERS = {"ADDRESS": "eth0 of task 0's host", "HOST": "name of task 0's host"}


def rules(tasks: list[Task], master: str) -> list[Rule]:
    """The rules of each variable; `tasks` are all of the step."""
    total = str(len(tasks))
    on_node = Counter(map(node_of, tasks))
    ranks = node_ranks(tasks)
    first: Task = next((task for task in tasks if task.get("SLURM_PROCID") == "0"), {})
    return [
        Rule("SLURM_STEP_NUM_TASKS", lambda task: total, "tasks seen"),
        Rule("RANK", lambda task: task.get("SLURM_PROCID"), "SLURM_PROCID"),
        Rule("LOCAL_RANK", lambda task: task.get("SLURM_LOCALID"), "SLURM_LOCALID"),
        Rule("NODE_RANK", lambda task: ranks[node_of(task)], "nodes by their lowest task"),
        Rule("GROUP_RANK", lambda task: ranks[node_of(task)], "nodes by their lowest task"),
        Rule("WORLD_SIZE", lambda task: total, "tasks seen"),
        Rule(
            "LOCAL_WORLD_SIZE", lambda task: str(on_node[node_of(task)]), "tasks seen on its node"
        ),
        Rule("GROUP_WORLD_SIZE", lambda task: str(len(on_node)), "nodes seen"),
        Rule("MASTER_ADDR", lambda task: first.get(master), MASTERS[master]),
        Rule("MASTER_PORT", lambda task: first.get("MASTER_PORT"), "that of task 0"),
        Rule("SLURM_JOB_ID", lambda task: first.get("SLURM_JOB_ID"), "that of task 0"),
        Rule("SLURM_STEP_ID", lambda task: first.get("SLURM_STEP_ID"), "that of task 0"),
    ]


def is_numbering(values: list[str | None]) -> bool:
    """Whether the values are 0 to n-1, each once."""
    return Counter(values) == Counter(str(number) for number in range(len(values)))


def numbering_problems(tasks: list[Task]) -> list[str]:
    """Ranks of the step, of each node, and of the nodes: each is 0 to n-1."""
    problems = []
    nodes: dict[tuple[str, str], list[Task]] = {}
    for task in tasks:
        nodes.setdefault(node_of(task), []).append(task)
    if not is_numbering([task.get("RANK") for task in tasks]):
        problems.append("RANK is not 0 to n-1, each once")
    for (component, host), members in nodes.items():
        if not is_numbering([task.get("LOCAL_RANK") for task in members]):
            problems.append(
                f"component {component} on {host}: LOCAL_RANK is not 0 to n-1, each once"
            )
        if len({task.get("NODE_RANK") for task in members}) != 1:
            problems.append(f"component {component} on {host}: NODE_RANK differs among its tasks")
    if not is_numbering([members[0].get("NODE_RANK") for members in nodes.values()]):
        problems.append("NODE_RANK of the nodes is not 0 to n-1, each once")
    return problems


def check(
    tasks: list[Task], task_count: int, placement: list[str] | None = None, master: str = "ADDRESS"
) -> list[str]:
    """What is wrong with the tasks, a line each; `placement` is each rank's host."""
    if len(tasks) != task_count:
        return [f"{len(tasks)} tasks printed, {task_count} were asked for"]
    problems = [
        problem
        for rule in rules(tasks, master)
        for task in tasks
        if (problem := rule.problem(task)) is not None
    ]
    port = tasks[0].get("MASTER_PORT", "")
    if not (port.isdecimal() and 0 < int(port) < 65536):
        problems.append(f"MASTER_PORT {port!r} is not a port")
    problems += numbering_problems(tasks)
    if placement is not None:
        hosts = {task.get("RANK"): task["HOST"] for task in tasks}
        for rank, wanted in enumerate(placement):
            if hosts.get(str(rank)) != wanted:
                problems.append(f"rank {rank} is on {hosts.get(str(rank))}, not {wanted}")
    return problems
