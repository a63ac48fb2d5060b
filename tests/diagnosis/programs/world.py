"""A training over torch's gloo: the loop of all ranks, the ways in which they wait, and the strike.

usage: world.py PLAN, a fault_plan.Plan as JSON

It prints, a line each: "started JOB", "trains" after three steps, "struck RANK FILE FIRST LAST"
with the lines of the function in which a fault leaves the rank, and "step N" once a second.
"""

import datetime
import itertools
import os
import random
import sys
import threading
import time
from typing import Any

import fault_plan
import faults
import healthy
import torch
import torch.distributed as dist
from torch.distributed.elastic.utils import store as elastic_store

HOUR = datetime.timedelta(hours=1)

# As CUDA does, in a file of torch's: the rank's own code is not where it waits.
SPINNING = """
def synchronize(work):
    while not work.is_completed(): pass
"""


def library(source: str, file: str) -> dict[str, Any]:
    """What the source defines, with stacks as if it stood in this file."""
    defined: dict[str, Any] = {}
    exec(compile(source, file, "exec"), defined)
    return defined


synchronize = library(SPINNING, f"{torch.__path__[0]}/cuda/__init__.py")["synchronize"]


class World(faults.Rank):
    def __init__(self, plan: fault_plan.Plan) -> None:
        # All tasks are told to be rank 0 there.
        name = "SLURM_PROCID" if plan.kind == "same_rank" else "RANK"
        super().__init__(plan, int(os.environ[name]))
        self.tensor = torch.ones(plan.elements)
        self.model: torch.nn.Module | None = None
        self.group: Any = None  # of two ranks, if any
        self.batches = healthy.batches(plan, self.is_struck)
        self.said_at = 0.0

    def join(self) -> None:
        if self.plan.kind == "same_rank":
            file = f"file://{self.plan.folder}/store{self.rank}"
            dist.init_process_group("gloo", init_method=file, rank=0, world_size=1)
            return
        dist.init_process_group("gloo", timeout=HOUR)
        if self.plan.kind == "subgroups":
            groups = [dist.new_group([0, 1]), dist.new_group([2, 3])]
            self.group = groups[self.rank // 2]
        if self.plan.ddp:
            model = torch.nn.Linear(64, 64)
            self.model = torch.nn.parallel.DistributedDataParallel(model)
        if self.plan.waiters == "heartbeat":
            threading.Thread(target=self.beat, daemon=True).start()

    def beat(self) -> None:
        """Sends a few bytes to rank 0's store now and then, as NCCL's monitors do."""
        port = int(os.environ["MASTER_PORT"])
        open_store: Any = getattr(dist, "TCPStore")
        store = open_store(os.environ["MASTER_ADDR"], port, wait_for_workers=False)
        for number in itertools.count():
            store.set(f"heartbeat/{self.rank}", str(number))
            time.sleep(random.uniform(0.3, 1.5))

    def begin(self, collective: str, in_background: bool) -> Any:
        source = self.plan.choice % dist.get_world_size()
        if collective == "broadcast":
            return dist.broadcast(self.tensor, src=source, async_op=in_background)
        if collective == "all_gather":
            parts = [torch.empty_like(self.tensor) for _ in range(dist.get_world_size())]
            return dist.all_gather(parts, self.tensor, async_op=in_background)
        if collective == "barrier":
            return dist.barrier(async_op=in_background)
        return dist.all_reduce(self.tensor, async_op=in_background)

    def step(self) -> None:
        if self.group is not None:
            dist.all_reduce(self.tensor, group=self.group)
        self.tensor.fill_(1)
        healthy.compute(0.02)
        if self.model is not None:
            self.model(torch.ones(8, 64)).sum().backward()
        elif self.plan.waiters == "spin":
            synchronize(self.begin(self.plan.collective, True))
        else:
            self.begin(self.plan.collective, False)

    def wait_at_store(self) -> None:
        """As gloo would not where a neighbour has ended: it raises."""
        store = dist.distributed_c10d._get_default_store()
        barrier: Any = elastic_store.barrier  # its arguments differ between releases
        barrier(store, dist.get_world_size(), "after", barrier_timeout=3600)

    def train(self) -> None:
        prepare = getattr(healthy, self.plan.kind, None)
        for number in itertools.count():
            if self.batches is not None:
                next(self.batches)
            if prepare is not None:
                prepare(self, number)
            elif number == self.plan.step:
                faults.strike(self)
            self.step()
            if number == 2 and self.rank == 0:
                faults.say("trains")
            if self.rank == 0 and time.monotonic() > self.said_at + 1:
                self.said_at = time.monotonic()
                faults.say(f"step {number}")


def main() -> None:
    plan = fault_plan.read_plan(sys.argv[1])
    world = World(plan)
    faults.say(f"started {os.environ['SLURM_JOB_ID']}")
    if plan.kind == "rendezvous" and world.is_struck:
        faults.own(world)
    world.join()
    if plan.kind in ("titled", "title_torchrun") or (plan.kind == "title" and titled(world)):
        faults.set_title(f"train: rank {world.rank}")
    if plan.kind == "thread_collectives":
        helper = threading.Thread(target=world.train, daemon=True)
        helper.start()
        helper.join()
    else:
        world.train()


def titled(world: World) -> bool:
    """One of the ranks, the struck one or another."""
    return world.rank == (world.plan.ranks[0] + world.plan.choice) % 4


if __name__ == "__main__":
    main()
