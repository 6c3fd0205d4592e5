"""Hosts of the catalog: what a load that fills them is limited by, their parts say."""

import tomllib
from pathlib import Path

import pytest

import lanewise

CATALOG = Path(__file__).parents[2] / "catalog"
PARTS = {path.stem: tomllib.loads(path.read_text()) for path in sorted(CATALOG.glob("*.toml"))}
HOSTS = [
    name for name, part in PARTS.items() if part.get("kind") == "host" and not name.startswith("defaults-")
]
DMA = """
[[workload]]
kind = "dma"
name = "dma{0}"
device = "dev{0}"
direction = "{1}"
size = "16 KiB"
outstanding = 32
order = "random"
"""
DEVICE = """
[endpoint.dev{0}]
attach = "server.{1}"
generation = "{2}"
width = "{3}"
tag_width = "{4}"
"""


def all_slots_filled(name: str, direction: str) -> str:
    """Return a scenario with a device in each slot, all of which read or write memory as fast as they can."""
    text = f'[run]\nwarm_up = "20 us"\ntime_limit = "60 us"\n\n[host.server]\npart = "{name}"\n'
    slots = {
        slot: value["value"]
        for slot, value in PARTS[name]["parameters"]["slots"].items()
        if "value" in value and "none" not in value["value"]
    }
    for index, (slot, link) in enumerate(slots.items()):
        generation, width = link.split()
        wide = generation in ("gen4", "gen5", "gen6")
        text += DEVICE.format(index, slot, generation, width, "10 bits" if wide else "8 bits")
    return text + "".join(DMA.format(index, direction) for index in range(len(slots)))


@pytest.mark.parametrize("direction", ["read", "write"])
@pytest.mark.parametrize("name", HOSTS)
def test_a_load_that_fills_a_host_is_limited_by_wires_or_by_what_its_part_says(
    name: str, direction: str, tmp_path: Path
) -> None:
    path = tmp_path / "filled.toml"
    path.write_text(all_slots_filled(name, direction))
    limit = lanewise.run(path).document["limited_by"]
    assert limit is not None
    if limit["kind"] != "wire":
        parameter = limit["name"].removeprefix("server.")
        assert parameter in PARTS[name]["parameters"] or parameter == "memory", limit
