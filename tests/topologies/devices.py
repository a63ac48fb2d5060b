"""The PCI devices of the machines: their models, and what the system calls each of them.

Ids and names are those of pci.ids; where its copy of 2023 lacks one, the maker's.
"""

from hwloc_xml import GPU, NET, OPENFABRICS, Bridge, Device, Model, OsDevice

# Speed of a link in GB/s: lanes and generation of PCI Express.
GEN1_X1, GEN2_X4 = 0.25, 2.0
GEN3_X8, GEN3_X16 = 7.876923, 15.753846
GEN4_X16, GEN5_X16 = 31.507692, 63.015385

P100 = Model("0302", "10de:15f8", "GP100GL [Tesla P100 PCIe 16GB]", GEN3_X16)
V100_PCIE = Model("0302", "10de:1db4", "GV100GL [Tesla V100 PCIe 16GB]", GEN3_X16)
V100_SXM2 = Model("0302", "10de:1db1", "GV100GL [Tesla V100 SXM2 16GB]", GEN3_X16)
V100_SXM3 = Model("0302", "10de:1db8", "GV100GL [Tesla V100 SXM3 32GB]", GEN3_X16)
T4 = Model("0302", "10de:1eb8", "TU104GL [Tesla T4]", GEN3_X16)
A100 = Model("0302", "10de:20f1", "GA100 [A100 PCIe 40GB]", GEN4_X16)
H100 = Model("0302", "10de:2330", "GH100 [H100 SXM5 80GB]", GEN5_X16)
H200 = Model("0302", "10de:2335", "GH100 [H200 SXM 141GB]", GEN5_X16)
GH200 = Model("0302", "10de:2342", "GH100 [GH200 120GB / 480GB]", GEN5_X16)
GB200 = Model("0302", "10de:2941", "GB100 [HGX GB200]", GEN5_X16)
MI210 = Model("0380", "1002:740f", "Aldebaran/MI200 [Instinct MI210]", GEN4_X16)
MI250X = Model("0380", "1002:7408", "Aldebaran/MI200 [Instinct MI250X]", GEN4_X16)
MI300A = Model("1200", "1002:74a0", "Aqua Vanjaram [Instinct MI300A]", GEN5_X16)
MAX_1550 = Model(
    "0380", "8086:0bd5", "Ponte Vecchio XT (2 Tile) [Data Center GPU Max 1550]", GEN5_X16
)
ALVEO_U280 = Model("1200", "10ee:500c", "Alveo U280 XDMA Platform", GEN3_X16)

CONNECTX5_IB = Model("0207", "15b3:1017", "MT27800 Family [ConnectX-5]", GEN3_X16)
CONNECTX5_EX = Model("0207", "15b3:1019", "MT28800 Family [ConnectX-5 Ex]", GEN3_X16)
CONNECTX6_DX = Model("0200", "15b3:101d", "MT2892 Family [ConnectX-6 Dx]", GEN4_X16)
CONNECTX7_IB = Model("0207", "15b3:1021", "MT2910 Family [ConnectX-7]", GEN5_X16)
CONNECTX7_ROCE = Model("0200", "15b3:1021", "MT2910 Family [ConnectX-7]", GEN5_X16)
CONNECTX_VF = Model("0200", "15b3:101e", "ConnectX Family mlx5Gen Virtual Function", GEN3_X8)
SLINGSHOT = Model("0200", "17db:0501", "Cassini", GEN4_X16)
EFA = Model("0200", "1d0f:efa0", "Elastic Fabric Adapter (EFA)", GEN3_X16)
ENA = Model("0200", "1d0f:ec20", "Elastic Network Adapter (ENA)", GEN3_X16)
I350 = Model("0200", "8086:1521", "I350 Gigabit Network Connection", GEN2_X4)
BMC_SCREEN = Model("0300", "1a03:2000", "ASPEED Graphics Family", 0)
ATI_SCREEN = Model("0300", "1002:515e", "ES1000", 0)

