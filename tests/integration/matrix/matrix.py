#!/usr/bin/env python3
"""Launches shapes and compares what their tasks were given.

    matrix.py random GROUP COUNT [--by WAY]  random shapes of a group (random_shapes.py);
                                         --image FILE: one in three in a container of pyxis;
                                         --distinct: an arbitrary job names each host once
    matrix.py one PLACEMENT -- srun ...  one command; PLACEMENT as '0-4:node01 5:node02'
    matrix.py any COUNT [--by WAY] -- srun ...  one command of so many tasks, placed anywhere

WAY: plugin, nodes (without the plugin where srun runs) or exec (distgpu exec).

DISTGPU_MATRIX_SEED chooses other random shapes. ALLOCATION is put before each
printed command: what the caller made the allocation with. The current folder
has probe.c's program. Exit status 1 when a task is wrong, or when Slurm
rejected more than one random shape in twenty.
"""

import argparse
import enum
import os
import re
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from random_shapes import GROUPS, WAYS, Shape, random_shapes
from task_check import check, parse_placement, parse_tasks

FIXED_SEED = 20_221_103
ENDLESS_SHAPES = 3
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


def report(results: list[Result], title: str) -> int:
    """Prints what went wrong and the counts; gives the exit status."""
    for result in results:
        if result.verdict is Verdict.RIGHT:
            continue
        print(f"{result.verdict.value}:")
        print(result.shape.as_shell(os.environ.get("ALLOCATION", "")))
        print("\n".join(f"  {problem}" for problem in result.problems))
        print("\n".join(f"  | {line}" for line in result.output.splitlines()))
    verdicts = Counter(result.verdict for result in results)
    rejected = verdicts[Verdict.NOT_LAUNCHED]
    checked = len(results) - rejected
    wrong = checked - verdicts[Verdict.RIGHT]
    print(f"{title}: {checked} shapes checked, {wrong} wrong, {rejected} not launched")
    return int(wrong > 0 or rejected * 20 > len(results))


def launch_all(shapes: list[Shape]) -> list[Result]:
    """The results; of the first shapes only, where several do not end."""
    results: list[Result] = []
    for shape in shapes:
        results.append(launch(shape))
        if sum(result.verdict is Verdict.TOO_LONG for result in results) == ENDLESS_SHAPES:
            break
    return results


def launch_one(shape: Shape) -> int:
    """The exit status: 1 where it was not launched, too."""
    result = launch(shape)
    return report([result], "table") or int(result.verdict is not Verdict.RIGHT)


def main() -> int:
    """See the text above."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="action", required=True)
    many = commands.add_parser("random")
    many.add_argument("group", choices=GROUPS)
    many.add_argument("count", type=int)
    many.add_argument("--image", default="")
    many.add_argument("--distinct", action="store_true")
    any_place = commands.add_parser("any")
    any_place.add_argument("count", type=int)
    for parser_of_way in (many, any_place):
        parser_of_way.add_argument("--by", choices=WAYS, default="plugin")
    any_place.add_argument("command", nargs="+")
    one = commands.add_parser("one")
    one.add_argument("placement")
    one.add_argument("command", nargs="+")
    arguments = parser.parse_args()
    if arguments.action == "one":
        placement = parse_placement(arguments.placement)
        return launch_one(Shape(arguments.command, len(placement), placement))
    if arguments.action == "any":
        return launch_one(Shape(arguments.command, arguments.count).started_by(arguments.by))
    seed = int(os.environ.get("DISTGPU_MATRIX_SEED", FIXED_SEED))
    begin = time.monotonic()
    shapes = random_shapes(
        arguments.group, seed, arguments.count, arguments.image, arguments.distinct
    )
    results = launch_all([shape.started_by(arguments.by) for shape in shapes])
    seconds = time.monotonic() - begin
    return report(results, f"{arguments.group} by {arguments.by}, seed {seed}, {seconds:.1f} s")


if __name__ == "__main__":
    sys.exit(main())
