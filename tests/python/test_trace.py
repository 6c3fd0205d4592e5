"""The verb `trace`: a window, a link, kinds; the same run as without it."""

from __future__ import annotations

from pathlib import Path
from typing import TypedDict

import pytest
from typer.testing import CliRunner

import lanewise
from lanewise.cli.commands import app


class _Arguments(TypedDict, total=False):
    """What `trace` is asked for."""

    span: str
    links: list[str]
    kinds: list[str]
    last: int


SWITCH = str(Path(__file__).parents[2] / "scenarios" / "switch.toml")


def test_a_window_has_what_starts_in_it_and_nothing_else() -> None:
    whole = lanewise.trace(SWITCH, span="12 us").rows
    part = lanewise.trace(SWITCH, start="10 us", span="2 us", links=["card1"], kinds=["tlp", "dllp"]).rows
    wanted = whole.filter((whole["at_ns"] >= 10_000) & (whole["at_ns"] < 12_000))
    wanted = wanted.filter((wanted["link"] == "card1") & wanted["kind"].is_in(["tlp", "dllp"]))
    assert part.height > 10
    assert part.equals(wanted)


def test_each_station_of_a_write_adds_up_from_its_issue_on() -> None:
    rows = lanewise.trace(SWITCH, start="20 us", span="3 us", kinds=["tlp"]).rows
    writes = rows.filter((rows["what"] == "MWr") & (rows["requester"] == "card1"))
    first = {row["address"]: row for row in writes.filter(writes["link"] == "card1").iter_rows(named=True)}
    pairs = [
        (first[row["address"]], row)
        for row in writes.filter(writes["link"] == "sw0").iter_rows(named=True)
        if row["address"] in first
    ]
    assert len(pairs) > 5
    for below, above in pairs:
        assert below["issued_at_ticks"] == above["issued_at_ticks"]
        times = [
            below["issued_at_ticks"],
            below["ready_at_ticks"],
            below["at_ticks"],
            above["ready_at_ticks"],
            above["at_ticks"],
        ]
        assert times == sorted(times)


def test_the_run_is_the_same_whatever_is_traced() -> None:
    prints = {
        lanewise.trace(SWITCH, span="30 us", kinds=kinds, last=last).document["fingerprint"]
        for kinds, last in (([], 100_000), (["skp"], 1))
    }
    session = lanewise.Session(SWITCH)
    session.step("30 us")
    assert prints == {session.results().document["fingerprint"]}


def test_the_listing_has_a_line_for_each_row_and_says_what_it_left_out() -> None:
    done = CliRunner().invoke(app, ["trace", SWITCH, "--from", "20 us", "--for", "1 us", "--last", "7"])
    assert done.exit_code == 0
    heading, *lines, rest = done.stdout.splitlines()
    assert heading.split()[:1] == ["ns"]
    # What a TLP waited for stands below it, on as many lines as it takes.
    assert len([line for line in lines if not line.startswith(" " * 20)]) == 7
    assert rest.startswith("the last 7 of ")


def test_the_listing_fits_a_terminal_of_100_columns() -> None:
    for view in (["--from", "20 us", "--for", "2 us"], ["--transaction", "worst-latency"]):
        listing = CliRunner().invoke(app, ["trace", SWITCH, *view]).stdout
        assert max(len(line) for line in listing.splitlines()) <= 100


def test_after_each_tlp_stands_what_it_waited_for_and_it_adds_up() -> None:
    traced = lanewise.trace(SWITCH, start="20 us", span="3 us", kinds=["tlp"])
    for row in traced.rows.iter_rows(named=True):
        assert sum(part["ticks"] for part in row["waits"]) == row["at_ticks"] - row["ready_at_ticks"]
    waited = traced.rows.filter(traced.rows["at_ticks"] > traced.rows["ready_at_ticks"])
    lines = [line.strip() for line in traced.text.splitlines() if line.strip().startswith("waited ")]
    assert len(lines) == waited.height > 20
    assert " credits (CplD)" in traced.text
    assert any(line.endswith(" wire") for line in lines)


