#!/usr/bin/env python3
"""Prints the hwloc XML of a made-up node with the CPUs of this machine, for a sandbox's nodes.

Two NUMA nodes, each with half of the CPUs, two GPUs and an HCA. The first half of
the CPUs is near the second half of the GPUs.
"""

import os
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "topologies"))

# pylint: disable=wrong-import-position
import devices as pci  # noqa: E402
from devices import bridge, hca, host, nvidia, switch  # noqa: E402
from hwloc_xml import Bridge, Machine, Place, xml_text  # noqa: E402


def side(bus: int, first_gpu: int, hca_name: str) -> Bridge:
    """Two GPUs and an HCA behind one switch."""
    devices = (
        nvidia(f"{bus + 3:02x}:00.0", pci.H200, first_gpu),
        nvidia(f"{bus + 4:02x}:00.0", pci.H200, first_gpu + 1),
        hca(f"{bus + 5:02x}:00.0", pci.CONNECTX7_IB, hca_name),
    )
    below = switch(f"{bus + 1:02x}", pci.PEX_SWITCH, *devices)
    return host(bridge(f"{bus:02x}:01.1", pci.ZEN4_PORT, below))


def machine(cpus: list[int]) -> Machine:
    """Cores of one thread each."""
    half = len(cpus) // 2
    cores = [tuple((cpu,) for cpu in part) for part in (cpus[:half], cpus[half:])]
    return Machine(
        (
            Place("Package", 0, cores[0], io=(side(0x90, 2, "mlx5_1"),)),
            Place("Package", 1, cores[1], io=(side(0x10, 0, "mlx5_0"),)),
        )
    )


if __name__ == "__main__":
    sys.stdout.write(xml_text(machine(sorted(os.sched_getaffinity(0)))))
