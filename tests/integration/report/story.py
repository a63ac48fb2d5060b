"""Trains a model with DistributedDataParallel on CPUs, and plays the GPU of each rank: what would be
a kernel there is a pause here, and scripted_nvml.c shows it as utilization.

    story.py SCRIPTS SECONDS [NAME=VALUE]...

kernel=0.2        seconds of a step's kernels
load=0            CPU seconds in which a loader makes a batch, of which each rank has two
slow_rank=N       whose kernels or loaders take SLOWER times as long
slower=1
clocks=0          NVML's reasons for slow clocks, of the slow rank's GPU
evaluate=0        seconds in which rank 0 evaluates, after each 10 s of training
leak=N            the rank that keeps 4 MiB a step
nccl=1            a collective call that waits is a kernel, as NCCL's are; 0: as Gloo's, the GPU idles
"""

import os
import pathlib
import sys
import time
from collections.abc import Callable

# Before torch, whose import takes seconds, too.
RANK, LOCAL_RANK = int(os.environ["RANK"]), int(os.environ["LOCAL_RANK"])
NODE = os.environ["SLURMD_NODENAME"]
GPUS = [f"0000:{bus}:00.0" for bus in (13, 14, 93, 94)]


class Gpu:
    """The rank's, as the script of its node has it."""

    WATTS = {False: 100, True: 600}

    def __init__(self, scripts: str) -> None:
        self.script = (pathlib.Path(scripts) / NODE).open("a", buffering=1)
        self.is_busy, self.since, self.millijoules = False, time.time(), 0.0
        self.write("memory", 62_000)
        self.write("energy", 0)
        self.run(False)

    def write(self, kind: str, value: int) -> None:
        self.script.write(f"{time.time():.6f} {kind} {GPUS[LOCAL_RANK]} {value}\n")

    def run(self, is_busy: bool) -> None:
        now = time.time()
        self.millijoules += 1000 * self.WATTS[self.is_busy] * (now - self.since)
        self.is_busy, self.since = is_busy, now
        self.write("state", 100 if is_busy else 0)

    def end_step(self) -> None:
        self.run(False)
        self.write("energy", int(self.millijoules))


gpu = Gpu(sys.argv[1])

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn.parallel import DistributedDataParallel  # noqa: E402
from torch.utils.data import DataLoader, Dataset  # noqa: E402


def use_cpu(seconds: float, clock: Callable[[], float]) -> None:
    """As decoding and augmentation do, or evaluation."""
    end = clock() + seconds
    values = torch.rand(100, 100)
    while clock() < end:
        values = (values @ values).softmax(0)


class Samples(Dataset[torch.Tensor]):
    """Batches that take CPU time."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def __len__(self) -> int:
        return 1_000_000

    def __getitem__(self, index: int) -> torch.Tensor:
        use_cpu(self.seconds, time.process_time)  # however long that takes
        return torch.rand(32, 64)


class Training:
    """The ranks' loop."""

    def __init__(self, options: dict[str, float]) -> None:
        self.options = options
        is_slow = RANK == options.get("slow_rank")
        slower = options.get("slower", 1) if is_slow else 1
        loads = options.get("load", 0)
        self.kernel = options.get("kernel", 0.2) * (1 if loads else slower)
        workers = 2 if loads else 0
        self.batches = iter(
            DataLoader(Samples(loads * slower), batch_size=None, num_workers=workers)
        )
        self.model = DistributedDataParallel(nn.Sequential(nn.Linear(64, 64), nn.Linear(64, 1)))
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1e-3)
        self.kept: list[torch.Tensor] = []
        if is_slow:
            gpu.write("clocks", int(options.get("clocks", 0)))

    def step(self) -> None:
        batch = next(self.batches)
        gpu.run(True)
        time.sleep(self.kernel)
        gpu.run(self.options.get("nccl", 1) == 1)
        self.optimizer.zero_grad()
        self.model(batch).square().mean().backward()  # the gradients' collective calls
        self.optimizer.step()
        gpu.end_step()
        if RANK == self.options.get("leak"):
            self.kept.append(torch.ones(1 << 20))

    def evaluate(self) -> None:
        """On rank 0, while the others wait for it."""
        if RANK == 0:
            use_cpu(self.options["evaluate"], time.monotonic)
        gpu.run(RANK != 0 and self.options.get("nccl", 1) == 1)
        dist.barrier()
        gpu.run(False)

    def run(self, seconds: float) -> None:
        """Until rank 0's clock says that it is over."""
        begin = evaluated = time.monotonic()
        goes_on = torch.ones(1)
        while goes_on:
            self.step()
            now = time.monotonic()
            if self.options.get("evaluate"):
                is_due = torch.tensor([float(now - evaluated > 10)])
                dist.broadcast(is_due, 0)
                if is_due:
                    self.evaluate()
                    evaluated = time.monotonic()
            goes_on = torch.tensor([float(now - begin < seconds)])
            dist.broadcast(goes_on, 0)


def main() -> None:
    options = {
        name: float(value) for name, _, value in (word.partition("=") for word in sys.argv[3:])
    }
    # The nodes share this machine's CPUs: each rank has one of them, and so have its loaders.
    cpus = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cpus[RANK % len(cpus)]})
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    Training(options).run(float(sys.argv[2]))
    dist.destroy_process_group()
    sys.stdout.flush()
    os._exit(0)  # without torch's clean-up, which sometimes hangs


if __name__ == "__main__":
    main()
