"""One srun command with what it needs, and the verdict on what it started."""

import enum
import os
import re
import shlex
import subprocess
from dataclasses import dataclass, field, replace
from pathlib import Path

from task_check import check, parse_tasks

OPTION = "--distgpu=pytorch"
PROBE = "./probe"
# The plugin on all hosts; on the nodes but not where srun runs; `distgpu exec`.
WAYS = ["plugin", "nodes", "exec"]
SECONDS_PER_LAUNCH = 20
TIMEOUT_STATUSES = (124, 137)

# What srun says of a request that it or slurmctld refuses before anything starts.
REJECTED = re.compile(
    r"^srun: (error: (Unable to create step|Unable to allocate resources|Invalid |Requested "
    r"nodelist|--?[a-z-]+|Allocation failure)|fatal: )",
    re.MULTILINE,
)


class Verdict(enum.Enum):
    """What came of a launch."""

    RIGHT = "right"
    WRONG = "wrong"
    TOO_LONG = "too long"
    NOT_LAUNCHED = "not launched"


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


@dataclass
class Result:
    """A shape, its verdict, and why."""

    shape: Shape
    verdict: Verdict
    problems: list[str]
    output: str


def launch(shape: Shape) -> Result:
    """Runs the command in the current folder and judges its tasks."""
    for name, text in shape.files.items():
        Path(name).write_text(text, encoding="ascii")
    # On SIGTERM srun takes its job along.
    done = subprocess.run(
        ["timeout", "--kill-after=10", str(SECONDS_PER_LAUNCH), *shape.command],
        env=os.environ | shape.environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    return judge(shape, done.returncode, done.stdout, done.stderr)


def judge(shape: Shape, status: int, out: str, err: str) -> Result:
    """The verdict on what a launch printed, and its exit status under timeout(1)."""
    tasks = parse_tasks(out)
    if status in TIMEOUT_STATUSES:
        problems = [f"not ended after {SECONDS_PER_LAUNCH} s"]
        return Result(shape, Verdict.TOO_LONG, problems, out + err)
    # A refusal of the plugin's is a wrong answer, one of Slurm's is none.
    if status != 0 and not tasks and "distgpu:" not in err and REJECTED.search(err):
        return Result(shape, Verdict.NOT_LAUNCHED, [], out + err)
    problems = [f"srun ended with status {status}"] if status != 0 else []
    problems += check(tasks, shape.task_count, shape.placement, shape.master)
    return Result(shape, Verdict.WRONG if problems else Verdict.RIGHT, problems, out + err)