BMC_BRIDGE = Model("0604", "1a03:1150", "AST1150 PCI-to-PCI Bridge", GEN1_X1)
ICH_BRIDGE = Model("0604", "8086:244e", "82801 PCI Bridge", 0)
XEON_V4_PORT = Model("0604", "8086:6f04", "Xeon E5 v4 PCI Express Root Port 2", GEN3_X16)
SKYLAKE_PORT = Model("0604", "8086:2030", "Sky Lake-E PCI Express Root Port A", GEN3_X16)
TRENTO_PORT = Model("0604", "1022:14bf", "PCIe GPP Bridge", GEN4_X16)
ZEN4_PORT = Model("0604", "1022:14ab", "Genoa/Bergamo PCIe GPP Bridge", GEN5_X16)
POWER9_PORT = Model("0604", "1014:04c1", "POWER9 Host Bridge (PHB4)", GEN3_X16)
ROME_PORT = Model("0604", "1022:1483", "Starship/Matisse GPP Bridge", GEN4_X16)
SAPPHIRE_PORT = Model("0604", "8086:352a", "Sapphire Rapids PCI Express Root Port", GEN5_X16)
GRACE_PORT = Model("0604", "10de:22b2", "Grace PCIe Root Port", GEN5_X16)
QEMU_PORT = Model("0604", "1b36:000c", "QEMU PCIe Root port", GEN5_X16)
PLX_SWITCH = Model("0604", "10b5:8796", "PEX 8796 PCI Express Gen 3 Switch", GEN3_X16)
PEX_SWITCH = Model("0604", "1000:c030", "PEX890xx PCIe Gen 5 Switch", GEN5_X16)


def host(*below: Bridge | Device) -> Bridge:
    return Bridge(below)


def bridge(address: str, model: Model, *below: Bridge | Device) -> Bridge:
    return Bridge(below, address, model)


def switch(bus: str, model: Model, *below: Bridge | Device) -> Bridge:
    """An upstream bridge on `bus` and, on the next one, a downstream bridge to each part."""
    next_bus = f"{bus[:-2]}{int(bus[-2:], 16) + 1:02x}"
    downstream = (bridge(f"{next_bus}:{n:02x}.0", model, part) for n, part in enumerate(below))
    return bridge(f"{bus}:00.0", model, *downstream)


def digits(address: str) -> str:
    """The address as twelve hexadecimal digits, for ids that must differ between devices."""
    return address.replace(":", "").replace(".", "").zfill(12)


def nvidia(address: str, model: Model, index: int) -> Device:
    infos = {"Backend": "NVML", "GPUVendor": "NVIDIA Corporation", "GPUModel": model.name}
    infos["NVIDIAUUID"] = f"GPU-00000000-0000-0000-0000-{digits(address)}"
    return Device(address, model, (OsDevice(f"nvml{index}", GPU, "NVML", infos),))


def only_drm(address: str, model: Model, *drm_names: str) -> Device:
    """As an hwloc without the vendor's library sees it: only the kernel's DRM devices."""
    return Device(address, model, tuple(OsDevice(name, GPU) for name in drm_names))


def amd(address: str, model: Model, first: int, partitions: int = 1) -> Device:
    """Of partitions the driver tells no UUID but zeros."""
    uuid = f"{first + 1:016x}" if partitions == 1 else "0" * 16
    infos = {"Backend": "RSMI", "GPUVendor": "AMD", "GPUModel": model.name, "AMDUUID": uuid}
    names = [f"rsmi{index}" for index in range(first, first + partitions)]
    return Device(address, model, tuple(OsDevice(name, GPU, "RSMI", infos) for name in names))


def hca(address: str, model: Model, name: str, active: bool = True) -> Device:
    guid = f"9803:9b03:{digits(address)[4:8]}:{digits(address)[8:]}"
    infos = {"NodeGUID": guid, "SysImageGUID": guid, "Port1State": "4" if active else "1"}
    return Device(address, model, (OsDevice(name, OPENFABRICS, infos=infos),))


def nic(address: str, model: Model, name: str, subtype: str = "") -> Device:
    return Device(address, model, (OsDevice(name, NET, subtype),))


def bmc(port: str, port_model: Model, bus: int) -> Bridge:
    """The management controller's screen, which is no GPU."""
    screen = Device(f"{bus + 1:02x}:00.0", BMC_SCREEN)
    return bridge(port, port_model, bridge(f"{bus:02x}:00.0", BMC_BRIDGE, screen))
