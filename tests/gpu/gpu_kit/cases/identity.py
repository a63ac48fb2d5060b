"""Which GPU is which: in distgpu's words, nvidia-smi's, the kernel's and CUDA's."""

import json
import pathlib
from typing import Any

from gpu_kit.case import Case, Outcome, expect, passed
from gpu_kit.kit import Kit


def topology(kit: Kit) -> dict[str, Any]:
    """What distgpu topo says; over the stand-ins of a machine that was made up for them."""
    made_up = ["--topology", str(kit.mocks / "topology.json")] if kit.mocks else []
    done = kit.run([kit.program("distgpu"), "topo", "--format", "json", *made_up], 30)
    expect(done.status == 0, f"distgpu topo: status {done.status}", done.text)
    answer: dict[str, Any] = json.loads(done.output)
    return answer


def as_nvidia_smi(kit: Kit) -> Outcome:
    found = topology(kit)
    expect(
        len(found["gpus"]) == len(kit.gpus),
        f"distgpu topo has {len(found['gpus'])} GPUs, nvidia-smi {len(kit.gpus)}",
        json.dumps(found, indent=1),
    )
    wrong = []
    for own, theirs in zip(found["gpus"], kit.gpus):
        if own["pci"] != theirs.pci:
            wrong.append(f"GPU {theirs.index}: {own['pci']}, nvidia-smi has {theirs.pci}")
        if own["uuid"] != theirs.uuid:
            wrong.append(f"GPU {theirs.index}: {own['uuid']}, nvidia-smi has {theirs.uuid}")
        if bool(own["mig"]) != (theirs.mig == "Enabled"):
            wrong.append(f"GPU {theirs.index}: MIG {own['mig']}, nvidia-smi has {theirs.mig}")
    expect(not wrong, "; ".join(wrong), json.dumps(found, indent=1))
    first = found["gpus"][0]
    line = f"{len(found['gpus'])} GPUs alike: address, UUID, MIG; the first is a {first['model']}"
    return passed(line, topology=found)


def as_the_kernel(kit: Kit) -> Outcome:
    wrong = []
    gpus = topology(kit)["gpus"]
    for gpu in gpus:
        device = pathlib.Path("/sys/bus/pci/devices") / gpu["pci"]
        numa = int((device / "numa_node").read_text())
        if (gpu["numa"] if gpu["numa"] is not None else -1) != numa and numa >= 0:
            wrong.append(f"{gpu['pci']}: NUMA node {gpu['numa']}, the kernel has {numa}")
        cpus = (device / "local_cpulist").read_text().strip()
        if gpu["cpus"] and cpus and numa >= 0 and gpu["cpus"] != cpus:
            wrong.append(f"{gpu['pci']}: CPUs {gpu['cpus']}, the kernel has {cpus}")
        told = pathlib.Path("/proc/driver/nvidia/gpus") / gpu["pci"] / "information"
        minor = [line.split()[-1] for line in told.read_text().splitlines() if "Minor" in line]
        if [str(gpu["minor"])] != minor:
            wrong.append(f"{gpu['pci']}: minor {gpu['minor']}, the driver has {minor}")
    expect(not wrong, "; ".join(wrong), json.dumps(gpus, indent=1))
    return passed(f"{len(gpus)} GPUs: NUMA node, CPUs and minor number as the kernel has them")


def order_of_cuda(kit: Kit) -> Outcome:
    """CUDA counts the fastest GPU first, but where CUDA_DEVICE_ORDER=PCI_BUS_ID is set."""
    facts: dict[str, Any] = {}
    for order in ("", "PCI_BUS_ID"):
        done = kit.run(
            [kit.python, kit.script("torch_facts.py")], 60, CUDA_DEVICE_ORDER=order or None
        )
        devices = [line for line in done.output.splitlines() if line.startswith("device.")]
        facts[order or "default"] = devices
    by_address = [gpu["pci"] for gpu in topology(kit)["gpus"]]
    got = [line.split()[1] for line in facts["PCI_BUS_ID"]]
    expect(got == by_address, f"with PCI_BUS_ID torch has {got}, distgpu topo {by_address}", "")
    same = facts["default"] == facts["PCI_BUS_ID"]
    line = f"PCI_BUS_ID is distgpu's order; CUDA's own is {'the same' if same else 'another'} here"
    return passed(line, **facts)


CASES = [
    Case("topo-nvidia-smi", "distgpu topo against nvidia-smi", 60, as_nvidia_smi),
    Case("topo-kernel", "distgpu topo against /sys and /proc", 60, as_the_kernel, ("gpu",)),
    Case("topo-cuda-order", "CUDA's order of GPUs", 150, order_of_cuda, ("gpu", "torch")),
]
