#!/usr/bin/env python3
"""The machines: their CPUs, NUMA nodes and devices. README.md says which they are.

machines.py FOLDER      writes the hwloc XML of each
machines.py here        prints that of a node with the CPUs of this machine, for a sandbox's nodes
"""

import os
import sys
from pathlib import Path

import devices as pci
from devices import amd, bmc, bridge, hca, host, nic, nvidia, only_drm, switch
from hwloc_xml import Bridge, Device, Machine, Place, Threads, xml_text


def x86_cores(first: int, last: int, sibling: int) -> tuple[Threads, ...]:
    """Two threads a core: Linux numbers the first thread of every core before the second ones."""
    return tuple((cpu, cpu + sibling) for cpu in range(first, last + 1))


def adjacent_cores(first: int, last: int, threads: int) -> tuple[Threads, ...]:
    """CPUs first .. last; a core's threads have adjacent numbers."""
    return tuple(tuple(range(cpu, cpu + threads)) for cpu in range(first, last + 1, threads))


def package(numa: int, cores: tuple[Threads, ...], *io: Bridge) -> Place:
    """A socket that is one NUMA node."""
    return Place("Package", numa, cores, io=io)


def machine(*packages: Place, io: tuple[Bridge, ...] = ()) -> Machine:
    return Machine(packages, io=io)


def h200_8numa() -> Machine:
    """NPS4: four NUMA nodes a socket. A GPU sits one switch further down than its HCA."""

    def gpu_and_hca(bus: int, drm_names: tuple[str, ...], name: str, active: bool) -> Bridge:
        gpu = only_drm(f"{bus + 6:02x}:00.0", pci.H200, *drm_names)
        card = hca(f"{bus + 3:02x}:00.0", pci.CONNECTX7_IB, name, active)
        below_card = switch(f"{bus + 4:02x}", pci.PEX_SWITCH, gpu)
        both = switch(f"{bus + 1:02x}", pci.PEX_SWITCH, card, below_card)
        return bridge(f"{bus:02x}:01.1", pci.ZEN4_PORT, both)

    ethernet = bridge(
        "00:03.1",
        pci.ZEN4_PORT,
        hca("08:00.0", pci.CONNECTX6_DX, "mlx5_1", active=False),
        hca("08:00.1", pci.CONNECTX6_DX, "mlx5_2", active=False),
    )
    io = {
        0: (host(bmc("20:05.1", pci.ZEN4_PORT, 0x21)),),
        1: (host(gpu_and_hca(0x00, ("card1", "renderD128"), "mlx5_0", False), ethernet),),
        2: (host(gpu_and_hca(0x10, ("card2", "renderD129"), "mlx5_3", False)),),
        6: (host(gpu_and_hca(0x90, ("card3", "renderD130"), "mlx5_4", True)),),
        7: (host(gpu_and_hca(0xE0, ("card4", "renderD131"), "mlx5_5", True)),),
    }
    nodes = []
    for numa in range(8):
        cores = x86_cores(16 * numa, 16 * numa + 15, 128)
        nodes.append(Place("Group", numa, cores, io=io.get(numa, ())))
    sockets = (Place("Package", inner=tuple(half)) for half in (nodes[:4], nodes[4:]))
    return machine(*sockets)


def mi250x_ex235a() -> Machine:
    """Each GPU hangs at one die of eight cores, its pair's second one beside a NIC."""
    buses = (0xD1, 0xD6, 0xC9, 0xCE, 0xD9, 0xDE, 0xC1, 0xC6)  # of the GPUs, by die

    def die(number: int) -> Place:
        bus, gpu = buses[number], (4, 5, 2, 3, 6, 7, 0, 1)[number]
        root = bus - 1 - number % 2
        below = [
            bridge(f"{root:02x}:07.1", pci.TRENTO_PORT, amd(f"{bus:02x}:00.0", pci.MI250X, gpu))
        ]
        if number % 2:
            slingshot = nic(f"{bus - 1:02x}:00.0", pci.SLINGSHOT, f"hsn{gpu // 2}")
            below.insert(0, bridge(f"{root:02x}:01.1", pci.TRENTO_PORT, slingshot))
        cores = x86_cores(8 * number, 8 * number + 7, 64)
        return Place("L3Cache", cores=cores, io=(host(*below),))

    numas = [Place("Group", n, inner=(die(2 * n), die(2 * n + 1))) for n in range(4)]
    return machine(Place("Package", inner=tuple(numas)))


