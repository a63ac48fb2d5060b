"""Several ranks on one GPU. NCCL refuses that as a mistake, unless it is told otherwise; which of
the ways works is part of what this finds out. Nothing here is a measurement of a link."""

import functools
import signal
import time
from collections.abc import Callable
from typing import Any

from gpu_kit.case import Case, Outcome, Status, Wrong, expect, passed, skipped
from gpu_kit.kit import Kit
from gpu_kit.ranks import ranks
from gpu_kit.scaling import ALL_TYPES, completed, scaling

SMALL = ["-b", "4K", "-e", "64K", "-f", "4", "--iterations", "5", "--warmup", "1"]

# Environment of the ranks, by what is tried. On one host NCCL finds the GPU twice; ranks that name
# two hosts are linked by sockets; the last is NCCL's own switch from 2.30 on.
WAYS: dict[str, dict[str, str]] = {
    "two hosts by NCCL_HOSTID": {},
    "one host": {"NCCL_HOSTID": "one"},
    "one host, NCCL_MULTI_RANK_GPU_ENABLE=1": {
        "NCCL_HOSTID": "one",
        "NCCL_MULTI_RANK_GPU_ENABLE": "1",
    },
}


def ways(kit: Kit) -> Outcome:
    found: dict[str, Any] = {}
    text = ""
    for way, environment in WAYS.items():
        run = scaling(
            kit, 2, [*SMALL, "--collective", "all-reduce", "--timeout", "15"], **environment
        )
        last = run.text.strip().splitlines()[-1] if run.text.strip() else ""
        found[way] = {"status": run.status, "last": last}
        text += f"## {way}\n{run.text}\n"
    works = [way for way, result in found.items() if result["status"] == 0]
    line = f"two ranks on one GPU work with: {', '.join(works) or 'none of the settings tried'}"
    return Outcome(Status.PASSED, line, {"ways": found}, text)


@functools.cache
def connect(kit: Kit) -> bool:
    run = scaling(kit, 2, [*SMALL, "--collective", "all-reduce", "--timeout", "15"])
    return run.status == 0


def connected(case: Callable[[Kit], Outcome]) -> Callable[[Kit], Outcome]:
    """A case that can say nothing where two ranks on one GPU do not connect."""

    def run(kit: Kit) -> Outcome:
        if connect(kit):
            return case(kit)
        return skipped("two ranks on this one GPU do not connect (case one-gpu-two-ranks)")

    return run


@connected
def everything(kit: Kit) -> Outcome:
    run = scaling(kit, 4, [*SMALL, "--type", ALL_TYPES])
    results = completed(run, "four ranks")
    limiter = run.text.strip().splitlines()[-1]
    expect("; limiter: " in limiter, "the last line is no verdict", run.text)
    count = len(results["measurements"])
    return passed(f"{count} measurements of four ranks, data right, in {run.seconds:.0f} s")


@connected
def wrong_element(kit: Kit) -> Outcome:
    run = scaling(kit, 2, SMALL, DISTGPU_SCALING_CORRUPT="1:7")
    expect(run.status == 5, f"a wrong element on rank 1: status {run.status}, not 5", run.text)
    expect("rank 1 on node02: wrong data: element 7 is" in run.text, "not named", run.text)
    return passed("a wrong element on rank 1 ends all with status 5, and is named")


def injured(kit: Kit, number: signal.Signals) -> tuple[int | None, str, float]:
    """Rank 1 is hit in a long run: rank 0's status and text, and how long it took to say so."""
    endless = [kit.program("nccl-scaling"), "-b", "64K", "-e", "64M", "-i", "64K", "--timeout", "5"]
    with ranks(kit, 2, endless, **kit.nccl_path) as started:
        time.sleep(3 if kit.mocks else 10)
        if started.status(0) is not None:
            raise Wrong("it ended before rank 1 was hit", started.text(0))
        started.signal(1, number)
        begun = time.monotonic()
        status = started.wait(0, begun + 30)
        return status, started.text(0), time.monotonic() - begun


@connected
def rank_killed(kit: Kit) -> Outcome:
    status, text, seconds = injured(kit, signal.SIGKILL)
    expect(status == 3, f"rank 1 killed: status {status}, not 3", text)
    expect("rank 1 on node02: has died" in text, "the dead rank is not named", text)
    return passed(f"rank 1 killed: named, status 3, after {seconds:.1f} s")


@connected
def rank_stopped(kit: Kit) -> Outcome:
    status, text, seconds = injured(kit, signal.SIGSTOP)
    expect(status == 4, f"rank 1 stopped: status {status}, not 4", text)
    expect("rank 1 on node02: no progress for 5 s" in text, "the rank is not named", text)
    return passed(f"rank 1 stopped: named, status 4, after {seconds:.1f} s")


CASES = [
    Case("one-gpu-two-ranks", "Which settings let two ranks share a GPU", 75, ways),
    Case("ranks-all", "Four ranks: every collective and type, pairs, verdict", 150, everything),
    Case("ranks-wrong-data", "A wrong element on another rank", 45, wrong_element),
    Case("ranks-killed", "A rank killed in a run", 75, rank_killed),
    Case("ranks-stopped", "A rank stopped in a run", 75, rank_stopped),
]
