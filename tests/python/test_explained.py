"""What explains the difference between two runs: what differs is tried alone, and what it brings is said."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import lanewise
from lanewise.comparison import Comparison
from lanewise.side_by_side.written import Written, differences, fewer

if TYPE_CHECKING:
    from collections.abc import Callable

    from typer.testing import Result

    from lanewise.side_by_side.explained import Explanation

    CommandLine = Callable[..., Result]

RIG = """
title = "A card"
[host.server]
slots = { slot1 = "gen3 x8" }
[endpoint.card]
attach = "server.slot1"
generation = "gen3"
width = "x8"
[run]
time_limit = "400 us"
[[workload]]
kind = "dma"
name = "write"
device = "card"
direction = "write"
size = "4 KiB"
outstanding = 16
"""
NARROW_SLOT = RIG.replace('slot1 = "gen3 x8"', 'slot1 = "gen3 x4"')
BEHIND_A_SWITCH = RIG.replace('attach = "server.slot1"', 'attach = "sw.*"') + (
    '[switch.sw]\nattach = "server.slot1"\nports = { port0 = "gen3 x8", port1 = "gen3 x8" }\n'
)


def explanation(a: Any, b: Any, **keys: Any) -> Explanation:
    """Compare two runs, and return what explains their difference."""
    found = lanewise.compare(a, b, **keys)
    assert isinstance(found, Comparison)
    assert found.explanation is not None
    return found.explanation


def named(a: str, b: str) -> list[tuple[str, ...]]:
    """Return the names of all differences of two texts."""
    return [each.names for each in differences(Written.read(a, ()), Written.read(b, ()))]


def test_one_difference_explains_all_of_it_without_more_runs() -> None:
    found = explanation(RIG, NARROW_SLOT)
    (tried,) = found.tried
    assert found.sentence == "They differ only in server.slots.slot1"
    assert (tried.difference.values_a, tried.difference.values_b) == (("gen3 x8",), ("gen3 x4",))
    assert tried.share == 1.0


def test_what_brings_the_difference_is_told_from_what_does_not() -> None:
    """The slot halves the goodput; as many in flight as these fill either."""
    found = explanation(RIG, NARROW_SLOT.replace("outstanding = 16", "outstanding = 32"))
    by_name = {each.difference.names[0]: each for each in found.tried}
    slot, outstanding = by_name["server.slots.slot1"], by_name["workload.write.outstanding"]
    assert found.sentence == "server.slots.slot1 alone brings 100 % of the difference"
    assert slot.share == pytest.approx(1, abs=0.01)
    assert outstanding.share == pytest.approx(0, abs=0.01)
    assert slot.alone is not None
    assert outstanding.alone is not None
    assert slot.alone.goodput_gb_per_s == pytest.approx(found.b.goodput_gb_per_s, rel=0.01)
    assert outstanding.alone.goodput_gb_per_s == pytest.approx(found.a.goodput_gb_per_s, rel=0.01)
    assert slot.without == outstanding.alone, "of two, what one leaves is what the other brings"


def test_what_is_needed_together_is_not_given_to_one() -> None:
    """Slot and card have to be wider both: neither alone brings anything."""
    narrow = NARROW_SLOT.replace('width = "x8"', 'width = "x4"')
    found = explanation(narrow, RIG)
    assert found.sentence.startswith("It takes several together; of these, B needs each: ")
    assert {"server.slots.slot1", "card.width"} == {each.difference.names[0] for each in found.tried}
    assert [each.share for each in found.tried] == pytest.approx([0, 0], abs=0.01)


def test_what_follows_from_a_difference_and_what_says_the_same_are_none() -> None:
    assert named(RIG, RIG.replace("A card", "Another title")) == []
    assert named(RIG, RIG.replace('"4 KiB"', '"4096 B"')) == []
    assert (
        named(RIG, RIG + "threshold_is_a_comment = 1\n".replace("threshold_is_a_comment = 1", "# nothing"))
        == []
    )
    assert named(RIG, RIG.replace('generation = "gen3"', 'generation = "gen2"')) == [("card.generation",)]


def test_what_cannot_be_changed_alone_is_changed_together() -> None:
    (only,) = named(RIG, BEHIND_A_SWITCH)
    assert set(only) == {"card.attach", "sw"}
    wider = BEHIND_A_SWITCH.replace("outstanding = 16", "outstanding = 1")
    assert ("workload.write.outstanding",) in named(RIG, wider)
    assert len(named(RIG, wider)) == 2


def test_a_load_by_another_name_takes_the_place_of_the_first() -> None:
    other = NARROW_SLOT.replace('name = "write"', 'name = "video"')
    assert named(RIG, other) == [("server.slots.slot1",), ("workload.write", "workload.video")]
    assert explanation(RIG, other).sentence == "server.slots.slot1 alone brings 100 % of the difference"


def test_an_override_and_the_file_are_one_difference() -> None:
    a = Written.read(RIG, (("workload.write.outstanding", "4"),))
    b = Written.read(RIG.replace("outstanding = 16", "outstanding = 8"), ())
    (found,) = differences(a, b)
    assert found.names == ("workload.write.outstanding",)
    assert (found.values_a, found.values_b) == (("4",), ("8",))
    assert found.put_into(a, b).values == b.values
    assert found.put_into(b, a).values == a.values


def test_many_alike_are_tried_as_one() -> None:
    cards = "".join(
        f'[endpoint.c{n}]\nattach = "s.slot{n}"\ngeneration = "gen3"\nwidth = "x4"\n' for n in range(8)
    )
    rig = (
        '[host.s]\nslots = { "slot0..slot7" = "gen3 x4" }\n'
        + cards
        + ('[[workload]]\nkind = "dma"\nname = "w"\ndevice = "c0"\ndirection = "write"\n')
    )
    found = differences(Written.read(rig, ()), Written.read(rig.replace('"x4"\n', '"x2"\n'), ()))
    assert len(found) == 8
    (one,) = fewer(found, 6)
    assert one.lines == [("c0\N{EN DASH}7.width \N{MULTIPLICATION SIGN}8", "x4", "x2")]


def test_where_goodput_is_the_same_the_latency_that_moved_most_is_explained() -> None:
    """Posted writes fill the link either way; the time to check a packet is in the latency of each."""
    slower = {"server.receive_latency": "500 ns", "server.memory_bandwidth": "900 GB/s"}
    found = explanation(RIG, RIG, overrides={"workload.write.outstanding": 64}, overrides_b=slower)
    assert found.measure.called == "write of card (write)"
    assert found.document()["quantity"] == "latency_ns_mean"
    assert found.sentence == "server.receive_latency alone brings 100 % of the difference in latency"


def test_what_changes_nothing_is_said_to() -> None:
    idle = {"card.tag_hold": "10 ns", "server.memory_latency": "900 ns"}
    found = explanation(RIG, RIG, overrides_b=idle)
    assert found.sentence == "There is next to no difference, and none of what differs makes one"
    assert all(each.share is None for each in found.tried)


def test_finished_runs_are_tried_only_when_that_is_asked_for(lanewise: CommandLine, tmp_path: Path) -> None:
    rig = tmp_path / "rig.toml"
    rig.write_text(RIG)
    sets = ["--set", "card.link.force_width=x2", "--set", "server.memory_latency=900 ns"]
    assert lanewise("run", rig, "--out", tmp_path / "a").exit_code == 0
    assert lanewise("run", rig, *sets, "--out", tmp_path / "b").exit_code == 0
    folders = [str(tmp_path / name) for name in "ab"]
    quiet, tried = explanation(*folders), explanation(*folders, explain=True)
    assert quiet.not_tried == "finished runs are simulated again only with --explain"
    assert [each.alone for each in quiet.tried] == [None, None]
    assert tried.not_tried is None
    assert tried.sentence == "card.link.force_width alone brings 100 % of the difference"
    never = explanation(rig, rig, overrides_b=dict(part.split("=") for part in sets[1::2]), explain=False)
    assert never.not_tried == "--no-explain says so"


def test_long_runs_are_tried_only_when_that_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lanewise.side_by_side.explained.MOST_EVENTS", 1000)
    b = NARROW_SLOT.replace("outstanding = 16", "outstanding = 32")
    assert explanation(RIG, b).not_tried == "2 more runs of this length take long; --explain does them"
    assert explanation(RIG, b, explain=True).not_tried is None


def test_a_run_that_does_not_come_out_again_is_not_explained(lanewise: CommandLine, tmp_path: Path) -> None:
    """The scenario that a folder was kept with has been edited since."""
    rig = tmp_path / "rig.toml"
    rig.write_text(RIG)
    for name in "ab":
        assert lanewise("run", rig, "--out", tmp_path / name).exit_code == 0
    edited = NARROW_SLOT.replace("outstanding = 16", "outstanding = 2")
    (tmp_path / "b" / "scenario.toml").write_text(edited)
    found = explanation(str(tmp_path / "a"), str(tmp_path / "b"), explain=True)
    assert found.not_tried == (
        "the scenario that b was kept with does not give its result when it is run again"
    )


def test_the_answer_is_printed_and_fits(
    lanewise: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rig = tmp_path / "rig.toml"
    rig.write_text(RIG)
    for columns in ("80", "60"):
        monkeypatch.setenv("COLUMNS", columns)
        text = lanewise("whatif", rig, "card.link.force_width=x2", "server.memory_latency=900 ns").stdout
        told = text[text.index("What explains the difference") :]
        assert "card.link.force_width alone brings 100 %" in " ".join(told.split())
        assert max(map(len, told.splitlines())) <= int(columns)
