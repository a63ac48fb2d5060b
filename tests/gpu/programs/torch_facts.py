"""Prints what torch has and sees here, a line each: NAME=VALUE."""

import os

import torch

print(f"torch={torch.__version__}")
print(f"torch_cuda={torch.version.cuda}")
print(f"cuda_available={torch.cuda.is_available()}")
print(f"device_order={os.environ.get('CUDA_DEVICE_ORDER', '')}")
if torch.cuda.is_available():
    print("nccl=" + ".".join(str(part) for part in getattr(torch.cuda, "nccl").version()))
    # Loaded by now, where it is a library of its own.
    for line in open("/proc/self/maps", encoding="utf-8"):
        if "libnccl" in line:
            print("nccl_library=" + line.split()[-1])
            break
    for index in range(torch.cuda.device_count()):
        one = torch.cuda.get_device_properties(index)
        address = "{:04x}:{:02x}:{:02x}.0".format(
            int(getattr(one, "pci_domain_id", 0)),
            int(getattr(one, "pci_bus_id", 0)),
            int(getattr(one, "pci_device_id", 0)),
        )
        print(f"device.{index}={getattr(one, 'uuid', '')} {address} {one.name}")
