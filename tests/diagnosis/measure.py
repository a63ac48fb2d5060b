"""Measures `distgpu why` and its watch as instruments: precision, recall and seconds."""

import argparse
import collections
import concurrent.futures
import contextlib
import math
import os
import pathlib
import signal
import statistics
import sys
import threading
import time
from collections.abc import Iterable, Sequence

import cases
from private_cluster import HASTY_MINUTE, ROOT, Cluster, ClusterError, environment
from run_case import Options, Outcome, Run, Stopped, execute

WAITERS = ("plain", "spin", "heartbeat")
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
GOAL = 0.98  # of precision and recall
GOAL_SECONDS = 5.0  # of nine looks in ten
GOAL_SECONDS_POLLING = 12.0


def chosen(text: str, all_cases: Sequence[cases.Case], option: str) -> list[cases.Case]:
    by_name = {case.name: case for case in all_cases}
    names = list(by_name) if text == "all" else [name for name in text.split(",") if name]
    for name in names:
        if name not in by_name:
            fail(f"{option}: {name}: no such kind; write some of {','.join(by_name)}", 2)
    return [by_name[name] for name in names]


def seeds_of(text: str) -> list[int]:
    """A number of seeds, or a list of them: "3" is 1,2,3 and "7," only 7."""
    if "," in text:
        return [int(seed) for seed in text.split(",") if seed]
    return list(range(1, int(text) + 1))


def fail(message: str, status: int) -> None:
    print(f"tests/diagnosis/run: {message}", file=sys.stderr)
    raise SystemExit(status)


def read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="tests/diagnosis/run", description=__doc__)
    add = parser.add_argument
    add("--build", type=pathlib.Path, default=ROOT / "build/dev", metavar="FOLDER")
    add("--kinds", default="all", metavar="LIST", help="of faults; all, or empty for none")
    add("--clean-kinds", default="all", metavar="LIST", help="of healthy trainings")
    add("--seeds", default="3", metavar="N|LIST", help='how many runs of each, or as in "4,9,"')
    add("--looks", type=int, default=3, metavar="N", help="at each healthy run")
    add("--waiters", default="plain", choices=(*WAITERS, "all"))
    add("--proctrack", default="all", choices=("linuxproc", "cgroup", "all"))
    add("--jobs", type=int, default=2 * (os.cpu_count() or 1), metavar="N", help="at a time")
    add("--quiet", action="store_true", help="never start a job or look while another does")
    add("--age", type=float, default=25, metavar="SECONDS", help="of a hang at the look, at least")
    add("--watch", action="store_true", help="measure watch=1:end instead")
    add("--real-minute", action="store_true", help=f"else its minute is {HASTY_MINUTE} s")
    add(
        "--clean-minutes", type=float, default=10, metavar="N", help="that healthy runs are watched"
    )
    add("--record", type=pathlib.Path, metavar="FILE", help="write the table as markdown")
    add("--answers", type=pathlib.Path, metavar="FOLDER", help="keep every answer and log")
    return parser.parse_args()


def plan_of_runs(arguments: argparse.Namespace) -> list[Run]:
    waiters = WAITERS if arguments.waiters == "all" else (arguments.waiters,)
    kinds = chosen(arguments.kinds, cases.FAULTS, "--kinds")
    kinds += chosen(arguments.clean_kinds, cases.HEALTHY, "--clean-kinds")
    return [
        Run(case, wait, proctrack, seed)
        for seed in seeds_of(arguments.seeds)
        for case in kinds
        for wait in (waiters if case.has_waiters else waiters[:1])
        for proctrack in case.proctracks
        if arguments.proctrack in (proctrack, "all")
    ]


def run_all(runs: Sequence[Run], arguments: argparse.Namespace) -> list[Outcome]:
    minute = 60 if arguments.real_minute else HASTY_MINUTE
    machine: contextlib.AbstractContextManager[object] = contextlib.nullcontext()
    if arguments.quiet:
        machine = threading.Lock()
    options = Options(
        age=arguments.age,
        looks=arguments.looks,
        watch_seconds=minute if arguments.watch else 0,
        clean_seconds=60 * arguments.clean_minutes,
        answers=arguments.answers,
        machine=machine,
    )
    stop = threading.Event()
    outcomes: list[Outcome] = []
    with contextlib.ExitStack() as stack:
        clusters = {
            proctrack: stack.enter_context(
                Cluster(arguments.build, proctrack, arguments.watch, not arguments.real_minute)
            )
            for proctrack in dict.fromkeys(run.proctrack for run in runs)
        }

        def outcomes_of(run: Run) -> list[Outcome]:
            found = []
            for outcome in execute(run, clusters[run.proctrack], options, stop):
                show(outcome)
                found.append(outcome)
            return found

        pool = stack.enter_context(concurrent.futures.ThreadPoolExecutor(arguments.jobs))
        # Before the pool waits for its threads, whatever ends this.
        stack.callback(pool.shutdown, wait=True, cancel_futures=True)
        stack.callback(stop.set)
        stack.callback(ignore_signals)
        futures = [pool.submit(outcomes_of, run) for run in runs]
        for future in futures:
            outcomes += future.result()
    return outcomes


