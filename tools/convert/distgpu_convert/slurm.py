"""What distgpu knows of Slurm's options and of its own modes, and what a job's options say."""

import functools
import json
import os
import pathlib
import re
import shlex
import subprocess
from typing import Any, NamedTuple, Optional

TABLES: dict[str, Any] = json.loads(pathlib.Path(__file__).with_name("tables.json").read_text())
MODES = "distgpu vars help lists the modes"
GPUS = ("gpus-per-node", "gres", "gpus", "gpus-per-task")
NODES = {"$SLURM_NNODES", "$SLURM_JOB_NUM_NODES", "${SLURM_NNODES}"}


class Problem(Exception):
    """What is told on standard error; ends the conversion."""


@functools.lru_cache(maxsize=None)
def ask(*arguments: str) -> Any:
    program = os.environ.get("DISTGPU", "distgpu")
    try:
        done = subprocess.run([program, *arguments], capture_output=True, check=False)
    except OSError as error:
        raise Problem(f"{program}: {error.strerror}; install distgpu, or set DISTGPU to its path")
    if done.returncode == 0:
        return json.loads(done.stdout)
    raise Problem(done.stderr.decode(errors="replace").strip().replace("distgpu: ", "", 1))


class Option(NamedTuple):
    name: str
    value: str
    word: str
    known: bool
    certain: bool  # that its value, if any, is the next word


class Line(NamedTuple):
    """The options of an srun or sbatch line."""

    options: tuple[Option, ...]
    program: int  # the place of the first word behind them

    def has(self, *names: str) -> bool:
        return any(option.name in names for option in self.options)

    def value(self, name: str) -> str:
        return ([""] + [option.value for option in self.options if option.name == name])[-1]


def line_of_words(words: tuple[str, ...]) -> Line:
    if len(words) == 1:
        return Line((), 1)
    clean = [word.replace("\0", "").encode("utf-8", "replace").decode() for word in words]
    known = ask("plan", "--format", "line", "--", *clean)
    return Line(tuple(Option(**each) for each in known["options"]), known["program"])


def effect_on(name: str, spec: str) -> str:
    """On a variable in each task: "set"; "unset", because a launcher sets it; or nothing."""
    mode, *keys = spec.split(",")
    try:
        known = ask("vars", mode + ",per-node" * ("per-node" in keys), "--format", "json")
    except Problem:  # only the shell knows the mode
        return ""
    for effect in ("set", "unset"):
        patterns = [each["name"].replace("*", ".*") for each in known["modes"][0][effect]]
        if any(re.fullmatch(each, name) for each in patterns):
            return effect
    return ""


def number(text: Optional[str]) -> Optional[int]:
    return int(text) if re.fullmatch(r"[0-9]{1,9}", text or "") and text else None


class Job:
    """The shape of a job, or of a step in it, as far as its options say it."""

    def __init__(self, line: Line) -> None:
        self.line = line
        self.nodes = number(line.value("nodes"))
        self.has_one_node = self.nodes == 1 or not line.has("nodes", "nodelist")
        # 1 where nothing says more; nothing: only Slurm knows.
        each, tasks = line.value("ntasks-per-node"), line.value("ntasks")
        self.tasks_on_node = number(each or "1")
        if not each and tasks and tasks != line.value("nodes"):
            count, nodes = number(tasks), self.nodes or 1
            is_even = count is not None and count % nodes == 0
            self.tasks_on_node = count // nodes if count is not None and is_even else None
        self.cpus = line.value("cpus-per-task")
        self.gpus = self._gpus()

    def _gpus(self) -> Optional[int]:
        """Of a node."""
        for name in GPUS:
            match = re.search(r"gpu:(?:[\w.-]+:)?(\d+)|^(?:[\w.-]+:)?(\d+)$", self.line.value(name))
            if match is not None:
                count = int(match[1] or match[2])
                in_all = count // self.nodes if self.nodes else 0
                tasks = self.tasks_on_node or 0
                return {"gpus": in_all, "gpus-per-task": count * tasks}.get(name, count) or None
        return None

    def step(self, line: Line) -> "Job":
        """A step of the job, which inherits what it does not choose."""
        own = {"cpus-per-task", *(option.name for option in line.options)}
        own |= {"ntasks-per-node"} if "ntasks" in own else set()
        own |= set(GPUS) if own.intersection(GPUS) else set()
        inherited = [option for option in self.line.options if option.name not in own]
        chosen = [option for option in line.options if option.value not in NODES]
        nodes = [option for option in self.line.options if option.name == "nodes"]
        return Job(Line((*nodes, *inherited, *chosen), line.program))


def read_job(script: str) -> tuple[Job, list[tuple[int, str]]]:
    """The job of a script, by its #SBATCH lines before the first command, and notes on them."""
    options: list[Option] = []
    notes: list[tuple[int, str]] = []
    for at, line in enumerate(script.split("\n"), 1):
        if line.strip() and not line.startswith("#"):
            break
        if line.startswith("#SBATCH"):
            text = line[len("#SBATCH") :]
            try:
                words = shlex.split(text, comments=True)
            except ValueError:
                words = text.split()
            for option in line_of_words(("sbatch", *words)).options:
                if option.known:
                    options.append(option)
                elif "=" in option.word:
                    notes.append((at, f"{option.word}: {TABLES['told']['unknown option']}"))
    return Job(Line(tuple(options), 0)), notes
