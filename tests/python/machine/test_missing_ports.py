"""Devices whose port is not in the source get one each, however many they are."""

from __future__ import annotations

from machine_dumps import DUMPS

from lanewise.machine import read, read_bytes
from lanewise.machine.missing_ports import with_missing_ports
from lanewise.machine.model import Kind

DEVICE = """\
{address} Non-Volatile memory controller: Example Corporation Device 0001
	Capabilities: [40] Express (v2) Endpoint, MSI 00
		LnkCap:	Port #0, Speed 16GT/s, Width x4, ASPM not supported
		LnkSta:	Speed 16GT/s, Width x4
"""


def test_every_device_has_a_link_of_its_own() -> None:
    """As `lspci -d ::0108 -vvv` leaves them on a server with many drives."""
    addresses = [f"{bus:02x}:00.0" for bus in range(1, 41)]
    machine, notes = with_missing_ports(
        read_bytes("".join(DEVICE.format(address=address) for address in addresses).encode())
    )
    assert [f.address.short for f in machine if f.kind is Kind.ENDPOINT] == addresses
    assert sorted(link.device.address.short for link in machine.links) == addresses
    assert {len(link.lower) for link in machine.links} == {1}
    (note,) = notes
    assert "and 34 more" in note


def test_functions_of_one_device_share_it() -> None:
    text = DEVICE.format(address="3b:00.0") + DEVICE.format(address="3b:00.1")
    machine, _ = with_missing_ports(read_bytes(text.encode()))
    (link,) = machine.links
    assert [function.address.short for function in link.lower] == ["3b:00.0", "3b:00.1"]
    assert link.limit == link.device.link.capability


def test_a_whole_machine_stays_as_it_is() -> None:
    whole = read(DUMPS / "qemu.vvv")
    assert with_missing_ports(whole) == (whole, [])
