"""The same with Accelerate, below its launcher. usage: accelerate_world.py PLAN"""

import sys

import fault_plan
import faults
import torch
from accelerate import Accelerator

accelerator = Accelerator(cpu=True)
world = faults.Rank(fault_plan.read_plan(sys.argv[1]), accelerator.process_index)
model = torch.nn.Linear(64, 64)
model, optimizer = accelerator.prepare(model, torch.optim.SGD(model.parameters(), 0.1))


def step() -> None:
    if world.plan.collective == "barrier":
        accelerator.wait_for_everyone()
    elif world.plan.collective == "all_gather":
        accelerator.gather(torch.ones(world.plan.elements))
    else:
        accelerator.backward(model(torch.ones(8, 64)).sum())
        optimizer.step()
        optimizer.zero_grad()


faults.train(world, step)
