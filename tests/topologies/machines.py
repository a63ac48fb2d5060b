"""The machines: their CPUs and NUMA nodes, and which devices hang where."""

import devices as pci
from devices import amd, bmc, bridge, hca, host, nic, nvidia, nvidia_without_nvml, switch
from hwloc_xml import Bridge, Machine, Place, Threads


def x86_cores(first: int, last: int, sibling: int) -> tuple[Threads, ...]:
    """Two threads a core: Linux numbers the first thread of every core before the second ones."""
    return tuple((cpu, cpu + sibling) for cpu in range(first, last + 1))


def adjacent_cores(first: int, last: int, threads: int) -> tuple[Threads, ...]:
    """CPUs first .. last; a core's threads have adjacent numbers."""
    return tuple(tuple(range(cpu, cpu + threads)) for cpu in range(first, last + 1, threads))


def package(numa: int, cores: tuple[Threads, ...], *io: Bridge) -> Place:
    """A socket that is one NUMA node."""
    return Place("Package", numa, cores, io=io)


def h200_8numa() -> Machine:
    """NPS4: four NUMA nodes a socket. A GPU sits one switch further down than its HCA."""

    def gpu_and_hca(bus: int, drm_names: tuple[str, ...], name: str, active: bool) -> Bridge:
        gpu = nvidia_without_nvml(f"{bus + 6:02x}:00.0", pci.H200, *drm_names)
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
    return Machine(tuple(sockets))


def mi250x_ex235a() -> Machine:
    """Each GPU hangs at one die of eight cores, its pair's second one beside a NIC."""
    # By die: bus of the GPU, its number, bus of the NIC.
    dies = [
        (0xD1, 4, 0),
        (0xD6, 5, 0xD5),
        (0xC9, 2, 0),
        (0xCE, 3, 0xCD),
        (0xD9, 6, 0),
        (0xDE, 7, 0xDD),
        (0xC1, 0, 0),
        (0xC6, 1, 0xC5),
    ]

    def die(number: int) -> Place:
        bus, gpu, nic_bus = dies[number]
        root = (nic_bus or bus) - 1
        below = [
            bridge(f"{root:02x}:07.1", pci.TRENTO_PORT, amd(f"{bus:02x}:00.0", pci.MI250X, gpu))
        ]
        if nic_bus:
            slingshot = nic(f"{nic_bus:02x}:00.0", pci.SLINGSHOT, f"hsn{gpu // 2}")
            below.insert(0, bridge(f"{root:02x}:01.1", pci.TRENTO_PORT, slingshot))
        cores = x86_cores(8 * number, 8 * number + 7, 64)
        return Place("L3Cache", cores=cores, io=(host(*below),))

    numas = [Place("Group", n, inner=(die(2 * n), die(2 * n + 1))) for n in range(4)]
    return Machine((Place("Package", inner=tuple(numas)),))


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

    return Machine(
        (
            package(0, adjacent_cores(8, 87, 4), dual_port_card("0003", 0), gpus("0004", 0x04, 0)),
            package(
                8, adjacent_cores(96, 175, 4), dual_port_card("0033", 2), gpus("0035", 0x03, 2)
            ),
        )
    )


def one_socket_gpus() -> Machine:
    """Everything at socket 0: the first GPU shares a switch with the HCA."""
    gpu_and_hca = switch(
        "03",
        pci.PLX_SWITCH,
        nvidia("05:00.0", pci.P100, 0),
        hca("06:00.0", pci.CONNECTX5_IB, "mlx5_0"),
    )
    io = host(
        bridge("00:02.0", pci.XEON_V4_PORT, gpu_and_hca),
        bridge("00:03.0", pci.XEON_V4_PORT, nvidia("0a:00.0", pci.P100, 1)),
        bmc("00:1c.2", pci.XEON_V4_PORT, 0x0B),
    )
    ethernet = host(bridge("80:02.0", pci.XEON_V4_PORT, nic("81:00.0", pci.I350, "eno1")))
    return Machine(
        (package(0, x86_cores(0, 17, 36), io), package(1, x86_cores(18, 35, 36), ethernet))
    )