def power9_4v100() -> Machine:
    """Four threads a core; NUMA nodes 0 and 8; each host bridge is a PCI domain."""

    def gpus(domain: str, bus: int, first: int) -> Bridge:
        pair = (nvidia(f"{domain}:{bus + n:02x}:00.0", pci.V100_SXM2, first + n) for n in range(2))
        card = switch(f"{domain}:01", pci.PLX_SWITCH, *pair)
        return host(bridge(f"{domain}:00:00.0", pci.POWER9_PORT, card))

    def dual_port_card(domain: str, first: int) -> Bridge:
        ports = (
            hca(f"{domain}:01:00.{n}", pci.CONNECTX5_EX, f"mlx5_{first + n}") for n in range(2)
        )
        return host(bridge(f"{domain}:00:00.0", pci.POWER9_PORT, *ports))

    return machine(
        package(0, adjacent_cores(8, 87, 4), dual_port_card("0003", 0), gpus("0004", 0x04, 0)),
        package(8, adjacent_cores(96, 175, 4), dual_port_card("0033", 2), gpus("0035", 0x03, 2)),
    )


def one_socket_gpus() -> Machine:
    """Everything at socket 0: the first GPU shares a switch with the HCA."""
    first, card = nvidia("05:00.0", pci.P100, 0), hca("06:00.0", pci.CONNECTX5_IB, "mlx5_0")
    io = host(
        bridge("00:02.0", pci.XEON_V4_PORT, switch("03", pci.PLX_SWITCH, first, card)),
        bridge("00:03.0", pci.XEON_V4_PORT, nvidia("0a:00.0", pci.P100, 1)),
        bmc("00:1c.2", pci.XEON_V4_PORT, 0x0B),
    )
    ethernet = host(bridge("80:02.0", pci.XEON_V4_PORT, nic("81:00.0", pci.I350, "eno1")))
    return machine(
        package(0, x86_cores(0, 17, 36), io), package(1, x86_cores(18, 35, 36), ethernet)
    )


def efa_8gpu() -> Machine:
    """Four GPUs a socket, each at a port of its own; the only EFA is at socket 1."""

    def pair(root: int, first: int) -> Bridge:
        gpus = [nvidia(f"{root + 1 + n:02x}:00.0", pci.T4, first + n) for n in range(2)]
        ports = (bridge(f"{root:02x}:0{2 * n}.0", pci.SKYLAKE_PORT, gpus[n]) for n in range(2))
        return host(*ports)

    network = host(
        bridge("c2:00.0", pci.SKYLAKE_PORT, hca("c5:00.0", pci.EFA, "rdmap197s0")),
        bridge("c2:02.0", pci.SKYLAKE_PORT, nic("c6:00.0", pci.ENA, "eth0")),
    )
    return machine(
        package(0, x86_cores(0, 23, 48), pair(0x17, 0), pair(0x34, 2)),
        package(1, x86_cores(24, 47, 48), network, pair(0xE6, 4), pair(0xF3, 6)),
    )


def dgx2() -> Machine:
    """Sixteen GPUs, four to a switch, and no HCA."""

    def four(root: int, buses: tuple[int, ...], first: int) -> Bridge:
        gpus = (nvidia(f"{bus:02x}:00.0", pci.V100_SXM3, first + n) for n, bus in enumerate(buses))
        board = switch(f"{root + 1:02x}", pci.PLX_SWITCH, *gpus)
        return host(bridge(f"{root:02x}:00.0", pci.SKYLAKE_PORT, board))

    first = four(0x30, (0x34, 0x36, 0x39, 0x3B), 0), four(0x53, (0x57, 0x59, 0x5C, 0x5E), 4)
    second = four(0xB3, (0xB7, 0xB9, 0xBC, 0xBE), 8), four(0xDC, (0xE0, 0xE2, 0xE5, 0xE7), 12)
    return machine(
        package(0, x86_cores(0, 23, 48), *first), package(1, x86_cores(24, 47, 48), *second)
    )


def mi300a(partitions: int) -> Machine:
    """Four sockets, each CPU and GPU in one; a GPU counts as `partitions` GPUs."""

    def apu(n: int) -> Place:
        gpu = amd(f"000{n}:01:00.0", pci.MI300A, n * partitions, partitions)
        slingshot = nic(f"000{n}:21:00.0", pci.SLINGSHOT, f"hsn{n}", "Slingshot")
        gpu_port = bridge(f"000{n}:00:01.1", pci.ZEN4_PORT, gpu)
        nic_port = bridge(f"000{n}:00:03.1", pci.ZEN4_PORT, slingshot)
        return package(n, x86_cores(24 * n, 24 * n + 23, 96), host(gpu_port, nic_port))

    return machine(*map(apu, range(4)))


