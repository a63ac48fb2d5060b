"""nccl-scaling on this machine: with one rank, and with several on its first GPU."""

import contextlib
import dataclasses
import functools
import json
import os
import pathlib
import random
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from typing import Any

from gpu_kit.kit import Kit, Outcome, Status, Wrong, case, expect, passed

ALL_TYPES = "float,half,bfloat16"


class Ranks:
    """The ranks' processes: their ids and statuses, which each rank notes in a folder."""

    def __init__(self, processes: list[subprocess.Popen[str]], notes: pathlib.Path) -> None:
        self.processes = processes
        self.notes = notes

    def signal(self, rank: int, number: signal.Signals) -> None:
        os.kill(int((self.notes / f"pid.{rank}").read_text()), number)

    def status(self, rank: int) -> int | None:
        """Of the rank's program; None: it has not ended."""
        with contextlib.suppress(FileNotFoundError, ValueError):
            return int((self.notes / f"status.{rank}").read_text())
        return None

    def wait(self, rank: int, deadline: float) -> int | None:
        while self.status(rank) is None and time.monotonic() < deadline:
            time.sleep(0.05)
        return self.status(rank)

    def text(self, rank: int) -> str:
        return (self.notes / f"output.{rank}").read_text(errors="replace")


@contextlib.contextmanager
def ranks(kit: Kit, count: int, program: list[str], **environment: str) -> Iterator[Ranks]:
    """Starts the program `count` times, a rank and a node each, all on the first GPU. NCCL takes
    two ranks on one GPU for a mistake, but where they say that they are on two hosts."""
    notes = pathlib.Path(kit.scratch) / f"ranks.{time.monotonic_ns()}"
    notes.mkdir()
    port = str(random.randrange(20000, 30000))
    commands = []
    for rank in range(count):
        node = f"node{rank + 1:02}"
        place = {"RANK": str(rank), "WORLD_SIZE": str(count), "LOCAL_RANK": "0"}
        rendezvous = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "SLURMD_NODENAME": node}
        nccl = {"NCCL_HOSTID": node, "NCCL_SOCKET_IFNAME": "lo", "NCCL_IB_DISABLE": "1"}
        own = place | rendezvous | nccl | {"CUDA_DEVICE_MAX_CONNECTIONS": "1"} | environment
        words = [f"{name}={value}" for name, value in own.items()]
        commands.append(["env", *words, kit.script("as_rank"), str(notes), *program])
    with contextlib.ExitStack() as stack:
        yield Ranks([stack.enter_context(kit.started(c)) for c in launched(kit, commands)], notes)


def launched(kit: Kit, commands: list[list[str]]) -> list[list[str]]:
    """The stand-in for NCCL works over MPI, whose ranks mpirun starts."""
    if not kit.mocks:
        return commands
    together = ["mpirun", "--oversubscribe", "--bind-to", "none"]
    for command in commands:
        together += ["-np", "1", *command, ":"]
    return [together[:-1]]


@dataclasses.dataclass
class Run:
    """What rank 0 ended with. `results` is None where it wrote none."""

    status: int | None
    text: str
    results: dict[str, Any] | None
    seconds: float


def scaling(kit: Kit, count: int, arguments: list[str], **environment: str) -> Run:
    file = pathlib.Path(kit.scratch) / "results.json"
    file.unlink(missing_ok=True)
    program = [kit.program("nccl-scaling"), *arguments, "--json", str(file)]
    begun = time.monotonic()
    with ranks(kit, count, program, **kit.nccl_path, **environment) as started:
        status = started.wait(0, kit.deadline)
        text = started.text(0)
    results = json.loads(file.read_text()) if file.exists() else None
    return Run(status, text, results, time.monotonic() - begun)


def completed(run: Run, what: str) -> dict[str, Any]:
    """The results of a run that must have done all it was asked for."""
    if run.status != 0 or run.results is None or run.results["failure"] is not None:
        raise Wrong(f"{what}: status {run.status} after {run.seconds:.0f} s", run.text)
    return run.results


def bandwidths(results: dict[str, Any]) -> dict[int, float]:
    """Bytes a second by size, of the out-of-place measurements."""
    return {m["bytes"]: m["algbw"] for m in results["measurements"] if not m["in_place"]}


SHORT = ["--iterations", "5", "--warmup", "2"]


