"""Addresses for what a source leaves out or does not name: beyond any domain that Linux hands out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanewise.machine.address import Address

if TYPE_CHECKING:
    from lanewise.machine.assembly import Reading

MADE_UP_DOMAIN = 0xFFFF0000
"""The first of the domains that no machine has."""
_PLACES = 1 << 13
"""Devices of a domain: 256 buses of 32."""


def made_up_address(into: Reading) -> Address:
    """Return an address where nothing is yet."""
    number = into.made_up
    into.made_up += 1
    return Address(MADE_UP_DOMAIN + number // _PLACES, number >> 5 & 0xFF, number & 0x1F, 0)