def coherent_gpu_numa() -> Machine:
    """Two superchips. The GPUs' memory are NUMA nodes 2 and 10 (each GPU takes eight numbers)."""

    def superchip(n: int) -> Place:
        gpu = bridge(f"00{n}9:00:00.0", pci.GRACE_PORT, nvidia(f"00{n}9:01:00.0", pci.GH200, n))
        card = hca(f"00{n}0:01:00.0", pci.CONNECTX7_IB, f"mlx5_{n}")
        card_port = bridge(f"00{n}0:00:00.0", pci.GRACE_PORT, card)
        return package(n, adjacent_cores(72 * n, 72 * n + 71, 1), host(card_port), host(gpu))

    return Machine((superchip(0), superchip(1)), cpuless_numas=(2, 10))


def cloud_flat() -> Machine:
    """A virtual machine: all devices on one bus that belongs to no NUMA node."""

    def port(slot: int, n: int, device: Device) -> Bridge:
        return bridge(f"00:0{slot}.{n}", pci.QEMU_PORT, device)

    management = port(1, 0, hca("01:00.0", pci.CONNECTX_VF, "mlx5_0"))
    gpus = [port(2, n, nvidia(f"{2 + n:02x}:00.0", pci.H100, n)) for n in range(8)]
    roce = [hca(f"{10 + n:02x}:00.0", pci.CONNECTX7_ROCE, f"mlx5_{1 + n}") for n in range(8)]
    hcas = [port(3, n, roce[n]) for n in range(8)]
    packages = package(0, adjacent_cores(0, 47, 2)), package(1, adjacent_cores(48, 95, 2))
    return machine(*packages, io=(host(management, *gpus, *hcas),))


def v100_fpga() -> Machine:
    """A GPU at each socket; an FPGA and the onboard screen, an ATI chip, have lower addresses."""
    screen = bridge("00:1e.0", pci.ICH_BRIDGE, only_drm("01:03.0", pci.ATI_SCREEN, "card0"))
    fpga = bridge("17:00.0", pci.SKYLAKE_PORT, Device("18:00.0", pci.ALVEO_U280))
    first = bridge("17:02.0", pci.SKYLAKE_PORT, nvidia("19:00.0", pci.V100_PCIE, 0))
    second = bridge("ae:00.0", pci.SKYLAKE_PORT, nvidia("af:00.0", pci.V100_PCIE, 1))
    card = bridge("ae:02.0", pci.SKYLAKE_PORT, hca("b0:00.0", pci.CONNECTX5_IB, "mlx5_0"))
    return machine(
        package(0, x86_cores(0, 9, 20), host(screen), host(fpga, first)),
        package(1, x86_cores(10, 19, 20), host(second, card)),
    )


def two_vendors() -> Machine:
    """Two NVIDIA GPUs at socket 0; an AMD GPU and the HCA at socket 1."""
    first = bridge("01:01.0", pci.ROME_PORT, nvidia("02:00.0", pci.A100, 0))
    second = bridge("41:01.0", pci.ROME_PORT, nvidia("42:00.0", pci.A100, 1))
    other = bridge("c0:01.1", pci.ROME_PORT, amd("c1:00.0", pci.MI210, 0))
    card = bridge("e0:01.1", pci.ROME_PORT, hca("e1:00.0", pci.CONNECTX7_IB, "mlx5_0"))
    return machine(
        package(0, x86_cores(0, 15, 32), host(first), host(second)),
        package(1, x86_cores(16, 31, 32), host(other), host(card)),
    )


def pvc_4gpu() -> Machine:
    """Two Intel GPUs a socket, and no HCA."""

    def pair(root: int, first: int) -> tuple[Bridge, ...]:
        gpus = []
        for n in range(2):
            names = f"card{first + n}", f"renderD{128 + first + n}"
            gpu = only_drm(f"{root + 16 * n + 1:02x}:00.0", pci.MAX_1550, *names)
            gpus.append(host(bridge(f"{root + 16 * n:02x}:01.0", pci.SAPPHIRE_PORT, gpu)))
        return tuple(gpus)

    return machine(
        package(0, x86_cores(0, 47, 96), *pair(0x18, 0)),
        package(1, x86_cores(48, 95, 96), *pair(0x98, 2)),
    )


