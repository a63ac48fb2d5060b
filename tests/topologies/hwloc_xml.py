"""What a machine consists of, and its hwloc 2 XML in the form that lstopo writes."""

from dataclasses import dataclass, field
from typing import Iterable, Iterator
from xml.etree import ElementTree

Threads = tuple[int, ...]  # the operating system's numbers of one core's hardware threads

# hwloc_obj_osdev_type_t of hwloc 2.
GPU, NET, OPENFABRICS = 1, 2, 3

# What a kind of place has instead of the system's number.
ATTRIBUTES = {
    "Group": {"kind": "1001", "subkind": "0"},  # hwloc's group of one NUMA node
    # A cache says where devices hang, its size decides nothing: 32 MB, as on a die of eight cores.
    "L3Cache": {"cache_size": "33554432", "depth": "3", "cache_linesize": "64"}
    | {"cache_associativity": "16", "cache_type": "0"},
}


@dataclass(frozen=True)
class OsDevice:
    """What the operating system or a vendor's library calls a PCI device."""

    name: str
    kind: int
    subtype: str = ""
    infos: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Model:
    """A PCI device's kind: class, vendor:device, name, and its link's speed in GB/s."""

    pci_class: str
    ids: str
    name: str
    speed: float


@dataclass(frozen=True)
class Device:
    """One PCI function; addresses without a domain are of domain 0."""

    address: str
    model: Model
    os_devices: tuple[OsDevice, ...] = ()


@dataclass(frozen=True)
class Bridge:
    """A PCI bridge and what is below it; without an address: a host bridge."""

    below: "tuple[Bridge | Device, ...]"
    address: str = ""
    model: Model | None = None


@dataclass(frozen=True)
class Place:
    """A part of the machine that shares memory or a cache, and the PCI devices at it."""

    kind: str  # hwloc's type: Package, Group, L3Cache
    numa: int | None = None  # the NUMA node whose CPUs these are
    cores: tuple[Threads, ...] = ()
    inner: "tuple[Place, ...]" = ()
    io: tuple[Bridge, ...] = ()

    def cpus(self) -> set[int]:
        return {cpu for core in self.cores for cpu in core}.union(*(p.cpus() for p in self.inner))

    def numas(self) -> set[int]:
        own = set() if self.numa is None else {self.numa}
        return own.union(*(p.numas() for p in self.inner))


@dataclass(frozen=True)
class Machine:
    packages: tuple[Place, ...]
    cpuless_numas: tuple[int, ...] = ()  # memory of GPUs
    io: tuple[Bridge, ...] = ()  # devices whose place the firmware does not tell


def bitmap(numbers: Iterable[int]) -> str:
    """hwloc's text of a set: words of 32 bits, the highest first."""
    value = sum(1 << number for number in set(numbers))
    words = []
    while value:
        words.append(f"0x{value & 0xFFFFFFFF:08x}")
        value >>= 32
    return ",".join(reversed(words)) or "0x0"


def sets(cpus: set[int], numas: set[int]) -> dict[str, str]:
    """The attributes of an object that has CPUs; nothing is offline, so both pairs agree."""
    pairs = {"cpuset": bitmap(cpus), "nodeset": bitmap(numas)}
    return pairs | {f"complete_{name}": value for name, value in pairs.items()}


def full_address(address: str) -> str:
    return address if address.count(":") == 2 else f"0000:{address}"


def parts_below(bridge: Bridge) -> "Iterator[Bridge | Device]":
    for part in bridge.below:
        yield part
        if isinstance(part, Bridge):
            yield from parts_below(part)


def buses_below(bridge: Bridge) -> str:
    """The bridge's domain and its first and last bus, as hwloc writes them."""
    addresses = [full_address(part.address) for part in parts_below(bridge)]
    numbers = sorted(int(address.split(":")[1], 16) for address in addresses)
    return f"{addresses[0][:4]}:[{numbers[0]:02x}-{numbers[-1]:02x}]"


def info(parent: ElementTree.Element, name: str, value: str) -> None:
    ElementTree.SubElement(parent, "info", name=name, value=value)


def topology(machine: Machine) -> ElementTree.Element:
    root = ElementTree.Element("topology", version="2.0")
    cpus = set[int]().union(*(package.cpus() for package in machine.packages))
    numas = set(machine.cpuless_numas).union(*(p.numas() for p in machine.packages))
    allowed = {"allowed_cpuset": bitmap(cpus), "allowed_nodeset": bitmap(numas)}
    top = add(root, {"type": "Machine", "os_index": "0"} | sets(cpus, numas) | allowed)
    for numa in machine.cpuless_numas:
        add_numa_node(top, numa, set())
    for number, package in enumerate(machine.packages):
        add_place(top, package, package.numas(), number)
    for bridge in machine.io:
        add_pci(top, bridge, 0)
    for number, each in enumerate(root.iter("object"), 1):
        each.set("gp_index", str(number))
    return root


def add(parent: ElementTree.Element, attributes: dict[str, str]) -> ElementTree.Element:
    return ElementTree.SubElement(parent, "object", attributes)


def add_numa_node(parent: ElementTree.Element, numa: int, cpus: set[int]) -> None:
    own = {"type": "NUMANode", "os_index": str(numa), "local_memory": str(64 << 30)}
    add(parent, own | sets(cpus, {numa}))


def add_place(parent: ElementTree.Element, place: Place, numas: set[int], number: int) -> None:
    own = {"type": place.kind, **ATTRIBUTES.get(place.kind, {"os_index": str(number)})}
    here = add(parent, own | sets(place.cpus(), numas))
    if place.numa is not None:
        add_numa_node(here, place.numa, place.cpus())
    for position, inner in enumerate(place.inner):
        add_place(here, inner, inner.numas() or numas, position)
    for position, threads in enumerate(place.cores):
        core = {"type": "Core", "os_index": str(position)} | sets(set(threads), numas)
        in_core = add(here, core)
        for cpu in threads:
            add(in_core, {"type": "PU", "os_index": str(cpu)} | sets({cpu}, numas))
    for bridge in place.io:
        add_pci(here, bridge, 0)


def add_pci(parent: ElementTree.Element, part: Bridge | Device, depth: int) -> None:
    own = {"type": "PCIDev"}
    if isinstance(part, Bridge):
        own = {"type": "Bridge", "depth": str(depth), "bridge_pci": buses_below(part)}
        own["bridge_type"] = "1-1" if part.model else "0-1"
    if part.model:
        own["pci_busid"] = full_address(part.address)
        own["pci_type"] = f"{part.model.pci_class} [{part.model.ids}] [0000:0000] 00"
        own["pci_link_speed"] = f"{part.model.speed:f}"
    here = add(parent, own)
    if part.model:
        info(here, "PCIDevice", part.model.name)
    if isinstance(part, Bridge):
        for inner in part.below:
            add_pci(here, inner, depth + 1)
        return
    for device in part.os_devices:
        own = {"type": "OSDev", "name": device.name, "osdev_type": str(device.kind)}
        inside = add(here, own | ({"subtype": device.subtype} if device.subtype else {}))
        for name, value in device.infos.items():
            info(inside, name, value)


def xml_text(machine: Machine) -> str:
    root = topology(machine)
    ElementTree.indent(root)
    head = '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE topology SYSTEM "hwloc2.dtd">\n'
    return head + ElementTree.tostring(root, encoding="unicode") + "\n"
