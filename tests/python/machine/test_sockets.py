"""What joins the sockets of a machine is what the catalog says of its processors, and stands nowhere else."""

from __future__ import annotations

import json

import pytest

from lanewise import _core
from lanewise.machine.model import Address, Function, Identity, Kind, LinkMode, Machine
from lanewise.machine.registers import LinkRegisters, Registers
from lanewise.machine.sockets import interconnect_of


def host(vendor: int, gt_s: float) -> Machine:
    """Make a machine of one root port."""
    address = Address.parse("00:01.0")
    port = Function(
        address=address,
        kind=Kind.ROOT_PORT,
        identity=Identity(class_code=0x060400, vendor_id=vendor),
        registers=Registers(express=True, link=LinkRegisters(capability=LinkMode(gt_s, 16))),
    )
    return Machine(functions={address: port}, source="made up")


def of_catalog(part: str) -> tuple[float, int]:
    """Return the rate in GB/s and the number of links that a part or set of defaults has."""
    parts = {each["name"]: each for each in json.loads(_core.parts())["parts"]}
    values = {one["path"]: one["value"] for one in parts[part]["parameters"]}
    return float(values["interconnect.rate"].removesuffix(" GB/s")), int(values.get("interconnect.links", 1))


@pytest.mark.parametrize(
    ("vendor", "gt_s", "part", "expected"),
    [
        (0x1022, 8.0, "amd-naples", 19.0),
        (0x1022, 16.0, "defaults-gen4-amd", 36.0),
        (0x1022, 32.0, "defaults-gen5-amd", 64.0),
        (0x8086, 8.0, "intel-broadwell-ep", 38.4),
        (0x8086, 16.0, "defaults-gen4-intel", 67.2),
        (0x8086, 32.0, "defaults-gen5-intel", 96.0),
        (0x8086, 64.0, "defaults-gen5-intel", 96.0),
    ],
)
def test_peers_have_one_link_of_amd_and_all_of_intel(
    vendor: int, gt_s: float, part: str, expected: float
) -> None:
    rate, links = of_catalog(part)
    found = interconnect_of(host(vendor, gt_s))
    assert found.rate_gb_per_s == rate / links == expected
    assert found.payload_gb_per_s == pytest.approx(expected * 64 / 80)


@pytest.mark.parametrize("part", ["amd-rome", "amd-milan"])
def test_processors_of_one_generation_have_one_rate(part: str) -> None:
    """18 GT/s on each of 16 lanes, four links."""
    assert of_catalog(part) == of_catalog("defaults-gen4-amd") == (4 * 16 * 18 / 8, 4)