def p5_efa() -> Machine:
    """Behind each of eight switches four EFA and a GPU; four switches a socket."""

    def four_efa_and_gpu(n: int) -> Bridge:
        bus = 0x4F + 0x11 * n
        cards = (hca(f"{bus + i:02x}:00.0", pci.EFA, f"rdmap{bus + i}s0") for i in range(4))
        gpu = nvidia(f"{bus + 4:02x}:00.0", pci.H100, n)
        below = switch(f"{bus - 2:02x}", pci.PEX_SWITCH, *cards, gpu)
        return host(bridge(f"{bus - 3:02x}:00.0", pci.ROME_PORT, below))

    return machine(
        package(0, x86_cores(0, 47, 96), *(four_efa_and_gpu(n) for n in range(4))),
        package(1, x86_cores(48, 95, 96), *(four_efa_and_gpu(n) for n in range(4, 8))),
    )


def gb200() -> Machine:
    """Two Grace, each with two GPUs and two HCAs, and every device is a PCI domain."""

    def superchip(n: int) -> Place:
        below = []
        for i in range(2):
            gpu, card = f"00{n}{8 + i}", f"00{n}{2 * i}"
            device = nvidia(f"{gpu}:01:00.0", pci.GB200, 2 * n + i)
            port = hca(f"{card}:03:00.0", pci.CONNECTX7_IB, f"mlx5_{2 * n + i}")
            below.append(host(bridge(f"{gpu}:00:00.0", pci.GRACE_PORT, device)))
            below.append(host(bridge(f"{card}:00:00.0", pci.GRACE_PORT, port)))
        return package(n, adjacent_cores(72 * n, 72 * n + 71, 1), *below)

    return Machine((superchip(0), superchip(1)), cpuless_numas=(2, 10, 18, 26))


def roce_bond() -> Machine:
    """Two GPUs a socket. Both ports of a card are one bond, and so one HCA, of its first port."""

    def gpu(bus: int, index: int) -> Bridge:
        return host(
            bridge(f"{bus:02x}:01.1", pci.ROME_PORT, nvidia(f"{bus + 1:02x}:00.0", pci.A100, index))
        )

    card = bridge(
        "60:03.1",
        pci.ROME_PORT,
        hca("61:00.0", pci.CONNECTX6_DX, "mlx5_bond_0"),
        nic("61:00.1", pci.CONNECTX6_DX, "eth1"),
    )
    return machine(
        package(0, x86_cores(0, 31, 64), gpu(0x00, 0), gpu(0x40, 1), host(card)),
        package(1, x86_cores(32, 63, 64), gpu(0x80, 2), gpu(0xC0, 3)),
    )


def this_machine() -> Machine:
    """Its CPUs as cores of one thread each: two NUMA nodes, each with half of them, two GPUs and an
    HCA behind one switch. The first half of the CPUs is near the second half of the GPUs."""

    def side(bus: int, first: int, name: str) -> Bridge:
        gpus = [nvidia(f"{bus + 3 + n:02x}:00.0", pci.H200, first + n) for n in range(2)]
        card = hca(f"{bus + 5:02x}:00.0", pci.CONNECTX7_IB, name)
        below = switch(f"{bus + 1:02x}", pci.PEX_SWITCH, *gpus, card)
        return host(bridge(f"{bus:02x}:01.1", pci.ZEN4_PORT, below))

    cpus = [(cpu,) for cpu in sorted(os.sched_getaffinity(0))]
    half = len(cpus) // 2
    near, far = side(0x90, 2, "mlx5_1"), side(0x10, 0, "mlx5_0")
    return machine(package(0, tuple(cpus[:half]), near), package(1, tuple(cpus[half:]), far))


MACHINES = {
    "h200-8numa": h200_8numa(),
    "mi250x-ex235a": mi250x_ex235a(),
    "power9-4v100": power9_4v100(),
    "one-socket-gpus": one_socket_gpus(),
    "efa-8gpu": efa_8gpu(),
    "dgx2": dgx2(),
    "mi300a-tpx": mi300a(partitions=3),
    "mi300a-cpx": mi300a(partitions=6),
    "coherent-gpu-numa": coherent_gpu_numa(),
    "cloud-flat": cloud_flat(),
    "v100-fpga": v100_fpga(),
    "two-vendors": two_vendors(),
    "pvc-4gpu": pvc_4gpu(),
    "p5-efa": p5_efa(),
    "gb200": gb200(),
    "roce-bond": roce_bond(),
}

if __name__ == "__main__":
    if sys.argv[1] == "here":
        print(xml_text(this_machine()), end="")
        sys.exit()
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.xml"):
        old.unlink()
    for name, made in MACHINES.items():
        (folder / f"{name}.xml").write_text(xml_text(made))