def check_identity(kit: Kit, results: dict[str, Any]) -> None:
    """CUDA's answers, by which alone nccl-scaling knows the GPU, are nvidia-smi's."""
    newest = re.search(r"CUDA (?:UMD )?Version: ([0-9.]+)", kit.run(["nvidia-smi"], 30).output)
    first = kit.gpus[0]
    seen = {entry["name"]: entry["value"] for entry in results["fingerprint"]}
    wanted = {"GPU": first.name, "CUDA driver API": newest[1] if newest else ""}
    wrong = {name: seen.get(name) for name in wanted if seen.get(name) != wanted[name]}
    expect(not wrong, f"{wrong}, nvidia-smi has {wanted}")
    gpus = results["nodes"][0]["gpus"]
    expect(gpus == [f"{first.name} {first.uuid}"], f"{gpus}, nvidia-smi has {first.uuid}")
    clock = int(seen["GPU clock"].split()[0])
    expect(100 < clock < 10_000, f"a GPU clock of {clock} MHz")


@case("scaling-all", "nccl-scaling, one rank: every collective, type and placement", 150)
def everything(kit: Kit) -> Outcome:
    """Each result is compared on the host, which is what takes long; hence the largest size."""
    sizes = ["-b", "8", "-e", "16K" if kit.mocks else "16M", "-f", "8"]
    # As nvidia-smi counts the GPUs.
    arguments = [*sizes, "--type", ALL_TYPES, *SHORT]
    run = scaling(kit, 1, arguments, CUDA_DEVICE_ORDER="PCI_BUS_ID")
    results = completed(run, "every collective and type")
    check_identity(kit, results)
    kinds = {(m["collective"], m["type"], m["in_place"]) for m in results["measurements"]}
    # Six collectives, of which four also work in place, of three types.
    expect(len(kinds) == 10 * 3, f"{len(kinds)} of 30 collectives and types measured", run.text)
    line = f"{len(results['measurements'])} measurements, data right, in {run.seconds:.0f} s"
    return passed(line, fingerprint=results["fingerprint"], nodes=results["nodes"])


@case("scaling-wrong-data", "A wrong element injected", 45)
def wrong_element(kit: Kit) -> Outcome:
    run = scaling(kit, 1, ["-b", "4K", "-e", "4K", *SHORT], DISTGPU_SCALING_CORRUPT="0:7")
    expect(run.status == 5, f"a wrong element: status {run.status}, not 5", run.text)
    expect("wrong data: element 7 is" in run.text, "the element is not named", run.text)
    return passed("a wrong element ends the run with status 5, and is named")


@case("scaling-no-gpu", "nccl-scaling where it sees no GPU", 30)
def unknown_device(kit: Kit) -> Outcome:
    variable = "FAKE_CUDA_DEVICES" if kit.mocks else "CUDA_VISIBLE_DEVICES"
    run = scaling(kit, 1, ["-b", "4K", "-e", "4K", *SHORT], **{variable: "0" if kit.mocks else ""})
    expect(run.status == 3, f"without a GPU: status {run.status}, not 3", run.text)
    line = run.text.strip().splitlines()[-1]
    return passed(f"without a GPU: {line}")


@case("scaling-killed", "nccl-scaling killed in a collective", 75)
def killed(kit: Kit) -> Outcome:
    """SIGKILL while collectives run: the GPU must be free for the next program."""
    endless = [kit.program("nccl-scaling"), "-b", "1M", "-e", "64M", "-i", "64K", *SHORT]
    with ranks(kit, 1, endless, **kit.nccl_path) as started:
        time.sleep(2 if kit.mocks else 8)
        expect(started.status(0) is None, "it ended before it was killed", started.text(0))
        started.signal(0, signal.SIGKILL)
        status = started.wait(0, time.monotonic() + 20)
    expect(status == 128 + 9, f"status {status} after SIGKILL")
    run = scaling(kit, 1, ["-b", "4K", "-e", "4K", *SHORT])
    completed(run, "the next run")
    return passed(f"killed in a collective; the next run took {run.seconds:.1f} s")


@case("scaling-large", "nccl-scaling, one rank, up to 4 GiB", 120)
def large(kit: Kit) -> Outcome:
    sizes = ["-b", "4M" if kit.mocks else "512M", "-e", "8M" if kit.mocks else "4G", "-f", "8"]
    run = scaling(kit, 1, [*sizes, "--collective", "all-reduce,all-gather", *SHORT])
    results = completed(run, "4 GiB")
    largest = max(m["bytes"] for m in results["measurements"])
    line = f"up to {largest / 2**30:g} GiB, data right, in {run.seconds:.0f} s"
    return passed(line, algbw=bandwidths(results), seconds=run.seconds)


@case("sanitizer", "The collectives under compute-sanitizer", 150, "gpu", "sanitizer")
def sanitized(kit: Kit) -> Outcome:
    # NCCL asks for kernels that its library lacks for this GPU: the errors of calls are its own.
    tool = ["compute-sanitizer", "--tool", "memcheck", "--report-api-errors", "no"]
    tool += ["--error-exitcode", "9"]
    sizes = ["-b", "4K", "-e", "4K", "--type", ALL_TYPES, *SHORT]
    program = [*tool, "--target-processes", "all", kit.program("nccl-scaling"), *sizes]
    with ranks(kit, 1, program, **kit.nccl_path) as started:
        status = started.wait(0, kit.deadline)
        text = started.text(0)
    expect(status == 0, f"compute-sanitizer: status {status}", text)
    summary = [line for line in text.splitlines() if "ERROR SUMMARY" in line]
    return passed(summary[-1].strip("= ") if summary else "no summary", text[-3000:])


