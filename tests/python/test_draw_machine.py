"""Pictures of machines: every function is in a box, counted in one, or counted in a note."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from os import environ
from pathlib import Path
from xml.etree.ElementTree import Element

import pytest
from pictures import NS, check, devices, words

import lanewise
from lanewise.draw.machine import of_machine
from lanewise.draw.model import State, Topology
from lanewise.errors import InputError
from lanewise.machine.model import ENDPOINTS, Machine

DUMPS = sorted(Path("tests/python/machine/dumps").glob("qemu*"))
CORPUS = Path(environ.get("LANEWISE_CORPUS") or Path(__file__).parents[3] / "shared" / "corpus")
REAL = sorted(
    path.relative_to(CORPUS).as_posix()
    for path in (CORPUS.glob("*/*") if CORPUS.is_dir() else ())
    if path.parent.name != "measured"
)


@cache
def scanned(path: Path) -> Machine:
    return lanewise.scan(path)


def addresses(topology: Topology) -> Iterator[str]:
    """Every address in any word of a picture."""
    for node in topology.walk():
        for said in (node.name, node.detail, node.slot, *node.about):
            yield from re.findall(r"(?:[0-9a-f]{4,}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]", said)


def check_machine(machine: Machine) -> Element:
    topology = of_machine(machine, everything=True)
    root = check(topology)
    boxes = {node.name for node in topology.walk()}
    first_functions = {
        function.address.slot: function.address
        for function in reversed(list(machine))
        if machine.role(function) in ENDPOINTS and not function.virtual and not function.implied
    }
    said = set(addresses(topology))
    for address in first_functions.values():
        assert {str(address), address.short} & said, f"{address} is in the picture"
    states = {link.name: node.link.state for node in topology.walk() if (link := node.link)}
    for link in machine.links:
        if machine.measured and not link.on_die and (link.below_speed or link.below_width):
            assert states[link.name] in (State.BELOW, State.ASLEEP, State.DOWN)
    assert boxes
    assert len(boxes) > 1 or not machine.functions
    check(of_machine(machine))
    return root


@pytest.mark.parametrize("path", DUMPS, ids=lambda path: path.name)
def test_dumps(path: Path) -> None:
    check_machine(scanned(path))


@pytest.mark.skipif(not CORPUS.is_dir(), reason="no folder of dumps")
@pytest.mark.parametrize("name", REAL)
def test_dumps_of_real_machines(name: str) -> None:
    try:
        machine = scanned(CORPUS / name)
    except InputError:
        pytest.skip("nothing that scan reads")
    check_machine(machine)


def test_a_server_of_eight_gpus() -> None:
    root = check_machine(scanned(Path("examples/gpu-server.txt")))
    said = words(root)
    assert {"NUMA node 0", "NUMA node 1", "H100 SXM5 80GB", "gen5 x16"} <= set(said)
    assert said.count("can gen5 x16") == 1, "one link is narrower than it could be"
    gpus = [
        group
        for group in devices(root)
        if any("H100" in (title.text or "") for title in group.iter(f"{NS}title"))
    ]
    assert sum(int(group.get("data-count") or 0) for group in gpus) == 8


def test_a_note_counts_what_is_not_shown() -> None:
    machine = scanned(Path("examples/laptop.txt"))
    few, everything = of_machine(machine), of_machine(machine, everything=True)

    def count(topology: Topology) -> int:
        return sum(1 for _ in topology.walk())

    (note,) = [note for note in few.notes if "not shown" in note]
    assert int(note.split()[0]) == count(everything) - count(few) > 0
    assert not any("not shown" in note for note in everything.notes)


def test_free_ports_are_boxes_of_their_own() -> None:
    machine = scanned(Path("tests/python/machine/dumps/qemu.vvv"))
    free = [node for node in of_machine(machine).walk() if node.link and node.link.state is State.EMPTY]
    assert {node.name for node in free} == {port.address.short for port in machine.empty_ports}
    assert len(free) == len(machine.empty_ports) > 0
