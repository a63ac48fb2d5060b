#!/usr/bin/env python3
"""Judges what a page's command line did, and prints what is wrong.

    judge.py LINE STATUS <OUTPUT    LINE is a file of the command; LINE.shown what the page shows

Exit status: 0 as the page says, 1 not.
"""

import difflib
import re
import sys
from pathlib import Path

EXACT = re.compile(r"distgpu (plan|topo|vars) |nccl-scaling times ")
TRAINS = re.compile(r"train\.py\b")
TELLS = re.compile(r"dry-run|verbose")  # distgpu's lines are no warnings there
VERDICT = re.compile(r"^stand-in: trained with \d+ ranks on \d+ nodes$", re.MULTILINE)
OF_SLURM = re.compile(r"(srun|slurmstepd)(-\S+)?: ")


def form(line: str) -> str:
    """Without what differs between machines and runs: numbers, lists of them, addresses."""
    line = re.sub(r"[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-9]", "#", line)
    line = re.sub(r"\b[MG]b/s", "b/s", line)
    return " ".join(re.sub(r"\d+([-,.:T]\d+)*", "#", line).split())


def differences(command: str, shown: list[str], output: list[str]) -> list[str]:
    if EXACT.match(command):
        return list(difflib.unified_diff(shown, output, "the page", "the output", lineterm="", n=0))
    left = [form(line) for line in output if not OF_SLURM.match(line)]
    missing = []
    for line in shown:
        if form(line) in left:
            left.remove(form(line))
        elif line.strip() != "...":
            missing.append(f"only in the page: {line}")
    excerpt = any(line.strip() == "..." for line in shown)
    return missing + ([] if excerpt else [f"not in the page: {line}" for line in left])


def problems(command: str, shown: str | None, status: int, output: str) -> list[str]:
    found = []
    if status not in ([0] if shown is None else [0, 1]):  # 1: what is shown is a finding
        found.append(f"status {status}")
    if status == 127:
        found.append("no command? then write ```text at the fence of its block")
    if shown is not None:
        found += differences(command, shown.splitlines(), output.splitlines())
    elif not TELLS.search(command):
        found += [f"warned: {line}" for line in output.splitlines() if line.startswith("distgpu: ")]
    starts = "dry-run" not in command and not EXACT.match(command)
    if TRAINS.search(command) and starts and len(VERDICT.findall(output)) != 1:
        found.append("trained not once")
    return found


def main() -> int:
    line, status = Path(sys.argv[1]), int(sys.argv[2])
    page = line.with_name(f"{line.name}.shown")
    shown = page.read_text() if page.exists() else None
    found = problems(line.read_text(), shown, status, sys.stdin.read())
    for problem in found:
        print(f"docs: {problem}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
