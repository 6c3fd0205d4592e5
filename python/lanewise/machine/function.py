"""One PCI function: what it is, who it is, what its registers say, and where it sits.

``None`` always means: this source does not say. Sources: PCI Express Base Specification 5.0, 7.5.1.3
(bridges) and 7.5.3.2 (device/port types).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from lanewise.machine.registers import Errors, LinkRegisters, Registers, Transfers

if TYPE_CHECKING:
    from lanewise.machine.address import Address
    from lanewise.machine.gpu_health import GpuHealth


_RDMA = re.compile(r"ConnectX|BlueField|\bE810\b|\bX722\b|BCM57[4-6]\d\d|\bT[56]\d{2}|FastLinQ|Omni-Path")
C2C = re.compile(r"\b(?:GH200|GB200|GB300|GB10)\b")
"""Names of superchips: a GPU and a processor joined by NVLink-C2C."""
_VERBS = ("mlx4_", "mlx5_", "irdma", "bnxt_re", "qedr", "cxgb4_", "hfi1_", "rocep", "ibp")

HYPERVISORS = frozenset({0x1AF4, 0x1B36, 0x15AD, 0x1414, 0x5853, 0x80EE, 0x1D0F, 0x1AE0, 0x1DED})
"""Vendors of devices that are made up: Red Hat's virtio and QEMU, VMware, Microsoft, Xen, VirtualBox, Amazon,
Google, Alibaba (pci.ids)."""


class Kind(StrEnum):
    """Device/Port Type (7.5.3.2), and what functions without a PCI Express capability are."""

    ROOT_PORT = "root port"
    UPSTREAM_PORT = "upstream port"
    DOWNSTREAM_PORT = "downstream port"
    ENDPOINT = "endpoint"
    LEGACY_ENDPOINT = "legacy endpoint"
    INTEGRATED_ENDPOINT = "root complex integrated endpoint"
    EVENT_COLLECTOR = "root complex event collector"
    PCIE_TO_PCI_BRIDGE = "PCIe-to-PCI bridge"
    PCI_TO_PCIE_BRIDGE = "PCI-to-PCIe bridge"
    HOST_BRIDGE = "host bridge"
    CONVENTIONAL_BRIDGE = "PCI bridge"
    CONVENTIONAL = "conventional PCI"


PORTS_TO_LINKS = frozenset({Kind.ROOT_PORT, Kind.DOWNSTREAM_PORT, Kind.PCI_TO_PCIE_BRIDGE})
"""Kinds with a link on their secondary side."""

ENDPOINTS = frozenset({Kind.ENDPOINT, Kind.LEGACY_ENDPOINT})
"""Kinds at the lower end of a link."""


@dataclass(frozen=True, slots=True)
class Buses:
    """Bus numbers of a bridge. 7.5.1.3.2 to .4."""

    primary: int | None
    secondary: int
    subordinate: int


@dataclass(frozen=True, slots=True)
class Identity:
    """Who a function is: numbers from its configuration space, names from a `pci.ids` or the source."""

    class_code: int | None = None
    """24 bits: class, subclass, programming interface (0 where the source does not say)."""
    vendor_id: int | None = None
    device_id: int | None = None
    subsystem_vendor_id: int | None = None
    subsystem_id: int | None = None
    revision: int | None = None
    class_name: str | None = None
    vendor_name: str | None = None
    device_name: str | None = None
    subsystem_name: str | None = None

    @property
    def base_class(self) -> int | None:
        """1 mass storage, 2 network, 3 display, 6 bridge, 0x12 processing accelerator, and so on."""
        return None if self.class_code is None else self.class_code >> 16

    @property
    def subclass(self) -> int | None:
        """Class and subclass together, like 0x0108 for NVMe controllers."""
        return None if self.class_code is None else self.class_code >> 8

    @property
    def name(self) -> str:
        """Vendor and device in words, or in numbers where there are no words."""
        vendor = self.vendor_name or (None if self.vendor_id is None else f"[{self.vendor_id:04x}]")
        device = self.device_name or (None if self.device_id is None else f"Device [{self.device_id:04x}]")
        return " ".join(part for part in (vendor, device) if part) or "unknown device"

    @property
    def without_name(self) -> str:
        """What is known of a device without a name: its vendor, class and number; empty for nothing."""
        vendor = (self.vendor_name or "").rpartition("[")[2].partition("]")[0].split(" ")[0]
        number = "" if self.device_id is None else f"[{self.device_id:04x}]"
        return " ".join(part for part in (vendor, self.class_name or "", number) if part)


_NOBODY = Identity()
_NO_REGISTERS = Registers()
_NO_LINK = LinkRegisters()
_NO_TRANSFERS = Transfers()
_NO_ERRORS = Errors()


@dataclass(frozen=True, slots=True)
class Function:
    """One PCI function."""

    address: Address
    kind: Kind | None = None
    """As the function states it; `Machine.role` also infers one from where the function sits."""
    identity: Identity = _NOBODY
    registers: Registers = _NO_REGISTERS
    parent: Address | None = None
    """The bridge whose secondary side it is on; None on a root bus, or when the bridge is missing."""
    children: tuple[Address, ...] = ()
    """What is directly on the secondary bus of a bridge, in order."""
    buses: Buses | None = None
    """None for functions that are no bridge."""
    driver: str | None = None
    """Name of the driver that is bound."""
    driver_known: bool = False
    """Whether the source shows drivers: then no `driver` means that none is bound."""
    modules: tuple[str, ...] = ()
    """Modules of the running kernel that could drive it, as `lspci -k` finds them."""
    numa_node: int | None = None
    """Node of the host it is attached to; the kernel's -1 (not known) is None."""
    local_cpus: str | None = None
    """CPUs near it, as a list like ``0-15,64-79``."""
    iommu_group: int | None = None
    iommu_type: str | None = None
    """How the IOMMU treats its group: ``identity`` (passthrough), ``DMA``, ``DMA-FQ``, ``blocked``."""
    physical_function: Address | None = None
    """Of a virtual function: whose it is."""
    implied: bool = False
    """A port that the source leaves out although a link needs it (NCCL files); its address is made up."""
    virtual: bool = False
    """A virtual function: link, MPS and MRRS registers are reserved and read as zero."""
    physical_slot: str | None = None
    """As the kernel names the slot, or else the firmware."""
    label: str | None = None
    """What firmware calls it, like ``Onboard LAN``: SMBIOS type 41 or ACPI _DSM (`lspci`: DeviceName)."""
    interfaces: tuple[str, ...] = ()
    """Names by which software knows it: ``eth0``, ``nvme0``, ``mlx5_0``."""
    model: str | None = None
    """What a drive calls itself, where a running system was asked."""
    firmware: str | None = None
    """Version of the firmware of a drive or network adapter, as it says."""
    performance_state: str | None = None
    """Of a GPU, as its driver says: ``P0`` is the fastest, ``P8`` and ``P12`` save power."""
    idle: bool | None = None
    """Whether a GPU says that it saves power because it has nothing to do."""
    port_mbit_s: int | None = None
    """Speed of a network adapter's port, as NCCL saw it, Mbit/s; of several ports the fastest."""
    gpu_direct: bool | None = None
    """Whether NCCL found that a network adapter can reach the memory of GPUs (GPUDirect RDMA)."""
    health: GpuHealth | None = None
    """Of a GPU, as its driver says."""
    stated_health: str | None = None
    """How the management controller or `npu-smi` says it is: ``OK``, ``Warning``, ``Critical``."""
    stated_path: tuple[Address, ...] = ()
    """Bridges above it, root first, when the source prints the way (`lspci -PP`)."""

    @property
    def is_bridge(self) -> bool:
        """Whether it has a secondary side."""
        return self.buses is not None

    @property
    def link(self) -> LinkRegisters:
        """Its link registers; all None when it has none, so that rules need not ask twice."""
        return self.registers.link or _NO_LINK

    @property
    def tells_link(self) -> bool:
        """Whether its own registers say how its link runs or what it could do."""
        return not self.virtual and (self.link.status.known or self.link.capability.known)

    @property
    def transfers(self) -> Transfers:
        """Its transfer settings; all None when it says nothing."""
        return self.registers.transfers or _NO_TRANSFERS

    @property
    def errors(self) -> Errors:
        """Its errors; all None when it says nothing."""
        return self.registers.errors or _NO_ERRORS

    @property
    def name(self) -> str:
        """Vendor and device in words."""
        return self.identity.name

    def is_class(self, *classes: int) -> bool:
        """Whether it is of a base class (``0x03``) or class and subclass (``0x0108``)."""
        code = self.identity.class_code or 0
        # Devices older than classes are of base class 0, whose subclasses look like base classes.
        return code > 0xFFFF and (code >> 16 in classes or code >> 8 in classes)

    @property
    def is_gpu(self) -> bool:
        """Display controllers, and processing accelerators of GPU makers."""
        gpu_makers = {0x10DE, 0x1002}
        return self.is_class(0x03) or (self.is_class(0x12) and self.identity.vendor_id in gpu_makers)

    @property
    def has_display(self) -> bool:
        """VGA controllers, as which cards for workstations and desktops call themselves."""
        return self.is_class(0x0300)

    @property
    def is_3d(self) -> bool:
        """Display controllers that drive no display."""
        return self.is_class(0x0302)

    @property
    def is_nvme(self) -> bool:
        """NVMe controllers."""
        return self.is_class(0x0108)

    @property
    def does_rdma(self) -> bool:
        """Network controllers that are known to do RDMA, by class, name, or what the kernel calls them."""
        identity = self.identity
        known = _RDMA.search(f"{identity.device_name} {identity.subsystem_name}")
        verbs = any(name.startswith(_VERBS) for name in self.interfaces)
        return self.is_nic and not self.virtual and (self.is_class(0x0207, 0x0C06) or bool(known) or verbs)

    @property
    def is_nic(self) -> bool:
        """Network controllers, InfiniBand among them."""
        return self.is_class(0x02, 0x0C06)

    @property
    def has_c2c(self) -> bool:
        """GPUs that reach their host over NVLink-C2C: next to nothing of theirs crosses PCI Express.

        Source: NVIDIA, Grace Hopper Superchip Architecture whitepaper; Grace Blackwell has the same.
        """
        return self.is_gpu and bool(C2C.search(self.identity.device_name or ""))

    @property
    def is_cxl_memory(self) -> bool:
        """Memory of the host behind CXL, which it loads and stores: such a device does no DMA."""
        return self.is_class(0x0502)

    @property
    def is_wireless(self) -> bool:
        """Adapters for wireless networks, whose links sleep and wake all the time."""
        return self.is_class(0x0280)

    @property
    def is_storage(self) -> bool:
        """Mass storage controllers, NVMe among them, and Fibre Channel."""
        return self.is_class(0x01, 0x0C04)
