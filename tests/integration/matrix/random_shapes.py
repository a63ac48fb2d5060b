"""A launch shape, one srun command with what it needs, and random ones for four nodes of 8 CPUs each.

Every group needs its own surroundings: a job makes its allocation, a step runs
in one of all four nodes, and a heterogeneous one has several components.
"""

import os
import random
import shlex
from dataclasses import dataclass, field, replace
from typing import Callable

OPTION = "--distgpu=pytorch"
PROBE = "./probe"
# The plugin on all hosts; on the nodes but not where srun runs; `distgpu exec`.
WAYS = ["plugin", "nodes", "exec"]
CPUS = 8
HOSTS = ["node01", "node02", "node03", "node04"]

# The allocation that group `het-group` expects, a component each: its nodes are
# not in alphabetic order, its second component has two.
HET_ALLOCATION = [["node03"], ["node01", "node02"], ["node04"]]


@dataclass
class Shape:
    """A command line and the tasks that it must start."""

    command: list[str]
    task_count: int
    placement: list[str] | None = None  # the host of each rank; None: any
    files: dict[str, str] = field(default_factory=dict)  # in the current folder
    environment: dict[str, str] = field(default_factory=dict)
    master: str = "ADDRESS"  # of MASTERS

    def started_by(self, way: str) -> "Shape":
        """The same shape, started by one of WAYS."""
        if way == "plugin":
            return self
        command = [word for word in self.command if word != OPTION]
        if way == "nodes":
            variables = {**self.environment, "SLURM_DISTGPU": "pytorch"}
            return replace(self, command=command, environment=variables)
        by_exec = ["./distgpu", "exec", "pytorch", "--", PROBE]
        words = [by_exec if word == PROBE else [word] for word in command]
        files = {
            name: text.replace(PROBE, shlex.join(by_exec)) for name, text in self.files.items()
        }
        return replace(self, command=sum(words, []), files=files, master="HOST")

    def as_shell(self, allocation: str = "") -> str:
        """The same as commands to type, in a folder that has probe.c's program."""
        lines = [
            f"printf '%s\\n' {shlex.join(text.splitlines())} >{name}"
            for name, text in self.files.items()
        ]
        variables = [f"{name}={value}" for name, value in self.environment.items()]
        # Not set for salloc, which would take the host file for its own.
        command = shlex.join([*(["env", *variables] if variables else []), *self.command])
        return "\n".join([*lines, f"{allocation} {command}" if allocation else command])


