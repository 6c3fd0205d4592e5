"""Intel's chipset: root ports to software, and one link to the processor, which no register shows."""

from __future__ import annotations

import os
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from machines import machine as put_together
from machines import on_chipset

from lanewise import api
from lanewise.cli.tables.scan import print_machine
from lanewise.draw.machine import of_machine
from lanewise.health.predict import predict
from lanewise.machine import read
from lanewise.machine.json_form import to_json
from lanewise.machine.known_parts import SWITCHES
from lanewise.machine.model import LinkMode
from lanewise.machine.pci_ids import load
from lanewise.machine.scenario import scan_to_scenario

if TYPE_CHECKING:
    from lanewise.machine.model import Machine

CORPUS = Path(os.environ.get("LANEWISE_CORPUS") or Path(__file__).parents[4] / "shared" / "corpus")


def ports_of(machine: Machine) -> list[str]:
    chipset = machine.chipset
    return [port.address.short for port in chipset.ports] if chipset else []


def test_ports_of_the_chipset_are_those_from_1a_on_beside_its_bridge() -> None:
    machine = on_chipset({}, {}, {})
    chipset = machine.chipset
    assert chipset is not None
    assert (chipset.name, chipset.part) == ("Z390 Chipset", "intel-pch-dmi3")
    assert chipset.uplink == LinkMode(8.0, 4)
    assert ports_of(machine) == ["00:1b.0", "00:1b.1", "00:1b.2"]


@pytest.mark.parametrize(
    ("number", "uplink"),
    [
        (0x2918, LinkMode(2.5, 4)),  # ICH9
        (0x3B06, LinkMode(2.5, 4)),  # H55
        (0x1C5C, LinkMode(5.0, 4)),  # H61
        (0x8D44, LinkMode(5.0, 4)),  # X99
        (0xA143, LinkMode(5.0, 4)),  # H110, alone of its series
        (0xA145, LinkMode(8.0, 4)),  # Z170
        (0x0685, LinkMode(8.0, 4)),  # Z490
        (0x4385, LinkMode(8.0, 8)),  # Z590
        (0x4387, LinkMode(8.0, 4)),  # B560
        (0x7A84, LinkMode(16.0, 8)),  # Z690
        (0x7A86, LinkMode(16.0, 4)),  # B660
        (0x7F04, LinkMode(16.0, 8)),  # Z890
        (0x9D48, None),  # Sunrise Point-LP, in the package of the processor
        (0x7E02, None),  # Meteor Lake, which has none
    ],
)
def test_its_link_follows_from_its_bridge(number: int, uplink: LinkMode | None) -> None:
    chipset = on_chipset({}, number=number).chipset
    assert (chipset.uplink if chipset else None) == uplink


