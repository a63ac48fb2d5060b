"""Trains with gloo until SIGUSR2, which all ranks agree on; then rank 0 needs SECONDS to save.

saving.py SECONDS"""

import os
import signal
import sys
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

NOTICED = torch.zeros(1)


def main() -> None:
    signal.signal(signal.SIGUSR2, lambda _number, _frame: NOTICED.fill_(1))
    dist.init_process_group("gloo")
    model = DistributedDataParallel(nn.Linear(4, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    if dist.get_rank() == 0:
        print("trains", flush=True)
    for _ in range(3000):
        optimizer.zero_grad()
        model(torch.ones(8, 4)).pow(2).mean().backward()
        optimizer.step()
        noticed = NOTICED.clone()
        dist.all_reduce(noticed, op=dist.ReduceOp.MAX)
        if noticed.item():
            break
        time.sleep(0.1)
    if dist.get_rank() == 0:
        time.sleep(float(sys.argv[1]))  # a large model
        torch.save(model.state_dict(), "checkpoint." + os.environ["SLURM_JOB_ID"])
        print("saved", flush=True)
    dist.barrier()


main()