def efa_8gpu() -> Machine:
    """Four GPUs a socket, each at a port of its own; the only EFA is at socket 1."""

    def pair(root: int, first: int) -> Bridge:
        ports = (
            bridge(
                f"{root:02x}:0{2 * n}.0",
                pci.SKYLAKE_PORT,
                nvidia(f"{root + 1 + n:02x}:00.0", pci.T4, first + n),
            )
            for n in range(2)
        )
        return host(*ports)

    network = host(
        bridge("c2:00.0", pci.SKYLAKE_PORT, hca("c5:00.0", pci.EFA, "rdmap197s0")),
        bridge("c2:02.0", pci.SKYLAKE_PORT, nic("c6:00.0", pci.ENA, "eth0")),
    )
    return Machine(
        (
            package(0, x86_cores(0, 23, 48), pair(0x17, 0), pair(0x34, 2)),
            package(1, x86_cores(24, 47, 48), network, pair(0xE6, 4), pair(0xF3, 6)),
        )
    )


def dgx2() -> Machine:
    """Sixteen GPUs, four to a switch, and no HCA."""

    def four(root: int, buses: tuple[int, ...], first: int) -> Bridge:
        gpus = (nvidia(f"{bus:02x}:00.0", pci.V100_SXM3, first + n) for n, bus in enumerate(buses))
        board = switch(f"{root + 1:02x}", pci.PLX_SWITCH, *gpus)
        return host(bridge(f"{root:02x}:00.0", pci.SKYLAKE_PORT, board))

    return Machine(
        (
            package(
                0,
                x86_cores(0, 23, 48),
                four(0x30, (0x34, 0x36, 0x39, 0x3B), 0),
                four(0x53, (0x57, 0x59, 0x5C, 0x5E), 4),
            ),
            package(
                1,
                x86_cores(24, 47, 48),
                four(0xB3, (0xB7, 0xB9, 0xBC, 0xBE), 8),
                four(0xDC, (0xE0, 0xE2, 0xE5, 0xE7), 12),
            ),
        )
    )


def mi300a(partitions: int) -> Machine:
    """Four sockets, each CPU and GPU in one; a GPU counts as `partitions` GPUs."""

    def apu(n: int) -> Place:
        gpu = amd(f"000{n}:01:00.0", pci.MI300A, n * partitions, partitions)
        io = host(
            bridge(f"000{n}:00:01.1", pci.ZEN4_PORT, gpu),
            bridge(
                f"000{n}:00:03.1",
                pci.ZEN4_PORT,
                nic(f"000{n}:21:00.0", pci.SLINGSHOT, f"hsn{n}", "Slingshot"),
            ),
        )
        return package(n, x86_cores(24 * n, 24 * n + 23, 96), io)

    return Machine(tuple(apu(n) for n in range(4)))


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
    management = bridge("00:01.0", pci.QEMU_PORT, hca("01:00.0", pci.CONNECTX_VF, "mlx5_0"))
    gpus = [
        bridge(f"00:02.{n}", pci.QEMU_PORT, nvidia(f"{2 + n:02x}:00.0", pci.H100, n))
        for n in range(8)
    ]
    hcas = [
        bridge(
            f"00:03.{n}",
            pci.QEMU_PORT,
            hca(f"{10 + n:02x}:00.0", pci.CONNECTX7_ROCE, f"mlx5_{1 + n}"),
        )
        for n in range(8)
    ]
    packages = (package(0, adjacent_cores(0, 47, 2)), package(1, adjacent_cores(48, 95, 2)))
    return Machine(packages, io=(host(management, *gpus, *hcas),))


MACHINES = {
    "h200-8numa": h200_8numa(),
    "mi250x-ex235a": mi250x_ex235a(),
    "power9-4v100": power9_4v100(),
    "one-socket-gpus": one_socket_gpus(),
    "efa-8gpu": efa_8gpu(),
    "dgx2": dgx2(),
    "mi300a-spx": mi300a(partitions=1),
    "mi300a-tpx": mi300a(partitions=3),
    "mi300a-cpx": mi300a(partitions=6),
    "coherent-gpu-numa": coherent_gpu_numa(),
    "cloud-flat": cloud_flat(),
}