@cache
def parts_by_number() -> dict[int, set[str]]:
    """Return the parts that each of Intel's numbers is one of, where it is one.

    All 65,536 are looked for, in one text with a line for each. To look up names of all of them
    took ten seconds.
    """
    every = "".join(f"8086:{number:04x} \n" for number in range(0x10000))
    line = len("8086:0000 \n")
    found: dict[int, set[str]] = {}
    for name, words in SWITCHES.items():
        for match in re.finditer(words, every, re.MULTILINE):
            found.setdefault(match.start() // line, set()).add(name)
    return found


def test_numbers_of_the_parts_are_bridges_to_lpc_each_in_one_part() -> None:
    names = load()
    meant: dict[str, list[str]] = {name: [] for name in SWITCHES if name.startswith("intel-pch-")}
    for number, parts in parts_by_number().items():
        found = sorted(parts & meant.keys())
        assert len(found) <= 1, f"{number:04x}"
        device = names.device(0x8086, number)
        if found and device is not None:
            assert re.search("LPC|eSPI|ISA", device), device
            meant[found[0]].append(device)
    assert all(meant.values())


def test_devices_of_the_chipset_share_its_link_and_that_of_the_processor_does_not() -> None:
    prediction = predict(on_chipset({}, {}))
    reads = {row.bdf: row for row in prediction.rows if row.benchmark.startswith("fio read")}
    assert set(reads) == {"02:00.0", "03:00.0"}
    for row in reads.values():
        assert row.alone_gb_per_s == pytest.approx(3.58, rel=0.01)
        assert row.together_gb_per_s == pytest.approx(3.58 / 2, rel=0.01)
        assert "all at once, the link of the Z390 Chipset, full towards the host" in row.binding
    assert any("Z390 Chipset share its link, DMI: Gen3 x4" in said for said in prediction.assumptions)


def test_one_port_of_the_chipset_shares_its_link_with_none(capsys: pytest.CaptureFixture[str]) -> None:
    print_machine(on_chipset({}), everything=False)
    shown = capsys.readouterr().out
    assert "Z390 Chipset: its link to the processor, DMI, 8GT/s x4, carries 00:1b.0\n" in shown


def test_a_chipset_that_is_not_known_is_left_as_registers_show_it() -> None:
    prediction = predict(on_chipset({}, {}, number=0x9D48))
    reads = [row for row in prediction.rows if row.benchmark.startswith("fio read")]
    assert [row.together_gb_per_s for row in reads] == [pytest.approx(3.58, rel=0.01)] * 2


def test_the_scenario_has_it_as_a_switch() -> None:
    text = scan_to_scenario(on_chipset({}, {}))
    found = api.explain(text).document["links"]
    links = {link["name"]: (link["upper"], link["generation"], link["width"]) for link in found}
    assert links["chipset"] == ("server.dmi", "gen3", "x4")
    assert links["nvme_02_00_0"] == ("chipset.port_00_1b_0", "gen3", "x4")
    assert links["nic_01_00_0"][0] == "server.port_00_01_0"


def test_a_slow_link_limits_one_device_too() -> None:
    (row,) = (
        row for row in predict(on_chipset({}, number=0xA143)).rows if row.benchmark.startswith("fio read")
    )
    assert row.ceiling_gb_per_s == pytest.approx(2.0 * 256 / 280, rel=0.01)
    assert "the H110" not in row.binding
    assert "the link of the Z390 Chipset" in row.binding


def test_pictures_and_json_show_it() -> None:
    machine = on_chipset({}, {})
    (host,) = of_machine(machine).tops
    boxes = {node.head: node for node in host.below}
    assert [node.detail for node in boxes["Z390 Chipset"].below] == ["02:00.0", "03:00.0"]
    assert boxes["Z390 Chipset"].link is not None
    assert boxes["Z390 Chipset"].link.mode == "DMI gen3 x4"
    assert to_json(machine)["machine"]["chipset"]["uplink"] == {"gt_s": 8.0, "width": 4}
    assert "chipset" not in to_json(put_together())["machine"]


@pytest.mark.skipif(not CORPUS.is_dir(), reason="the corpus is not there")
@pytest.mark.parametrize(
    ("dump", "part", "ports"),
    [
        ("lspci-vvv/supermicro-6049p-pp.vvv", "intel-pch-dmi3", ["00:1d.0", "00:1d.1"]),
        ("lspci-vvv/dell-r730-p100.vvv", "intel-pch-dmi2", ["00:1c.0", "00:1c.7"]),
        ("lspci-xxxx/gigabyte-clarkdale.vvvxxxx", "intel-pch-dmi1", ["00:1c.0", "00:1c.5"]),
        ("lspci-vvv/surface-book1.vvv", None, []),
    ],
)
def test_real_dumps_have_the_chipset_of_their_board(dump: str, part: str | None, ports: list[str]) -> None:
    machine = read(CORPUS / dump)
    assert (machine.chipset.part if machine.chipset else None) == part
    assert ports_of(machine)[:2] == ports


def test_names_of_bridges_tell_what_their_numbers_do() -> None:
    """A dump without numbers, whose names are not those of this year's list."""
    names = load()
    for number, part in parts_by_number().items():
        name = names.device(0x8086, number)
        if name is None:
            continue
        by_name = {p for p, words in SWITCHES.items() if re.search(words, f"8086: {name}")}
        assert by_name in ({*part}, set()), name
        assert by_name or "Series" in name or "Sunrise" in name or "Cannon" in name or "828" in name, name


def test_ports_that_a_virtual_machine_puts_beside_an_ich9_are_not_of_it() -> None:
    """Proxmox puts devices that are passed through below ports of an X58 at 1c.0."""
    assert ports_of(on_chipset({}, number=0x2918)) == ["00:1b.0"]
    assert ports_of(on_chipset({}, number=0x2918, ports=0x3420)) == []