class ShapeMaker:
    """Draws one shape; equal seeds and numbers give equal shapes."""

    def __init__(self, seed: int, number: int, in_allocation: bool, distinct: bool) -> None:
        self.random = random.Random(f"{seed}/{number}")
        self.number = number
        self.in_allocation = in_allocation
        self.distinct = distinct and not in_allocation

    def distribution(self) -> list[str]:
        """-m for the node level, now and then with what says nothing about nodes."""
        kind = self.random.choice(["", "block", "cyclic", "plane"])
        if kind == "plane":
            return ["-m", f"plane={self.random.randint(1, 5)}"]
        if not kind:
            return []
        return ["-m", kind + self.random.choice(["", "", ":block", ":cyclic", ",Pack", ",NoPack"])]

    def task_count(self, nodes: int, limit: int) -> int:
        """At least one a node; seldom as many as fit, which costs time."""
        if self.random.random() < 0.15:
            return limit
        return self.random.randint(nodes, min(limit, nodes + 10))

    def size(self, nodes: int) -> tuple[list[str], int]:
        """Options for the number of nodes, tasks and CPUs, and the number of tasks."""
        options = ["-N", str(nodes)]
        if self.random.random() < 0.15:
            count = self.random.randint(nodes * CPUS + 1, nodes * CPUS + 6)
            return [*options, "-n", str(count), "-O"], count
        # Slurm 22.05 may give a job with -c another share of CPUs on each node than
        # its step then needs; it rejects the step, or waits for ever.
        per_task = self.random.choice([1, 1, 1, 2, 3]) if self.in_allocation else 1
        count = self.task_count(nodes, nodes * (CPUS // per_task))
        options += ["-n", str(count)]
        return options + (["-c", str(per_task)] if per_task > 1 else []), count

    def arbitrary(self, hosts: list[str], use_file: bool) -> Shape:
        """Each task's host given one by one, as a file or with -w."""
        count = self.random.randint(1, 3 * len(hosts))
        placement = [self.random.choice(hosts) for _ in range(count)]
        if self.distinct:
            placement = list(dict.fromkeys(placement))
            count = len(placement)
        options = ["-n", str(count), "-m", "arbitrary"]
        if not use_file:
            return Shape([*options, "-w", ",".join(placement)], count, placement)
        name = f"hosts{self.number}"
        return Shape(
            options,
            count,
            placement,
            files={name: "".join(f"{host}\n" for host in placement)},
            environment={"SLURM_HOSTFILE": f"./{name}"},
        )

    def chosen_nodes(self) -> Shape:
        """A number of nodes, some of them named, excluded or skipped."""
        nodes = self.random.randint(1, len(HOSTS))
        options, count = self.size(nodes)
        spare = len(HOSTS) - nodes
        how = self.random.choice(["", "named", "excluded", "relative"])
        if how == "named":
            # Inside an allocation Slurm 22.05 wants as many names as nodes.
            named = nodes if self.in_allocation else self.random.randint(1, nodes)
            options += ["-w", ",".join(self.random.sample(HOSTS, named))]
        elif how == "excluded" and spare:
            names = self.random.sample(HOSTS, self.random.randint(1, spare))
            options += ["-x", ",".join(names)]
        elif how == "relative" and self.in_allocation:
            options.append(f"--relative={self.random.randint(0, spare)}")
        return Shape(options + self.distribution(), count)

    def program(self, shape: Shape) -> list[str]:
        """The probe, one time in four through --multi-prog."""
        if self.random.random() < 0.75:
            return ["./probe"]
        cut = self.random.randint(0, shape.task_count - 1)
        name = f"programs{self.number}"
        shape.files[name] = f"0-{cut} ./probe\n* ./probe\n"
        return ["--multi-prog", name]

    def single(self) -> Shape:
        """An ordinary step."""
        if self.random.random() < 0.25:
            shape = self.arbitrary(HOSTS, use_file=self.random.random() < 0.6)
        else:
            shape = self.chosen_nodes()
        shape.command = ["srun", "--distgpu=pytorch", *shape.command, *self.program(shape)]
        return shape

    def component(self, hosts: list[str], pin: str) -> Shape:
        """A component on exactly these hosts; `pin` is the option that says so."""
        if pin == "-w" and self.random.random() < 0.25:
            return self.arbitrary(hosts, use_file=False)
        options, count = self.size(len(hosts))
        if pin == "-w":
            options += ["-w", ",".join(hosts)]
        elif pin == "--relative":
            options.append(f"--relative={HOSTS.index(min(hosts))}")
        return Shape(options + self.distribution(), count)

    def join(self, components: list[Shape], numbers: list[int]) -> Shape:
        """The components with ':' between them; the first has the option at least."""
        on_all = self.random.random() < 0.5
        command = ["srun"]
        for place, (number, part) in enumerate(zip(numbers, components)):
            command += [":"] if place else []
            command += ["--distgpu=pytorch"] if on_all or place == 0 else []
            command += [*part.command, "./probe", str(number)]
        return Shape(command, sum(part.task_count for part in components))

    def several(self) -> Shape:
        """A heterogeneous step (in one allocation) or job, the hosts in any order."""
        hosts = self.random.sample(HOSTS, len(HOSTS))
        pins = ["-w", "-w", "", "--relative"] if self.in_allocation else ["-w", ""]
        pin = self.random.choice(pins)
        if pin == "--relative":
            cut = self.random.randint(1, 3)
            parts = [HOSTS[cut:], HOSTS[:cut]]
        else:
            cuts = sorted(self.random.sample(range(1, 5), self.random.randint(2, 3)))
            parts = [hosts[a:b] for a, b in zip([0, *cuts], cuts)]
        return self.join([self.component(part, pin) for part in parts], list(range(len(parts))))

    def groups(self) -> Shape:
        """A step in some components of HET_ALLOCATION."""
        numbers = self.random.sample(range(3), self.random.randint(1, 3))
        if self.random.random() < 0.25:
            count = self.random.randint(2, 8)
            options = [*self.distribution(), "-n", str(count)]
            listed = ",".join(map(str, sorted(numbers)))
            command = ["srun", "--distgpu=pytorch", f"--het-group={listed}", *options, "./probe"]
            return Shape(command, count * len(numbers))
        parts = [self.component(HET_ALLOCATION[number], "") for number in numbers]
        for number, part in zip(numbers, parts):
            part.command.insert(0, f"--het-group={number}")
        return self.join(parts, numbers)


# Whether the group's shapes run in an allocation, and what draws one.
GROUPS: dict[str, tuple[bool, Callable[[ShapeMaker], Shape]]] = {
    "job": (False, ShapeMaker.single),
    "step": (True, ShapeMaker.single),
    "het-job": (False, ShapeMaker.several),
    "het-step": (True, ShapeMaker.several),
    "het-group": (True, ShapeMaker.groups),
}


def in_container(shape: Shape, image: str) -> Shape:
    """The same, every component in a container of pyxis and in the same folder."""
    here = os.getcwd()
    options = [
        f"--container-{name}" for name in (f"image={image}", f"mounts={here}", f"workdir={here}")
    ]
    for at in reversed(range(len(shape.command))):
        if shape.command[at] in ("srun", ":"):
            shape.command[at + 1 : at + 1] = options
    return shape


def random_shapes(
    group: str, seed: int, count: int, image: str = "", distinct: bool = False
) -> list[Shape]:
    """The first `count` shapes of a group; with an image, one in three runs in it; distinct: an
    arbitrary job names each host once."""
    in_allocation, draw = GROUPS[group]
    shapes = [draw(ShapeMaker(seed, number, in_allocation, distinct)) for number in range(count)]
    return [
        in_container(shape, image) if image and number % 3 == 0 else shape
        for number, shape in enumerate(shapes)
    ]
