"""A small training under torch.distributed, as a user's script has it: status 0 if the ranks agree."""

import os
from typing import Any

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

on_gpu = torch.cuda.is_available()
if on_gpu:
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]) % torch.cuda.device_count())
dist.init_process_group("nccl" if on_gpu else "gloo")
device = torch.device("cuda" if on_gpu else "cpu")
torch.manual_seed(dist.get_rank())
model: Any = DistributedDataParallel(torch.nn.Linear(64, 8).to(device))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for _ in range(20):
    optimizer.zero_grad()
    loss = model(torch.randn(32, 64, device=device)).square().mean()
    loss.backward()
    optimizer.step()
weights = [torch.zeros(8, 64, device=device) for _ in range(dist.get_world_size())]
dist.all_gather(weights, model.module.weight.detach())
assert all(torch.equal(weights[0], other) for other in weights), "ranks differ"
print(f"rank {dist.get_rank()} of {dist.get_world_size()} on {device}: loss {loss.item():.4f}")
dist.destroy_process_group()
