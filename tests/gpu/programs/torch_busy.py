"""Holds a fifth of the first GPU's memory and keeps the GPU busy, until it is ended."""

import torch

held = torch.empty(torch.cuda.mem_get_info(0)[1] // 5, dtype=torch.uint8, device="cuda")
factor = torch.randn(4096, 4096, device="cuda")
print("busy", flush=True)
while True:
    for _ in range(50):
        factor @ factor
    torch.cuda.synchronize()