def test_blocks_and_queues_are_kinds_of_their_own() -> None:
    usual = lanewise.trace(SWITCH, start="20 us", span="3 us").rows
    assert "queued" not in usual["kind"]
    for kind in ("blocked", "queued"):
        rows = lanewise.trace(SWITCH, start="20 us", span="3 us", kinds=[kind]).rows
        assert set(rows["kind"]) == {kind}
    blocked = usual.filter(usual["kind"] == "blocked")["what"]
    assert {"blocked: credits (CplD)", "goes on: credits (CplD)"} <= set(blocked)


def test_the_stations_of_a_transaction_add_up_to_its_latency() -> None:
    for which in ("worst-latency", 7):
        traced = lanewise.trace(SWITCH, start="10 us", transaction=which)
        transaction = traced.document["transaction"]
        assert transaction is not None
        assert traced.stations["span_ticks"].sum() == transaction["latency_ticks"]
        ends = (traced.stations["at_ticks"] + traced.stations["span_ticks"]).to_list()
        assert traced.stations["at_ticks"].to_list() == [transaction["issued_at_ticks"], *ends[:-1]]
        assert set(traced.rows["requester"]) == {transaction["requester"]}


def test_where_a_switch_cuts_through_link_and_switch_are_two_fields() -> None:
    gen1 = {"generation": "gen1", "width": "x1"}
    scenario: dict[str, object] = {
        "host": {"server": {"slots": {"slot1": "gen1 x1"}}},
        "switch": {
            "sw0": {
                "attach": "server.slot1",
                "ports": {"port0": "gen1 x1", "port1": "gen1 x1"},
                "latency": "200 ns",
            }
        },
        "endpoint": {"card": {"attach": "sw0.port1", **gen1}},
        "workload": [
            {"kind": "dma", "name": "one", "device": "card", "direction": "write", "outstanding": 1}
        ],
    }
    traced = lanewise.trace(scenario, transaction=3)
    forward = traced.stations.filter(traced.stations["stage"] == "forward")
    assert forward.select("place", "then").rows() == [("card", "sw0")]
    assert traced.stations.filter(traced.stations["stage"] == "link").select("place", "then").rows() == [
        ("sw0", None)
    ]
    assert "link card, then sw0, until it could leave" in traced.text


def test_a_transaction_of_which_nothing_is_kept_says_so() -> None:
    traced = lanewise.trace(SWITCH, start="10 us", transaction="worst-latency", last=1)
    (line,) = traced.text.splitlines()
    assert line.endswith("none of its TLPs is among the rows that are kept: a larger --last keeps more")
    assert traced.rows.height == 0


def test_what_is_looked_for_and_does_not_happen_is_said() -> None:
    traced = lanewise.trace(SWITCH, around="replay", overrides={"run.time_limit": "100 us"})
    assert traced.rows.height == 0
    assert traced.text.startswith("no replay in the run up to ")
    around = traced.document["around"]
    assert around is not None
    assert around["at_ns"] is None


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"links": ["card7"]}, "no link is called 'card7'; there are sw0, card0, card1"),
        ({"kinds": ["tlps"]}, "no kind is called 'tlps'; there are tlp, dllp"),
        ({"span": "5"}, "a time with its unit"),
        ({"last": 0}, "from 1 on"),
        ({"around": "rain"}, "one of worst-latency, stall, replay, first-blocked"),
        ({"transaction": 0}, "a number from 1 on, or worst-latency"),
        ({"transaction": 1, "around": "replay"}, "ask for one"),
        ({"transaction": 1, "span": "1 us"}, "give no length, links or kinds"),
    ],
)
def test_what_is_unknown_is_said(arguments: _Arguments, said: str) -> None:
    with pytest.raises(lanewise.InputError, match=said):
        lanewise.trace(SWITCH, **arguments)


def test_a_window_after_the_end_of_the_run_says_why_it_is_empty() -> None:
    arguments = ["trace", SWITCH, "--set", "run.time_limit=2 us", "--from"]
    after = CliRunner().invoke(app, [*arguments, "3 us"])
    assert after.exit_code == 0
    assert after.stderr == "nothing is listed: the run ended at 0.002 ms, before the window begins\n"
    assert CliRunner().invoke(app, [*arguments, "1 us"]).stderr == ""
