"""Traces for Perfetto, read with Perfetto's own definitions, beside the rows and beside a session at rest."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import perfetto_reader
import pytest

import lanewise

SCENARIOS = Path(__file__).parents[3] / "scenarios"
SWITCH = str(SCENARIOS / "switch.toml")


@pytest.fixture(scope="module")
def switch(tmp_path_factory: pytest.TempPathFactory) -> perfetto_reader.Read:
    out = tmp_path_factory.mktemp("perfetto") / "switch.pftrace"
    written = lanewise.write_trace(SWITCH, out, form="perfetto", start="20.1 us", span="10 us")
    assert written["rows"] > 1000
    return perfetto_reader.read(out)


def test_each_row_on_a_wire_is_on_the_track_of_its_direction(switch: perfetto_reader.Read) -> None:
    rows = lanewise.trace(SWITCH, start="20.1 us", span="10 us", kinds=["tlp", "dllp"]).rows
    names = {"tlp": "TLPs", "dllp": "DLLPs"}
    expected = defaultdict(list)
    for row in rows.iter_rows(named=True):
        start, end = row["at_ticks"] >> 10, (row["at_ticks"] + row["span_ticks"]) >> 10
        of = (row["link"], row["direction"], names[row["kind"]])
        waits = {wait["cause"]: wait["ticks"] / 1_024_000 for wait in row["waits"]}
        address = None if row["address"] is None else int(row["address"], 16)
        expected[of].append((start, end, row["what"], row["tag"], address, row["requester_id"], waits))
    found = defaultdict(list)
    for (link, direction, name), slices in ((t, s) for t, s in switch.slices.items() if len(t) == 3):
        if name in names.values():
            of = (link.removeprefix("link ").split(",")[0], direction.split(",")[0], name)
            found[of] = [
                (
                    one.start,
                    one.end,
                    one.name,
                    one.says.get("tag"),
                    one.says.get("address"),
                    one.says.get("requester_id"),
                    one.says.get("waits_ns", {}),
                )
                for one in slices
            ]
    assert found.keys() == expected.keys()
    for of, slices in expected.items():
        assert found[of] == slices, of
    assert any(one[-1] for slices in found.values() for one in slices)


def test_an_arrow_leads_from_each_request_to_its_completions(switch: perfetto_reader.Read) -> None:
    tlps = [one for track, slices in switch.slices.items() if track[-1] == "TLPs" for one in slices]
    of_flow = defaultdict(list)
    for tlp in tlps:
        assert len(tlp.flows) == 1
        of_flow[tlp.flows[0]].append(tlp)
    answered = 0
    for of_one in of_flow.values():
        of_one.sort(key=lambda tlp: tlp.start)
        kinds = [tlp.name for tlp in of_one]
        ids = {(tlp.says["requester_id"], tlp.says.get("tag"), tlp.says["issued_at_ns"]) for tlp in of_one}
        assert len(ids) == 1
        assert kinds == sorted(kinds, key=["MRd", "MWr", "CplD"].index)
        answered += kinds[0] == "MRd" and kinds[-1] == "CplD"
    pages = lanewise.trace(SWITCH, start="20.1 us", span="10 us", kinds=["tlp"]).rows
    assert (
        len(of_flow)
        == pages.select("requester", "tag", "issued_at_ticks", "address")
        .filter(pages["what"] == "MWr")
        .unique()
        .height
        + pages.filter(pages["what"] != "MWr").select("requester", "tag", "issued_at_ticks").unique().height
    )
    wide = lanewise.trace(SWITCH, start="20.1 us", span="10 us", kinds=["tlp"]).rows
    assert (
        answered
        == wide.filter(wide["what"] == "MRd")
        .select("tag", "issued_at_ticks")
        .unique()
        .join(
            wide.filter(wide["what"] == "CplD").select("tag", "issued_at_ticks").unique(),
            on=["tag", "issued_at_ticks"],
        )
        .height
    )


SCALED = {f"{name}.flow_control_scale": "scale-4" for name in ("server", "sw0", "card0", "card1")}


@pytest.mark.parametrize(
    ("scenario", "overrides"),
    [("switch.toml", {}), ("switch.toml", SCALED), ("peer_to_peer.toml", {}), ("nvme_direct.toml", {})],
    ids=["switch", "scaled", "peers", "drives"],
)
def test_credits_rise_by_what_is_given_back_and_fall_by_what_a_tlp_costs(
    scenario: str, overrides: dict[str, str], tmp_path: Path
) -> None:
    out = tmp_path / "trace.pftrace"
    scenario = str(SCENARIOS / scenario)
    lanewise.write_trace(scenario, out, form="perfetto", start="20.1 us", span="20 us", overrides=overrides)
    read = perfetto_reader.read(out)
    compared = 0
    for track, values in read.counters.items():
        if "credits left" not in track[-1]:
            continue
        flow_class, kind, *_ = track[-1].split()
        costs = defaultdict(list)
        for tlp in read.slices[(*track[:-1], "TLPs")]:
            if _CLASSES[tlp.name] == flow_class:
                carried = 0 if tlp.name == "MRd" else tlp.says["length_bytes"]
                costs[tlp.start].append(1 if kind == "header" else -(-carried // 16))
        before, has_risen = None, False
        for at, value in values:
            if costs[at] and before is not None and has_risen:
                assert before - costs[at][0] == value, (track, at)
                compared += 1
            elif not costs[at]:
                assert before is None or value > before, (track, at)
                has_risen = True
            costs[at] = costs[at][1:]
            before = value
    assert compared > 100


_CLASSES = {"MWr": "posted", "MRd": "non-posted", "CplD": "completion", "Cpl": "completion"}


def test_tags_in_use_are_what_a_session_has_at_the_same_time(switch: perfetto_reader.Read) -> None:
    values = switch.counters["requesters", "card0, tags in use"]
    assert values[0][0] == 20_100_000
    session = lanewise.Session(SWITCH)
    # No last completion is on the wire then: it would have no row, and its read would stay counted.
    session.step("20.1 us")
    compared = set()
    for step in range(100):
        at = 20_100_000 + 100_000 * step
        if at <= values[-1][0]:
            out = session.state().requesters.filter(device="card0")["outstanding_reads"][0]
            assert switch.value(("requesters", "card0, tags in use"), at) == out, at
            compared.add(out)
        session.step("100 ns")
    assert len(compared) > 3
    assert max(value for _, value in values) == 256


def test_who_is_held_up_is_on_a_track_for_as_long_as_that(switch: perfetto_reader.Read) -> None:
    rows = lanewise.trace(SWITCH, start="20.1 us", span="10 us", kinds=["blocked"]).rows
    ends = rows.filter(rows["what"].str.starts_with("goes on"))
    held = [
        one for track, slices in switch.slices.items() if track[-1].startswith("held up") for one in slices
    ]
    inside = {(one.start, one.end) for one in held}
    for row in ends.iter_rows(named=True):
        at, ticks = row["at_ticks"], row["waits"][0]["ticks"]
        start = max((at - ticks) >> 10, 20_100_000)
        assert (start, at >> 10) in inside
    assert ends.height > 20
    assert {one.name for one in held} == {"credits (CplD)"}


def test_queues_are_as_deep_as_the_rows_say(switch: perfetto_reader.Read) -> None:
    rows = lanewise.trace(SWITCH, start="20.1 us", span="10 us", kinds=["tlp", "queued"]).rows
    expected = defaultdict(list)
    for row in rows.filter(rows["queue_depth"].is_not_null()).iter_rows(named=True):
        flow_class = _CLASSES[row["note"] if row["kind"] == "queued" else row["what"]]
        of = (row["link"], row["direction"], f"{flow_class} TLPs that wait")
        expected[of].append((row["at_ticks"] >> 10, row["queue_depth"]))
    found = {
        (track[0].removeprefix("link ").split(",")[0], track[1].split(",")[0], track[2]): values
        for track, values in switch.counters.items()
        if track[-1].endswith("that wait")
    }
    assert found == expected
    assert len(found) == 6


def test_every_kind_of_link_is_read_by_perfettos_definitions(tmp_path: Path) -> None:
    for name, track in (("flit", "flits"), ("replay", "errors"), ("mmio", "TLPs")):
        out = tmp_path / f"{name}.pftrace"
        lanewise.write_trace(str(SCENARIOS / f"{name}.toml"), out, form="perfetto", span="20 us")
        read = perfetto_reader.read(out)
        assert any(one[-1] == track and slices for one, slices in read.slices.items()), name
