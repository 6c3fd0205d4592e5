"""What binds a device is what the core found to limit it, and what brings more when it is larger."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest
from machines import switched

from lanewise import _core
from lanewise.health.predict.prediction import predict
from lanewise.health.predict.reason import as_much_in_use, limit_of, limit_of_device
from lanewise.scenario.numbering import with_names

if TYPE_CHECKING:
    from lanewise.documents import Run

SCENARIOS = Path(__file__).parents[3] / "scenarios"
WORDS = {"a": "01:00.0", "b": "02:00.0"}
READER_AND_WRITER = """
[host.server]
part = "generic-gen5-server"
memory_bandwidth = "40 GB/s"
slots = { s1 = "gen5 x16", s2 = "gen5 x16" }
[endpoint.a]
attach = "server.s1"
generation = "gen5"
width = "x16"
tags = 768
[endpoint.b]
attach = "server.s2"
generation = "gen5"
width = "x16"
tags = 768
[[workload]]
kind = "dma"
name = "ra"
device = "a"
direction = "read"
size = "4 KiB"
outstanding = 256
[[workload]]
kind = "dma"
name = "rb"
device = "b"
direction = "write"
size = "4 KiB"
outstanding = 256
"""
SHORT = ("run.time_limit", "60 us")


def run(source: str, *overrides: tuple[str, str]) -> Run:
    return cast("Run", json.loads(_core.run("reason", [SHORT, *overrides], source=source)))


def goodput(result: Run) -> float:
    return sum(flow["goodput_gb_per_s"] for flow in result["flows"])


def test_the_memory_of_the_host_is_the_reason_and_not_the_tags_that_wait_for_it() -> None:
    """The reader has no tag left all the time, the writer no credits: both because memory is slow."""
    result = run(READER_AND_WRITER)
    tags = {each["device"]: each["time_attribution"].get("tags", 0.0) for each in result["requesters"]}
    assert tags["a"] > 0.9
    for device in ("a", "b"):
        limit = limit_of_device(result, WORDS, device)
        assert limit is not None
        assert limit.words == "the memory of the host, 40 GB/s: in use 100 % of the time"
    assert goodput(run(READER_AND_WRITER, ("a.tags", "1024"))) == pytest.approx(goodput(result), rel=0.02)
    assert goodput(run(READER_AND_WRITER, ("server.memory_bandwidth", "80 GB/s"))) > 1.5 * goodput(result)


def test_in_a_run_of_many_each_device_has_a_limit_of_its_own() -> None:
    """The reader waits for its 32 tags, which are a third of the data; the writer has a link that is full."""
    result = run(READER_AND_WRITER, ("server.memory_bandwidth", "400 GB/s"), ("a.tags", "32"))
    writer = limit_of_device(result, WORDS, "b")
    assert writer is not None
    assert writer.words == "the link of 02:00.0, full towards the host"
    reader = limit_of_device(result, WORDS, "a")
    assert reader is not None
    assert reader.words == "the tags of 01:00.0: all in use 100 % of the time"
    whole = limit_of(result, WORDS)
    assert whole is not None
    assert whole.detail.startswith(": payload ")
    assert whole.is_same(writer)
    assert whole.whole() == f"{writer.words} (65 % of all data)"


ALONE = READER_AND_WRITER.partition('[[workload]]\nkind = "dma"\nname = "rb"')[0]
ROOM = ("server.memory_bandwidth", "400 GB/s")


@pytest.mark.parametrize(
    ("overrides", "words", "larger"),
    [
        ([ROOM, ("a.tags", "32")], "the tags of 01:00.0: all in use 100 % of the time", ("a.tags", "64")),
        (
            [ROOM, ("workload.ra.outstanding", "1")],
            "the operations of 01:00.0: as many under way as may be",
            ("workload.ra.outstanding", "2"),
        ),
        ([ROOM], "the link of 01:00.0, full away from the host", ("server.slots.s1", "gen6 x16")),
        ([], "the memory of the host, 40 GB/s: in use 100 % of the time", ROOM),
    ],
)
def test_what_is_named_brings_more_when_it_is_larger(
    overrides: list[tuple[str, str]], words: str, larger: tuple[str, str]
) -> None:
    before = run(ALONE, *overrides)
    limit = limit_of(before, WORDS)
    assert limit is not None
    assert limit.words.startswith(words)
    changes = [larger, ("a.generation", "gen6")] if larger[0].startswith("server.slots") else [larger]
    assert goodput(run(ALONE, *overrides, *changes)) > 1.3 * goodput(before)


@pytest.mark.parametrize(
    ("overrides", "kind", "words"),
    [
        (
            {"server.credits.posted_header": "4", "workload.ra.direction": "write"},
            "credits",
            r"credits for posted packets on the link of 01:00\.0 towards the host: waited for \d\d % of .*",
        ),
        (
            {"server.credits.non_posted_header": "1"},
            "credits",
            r"credits for non-posted packets on the link of 01:00\.0 towards the host: waited for \d\d % .*",
        ),
        (
            {
                "workload.ra.direction": "write",
                "a.link.propagation": "300 ns",
                "a.retry_buffer": "4 KiB",
                "a.replay_timer": "10 us",
            },
            "retry_buffer",
            r"the retry buffer for the link of 01:00\.0 towards the host: waited for \d\d % of .*",
        ),
        (
            {
                "workload.ra.direction": "write",
                "a.link.bit_error_rate_upstream": "0.001",
                "run.time_limit": "5 ms",
            },
            "errors",
            r"bit errors on the link of 01:00\.0 towards the host: \d\d % of the time is lost",
        ),
    ],
)
def test_what_is_at_a_link_is_said_with_its_direction(
    overrides: dict[str, str], kind: str, words: str
) -> None:
    result = run(ALONE, ROOM, *overrides.items())
    limit = limit_of(result, WORDS)
    assert limit is not None
    assert limit.kind == kind
    assert limit.owner == "a"
    assert re.fullmatch(words, limit.words), limit.words


def test_unacknowledged_flits_are_said_of_their_link() -> None:
    late = [("server.receive_latency", "2 us"), ("workload.copy.direction", "write"), SHORT]
    limit = limit_of(json.loads(_core.run(str(SCENARIOS / "flit.toml"), late)), {})
    assert limit is not None
    assert (limit.kind, limit.owner, limit.direction) == ("sequence_window", "gpu0", "upstream")
    said = "what may be unacknowledged on the link of gpu0 towards the host: waited for"
    assert limit.words.startswith(said)


def test_a_link_that_mostly_wakes_is_said_to_sleep() -> None:
    sleeps = (("a.link.aspm", "l1"), ("a.link.l1_idle", "100 ns"))
    few = (("workload.ra.outstanding", "1"), ("workload.ra.size", "64 B"), ("b.link.aspm", "off"))
    alone = READER_AND_WRITER[: READER_AND_WRITER.rindex("[[workload]]")]
    result = run(alone, *sleeps, *few)
    found = limit_of_device(result, WORDS, "a")
    assert found is not None
    assert re.fullmatch(r"the sleep of the link of 01:00\.0: it wakes 9\d % of the time", found.words), found


def test_links_one_behind_the_other_are_named_together() -> None:
    """A device as wide as the uplink of its switch: a faster link of either alone brings nothing."""
    rows = predict(switched({"can": "16 x16"}), together=False).rows
    read = next(row for row in rows if row.benchmark == "fio read 128 KiB")
    assert read.binding.startswith("the link of 03:00.0, full towards the host")
    assert "; as much in use: the link of switch 01:00.0 towards the host" in read.binding


def test_links_that_are_less_in_use_are_not_named() -> None:
    result = run(ALONE, ROOM)
    limit = limit_of(result, WORDS)
    assert limit is not None
    assert as_much_in_use(result, limit, WORDS) == ""


def test_names_stand_for_numbers_wherever_a_result_says_what_limits() -> None:
    numbered = ALONE.replace("endpoint.a]", "endpoint.n1]").replace('"a"', '"n1"').replace("s1", "n0")
    names = {"n0": "port_00_01_0", "n1": "gpu_01_00_0"}
    found = with_names(run(numbered, ROOM), names)
    assert found["limited_by"] is not None
    assert found["limited_by"]["name"] == "gpu_01_00_0.downstream"
    assert "the wire above gpu_01_00_0, downstream" in found["limited_by"]["sentence"]
    assert {link["upper"] for link in found["links"]} == {"server.port_00_01_0", "server.s2"}
    text = json.dumps([found["limited_by"], found["links"], found["resources"]])
    assert '"n0' not in text
    assert '"n1' not in text


@pytest.mark.parametrize(
    ("name", "kind", "is_waited"),
    [
        ("ats", "wire", False),
        ("capi_flash", "window", True),
        ("copy", "core", False),
        ("gpu_direct", "wire_beyond", False),
        ("nvme_fio", "pipeline", False),
    ],
)
def test_a_share_is_of_use_or_of_time_that_others_waited(name: str, kind: str, *, is_waited: bool) -> None:
    found = json.loads(_core.run(str(SCENARIOS / f"{name}.toml"), [("run.time_limit", "200 us")]))
    limit: Any = found["limited_by"]
    assert limit["kind"] == kind
    assert limit["in_use"] is not is_waited
