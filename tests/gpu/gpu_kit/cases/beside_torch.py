"""nccl-scaling's figures beside those of a plain loop of torch.distributed, in turns."""

import statistics

from gpu_kit.case import Case, Outcome, expect, passed
from gpu_kit.kit import Kit
from gpu_kit.ranks import ranks
from gpu_kit.scaling import completed, scaling

SIZES = [64 << 10, 1 << 20, 16 << 20, 256 << 20]
ROUNDS = 5
ITERATIONS = 20


def torch_seconds(kit: Kit) -> dict[int, float]:
    loop = [kit.python, kit.script("torch_loop.py"), str(ITERATIONS), *map(str, SIZES)]
    with ranks(kit, 1, loop) as started:
        status = started.wait(0, kit.deadline)
        text = started.text(0)
    expect(status == 0, f"torch_loop.py: status {status}", text)
    rows = [line.split() for line in text.splitlines() if line[:1].isdigit()]
    return {int(size): float(seconds) for size, seconds in rows}


def own_seconds(kit: Kit) -> dict[int, float]:
    sizes = ["-b", str(SIZES[0]), "-e", str(SIZES[-1]), "-f", "16"]
    run = scaling(kit, 1, [*sizes, "--collective", "all-reduce", "--iterations", str(ITERATIONS)])
    results = completed(run, "nccl-scaling")
    # torch's all_reduce() works in place.
    return {m["bytes"]: m["time"]["median"] for m in results["measurements"] if m["in_place"]}


def paired(kit: Kit) -> Outcome:
    ratios: dict[int, list[float]] = {size: [] for size in SIZES}
    for number in range(ROUNDS):
        one, other = (torch_seconds, own_seconds) if number % 2 else (own_seconds, torch_seconds)
        first, second = one(kit), other(kit)
        own, theirs = (second, first) if number % 2 else (first, second)
        for size in SIZES:
            if size in own and size in theirs:
                ratios[size].append(own[size] / theirs[size])
    medians = {size: statistics.median(values) for size, values in ratios.items() if values}
    expect(len(medians) == len(SIZES), f"only {len(medians)} sizes in both")
    words = ", ".join(f"{size >> 10} KiB {ratio:.3f}" for size, ratio in medians.items())
    return passed(f"time over torch's, median of {ROUNDS} pairs: {words}", ratios=ratios)


CASES = [
    Case("beside-torch", "All-reduce beside torch.distributed's", 240, paired, ("gpu", "torch"))
]