def ignore_signals() -> None:
    """What was started is being ended, which another Ctrl-C would cut short."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)


def show(outcome: Outcome) -> None:
    verdict = outcome.verdict
    line = f"{outcome.run.label()} {outcome.run.seed}: {verdict.result}"
    line += f", {verdict.why}" if verdict.why else ""
    line += f" ({outcome.seconds:.1f} s of {outcome.took:.0f} s)"
    if verdict.result in ("wrong", "missed"):
        line += "".join(f"\n    {finding[:300]}" for finding in outcome.findings)
    print(line, flush=True)


def percentile_90(values: Sequence[float]) -> float:
    return sorted(values)[math.ceil(0.9 * len(values)) - 1]


def table(outcomes: Sequence[Outcome]) -> list[str]:
    groups: dict[str, list[Outcome]] = collections.defaultdict(list)
    for outcome in outcomes:
        groups[outcome.run.label()].append(outcome)
    lines = [
        "| Kind | Looks | Right | Wrong | Missed | Median s | 90% s |",
        "|---|---|---|---|---|---|---|",
    ]
    for label, group in groups.items():
        results = collections.Counter(outcome.verdict.result for outcome in group)
        seconds = [each.seconds for each in group if each.verdict.result != "broken"]
        times = (
            f"{statistics.median(seconds):.1f} | {percentile_90(seconds):.1f}"
            if seconds
            else "- | -"
        )
        broken = f" ({results['broken']} broken)" if results["broken"] else ""
        lines.append(
            f"| {label}{broken} | {len(group)} | {results['right']} | {results['wrong']} | "
            f"{results['missed']} | {times} |"
        )
    return lines


def ratio(part: int, whole: int) -> float:
    return part / whole if whole else 1.0


def summary(outcomes: Sequence[Outcome]) -> tuple[list[str], list[str]]:
    """What was measured in all, and which goals are missed."""
    complete = [outcome for outcome in outcomes if outcome.verdict.result != "broken"]
    healthy = [each for each in complete if each.run.case.expected is cases.Expected.HEALTHY]
    faults = [each for each in complete if each.run.case.expected is not cases.Expected.HEALTHY]
    accusations = sum(outcome.verdict.accusations for outcome in complete)
    right = sum(outcome.verdict.right_accusations for outcome in complete)
    rightly = sum(outcome.verdict.result == "right" for outcome in faults)
    accused = sum(outcome.verdict.result != "right" for outcome in healthy)
    precision, recall = ratio(right, accusations), ratio(rightly, len(faults))
    lines = [
        f"precision {precision:.3f} ({right} of {accusations} accused ranks), "
        f"recall {recall:.3f} ({rightly} of {len(faults)} faults), "
        f"{accused} of {len(healthy)} looks at healthy trainings accuse"
    ]
    for polls, kinds in ((False, "other faults"), (True, "faults that poll")):
        seconds = [each.seconds for each in faults if each.run.case.polls == polls]
        if seconds:
            lines.append(
                f"{kinds}: median {statistics.median(seconds):.1f} s, "
                f"90% within {percentile_90(seconds):.1f} s"
            )
    missed = []
    if precision < GOAL or recall < GOAL:
        missed.append(f"precision and recall of {GOAL}")
    if accused:
        missed.append("no accusation of a healthy training")
    if len(complete) < len(outcomes):
        missed.append(f"every run is one: {len(outcomes) - len(complete)} are broken")
    return lines, missed


def slow_kinds(outcomes: Iterable[Outcome]) -> list[str]:
    """A step that moves is looked at longer on purpose, to find its slow ranks."""
    missed = []
    for polls, goal in ((False, GOAL_SECONDS), (True, GOAL_SECONDS_POLLING)):
        seconds = [
            each.seconds
            for each in outcomes
            if each.run.case.polls == polls
            and each.run.case.expected is not cases.Expected.HEALTHY
            and each.verdict.result != "broken"
        ]
        if seconds and percentile_90(seconds) > goal:
            kinds = "kinds that poll" if polls else "kinds that do not poll"
            missed.append(
                f"{goal:.0f} s for 90% of the looks at {kinds}: {percentile_90(seconds):.1f} s"
            )
    return missed


def main() -> None:
    arguments = read_arguments()
    if os.geteuid():
        fail("needs root; run it with sudo", 3)
    for number in SIGNALS:
        signal.signal(number, signal.default_int_handler)
    runs = plan_of_runs(arguments)
    if arguments.answers:
        arguments.answers.mkdir(parents=True, exist_ok=True)
    begun = time.monotonic()
    try:
        outcomes = run_all(runs, arguments)
    except ClusterError as problem:
        fail(str(problem), 3)
    except (KeyboardInterrupt, Stopped):
        fail("interrupted; everything is ended", 130)
    lines, missed = summary(outcomes)
    if not arguments.watch:
        missed += slow_kinds(outcomes)
    lines = [*table(outcomes), "", *lines]
    print("\n".join(lines))
    print(f"{len(runs)} runs in {(time.monotonic() - begun) / 60:.0f} minutes")
    if arguments.record:
        arguments.record.write_text("\n".join(lines) + "\n")
    for goal in missed:
        print(f"tests/diagnosis/run: goal not met: {goal}", file=sys.stderr)
    raise SystemExit(bool(missed))


if __name__ == "__main__":
    main()
