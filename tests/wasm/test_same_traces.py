"""A trace through the module in Node is the one that Python gives: row by row, and as files byte by byte."""

from __future__ import annotations

import base64
import io
import json
from typing import Any

import pytest
from in_node import MODULE, ROOT, node

import lanewise

SWITCH = (ROOT / "scenarios/switch.toml").read_text(encoding="utf-8")
REPLAY = (ROOT / "scenarios/replay.toml").read_text(encoding="utf-8")

VIEWS: list[tuple[str, dict[str, Any]]] = [
    (SWITCH, {"start": "20 us", "span": "5 us"}),
    (SWITCH, {"start": "20 us", "span": "2 us", "links": ["card0"], "kinds": ["tlp", "queued"], "last": 40}),
    (SWITCH, {"span": "300 ns", "around": "first-blocked"}),
    (SWITCH, {"span": "1 us", "around": "worst-latency", "kinds": ["tlp", "dllp"]}),
    (SWITCH, {"span": "1 us", "around": "stall"}),
    (REPLAY, {"span": "100 ns", "around": "replay"}),
    (SWITCH, {"transaction": "worst-latency"}),
    (SWITCH, {"start": "20 us", "transaction": "3"}),
]


def test_rows_are_the_same() -> None:
    answers = node().answers([("trace", text, {"path": "<text>", **asked}) for text, asked in VIEWS])
    for (text, asked), answer in zip(VIEWS, answers, strict=True):
        native = json.loads(lanewise.trace(text, **asked).to_json())
        assert answer.get("fingerprint") == native["fingerprint"], asked
        assert answer["rows"][:20] == native["rows"][:20], asked
        assert answer == native, asked
    assert len(answers[0]["rows"]) > 500
    assert answers[4]["around"]["at_ns"] is None


def test_a_request_is_found_by_what_the_row_of_any_of_its_packets_says() -> None:
    window = {"start": "20 us", "span": "400 ns", "kinds": ["tlp"]}
    (rows, worst) = node().answers(
        [("trace", SWITCH, window), ("trace", SWITCH, {"span": "1 us", "around": "worst-latency"})]
    )
    keys = ("requester", "issued_at_ticks", "tag", "address", "length_bytes")
    asked = [{key: row[key] for key in keys} for row in rows["rows"]]
    requests = [*asked[::6], worst["around"]["request"]]
    assert {row["what"] for row in rows["rows"][::6]} >= {"CplD", "MWr"}
    answers = node().answers(
        [("trace", SWITCH, {"request": request, "span": "2 ms"}) for request in requests]
    )
    for request, answer in zip(requests, answers, strict=True):
        found = answer["transaction"]
        assert (found["requester"], found["issued_at_ticks"]) == (
            request["requester"],
            request["issued_at_ticks"],
        )
        assert found["tag"] == request["tag"]
        # Time at stations is the latency to the tick, and the parts of a wait are the wait.
        assert sum(station["span_ticks"] for station in found["stations"]) == found["latency_ticks"]
        for station in found["stations"]:
            if station["stage"] == "queue":
                assert sum(wait["ticks"] for wait in station["waits"]) == station["span_ticks"]
        assert all(row["issued_at_ticks"] == request["issued_at_ticks"] for row in answer["rows"])
    native = lanewise.trace(SWITCH, transaction="worst-latency").document["transaction"]
    assert answers[-1]["transaction"] == native


@pytest.mark.parametrize(
    "asked", [{"start": "20 us", "span": "5 us"}, {"span": "100 ns", "around": "first-blocked"}]
)
def test_files_are_the_same(asked: dict[str, str]) -> None:
    forms = ("perfetto", "jsonl")
    answers = node().answers([("traceFile", SWITCH, {**asked, "form": form}) for form in forms])
    for form, answer in zip(forms, answers, strict=True):
        native = io.BytesIO()
        end = lanewise.write_trace(SWITCH, native, form=form, **asked)  # type: ignore[arg-type]
        assert (answer["rows"], answer["fingerprint"]) == (end["rows"], end["fingerprint"])
        assert base64.b64decode(answer["base64"], validate=True) == native.getvalue()
        assert end["rows"] > 10


def test_perfetto_reads_the_file() -> None:
    protos = pytest.importorskip(
        "perfetto.protos.perfetto.trace.perfetto_trace_pb2", reason="perfetto is not installed"
    )
    (file, rows) = node().answers(
        [
            ("traceFile", SWITCH, {"start": "20 us", "span": "5 us", "form": "perfetto"}),
            ("trace", SWITCH, {"start": "20 us", "span": "5 us", "kinds": ["tlp"]}),
        ]
    )
    read = protos.Trace.FromString(base64.b64decode(file["base64"]))
    tracks = {
        one.track_descriptor.uuid: one.track_descriptor.name
        for one in read.packet
        if one.HasField("track_descriptor")
    }
    begins = [
        one
        for one in read.packet
        if one.HasField("track_event")
        and one.track_event.type == protos.TrackEvent.TYPE_SLICE_BEGIN
        and tracks[one.track_event.track_uuid] == "TLPs"
    ]
    assert sorted(one.timestamp for one in begins) == sorted(row["at_ticks"] >> 10 for row in rows["rows"])


def test_what_is_wrong_is_said() -> None:
    wrong = [{"start": "20"}, {"links": ["nic"]}, {"form": "pcapng"}, {"around": "noon"}]
    answers = node().answers([("trace", SWITCH, asked) for asked in wrong])
    for answer, words in zip(
        answers, ("with its unit", "there are", "perfetto or jsonl", "stall"), strict=True
    ):
        assert answer["status"] == 2
        assert words in answer["errors"][0]["message"]


def test_the_module_has_no_writer_of_captures_which_no_page_asks_for() -> None:
    node()
    module = MODULE.read_bytes()
    assert b"1 ns here is 1 ps of the run" in module
    # The byte-order magic that a capture begins with: as data, and as a constant of code (signed LEB128).
    assert (0x1A2B3C4D).to_bytes(4, "little") not in module
    assert b"\x41\xcd\xf8\xac\xd1\x01" not in module
