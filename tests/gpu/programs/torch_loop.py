"""Times torch.distributed's all-reduce of float as nccl-scaling does: the median over iterations.

torch_loop.py ITERATIONS SIZE...      prints SIZE SECONDS, a line each, on rank 0
"""

import os
import statistics
import sys
import time

import torch
import torch.distributed as dist

iterations, sizes = int(sys.argv[1]), [int(word) for word in sys.argv[2:]]
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]) % torch.cuda.device_count())
dist.init_process_group("nccl")
for size in sizes:
    data = torch.zeros(max(1, size // 4), device="cuda")
    seconds = []
    for iteration in range(iterations + 5):
        dist.barrier()
        torch.cuda.synchronize()
        begun = time.perf_counter()
        dist.all_reduce(data)
        torch.cuda.synchronize()
        if iteration >= 5:
            seconds.append(time.perf_counter() - begun)
    if dist.get_rank() == 0:
        print(size, statistics.median(seconds))
dist.destroy_process_group()
