"""Several sides, and benchmarks' outputs: rows that belong together, ratios, and what cannot be compared."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from test_gpu_copies import NVBANDWIDTH_TEXT, PEER_TEST
from test_output_schema import check

import lanewise
from lanewise.health.judge import read_measurement
from lanewise.side_by_side.found import Found, of_measurement
from lanewise.side_by_side.rows import matched
from lanewise.side_by_side.several import SideBySide

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from typer.testing import Result

    CommandLine = Callable[..., Result]

ROOT = Path(__file__).parents[3]
CAPTURED = ROOT / "tests/python/captured"
WRITE = CAPTURED / "perftest-6.06-ib_write_bw.txt"
ALL_SIZES = CAPTURED / "perftest-6.06-ib_write_bw-all.txt"
OSU, OSU_LATER = CAPTURED / "osu-5.3-osu_bw.txt", CAPTURED / "osu-7.4-osu_bw-tail.txt"
FIO = CAPTURED / "fio-3.33-two-jobs.json"
IPERF = CAPTURED / "iperf3-3.12-tcp.json"
ONE_NIC = """
[host.server]
slots = { slot1 = "gen3 x8" }
[endpoint.nic]
attach = "server.slot1"
generation = "gen3"
width = "x8"
[run]
time_limit = "400 us"
[[workload]]
kind = "dma"
name = "send"
device = "nic"
direction = "DIRECTION"
size = "64 KiB"
"""


def job(name: str, **keys: Any) -> Found:
    """Return a result of a drive: random reads of 4 KiB where nothing else is said."""
    usual: dict[str, Any] = {
        "direction": "read",
        "target": "/dev/nvme0n1",
        "size_bytes": 4096,
        "queue_depth": 32,
        "gb_per_s": 2.0,
        "tool": "fio",
        "test": name,
        "kind": "is_storage",
        "on_link": "write",
        "random": True,
    }
    return Found(name, **usual | keys)


def flow(name: str, **keys: Any) -> Found:
    """Return a flow of a run."""
    return Found(name, **{"direction": "read", "gb_per_s": 2.0, "on_link": "read"} | keys)


def pairs(a: Sequence[Found], b: Sequence[Found]) -> list[tuple[str | None, str | None]]:
    """Return the names of both sides of each row."""
    rows = [row.sides for row in matched([a, b])]
    return [(one and one.name, other and other.name) for one, other in rows]


def both(a: Found, b: Found) -> bool:
    """Whether two results, alone, are of the same."""
    return pairs([a], [b]) == [(a.name, b.name)]


def test_results_are_matched_by_name_and_not_by_their_place() -> None:
    a = [job("one", size_bytes=4096), job("two", size_bytes=8192)]
    assert pairs(a, a[::-1]) == [("one", "one"), ("two", "two")]


def test_a_job_by_another_name_and_a_drive_of_another_are_the_same_where_nothing_else_fits() -> None:
    assert both(job("one"), job("other", target="/dev/nvme7n1"))
    assert both(job("one"), job("one", queue_depth=64)), "the row says that the depth differs"
    several = [job("x"), job("y")]
    assert pairs([job("one")], several) == [("one", None), (None, "x"), (None, "y")]


@pytest.mark.parametrize(
    "other",
    [
        {"direction": "write", "on_link": "read"},
        {"size_bytes": 8192},
        {"random": False},
        {"gb_per_s": None, "latency_ns_mean": 9.0, "on_link": None},
    ],
    ids=str,
)
def test_what_was_asked_otherwise_is_not_the_same(other: dict[str, Any]) -> None:
    assert not both(job("one"), job("other", **other))


def test_two_tests_of_one_tool_are_not_the_same_though_their_bytes_go_one_way() -> None:
    keys = {"kind": "is_nic", "on_link": "read", "tool": "perftest"}
    write = job("w", test="RDMA_Write BW Test", direction="write", **keys)
    assert not both(write, job("s", test="Send BW Test", direction="send", **keys))


def test_outputs_of_two_tools_are_matched_by_the_way_of_their_bytes() -> None:
    assert both(job("one"), job("rd", tool="bdevperf", test="rd"))
    assert not both(job("one"), job("rd", tool="bdevperf", test="rd", on_link="read"))
    assert not both(job("one"), job("rd", tool="osu", test="rd", kind="is_nic"))


def test_a_copy_is_of_its_pair_of_gpus_whatever_tool_made_it() -> None:
    keys = {"kind": "is_gpu", "direction": "write", "on_link": "write", "random": False, "target": None}
    nvbandwidth = [job(f"{i}", ends=(i, 1 - i), tool="nvbandwidth", test="write", **keys) for i in (0, 1)]
    peers = [job(f"P{i}", ends=(i, 1 - i), tool="p2p", test="uni", size_bytes=None, **keys) for i in (1, 0)]
    assert pairs(nvbandwidth, peers) == [("0", "P0"), ("1", "P1")]
    through_host = [
        job("P0", ends=(0, 1), tool="p2p", test="uni", is_direct=False, **keys | {"on_link": None})
    ]
    assert pairs(nvbandwidth[:1], through_host) == [("0", None), (None, "P0")]


def test_a_flow_is_its_results_only_candidate_or_nothing() -> None:
    measured = job("rd", direction="write", on_link="read")
    assert both(flow("f", size_bytes=4096), measured)
    assert both(flow("f"), measured), "a flow that states no size"
    assert not both(flow("f", size_bytes=8192), measured)
    assert not both(flow("f", on_link="write"), measured)
    assert not both(flow("f", kind="is_nic"), measured)
    assert pairs([flow("f"), flow("g")], [measured]) == [("f", None), ("g", None), (None, "rd")]
    large = job("rd", direction="write", on_link="read", size_bytes=512 << 20)
    assert both(flow("f", size_bytes=1 << 20), large), "from 1 MiB on, the size makes no difference"


def test_a_third_side_joins_rows_that_the_first_does_not_have() -> None:
    rows = matched([[job("a", size_bytes=1)], [job("b", size_bytes=2)], [job("b", size_bytes=2)]])
    assert [[side and side.name for side in row.sides] for row in rows] == [
        ["a", None, None],
        [None, "b", "b"],
    ]
    assert rows[1].ratio(2) is None, "ratios are to the first side"


def test_clones_of_a_job_are_one_row() -> None:
    measured = read_measurement(FIO)
    doubled = type(measured)(**{**vars(measured), "cases": (*measured.cases, *measured.cases)})
    assert len(of_measurement(doubled)) == len(measured.cases)
    assert of_measurement(doubled)[0].gb_per_s == pytest.approx(2 * of_measurement(measured)[0].gb_per_s)  # type: ignore[operator]


def compared(*sides: Any, **keys: Any) -> SideBySide:
    """Compare, and expect no two runs."""
    found = lanewise.compare(*sides, **keys)
    assert isinstance(found, SideBySide)
    return found


def test_two_outputs_of_one_tool_have_ratios_and_say_what_differs() -> None:
    found = compared(WRITE, ALL_SIZES)
    (row,) = found.shared
    assert (row.first.size_bytes, row.first.direction) == (65536, "write")
    assert row.ratio(1) == pytest.approx(7.8188e9 / 3.17165e9, rel=1e-3)
    assert len(found.only_in(0)) == 0
    assert len(found.only_in(1)) == 22
    said = {each.what: each.values for each in found.said}
    assert said["TX depth"] == ("128", "100")
    assert said["Number of qps"] == ("1", "2")
    assert "queue depth" not in said, "the header says it"


def test_versions_of_drivers_are_what_differs(tmp_path: Path) -> None:
    for name, version in (("a", "570.00"), ("b", "580.82")):
        (tmp_path / name).write_text(
            NVBANDWIDTH_TEXT.replace("Driver Version: 570.00", f"Driver Version: {version}")
        )
    found = compared(tmp_path / "a", tmp_path / "b")
    assert {each.what: each.values for each in found.said} == {"Driver Version": ("570.00", "580.82")}
    assert all(row.ratio(1) == 1.0 for row in found.shared)


def test_that_tests_differ_is_said_by_the_tools() -> None:
    said = {each.what: each.values for each in compared(ALL_SIZES, OSU).said}
    assert said["tool"] == ("perftest", "osu")
    assert "test" not in said


def test_three_sides_have_a_column_each_or_a_line_each(
    lanewise: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    for columns in ("100", "50"):
        monkeypatch.setenv("COLUMNS", columns)
        text = lanewise("compare", OSU, OSU_LATER, CAPTURED / "osu-7.4-osu_bw-validation.txt").stdout
        table = text[text.index("Bandwidth   ") : text.index("Only A")]
        assert max(map(len, table.splitlines())) <= int(columns)
        assert "1.345" in table
        assert ("B/A    C/A" in table) == (columns == "100")


def test_a_row_of_the_table_for_each_side() -> None:
    table = compared(OSU, OSU_LATER).table
    rows = table.filter(size_bytes=1024)
    assert rows["side"].to_list() == ["A", "B"]
    assert rows["ratio"].to_list() == pytest.approx([1.0, 3632.93 / 2700.64])


@pytest.mark.parametrize(
    "sides",
    [
        [WRITE, ALL_SIZES, OSU],
        ["scenarios/rdma_write.toml", WRITE],
        ["scenarios/switch.toml", "scenarios/first_rig.toml", "scenarios/switch.toml"],
    ],
    ids=["outputs", "a scenario and an output", "scenarios"],
)
def test_json_of_sides_is_as_its_schema_says(
    sides: list[object], lanewise: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    result = lanewise("compare", *sides, "--json")
    assert result.exit_code == 0, result.stderr
    document = json.loads(result.stdout)
    check("compare_sides", document)
    assert all(len(row["sides"]) == len(row["ratio"]) == len(sides) for row in document["rows"])
    assert len(document["explained"]) == len(sides)


def test_a_run_is_compared_as_what_its_tool_would_print(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    found = compared("scenarios/rdma_write.toml", WRITE)
    (row,) = found.shared
    assert row.first.name == "RDMA_Write BW Test 65536 B"
    run = found.sides[0].run
    assert run is not None
    assert row.value(0, "gb_per_s") == pytest.approx(run.goodput_gb_per_s, rel=1e-3)
    assert row.value(1, "gb_per_s") == pytest.approx(3024.7 * 2**20 / 1e9, rel=1e-3)


def test_a_flow_is_compared_by_direction_and_size() -> None:
    """A client that writes to the other side has its adapter read from memory."""
    (row,) = compared(ONE_NIC.replace("DIRECTION", "read"), WRITE).shared
    assert row.first.name == "send"
    with pytest.raises(lanewise.InputError, match="nothing was run and measured alike") as raised:
        lanewise.compare(ONE_NIC.replace("DIRECTION", "write"), WRITE)
    assert "lanewise import" in str(raised.value)
    assert "send (65536 B, write)" in str(raised.value)


def test_several_results_that_fit_a_flow_are_named(tmp_path: Path) -> None:
    twice = tmp_path / "twice.txt"
    twice.write_text(WRITE.read_text() + CAPTURED.joinpath("perftest-6.06-ib_write_bw.txt").read_text())
    with pytest.raises(lanewise.InputError, match="2 results fit 'send'"):
        lanewise.compare(ONE_NIC.replace("DIRECTION", "read"), twice)


def test_a_copy_of_a_scenario_is_that_of_its_two_gpus(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    output = tmp_path / "peers.txt"
    output.write_text(PEER_TEST)
    ends = {"overrides": {"workload.copy.device": "gpu[1]", "workload.copy.target": "gpu[0]"}}
    (row,) = compared("scenarios/l40s.toml", output, **ends).shared
    assert row.sides[1] is not None
    assert row.sides[1].name == "unidirectional P2P=Enabled GPU1 GPU0"
    assert row.value(1, "gb_per_s") == 12.6


def test_more_than_two_runs_have_ratios_to_the_first_and_their_own_explanations() -> None:
    rigs = [
        ONE_NIC.replace("DIRECTION", "read").replace("gen3 x8", f"gen3 {width}")
        for width in ("x8", "x4", "x2")
    ]
    found = compared(*rigs)
    (row,) = found.rows
    assert [row.ratio(side) for side in range(3)] == pytest.approx([1, 0.5, 0.25], rel=0.02)
    said = [each and each.sentence for each in found.explanations]
    assert said == ["They differ only in server.slots.slot1"] * 2
    assert found.beyond(60.0) == "C: total goodput differs by more than 60 %"
    assert found.beyond(80.0) is None


def test_a_measurement_beyond_its_band_fails(lanewise: CommandLine) -> None:
    assert lanewise("compare", WRITE, WRITE, "--within", "1").exit_code == 0
    result = lanewise("compare", WRITE, ALL_SIZES, "--within", "5")
    assert result.exit_code == 1
    assert "1 of 1 rows differ by more than 5 %" in result.stderr


def test_overrides_are_for_scenarios(lanewise: CommandLine) -> None:
    for arguments in (["--set", "nic.tags=8"], ["--set-b", "nic.tags=8"]):
        result = lanewise("compare", WRITE, ALL_SIZES, *arguments)
        assert result.exit_code == 2
        assert "was measured: only a scenario has parameters" in result.stderr
    found = compared(ONE_NIC.replace("DIRECTION", "read"), WRITE, overrides={"nic.link.force_width": "x1"})
    assert found.runs[0].goodput_gb_per_s < 1


def test_what_is_no_side_is_said_with_what_is(lanewise: CommandLine, tmp_path: Path) -> None:
    empty, cut, folder = tmp_path / "empty.txt", tmp_path / "cut.json", tmp_path / "folder"
    empty.write_text("\n")
    cut.write_text(FIO.read_text()[:400])
    folder.mkdir()
    machine = ROOT / "tests/python/machine/dumps/qemu-vfs.vvv"
    cases = {
        empty: "is empty: give a scenario, a run folder, or the output of a benchmark",
        cut: "is JSON that is incomplete or damaged",
        folder: "is not a run folder: it has no manifest.json",
        machine: "is a dump of a machine",
        tmp_path / "nothing.json": "cannot read",
        IPERF: "of iperf3, which measures network adapters",
        CAPTURED / "osu-5.3-osu_latency.txt": "measures network adapters",
    }
    for path, says in cases.items():
        result = lanewise("compare", FIO, path)
        assert result.exit_code == 2, result.stderr
        assert says in result.stderr


def test_a_file_of_run_json_is_a_run(lanewise: CommandLine, tmp_path: Path) -> None:
    rig, kept = tmp_path / "rig.toml", tmp_path / "run.json"
    rig.write_text(ONE_NIC.replace("DIRECTION", "read"))
    kept.write_text(lanewise("run", rig, "--json").stdout)
    document = json.loads(lanewise("compare", kept, rig, "--json").stdout)
    assert document["totals"][0]["ratio"] == 1.0
    assert document["explained"]["sentence"].startswith("What differs is not known: A came without")


def test_a_record_of_measure_is_what_its_tool_printed(lanewise: CommandLine, tmp_path: Path) -> None:
    record, judged = tmp_path / "record.json", tmp_path / "judged.json"
    command = {"command": ["fio"], "output": FIO.read_text()}
    record.write_text(json.dumps({"format": 1, "tool": "fio", "cases": [], "commands": [command]}))
    result = lanewise("compare", record, FIO, "--json")
    assert result.exit_code == 0, result.stderr
    assert [row["ratio"] for row in json.loads(result.stdout)["rows"]] == [[1.0, 1.0]] * 3
    judged.write_text(json.dumps({"format": 1, "results": []}))
    assert "give the output that it was made from" in lanewise("compare", judged, FIO).stderr


def test_an_output_on_standard_input_is_one() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "from lanewise.cli import main; main()", "compare", "-", str(WRITE), "--json"],
        input=WRITE.read_text(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout)["rows"][0]["ratio"] == [1.0, 1.0]


def test_a_report_on_sides_has_their_rows(lanewise: CommandLine, tmp_path: Path) -> None:
    report = tmp_path / "sides.md"
    result = lanewise("compare", WRITE, ALL_SIZES, "--report", report)
    assert result.exit_code == 0, result.stderr
    text = report.read_text()
    assert "| RDMA_Write BW Test 65536 B | write | 3.17165 | 7.81" in text
    assert "| TX depth | 128 | 100 |" in text
    assert "2.465" in text


def test_too_many_sides_are_refused() -> None:
    with pytest.raises(lanewise.InputError, match="27 sides are more than the 26"):
        lanewise.compare(*[WRITE] * 27)
