#!/usr/bin/env python3
"""Prints the hwloc XML of a made-up node of 256 CPUs, 8 NUMA nodes, 8 GPUs and 8 HCAs."""

import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "topologies"))

# pylint: disable=wrong-import-position
import devices as pci  # noqa: E402
from devices import bridge, hca, host, nvidia, switch  # noqa: E402
from hwloc_xml import Bridge, Machine, Place, xml_text  # noqa: E402
from machines import x86_cores  # noqa: E402


def gpu_and_hca(number: int) -> Bridge:
    """Behind one switch."""
    bus = 0x10 * number
    gpu = nvidia(f"{bus + 5:02x}:00.0", pci.H200, number)
    card = hca(f"{bus + 6:02x}:00.0", pci.CONNECTX7_IB, f"mlx5_{number}")
    below = switch(f"{bus + 1:02x}", pci.PEX_SWITCH, gpu, card)
    return host(bridge(f"{bus:02x}:01.1", pci.ZEN4_PORT, below))


def numa_node(number: int) -> Place:
    """16 cores of two threads."""
    cores = x86_cores(16 * number, 16 * number + 15, 128)
    return Place("Group", number, cores, io=(gpu_and_hca(number),))


if __name__ == "__main__":
    nodes = [numa_node(number) for number in range(8)]
    sockets = (Place("Package", inner=tuple(half)) for half in (nodes[:4], nodes[4:]))
    sys.stdout.write(xml_text(Machine(tuple(sockets))))
