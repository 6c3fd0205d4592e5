"""A load that gets nothing through is shown with its nothing, and not left out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import documents

import lanewise
from lanewise.cli.tables.run import print_run
from lanewise.written import DASH

if TYPE_CHECKING:
    import pytest


def test_a_load_that_gets_nothing_through_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    result = lanewise.run(documents.STARVED)
    shown = result.flows_to_show
    assert shown["flow"].to_list() == ["much", "nothing"]
    assert shown["payload_bytes"].to_list()[1] == 0
    print_run(result)
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["nothing", "second", "write", "0.000", "0.0", "\N{EN DASH}", "0"] in rows
    assert result.end_detail.endswith("; nothing of second (write) moved nothing in the measured time")


def test_a_direction_that_is_not_asked_for_is_not_shown() -> None:
    result = lanewise.run("scenarios/nvme_fio.toml")
    assert "write" in result.flows["direction"].to_list()
    assert "write" not in result.flows_to_show["direction"].to_list()
    assert "moved nothing" not in result.end_detail


def test_a_job_that_reads_nothing_has_one_row_without_a_direction() -> None:
    """Its drive has flows of both directions, and which of them the job asks for is not told."""
    job = """
[endpoint.second]
attach = "sw.port2"
part = "generic-nvme-gen4-x4"
[[workload]]
kind = "dma"
name = "much"
device = "first"
direction = "write"
[[workload]]
kind = "fio"
name = "nothing"
filename = ["second"]
rw = "randread"
bs = "4 KiB"
"""
    result = lanewise.run(documents.STARVED[: documents.STARVED.index("[endpoint.second]")] + job)
    of_job = result.data_flows.filter(flow="nothing")
    assert of_job.select("direction", "payload_bytes").rows() == [("read", 0), ("write", 0)]
    assert result.flows_to_show.select("flow", "device", "direction").rows() == [
        ("much", "first", "write"),
        ("nothing", "second", DASH),
    ]
    assert result.flows_to_show.columns == result.flows.columns
    assert result.end_detail.endswith("; nothing of second moved nothing in the measured time")


def test_a_rank_that_moves_nothing_by_itself_is_not_shown() -> None:
    result = lanewise.run("scenarios/collective_nodes.toml")
    nothing = (result.flows["payload_bytes"] == 0) & (result.flows["operations"] == 0)
    assert "gpu[1]" in result.flows.filter(nothing)["device"].to_list()
    shown = result.flows_to_show
    assert not shown.filter((shown["payload_bytes"] == 0) & (shown["operations"] == 0)).height
    assert shown.height == (~nothing).sum()
    assert "moved nothing" not in result.end_detail


def test_one_device_of_a_load_of_several_that_carries_nothing_is_named(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """IOmeter reads behind two adapters, of which strict arbitration leaves one nothing."""
    scenario = """
title = "Strict arbitration"
[run]
time_limit = "60 ms"
[host.server]
slots = { slot1 = "gen3 x8", slot2 = "gen3 x8" }
[switch.sw]
attach = "server.slot1"
ports = { port0 = "gen3 x8", port1 = "gen3 x8", port2 = "gen3 x8" }
arbitration = "strict"
[endpoint.other]
attach = "sw.port1"
generation = "gen3"
width = "x8"
[endpoint.hba0]
attach = "server.slot2"
part = "lsi-sas3801e"
[endpoint.hba1]
attach = "sw.port2"
part = "lsi-sas3801e"
[storage.disks0]
part = "sas-15k-73gb"
attach = "hba0"
count = 4
[storage.disks1]
part = "sas-15k-73gb"
attach = "hba1"
count = 4
[[workload]]
kind = "dma"
name = "much"
device = "other"
direction = "write"
outstanding = 64
[[workload]]
kind = "iometer"
name = "read"
targets = ["disks0", "disks1"]
workers = 4
outstanding = 1
access = [{ size = "64 KiB", percent = 100, read = 100, random = 0 }]
"""
    result = lanewise.run(scenario)
    assert result.starved_devices == [("read", "hba1")]
    said = "hba1 carried nothing of read in the measured time, and others of its devices did."
    assert result.said_of_starved_devices == [said]
    print_run(result)
    assert said in " ".join(capsys.readouterr().out.split())


def test_devices_of_a_load_that_all_carry_something_are_not_named() -> None:
    assert lanewise.run("scenarios/storage.toml").starved_devices == []
    assert lanewise.run("scenarios/collective_nodes.toml").starved_devices == []
