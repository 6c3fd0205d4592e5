"""Intel's chipset: several root ports to software, one link to the processor in reality.

The root ports of a chipset (ICH, PCH) are functions of the root bus like those of the processor, and no
register shows the link that all of them share. It is DMI: PCI Express in all but name, of a speed and a width
that follow from the chipset. The bridge to LPC or eSPI, always function 1f.0, says which chipset it is, and
the catalog's `intel-pch-*` parts what its link is like. The chipset's root ports are devices 1a to 1d of the
same bus; the processor's have smaller numbers. Source: Intel, datasheets of chipsets from ICH6 on, "Register
and Memory Mapping"; `pci.ids`.

Leaves out: what else shares the link and is no PCI Express device (SATA, USB, sound); chipsets in the
package of a mobile processor, whose link (OPI) is not published; AMD's, which are switches to software too.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lanewise.machine.explained import trained
from lanewise.machine.parts import switch_part

if TYPE_CHECKING:
    from lanewise.machine.function import Function
    from lanewise.machine.model import Machine
    from lanewise.machine.registers import LinkMode

_INTEL = 0x8086
_TO_LPC = 0x0601
_PORTS = range(0x1A, 0x1E)


@dataclass(frozen=True, slots=True)
class Chipset:
    """A chipset that is known, and the root ports that are its own."""

    bridge: Function
    """Its bridge to LPC or eSPI."""
    part: str
    """What it is in the catalog."""
    uplink: LinkMode
    """The link to the processor, which all ports share."""
    ports: tuple[Function, ...]
    """Its root ports, empty ones among them."""

    @property
    def name(self) -> str:
        """Its name without that of the bridge: ``Z790 Chipset``."""
        return (
            re.split(r" (?:LPC|eSPI|ISA)\b", self.bridge.identity.device_name or "", maxsplit=1)[0]
            or "chipset"
        )

    def __contains__(self, port: object) -> bool:
        """Whether a root port is its own."""
        return port in self.ports


def found_chipset(machine: Machine) -> Chipset | None:
    """Return the chipset of a machine; None where there is none, or the catalog does not have it."""
    for bridge in machine:
        if bridge.identity.vendor_id != _INTEL or not bridge.is_class(_TO_LPC) or bridge.parent is not None:
            continue
        part = switch_part(bridge)
        if part is not None:
            return Chipset(bridge, part, _uplink(part), tuple(_ports(machine, bridge)))
    return None


def _uplink(part: str) -> LinkMode:
    """Return what the link above a chipset trains to in a slot that does not limit it."""
    return trained(
        {
            "host": {"machine": {"slots": {"dmi": "gen5 x16"}}},
            "switch": {"chipset": {"attach": "machine.dmi", "part": part}},
        }
    )


def _ports(machine: Machine, bridge: Function) -> list[Function]:
    place = bridge.address
    return [
        port
        for port in machine.host_ports
        if port.identity.vendor_id == _INTEL
        and (port.address.domain, port.address.bus) == (place.domain, place.bus)
        and port.address.device in _PORTS
        and _are_of_one_chip(port, bridge)
    ]


def _are_of_one_chip(port: Function, bridge: Function) -> bool:
    """Whether numbers are of one chip, where known: virtual machines put other ports beside an ICH9."""
    numbers = {function.identity.device_id for function in (port, bridge)} - {None}
    return len({number >> 8 for number in numbers if number is not None}) <= 1
