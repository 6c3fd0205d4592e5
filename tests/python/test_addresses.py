"""What firmware gives devices: `explain --addresses`, and the same numbers in a trace."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

import lanewise
from lanewise.cli.commands import app
from lanewise.health.doctor import diagnose
from lanewise.machine.reading import read_bytes

SCENARIOS = Path(__file__).parents[2] / "scenarios"
SWITCH = str(SCENARIOS / "switch.toml")


def _listed(*arguments: str) -> str:
    done = CliRunner().invoke(app, ["explain", *arguments, "--addresses"])
    assert done.exit_code == 0, done.output
    return done.stdout


def test_the_listing_has_the_form_of_lspci() -> None:
    assert _listed(SWITCH, "card*").splitlines() == [
        "03:00.0 Endpoint: card0",
        "\tRegion 0: Memory at 380000000000 (64-bit, prefetchable) [size=16K]",
        "04:00.0 Endpoint: card1",
        "\tRegion 0: Memory at 380000100000 (64-bit, prefetchable) [size=16K]",
    ]
    assert _listed(SWITCH, "sw0").splitlines()[:4] == [
        "01:00.0 PCI bridge: sw0.port0 (upstream port)",
        "\tBus: primary=01, secondary=02, subordinate=0a, sec-latency=0",
        "\tMemory behind bridge: [disabled] [32-bit]",
        "\tPrefetchable memory behind bridge: 0000380000000000-00003800001fffff [size=2M] [64-bit]",
    ]


@pytest.mark.parametrize("name", ["switch.toml", "collective.toml"])
def test_what_is_listed_reads_as_a_machine_without_a_mistake_in_it(name: str) -> None:
    """The reader of real dumps finds the same functions, and the doctor no conflict of addresses."""
    scenario = str(SCENARIOS / name)
    listed = _listed(scenario)
    machine = read_bytes(listed.encode(), name="listed")
    functions = lanewise.explain(scenario).document["functions"]
    assert {str(address) for address in machine.functions} == {row["address"] for row in functions}
    found = {finding.rule for finding in diagnose(machine, cost=False).findings}
    assert not found & {"address-conflict", "bar-unassigned", "bridge-window-closed", "bar-below-4g"}


def test_a_trace_has_the_ids_that_explain_has() -> None:
    known = {row["name"]: row["address"] for row in lanewise.explain(SWITCH).document["functions"]}
    rows = lanewise.trace(SWITCH, start="20 us", span="2 us", kinds=["tlp"]).rows
    pairs = set(zip(rows["requester"], rows["requester_id"], strict=True))
    assert pairs == {(card, known[card]) for card in ("card0", "card1")}


def test_a_name_that_is_not_there_is_said() -> None:
    done = CliRunner().invoke(app, ["explain", SWITCH, "nic*", "--addresses"])
    assert done.exit_code != 0
    assert "no port or device matches 'nic*'" in done.output
