"""What a fleet file may say of a device besides its link: which registers, which words, what to do about it.

Sources: PCI Express Base Specification 5.0, 7.5.3.3, .4 (MPS, MRRS, relaxed ordering), 7.5.3.7 (ASPM), 7.7.8
(ACS), 7.8.6 (resizable BARs), 9.3.3 (SR-IOV). Left out: what changes by itself, such as counters, states of
power, and the speed at which an idle GPU runs.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lanewise.health.fleet.values import BARS, BYTES, IOMMU, TEXT, TRUTH, WHOLE, WORDS, Shape, Value

if TYPE_CHECKING:
    from collections.abc import Callable

    from lanewise.health.fleet.inventory import Device
    from lanewise.machine.model import Machine


@dataclass(frozen=True)
class Setting:
    """One key: what it means, how it is read from a device, and what to do when it differs."""

    key: str
    means: str
    shape: Shape
    read: Callable[[Device], Value | None]
    """None where the source does not say."""
    fix: str


def _agrees(found: Value, wanted: Value) -> bool | None:
    return found == wanted


@dataclass(frozen=True)
class HostSetting:
    """The same for a machine as a whole."""

    key: str
    means: str
    shape: Shape
    read: Callable[[Machine], Value | None]
    fix: str
    agrees: Callable[[Value, Value], bool | None] = _agrees
    """Whether what is found is what is wanted; None where that cannot be told."""


_MODES = {"identity": "passthrough", "DMA": "translated", "DMA-FQ": "translated", "DMA-SQ": "translated"}
"""Types of groups of devices: Linux, Documentation/ABI/testing/sysfs-kernel-iommu_groups."""


def _driver(device: Device) -> str | None:
    function = device.function
    return function.driver or ("" if function.driver_known else None)


def _aspm(device: Device) -> tuple[str, ...] | None:
    enabled = device.function.link.aspm_enabled
    return None if enabled is None else tuple(sorted(enabled))


def _port_acs(device: Device) -> tuple[str, ...] | None:
    acs = device.link.upper.registers.acs if device.link is not None else None
    return tuple(sorted(acs.enabled)) if acs is not None and acs.enabled is not None else None


def _virtual_functions(device: Device) -> int | None:
    sriov = device.function.registers.sriov
    if sriov is None or sriov.enabled is None:
        return None
    return (sriov.count or 0) if sriov.enabled else 0


def _bars(device: Device) -> tuple[tuple[str, int], ...] | None:
    known = [bar for bar in device.function.registers.resizable_bars if not bar.virtual and bar.current]
    return tuple(sorted((f"bar{bar.index}", bar.current or 0) for bar in known)) or None


def _iommu(machine: Machine) -> str | None:
    """Go by how groups are treated, else by the kernel's log; only sysfs tells that there is no IOMMU."""
    modes = Counter(_MODES[f.iommu_type] for f in machine if f.iommu_type in _MODES)
    if modes:
        # Single devices may be treated otherwise than the machine as a whole.
        return max(modes, key=lambda mode: modes[mode])
    told = [event.line for event in machine.events if "Default domain type: " in event.line]
    if told:
        return "passthrough" if "Passthrough" in told[-1] else "translated"
    if any(function.iommu_group is not None for function in machine):
        return "on"
    links_of_sysfs = "sysfs" in machine.kinds and any(function.driver_known for function in machine)
    return "off" if links_of_sysfs else None


def _iommu_agrees(found: Value, wanted: Value) -> bool | None:
    """Whether an IOMMU is used as it should; None where it is on and the source does not say how."""
    if wanted == "on":
        return found != "off"
    return None if found == "on" and wanted != "off" else found == wanted


def _numa_nodes(machine: Machine) -> int | None:
    nodes = {node.index for node in machine.numa_nodes}
    nodes |= {function.numa_node for function in machine if function.numa_node is not None}
    return len(nodes) or None


_FIRMWARE = "Look for it in the firmware setup of this machine, and compare versions of the firmware."

SETTINGS = {
    setting.key: setting
    for setting in (
        Setting(
            "functions",
            "PCI functions of the device, virtual ones left out.",
            WHOLE,
            lambda device: len(device.functions),
            "Compare the configuration of the device (its ports, its firmware) with that of its siblings.",
        ),
        Setting(
            "mps",
            "Max_Payload_Size that is set.",
            BYTES,
            lambda device: device.function.transfers.mps,
            f"{_FIRMWARE} The kernel's parameter pci=pcie_bus_perf raises it as far as each path allows.",
        ),
        Setting(
            "mrrs",
            "Max_Read_Request_Size that is set.",
            BYTES,
            lambda device: device.function.transfers.mrrs,
            "Drivers and firmware set it: compare their versions with those of a machine that has it right.",
        ),
        Setting(
            "relaxed_ordering",
            "Whether the device may set relaxed ordering (DevCtl RlxdOrd).",
            TRUTH,
            lambda device: device.function.transfers.relaxed_ordering,
            f"{_FIRMWARE} Some kernels switch it off below root ports with known faults.",
        ),
        Setting(
            "driver",
            'Driver that is bound; "" for none.',
            TEXT,
            _driver,
            "Load the driver, or look into the kernel log for why it did not bind.",
        ),
        Setting(
            "numa_node",
            "NUMA node that the device is attached to.",
            WHOLE,
            lambda device: device.function.numa_node,
            f"The device is below another processor, or the processors are split otherwise. {_FIRMWARE}",
        ),
        Setting(
            "aspm",
            'Power states of the link that are enabled: [], ["L0s"], ["L1"] or both.',
            WORDS,
            _aspm,
            f"{_FIRMWARE} The kernel's parameter pcie_aspm.policy decides, too.",
        ),
        Setting(
            "port_acs",
            "Access Control Services that are enabled at the port above, in the words of lspci, like "
            '["ReqRedir"].',
            WORDS,
            _port_acs,
            f"{_FIRMWARE} The IOMMU and the kernel's parameter pci=disable_acs_redir= decide, too.",
        ),
        Setting(
            "virtual_functions",
            "Virtual functions that SR-IOV has switched on.",
            WHOLE,
            _virtual_functions,
            "Write the number into /sys/bus/pci/devices/BDF/sriov_numvfs.",
        ),
        Setting(
            "resizable_bars",
            'Size of each resizable BAR, like { bar1 = "128 GiB" }.',
            BARS,
            _bars,
            f"{_FIRMWARE} It is called Resizable BAR or Above 4G Decoding there.",
        ),
    )
}
"""Keys of devices, in the order in which a file has them."""

HOST_SETTINGS = {
    setting.key: setting
    for setting in (
        HostSetting(
            "iommu",
            'How the kernel uses an IOMMU: "off", "passthrough", "translated", or "on" for either.',
            IOMMU,
            _iommu,
            "Compare the firmware setup (VT-d, AMD-Vi, IOMMU) and the kernel's command line (intel_iommu=, "
            "amd_iommu=, iommu=pt).",
            _iommu_agrees,
        ),
        HostSetting(
            "numa_nodes",
            "NUMA nodes of the machine.",
            WHOLE,
            _numa_nodes,
            "Compare the firmware setup: sub-NUMA clustering, nodes per socket; look for a processor that is "
            "missing.",
        ),
    )
}
"""Keys of ``[host]``."""
