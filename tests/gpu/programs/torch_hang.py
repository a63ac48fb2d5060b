"""Two ranks on one GPU, of which rank 1 stays away from the last collective. NCCL gives up after 30 s."""

import datetime
import os
import time

import torch
import torch.distributed as dist

# NCCL takes two ranks on one GPU for a mistake, but where they say that they are on two hosts.
os.environ["NCCL_HOSTID"] = os.environ["RANK"]
torch.cuda.set_device(0)
dist.init_process_group("nccl", timeout=datetime.timedelta(seconds=30))
ones = torch.ones(1024, device="cuda")


def load_batch() -> None:
    if dist.get_rank() == 1:
        time.sleep(600)


for step in range(3):
    if step == 2:
        print("hangs", flush=True)
        load_batch()
    dist.all_reduce(ones)
    torch.cuda.synchronize()
