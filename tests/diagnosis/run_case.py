"""One run: a job whose plan a seed draws, until its fault is old enough, and what is then said of it."""

import contextlib
import dataclasses
import pathlib
import re
import subprocess
import threading
import time
from collections.abc import Callable, Iterator

import cases
import fault_plan
import verdicts
from private_cluster import HASTY_MINUTE, Cluster, environment

START_LIMIT = 240.0  # seconds until the fault strikes, on a busy machine
LOOK_LIMIT = 150.0


class Stopped(Exception):
    """The user ends the measurement."""


class Broken(Exception):
    """The run did not come as far as a look; why."""


@dataclasses.dataclass(frozen=True)
class Options:
    age: float
    looks: int
    watch_seconds: float  # MINUTES of the watch, in seconds; 0: without one
    clean_seconds: float  # that a healthy job is watched
    answers: pathlib.Path | None
    machine: contextlib.AbstractContextManager[object]  # entered to start a job, and to look


@dataclasses.dataclass(frozen=True)
class Run:
    case: cases.Case
    waiters: str
    proctrack: str
    seed: int

    def label(self) -> str:
        label = self.case.name
        label += "" if self.waiters == "plain" else f" {self.waiters}"
        return label + ("" if self.proctrack == "linuxproc" else f" {self.proctrack}")


@dataclasses.dataclass(frozen=True)
class Outcome:
    run: Run
    verdict: verdicts.Verdict
    seconds: float  # that the look took; since the strike, of the watch
    findings: tuple[str, ...] = ()
    took: float = 0.0  # all of the run


def command_of(case: cases.Case, plan: fault_plan.Plan, key: str, cluster: Cluster) -> list[str]:
    """What srun starts, with its options."""
    tools = environment("jax" if case.launcher in ("jax", "ompi") else "torch")
    program = [str(cluster.scratch / "programs" / case.program), plan.to_text()]
    python = [str(tools / "python"), "-u"]
    each, spec = "2", case.launcher
    if case.launcher == "torchrun":
        each, spec, python = "1", "torchrun,nproc=2", [str(tools / "torchrun")]
    elif case.launcher == "accelerate":
        each, spec = "1", "accelerate,per-node"
        launch = (
            f'exec {tools}/accelerate launch --multi_gpu --num_machines "$SLURM_NNODES" '
            '--num_processes 4 --machine_rank "$SLURM_NODEID" --main_process_ip "$MASTER_ADDR" '
            '--main_process_port "$MASTER_PORT" "$@"'
        )
        python = ["/bin/bash", "-c", launch, "accelerate"]
    elif case.launcher == "same_rank":
        spec, python = "pytorch", ["env", "RANK=0", "WORLD_SIZE=1", "LOCAL_RANK=0", *python]
    elif case.name == "dead_path":
        python = ["/usr/bin/env", f"VIRTUAL_ENV={plan.dead}", *python]
    options = ["-N2", f"--ntasks-per-node={each}", "--unbuffered", "--kill-on-bad-exit=0"]
    options += ["--time=60", f"--distgpu={spec}{key}"]
    return ["srun", *options, *(["--mpi=pmix"] if spec == "ompi" else []), *python, *program]


class Job:
    """A job in the background, with its output in a file; ended at the end of the context."""

    def __init__(self, run: Run, cluster: Cluster, stop: threading.Event, key: str) -> None:
        self.case, self.cluster, self.stop = run.case, cluster, stop
        name = f"{run.label()}-{run.seed}".replace(" ", "-")
        self.folder = cluster.scratch / "runs" / name
        self.folder.mkdir(parents=True)
        self.folder.chmod(0o777)
        self.plan = cases.draw(
            run.case, run.waiters, run.seed, str(self.folder), str(cluster.scratch / "dead")
        )
        tools = environment("jax" if run.case.launcher in ("jax", "ompi") else "torch")
        self.path = f"{environment('pyspy')}:{tools}:/usr/sbin:/usr/bin:/sbin:/bin"
        if run.case.name == "dead_path":
            self.path = f"{self.plan.dead}/bin:{self.path}"
        self.command = command_of(run.case, self.plan, key, cluster)
        self.log = self.folder / "log"

    def __enter__(self) -> "Job":
        with self.log.open("wb") as log:
            self.srun = self.cluster.submit(self.command, self.path, log)
        return self

    def __exit__(self, *_: object) -> None:
        number = re.search(r"^started (\d+)", self.output(), re.MULTILINE)
        for signal in ("KILL", "TERM"):
            if self.srun.poll() is None and number:
                step = number.group(1) + (".0" if signal == "KILL" else "")
                self.cluster.submit(
                    ["scancel", "--quiet", f"--signal={signal}", step],
                    self.path,
                    subprocess.DEVNULL,
                ).wait()
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self.srun.wait(15)
        self.srun.terminate()  # which cancels its job
        try:
            self.srun.wait(15)
        except subprocess.TimeoutExpired:
            self.srun.kill()
            self.srun.wait()

    def output(self) -> str:
        return self.log.read_text(errors="replace")

    def number(self) -> str:
        started = re.search(r"^started (\d+)", self.output(), re.MULTILINE)
        if not started:
            raise Broken(f"names no job: {self.tail()}")
        return started.group(1)

    def places(self) -> list[verdicts.Place]:
        struck = re.findall(r"^struck (\d+) (\S+) (\d+) (\d+)$", self.output(), re.MULTILINE)
        names = dict(zip(self.plan.ranks, self.plan.names))
        return [
            verdicts.Place(int(rank), names[int(rank)], file, int(first), int(last))
            for rank, file, first, last in struck
            if int(rank) in names
        ]

    def steps(self) -> int:
        return int(([-1] + re.findall(r"^step (\d+)$", self.output(), re.MULTILINE))[-1])

    def wait(self, seconds: float) -> None:
        if self.stop.wait(seconds):
            raise Stopped

    def begin(self) -> None:
        """Waits until the fault has struck, or a healthy job trains."""
        end = time.monotonic() + START_LIMIT
        while True:
            self.wait(0.2)
            is_healthy = self.case.expected is cases.Expected.HEALTHY
            if "\ntrains\n" in self.output() if is_healthy else self.has_struck():
                return
            if not self.is_running():
                raise Broken(f"ended with status {self.srun.poll()}: {self.tail()}")
            if time.monotonic() > end:
                raise Broken(f"no strike within {START_LIMIT:.0f} s: {self.tail()}")

    def has_struck(self) -> bool:
        return {place.rank for place in self.places()} == set(self.plan.ranks)

    def is_running(self) -> bool:
        return self.srun.poll() is None

    def tail(self) -> str:
        return " | ".join(self.output().splitlines()[-6:])[-600:]

    def look(self) -> tuple[verdicts.Answer, float]:
        """Asks `distgpu why`, once, in so many seconds."""
        if not self.is_running():
            raise Broken(f"ended before the look: {self.tail()}")
        command = [str(self.cluster.scratch / "distgpu"), "why", self.number(), "--format", "json"]
        begun = time.monotonic()
        why = self.cluster.submit(command, self.path, subprocess.PIPE)
        try:
            printed, errors = why.communicate(timeout=LOOK_LIMIT)
        except subprocess.TimeoutExpired:
            why.kill()
            why.communicate()
            return verdicts.Answer("unknown", ("no answer",), (), ""), time.monotonic() - begun
        seconds = time.monotonic() - begun
        if why.returncode:
            said = errors.decode(errors="replace").strip()
            raise Broken(f"why ended with status {why.returncode}: {said}")
        return verdicts.answer_of_json(printed.decode(errors="replace")), seconds


