"""Runs nccl-scaling with some ranks, and reads what it wrote."""

import dataclasses
import json
import pathlib
import time
from typing import Any

from gpu_kit.case import Wrong
from gpu_kit.kit import Kit
from gpu_kit.ranks import ranks

ALL_TYPES = "float,double,half,bfloat16,int8,int32,int64"


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
