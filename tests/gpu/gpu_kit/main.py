"""The command line: which kit, how long, where the report goes."""

import argparse
import pathlib
import sys
import time
import traceback

from gpu_kit.case import Case, Outcome, Status, Wrong, skipped
from gpu_kit.cases import CASES
from gpu_kit.kit import Kit
from gpu_kit.report import Report

FAILED, USAGE, NO_GPU = 1, 2, 77
OWN_FOLDER = pathlib.Path(__file__).resolve().parents[1]


def arguments_of(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser("tests/gpu/run", description=__doc__)
    parser.add_argument("--minutes", type=float, default=8, help="no case begins later (8)")
    parser.add_argument("--output", type=pathlib.Path, default=pathlib.Path("gpu-report"))
    parser.add_argument("--only", default="", metavar="CASE[,CASE]", help="see --list")
    parser.add_argument("--list", action="store_true", help="name the cases, run none")
    parser.add_argument("--kit", type=pathlib.Path, help="what tests/gpu/pack made")
    parser.add_argument("--mocks", type=pathlib.Path, help="stand-ins for NVIDIA's libraries")
    return parser.parse_args(words)


def kit_folder(asked: pathlib.Path | None) -> pathlib.Path | None:
    """The one asked for, the one in which this file lies, or where pack puts it."""
    beside = OWN_FOLDER.parents[1] / "build" / "gpu-kit"
    for folder in [asked] if asked else [OWN_FOLDER, beside]:
        if (folder / "bin" / "nccl-scaling").exists():
            return folder.resolve()
    return None


def run_case(case: Case, kit: Kit, end: float) -> Outcome:
    missing = kit.lacks(case.needs)
    if missing:
        return skipped(missing)
    if time.monotonic() >= end:
        return skipped("the minutes were over")
    kit.deadline = time.monotonic() + case.limit
    try:
        return case.run(kit)
    except Wrong as wrong:
        return wrong.outcome
    except Exception:  # a case that breaks must not take the others' minutes
        return Outcome(Status.FAILED, "the case itself broke", {}, traceback.format_exc())


def run_cases(cases: list[Case], kit: Kit, report: Report, minutes: float) -> None:
    end = time.monotonic() + 60 * minutes
    for case in cases:
        begun = time.monotonic()
        outcome = run_case(case, kit, end)
        seconds = time.monotonic() - begun
        report.add(case, outcome, seconds)
        print(f"{outcome.status.value:8}{seconds:6.1f} s  {case.name}: {outcome.line}", flush=True)


def main(words: list[str]) -> int:
    arguments = arguments_of(words)
    if arguments.list:
        print("\n".join(f"{case.name:20}{case.about}" for case in CASES))
        return 0
    only = [name for name in arguments.only.split(",") if name]
    unknown = set(only) - {case.name for case in CASES}
    if unknown:
        print(
            f"tests/gpu/run: --only {', '.join(sorted(unknown))}: no such case; see --list",
            file=sys.stderr,
        )
        return USAGE
    folder = kit_folder(arguments.kit)
    mocks = arguments.mocks.resolve() if arguments.mocks else None
    kit = Kit(folder or OWN_FOLDER, mocks)
    try:
        if not kit.gpus:
            print(
                "tests/gpu/run: no GPU here: nvidia-smi is missing or names none", file=sys.stderr
            )
            return NO_GPU
        if folder is None:
            print("tests/gpu/run: no kit here: make it with tests/gpu/pack", file=sys.stderr)
            return USAGE
        report = Report(arguments.output, kit)
        chosen = [case for case in CASES if not only or case.name in only]
        run_cases(chosen, kit, report, arguments.minutes)
        print(f"{report.summary}; {arguments.output}/report.md")
        return FAILED if report.count(Status.FAILED) else 0
    finally:
        kit.close()