def execute(
    run: Run, cluster: Cluster, options: Options, stop: threading.Event
) -> Iterator[Outcome]:
    """One outcome for each look."""
    begun = time.monotonic()
    key = ",watch=1:end" if options.watch_seconds else ""
    try:
        with contextlib.ExitStack() as stack:
            job = Job(run, cluster, stop, key)
            with options.machine:
                stack.enter_context(job)
                job.begin()
            looks = watch if options.watch_seconds else look
            for outcome in looks(run, job, options):
                yield dataclasses.replace(outcome, took=time.monotonic() - begun)
    except Broken as problem:
        yield Outcome(run, verdicts.Verdict("broken", str(problem)), 0)


def look(run: Run, job: Job, options: Options) -> Iterator[Outcome]:
    is_healthy = run.case.expected is cases.Expected.HEALTHY
    for number in range(options.looks if is_healthy else 1):
        # As a jitter that the seed draws: no two faults are of the same age.
        pause = (job.plan.choice * (number + 1)) % 100 / 10
        job.wait(pause if is_healthy else options.age + pause)
        with options.machine:
            answer, seconds = job.look()
        verdict = verdicts.verdict_on(run.case, job.plan.ranks, job.places(), answer)
        if options.answers:
            file = options.answers / f"{job.folder.name}-{number}.json"
            file.write_text(answer.raw)
            file.with_suffix(".log").write_text(f"{job.plan}\n{verdict}\n{job.output()}")
        yield Outcome(run, verdict, seconds, answer.findings)


REPORTED = "distgpu: watch: nothing moved"
ENDS = "distgpu: watch: ending the step"


def watch(run: Run, job: Job, options: Options) -> Iterator[Outcome]:
    """Whether the watch ends the step, and what it then says."""
    is_healthy = run.case.expected is cases.Expected.HEALTHY
    begun = time.monotonic()
    limit = options.clean_seconds if is_healthy else 4 * options.watch_seconds + 60
    while job.is_running() and time.monotonic() < begun + limit:
        job.wait(0.5)
    seconds, output = time.monotonic() - begun, job.output()
    if options.answers:
        (options.answers / f"{job.folder.name}.watch").write_text(f"{job.plan}\n{output}")
    report = output.partition(REPORTED)[2].partition("\n\n")[2]
    findings = tuple(report.partition("\n\n")[0].splitlines())
    verdict = verdict_of_watch(run, job, findings, output)
    yield Outcome(run, verdict, seconds, findings)


def verdict_of_watch(
    run: Run, job: Job, findings: tuple[str, ...], output: str
) -> verdicts.Verdict:
    is_healthy = run.case.expected is cases.Expected.HEALTHY
    ends = ENDS in output
    if not ends and not job.is_running():
        return verdicts.Verdict("broken", f"ended, not by the watch: {job.tail()}")
    if is_healthy:
        return verdicts.Verdict("wrong", "ended", 1) if ends else verdicts.Verdict("right")
    if not ends:
        return verdicts.Verdict(
            "missed", "reported, not ended" if REPORTED in output else "not reported"
        )
    answer = verdicts.Answer("", findings, (), output)
    return verdicts.verdict_on(run.case, job.plan.ranks, job.places(), answer)
