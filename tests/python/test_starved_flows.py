"""A load that gets nothing through is shown with its nothing, and not left out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import lanewise
from lanewise.cli.tables.run import print_run

if TYPE_CHECKING:
    import pytest

STARVED = """
title = "Strict arbitration"
[host.server]
slots = { slot1 = "gen4 x4" }
[switch.sw]
attach = "server.slot1"
ports = { port0 = "gen4 x4", port1 = "gen4 x4", port2 = "gen4 x4" }
arbitration = "strict"
[endpoint.first]
attach = "sw.port1"
generation = "gen4"
width = "x4"
[endpoint.second]
attach = "sw.port2"
generation = "gen4"
width = "x4"
[[workload]]
kind = "dma"
name = "much"
device = "first"
direction = "write"
[[workload]]
kind = "dma"
name = "nothing"
device = "second"
direction = "write"
"""


def test_a_load_that_gets_nothing_through_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    result = lanewise.run(STARVED)
    shown = result.flows_to_show
    assert shown["flow"].to_list() == ["much", "nothing"]
    assert shown["payload_bytes"].to_list()[1] == 0
    print_run(result)
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["nothing", "second", "write", "0.000", "0.0", "\N{EN DASH}", "0"] in rows


def test_a_direction_that_is_not_asked_for_is_not_shown() -> None:
    result = lanewise.run("scenarios/nvme_fio.toml")
    assert "write" in result.flows["direction"].to_list()
    assert "write" not in result.flows_to_show["direction"].to_list()
