"""Hosts of the catalog: what a load that fills them is limited by, their parts say."""

import tomllib
from pathlib import Path
from typing import Any

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


def parameters_of(name: str) -> dict[str, Any]:
    """Return what a part says itself, over what the part says that it is like."""
    part = PARTS[name]
    above = parameters_of(part["like"]) if "like" in part else {}
    return above | part.get("parameters", {})


OF_AMD = [name for name in PARTS if parameters_of(name).get("processor", {}).get("value") == "amd"]


@pytest.mark.parametrize("name", OF_AMD)
def test_what_is_published_of_cores_of_intel_is_assumed_of_those_of_amd(name: str) -> None:
    assert parameters_of(name)["combining_buffers"]["provenance"] == "assumed"


def small_message_us(host: str, tmp_path: Path) -> float:
    """Return what `ib_write_lat` of 2 B shows between two such hosts with a ConnectX-5 each, by a cable."""
    ends = "".join(
        f'[host.{side}]\npart = "{host}"\n\n'
        f'[endpoint.nic{index}]\npart = "mellanox-connectx-5"\nattach = "{side}.slot1"\n\n'
        for index, side in enumerate(("client", "server"))
    )
    path = tmp_path / f"{host}.toml"
    path.write_text(
        f'[run]\ntime_limit = "1 ms"\n\n{ends}'
        '[network.cable]\nkind = "infiniband-edr"\nends = ["nic0.port1", "nic1.port1"]\n\n'
        '[[workload]]\nkind = "perftest"\nname = "test"\nnetwork = "cable"\n'
        'tool = "ib_write_lat"\nsize = "2 B"\n'
    )
    rows = lanewise.run(path).instruments.iter_rows(named=True)
    return float(next(row["value"] for row in rows if row["metric"].startswith("t_typical")))


@pytest.mark.parametrize("host", ["amd-threadripper-pro-3000", "amd-rome", "amd-milan"])
def test_a_small_message_takes_some_300_ns_more_between_cores_that_devices_do_not_write_to_the_caches_of(
    host: str, tmp_path: Path
) -> None:
    """Two adapters by a cable take 1,200 ns with a Threadripper PRO 3975WX, 900 with cores of Intel."""
    more = small_message_us(host, tmp_path) - small_message_us("intel-skylake-sp", tmp_path)
    assert 0.25 < more < 0.35
