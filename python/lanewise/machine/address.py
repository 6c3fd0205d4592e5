"""Addresses of PCI functions: domain, bus, device, function.

Models the notation of Linux: ``0000:3b:00.0``, with the domain left out where a tool leaves it out, and with
more than four digits where a controller has a domain of its own above ffff (Intel VMD: ``10000:e1:00.0``).
With Alternative Routing-ID Interpretation a bus has one device with 256 functions; Linux still prints those
as ``bus:device.function``, and so do we. Source: PCI Express Base Specification 5.0, 2.2.4.2 and 6.13; Linux,
``Documentation/ABI/testing/sysfs-bus-pci``.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_ADDRESS = re.compile(r"(?:([0-9a-fA-F]{1,8}):)?([0-9a-fA-F]{1,2}):([0-9a-fA-F]{1,2})\.([0-9a-fA-F]{1,2})")


class Address(NamedTuple):
    """Where a function sits. Orders by domain, bus, device, function."""

    domain: int
    """PCI segment group; 0 where a machine has only one."""
    bus: int
    """0 to 255."""
    device: int
    """0 to 31."""
    function: int
    """0 to 7."""

    @classmethod
    def find(cls, text: str) -> Address | None:
        """Read the same; None for anything else, as the name by which a log calls a device."""
        try:
            return cls.parse(text)
        except ValueError:
            return None

    @classmethod
    def parse(cls, text: str) -> Address:
        """Read ``[domain:]bus:device.function`` in hexadecimal; raises ValueError for anything else."""
        match = _ADDRESS.fullmatch(text.strip())
        if match is None:
            raise ValueError(f"'{text}' is not a PCI address like 0000:3b:00.0 or 3b:00.0")
        domain, bus, device, function = (int(part, 16) if part else 0 for part in match.groups())
        if device > 31 or function > 7:
            raise ValueError(f"'{text}' is not a PCI address: a device goes up to 1f, a function up to 7")
        return cls(domain, bus, device, function)

    @property
    def slot(self) -> tuple[int, int, int]:
        """Domain, bus and device: what the functions of one multi-function device share."""
        return (self.domain, self.bus, self.device)

    @property
    def short(self) -> str:
        """As `lspci` prints it on a machine with one domain: ``3b:00.0``; other domains keep theirs."""
        return str(self) if self.domain else f"{self.bus:02x}:{self.device:02x}.{self.function:x}"

    def __str__(self) -> str:
        """With the domain, in four digits or as many as it needs: ``0000:3b:00.0``."""
        return f"{self.domain:04x}:{self.bus:02x}:{self.device:02x}.{self.function:x}"
