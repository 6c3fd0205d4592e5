"""Network adapters that are known by name, and what one of their ports carries at most.

Registers of PCI Express say nothing of the wire. The name of an adapter says what its fastest cards have; a
port that is slower, or whose cable is, is not told apart, so these are upper limits. Left out: adapters whose
name stands for cards of very different rates.
"""

from __future__ import annotations

import re
from math import fsum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from lanewise.machine.function import Function
    from lanewise.machine.model import Machine


class Port(NamedTuple):
    """A port of an adapter."""

    adapter: str
    """What the adapter is called."""
    gb_per_s: float
    """Data rate of the wire in each direction, 10⁹ bytes a second; for InfiniBand after coding."""
    infiniband: bool


_FASTER = r"(?:(?<![A-Za-z\d])(?:2\.5|5|10|20|25|40|50|100|200|400|800)[- ]?G|2\.5|FastLinQ)"
"""Signs in a name that more than one gigabit is meant: "10/20 Gigabit", not "BCM5752 Gigabit"."""

_PORTS = (
    (r"ConnectX-3 Pro|ConnectX-3\b", 56, 56),
    (r"ConnectX-4 Lx", 50, 25),
    (r"ConnectX-4\b(?! Lx)", 100, 100),
    (r"ConnectX-5", 100, 100),
    (r"ConnectX-6 Lx", 50, 25),
    (r"ConnectX-6 Dx", 200, 100),
    (r"ConnectX-6\b(?! [DL]x)", 200, 200),
    (r"ConnectX-7", 400, 400),
    (r"ConnectX-8", 800, 400),
    (r"BlueField-2", 200, 100),
    (r"BlueField-3", 400, 200),
    (r"\b82599|\bX5[245]0", 10, 10),
    (r"\bX710\b", 10, 10),
    (r"\bXXV710\b", 25, 25),
    (r"\bXL710\b", 40, 40),
    (r"\bE810-C\b(?!/)", 100, 100),
    (r"\bE810-XXV\b(?!/)", 25, 25),
    (r"\bSkyhawk\b", 40, 10),
    (r"Omni-Path HFI Silicon 100", 100, 100),
    (r"\bT5[24][02](?=-)", 10, 10),
    (r"\bT580(?=-)", 40, 40),
    (r"\bT62100(?=-)", 100, 100),
    (r"\bT6225(?=-)", 25, 25),
    (r"\bBCM57414\b", 25, 25),
    (r"\bBCM57508\b", 200, 100),
    (r"\bBCM57608\b", 400, 200),
    (r"\bI22[56]|\bRTL8125|\bKiller E3[01]\d\d", 2.5, 2.5),
    (r"\bRTL8126|\bAQC111|\bAQC114", 5, 5),
    (r"\bAQC10[07]|\bAQC113", 10, 10),
    (r"\bI350|\bI21[0179]|\bI354|\b8257\d|\b8258[03]|\bBCM57(?:09|1\d|20|6\d|8\d)\b", 1, 1),
    (rf"^(?!.*{_FASTER}).*\b(?:Gigabit\s+(?:\w+ )?(?:Network|Ethernet|Server)|GbE\b)", 1, 1),
)
"""Names in `pci.ids`; Gb/s of an only port, and of each of several.

Sources: NVIDIA's data sheets of the ConnectX and BlueField families, Intel's product briefs of the 500, 700
and 800 series, of I210, I225, I350 and Omni-Path 100, Broadcom's of NetXtreme, NetXtreme-E and the Ethernet
P series, Realtek's and Marvell's of RTL81xx and AQtion, Emulex's of OneConnect OCe14000 (Skyhawk), Chelsio's
of T5 and T6. What is called gigabit and nothing faster has ports of 1 Gb/s; an adapter that is not here and
whose name states speeds ("X722 for 10GbE SFP+", "10Gb/25Gb/40Gb") has ports of the fastest.
"""

_TOGETHER = {"E810-C": 100}
"""Gb/s of all ports of a chip at once, where that is less than their sum. Source: Intel, product brief of the
E810-CQDA2: two ports of 100 Gb/s, 100 Gb/s in total.
"""

_SPEEDS = re.compile(r"\b(\d[\d./]{0,15}) ?-?(?:GbE|Gb|GBASE|GBase|Gbase|Gig|G\b)")
"""Speeds in a name, in Gb/s: "10GbE", "10-Gigabit", "10GBASE-T", "10/25/40/50GbE", "100G"."""

_CHIP = re.compile(r"\b[A-Z]{1,6}\d{3,5}\b")
"""What a chip is called: X722, BCM57416, SFC9140."""

_NOT_ETHERNET_ALONE = re.compile(r"InfiniBand|\bVPI\b|\bIB\b|Fibre Channel")
"""Adapters whose names state the speed of one of several kinds of network."""


_FUNCTIONS = 8
"""Functions that a device can have without ARI. PCIe Base 5.0, 2.2.4.2."""


def port_of(machine: Machine, function: Function) -> Port | None:
    """Return the port behind a network function; None where its adapter is not known by name."""
    if not function.is_nic:
        return None
    return _named_port(function, len(network_functions(machine, function)))


def all_ports_gb_per_s(ports: list[Port]) -> float:
    """Return what the ports of one adapter carry at once, each way; 10⁹ bytes a second."""
    total = fsum(port.gb_per_s for port in ports)
    return min([total, *(_TOGETHER[port.adapter] / 8 for port in ports if port.adapter in _TOGETHER)])


def fastest_port(function: Function) -> Port | None:
    """Return the port that an adapter has when it has no other; None where it is not known by name."""
    return _named_port(function, 1) if function.is_nic else None


def _named_port(function: Function, ports: int) -> Port | None:
    name = function.identity.device_name or ""
    if "Virtual Function" in name:
        return None
    for pattern, alone, each in _PORTS:
        if found := re.search(pattern, name):
            gb_per_s = (alone if ports < 2 else each) / 8
            return Port(found[0], gb_per_s, function.is_class(*_INFINIBAND))
    if function.is_wireless or function.is_class(*_INFINIBAND) or _NOT_ETHERNET_ALONE.search(name):
        return None
    return _port_by_speed(name)


def _port_by_speed(name: str) -> Port | None:
    """Return the fastest port that a name states."""
    stated = [speed for found in _SPEEDS.finditer(name) for speed in found[1].strip("./").split("/")]
    known = [float(speed) for speed in stated if speed in _ETHERNET]
    if not known:
        return None
    chip = _CHIP.search(name)
    return Port(chip[0] if chip else f"{max(known):g}GbE", max(known) / 8, infiniband=False)


_INFINIBAND = (0x0207, 0x0C06)
_ETHERNET = ("1", "2.5", "5", "10", "20", "25", "40", "50", "100", "200", "400", "800")
"""Speeds in Gb/s. IEEE 802.3; 20 is that of two lanes of a blade server's backplane."""


def network_functions(machine: Machine, function: Function) -> list[Function]:
    """Return the network functions of the device that a function is of, virtual ones left out."""
    address = function.address
    numbers = (address._replace(function=number) for number in range(_FUNCTIONS))
    found = (machine.functions.get(number) for number in numbers)
    return [one for one in found if one is not None and one.is_nic and not one.virtual]