SMALL = ["-b", "4K", "-e", "64K", "-f", "4", "--iterations", "5", "--warmup", "1"]
CONNECT = [*SMALL, "--collective", "all-reduce", "--timeout", "15"]

# Environment of the ranks, by what is tried. On one host NCCL finds the GPU twice; ranks that name
# two hosts are linked by sockets; the last is NCCL's own switch from 2.30 on.
WAYS: dict[str, dict[str, str]] = {
    "two hosts by NCCL_HOSTID": {},
    "one host": {"NCCL_HOSTID": "one"},
}
multi_rank = "NCCL_MULTI_RANK_GPU_ENABLE"
WAYS[f"one host, {multi_rank}=1"] = WAYS["one host"] | {multi_rank: "1"}


@case("one-gpu-two-ranks", "Which settings let two ranks share a GPU", 75)
def ways(kit: Kit) -> Outcome:
    found: dict[str, Any] = {}
    text = ""
    for way, environment in WAYS.items():
        run = scaling(kit, 2, CONNECT, **environment)
        last = run.text.strip().splitlines()[-1] if run.text.strip() else ""
        found[way] = {"status": run.status, "last": last}
        text += f"## {way}\n{run.text}\n"
    works = [way for way, result in found.items() if result["status"] == 0]
    line = f"two ranks on one GPU work with: {', '.join(works) or 'none of the settings tried'}"
    return Outcome(Status.PASSED, line, {"ways": found}, text)


@functools.cache
def connect(kit: Kit) -> bool:
    return scaling(kit, 2, CONNECT).status == 0


def connected(case: Callable[[Kit], Outcome]) -> Callable[[Kit], Outcome]:
    """A case that can say nothing where two ranks on one GPU do not connect."""

    def run(kit: Kit) -> Outcome:
        if connect(kit):
            return case(kit)
        why = "two ranks on this one GPU do not connect (case one-gpu-two-ranks)"
        return Outcome(Status.SKIPPED, why)

    return run


@case("ranks-all", "Four ranks: every collective and type, pairs, verdict", 150)
@connected
def four_ranks(kit: Kit) -> Outcome:
    run = scaling(kit, 4, [*SMALL, "--type", ALL_TYPES])
    results = completed(run, "four ranks")
    limiter = run.text.strip().splitlines()[-1]
    expect("; limiter: " in limiter, "the last line is no verdict", run.text)
    count = len(results["measurements"])
    return passed(f"{count} measurements of four ranks, data right, in {run.seconds:.0f} s")


@case("ranks-wrong-data", "A wrong element on another rank", 45)
@connected
def wrong_element_elsewhere(kit: Kit) -> Outcome:
    run = scaling(kit, 2, SMALL, DISTGPU_SCALING_CORRUPT="1:7")
    expect(run.status == 5, f"a wrong element on rank 1: status {run.status}, not 5", run.text)
    expect("rank 1 on node02: wrong data: element 7 is" in run.text, "not named", run.text)
    return passed("a wrong element on rank 1 ends all with status 5, and is named")


def injured(kit: Kit, number: signal.Signals, done: str, right: int, words: str) -> Outcome:
    """Rank 1 is hit in a long run: rank 0 says so, and ends with the right status."""
    endless = [kit.program("nccl-scaling"), "-b", "64K", "-e", "64M", "-i", "64K", "--timeout", "5"]
    with ranks(kit, 2, endless, **kit.nccl_path) as started:
        time.sleep(3 if kit.mocks else 10)
        if started.status(0) is not None:
            raise Wrong("it ended before rank 1 was hit", started.text(0))
        started.signal(1, number)
        begun = time.monotonic()
        status = started.wait(0, begun + 30)
        text, seconds = started.text(0), time.monotonic() - begun
    expect(status == right, f"rank 1 {done}: status {status}, not {right}", text)
    expect(f"rank 1 on node02: {words}" in text, f"the rank that was {done} is not named", text)
    return passed(f"rank 1 {done}: named, status {right}, after {seconds:.1f} s")


@case("ranks-killed", "A rank killed in a run", 75)
@connected
def rank_killed(kit: Kit) -> Outcome:
    return injured(kit, signal.SIGKILL, "killed", 3, "has died")


@case("ranks-stopped", "A rank stopped in a run", 75)
@connected
def rank_stopped(kit: Kit) -> Outcome:
    return injured(kit, signal.SIGSTOP, "stopped", 4, "no progress for 5 s")
