"""The dissector in tshark, where that is installed (Debian: tshark)."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from typer.testing import CliRunner

import lanewise
from lanewise.cli.commands import app

TSHARK = shutil.which("tshark")
SCENARIOS = Path(__file__).parents[3] / "scenarios"
WINDOW = {"start": "20 us", "span": "40 us"}

pytestmark = pytest.mark.skipif(TSHARK is None, reason="tshark is not installed")


def tshark(trace: Path, *arguments: str) -> str:
    dissector = CliRunner().invoke(app, ["trace", "--wireshark-dissector"]).stdout.strip()
    command = [str(TSHARK), "-n", "-X", f"lua_script:{dissector}", "-r", str(trace), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Lua" not in done.stderr, done.stderr
    assert "Dissector bug" not in done.stdout
    assert "Lua Error" not in done.stdout
    return done.stdout


def fields(trace: Path, shown: str, *names: str) -> list[tuple[str, ...]]:
    wanted = [argument for name in names for argument in ("-e", name)]
    lines = tshark(trace, "-2", "-Y", shown, "-T", "fields", *wanted).splitlines()
    return [tuple(line.split("\t")) for line in lines]


@pytest.fixture(scope="module")
def switch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("wireshark") / "switch.pcapng"
    lanewise.write_trace(SCENARIOS / "switch.toml", out, form="pcapng", **WINDOW)
    return out


def test_fields_and_a_filter_by_tag(switch: Path) -> None:
    rows = lanewise.trace(SCENARIOS / "switch.toml", kinds=["tlp"], **WINDOW).rows
    wanted = rows.filter(tag=3)
    found = fields(
        switch,
        "lanewise.tlp.tag == 3",
        *("lanewise.tlp.name", "lanewise.tlp.requester_id", "lanewise.tlp.bytes", "lanewise.address"),
        *("frame.interface_name", "lanewise.start_ns"),
    )
    expected = [
        (
            row["what"],
            row["requester_id"].removeprefix("0000:"),
            str(row["length_bytes"]),
            int(row["address"], 16),
        )
        for row in wanted.iter_rows(named=True)
    ]
    assert [(name, who, size, int(address, 16)) for name, who, size, address, *_ in found] == expected
    assert [of for *_, of, _ in found] == [
        f"{link} {way}" for link, way in wanted.select("link", "direction").rows()
    ]
    assert [float(start) for *_, start in found] == pytest.approx(wanted["at_ns"].to_list(), rel=1e-12)
    assert len(found) > 4


def test_a_completion_leads_to_its_request_and_back(switch: Path) -> None:
    names = (
        "frame.number",
        "lanewise.link",
        "lanewise.tlp.requester_id",
        "lanewise.tlp.tag",
        "lanewise.issued_ns",
    )
    requests = fields(switch, 'lanewise.tlp.name == "MRd"', *names, "lanewise.tlp.completion_in")
    completions = fields(
        switch,
        'lanewise.tlp.name == "CplD" && lanewise.tlp.request_in',
        *names,
        "lanewise.tlp.request_in",
        "lanewise.tlp.since_request_ns",
    )
    by_frame = {frame: rest for frame, *rest in requests}
    answered = {frame: set(filter(None, answers.split(","))) for frame, *_, answers in requests}
    assert len(completions) > 100
    for frame, *who, request, since in completions:
        assert by_frame[request][:-1] == who
        assert frame in answered[request]
        assert float(since) > 200
    assert sum(map(len, answered.values())) == len(completions)


def test_dllps_have_their_fields(switch: Path) -> None:
    rows = lanewise.trace(SCENARIOS / "switch.toml", kinds=["dllp"], **WINDOW).rows
    updates = rows.filter(rows["what"] == "UpdateFC-P")
    found = fields(
        switch, 'lanewise.dllp.name == "UpdateFC-P"', "lanewise.dllp.header_fc", "lanewise.dllp.data_fc"
    )
    assert [(int(header), int(data)) for header, data in found] == updates.select(
        "header_credits", "data_credits"
    ).rows()
    acks = fields(switch, 'lanewise.dllp.name == "Ack"', "lanewise.dllp.sequence")
    assert [int(sequence) for (sequence,) in acks] == rows.filter(rows["what"] == "Ack")["sequence"].to_list()


def test_waits_are_in_the_tree_and_add_up(switch: Path) -> None:
    found = fields(switch, "lanewise.waited_ns > 1000", "lanewise.waited_ns", "lanewise.wait.ns")
    assert len(found) > 100
    for waited, parts in found:
        assert sum(map(float, parts.split(","))) == pytest.approx(float(waited), abs=1e-6)


@pytest.mark.parametrize(
    "scenario", ["replay", "flit", "mmio", "virtual_channels", "nvme_direct", "peer_to_peer"]
)
def test_every_packet_of_other_scenarios_is_decoded(scenario: str, tmp_path: Path) -> None:
    out = tmp_path / "trace.pcapng"
    end = lanewise.write_trace(SCENARIOS / f"{scenario}.toml", out, form="pcapng", span="20 us")
    assert len(fields(out, "lanewise.tlp || lanewise.dllp", "frame.number")) == end["rows"] > 0
    assert fields(out, "lanewise.expert.version || _ws.malformed", "frame.number") == []


def test_what_is_sent_again_is_marked(tmp_path: Path) -> None:
    out = tmp_path / "trace.pcapng"
    lanewise.write_trace(SCENARIOS / "replay.toml", out, form="pcapng", span="20 us")
    rows = lanewise.trace(SCENARIOS / "replay.toml", span="20 us", kinds=["tlp"]).rows
    again = rows.filter(rows["note"].str.starts_with("again")).height
    assert len(fields(out, "lanewise.expert.again", "frame.number")) == again > 0
    tree = json.loads(tshark(out, "-Y", "lanewise.again == 1", "-T", "json"))
    assert len(tree) == again
