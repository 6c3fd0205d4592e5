"""Two runs side by side: ratios, changes by link and direction, links that only one has."""

from __future__ import annotations

import json

import documents
import pytest

import lanewise
from lanewise.cli.tables.compare import print_comparison
from lanewise.comparison import Comparison, compare_runs
from lanewise.report import run_figures
from lanewise.report.comparison_part import comparison_part
from lanewise.results import RunResult


def comparison() -> Comparison:
    direct, switched = (RunResult(documents.run_document(with_switch=flag)) for flag in (False, True))
    return compare_runs(direct, switched, names=("direct", "switched"))


def test_ratios_are_b_over_a() -> None:
    assert comparison().goodput_ratio == pytest.approx(0.8367 / 1.2514)
    assert comparison().flows["ratio"].to_list() == pytest.approx([0.8367 / 1.2514] * 2)


def test_links_of_one_side_only_are_named() -> None:
    assert comparison().only_in_a == ()
    assert comparison().only_in_b == ("sw0",)
    assert set(comparison().ladders["link"]) == {"hba0", "hba1"}


def test_changes_are_grouped_and_biggest_first() -> None:
    rows = comparison().changes.select("link", "direction", "category").rows()
    assert rows == [
        ("hba0", "upstream", "idle"),
        ("hba0", "upstream", "blocked_posted_data"),
        ("hba1", "upstream", "idle"),
        ("hba1", "upstream", "blocked_posted_data"),
    ]
    assert comparison().changes["change_points"].to_list() == pytest.approx([-37, 37, -37, 37])


def test_a_run_compared_with_itself_has_not_changed() -> None:
    run = RunResult(documents.run_document())
    same = compare_runs(run, run, names=("a", "b"))
    assert same.goodput_ratio == 1.0
    assert same.changes.is_empty()


def test_a_run_that_moved_nothing_has_no_ratio() -> None:
    document = documents.run_document()
    document["flows"] = []
    empty = compare_runs(RunResult(document), RunResult(documents.run_document()), names=("a", "b"))
    assert empty.goodput_ratio is None


def test_flows_of_several_devices_that_have_one_name_are_matched_by_device() -> None:
    document = documents.run_document()
    for flow in document["flows"]:
        flow["name"] = "ring"
    run = RunResult(document)
    rows = compare_runs(run, run, names=("a", "b")).flows
    assert rows["flow"].to_list() == ["ring", "ring"]
    for side in ("a_mib_per_s", "b_mib_per_s"):
        assert rows[side].to_list() == run.flows["goodput_mib_per_s"].to_list()


def moving(goodput: float, operations: float) -> RunResult:
    """Return a run of one flow with these rates."""
    document = documents.run_document()
    document["flows"] = [documents.flow("f", "d", goodput) | {"operations_per_s": operations}]
    document["goodput_gb_per_s"] = goodput
    return RunResult(document)


@pytest.mark.parametrize(
    ("a", "b", "said"),
    [
        ((0.0, 0.0), (0.0, 0.0), None),
        ((0.0, 1000.0), (0.0, 1000.0), None),
        ((0.0, 1000.0), (0.0, 1049.0), None),
        ((0.0, 1000.0), (0.0, 1051.0), "operations a second differ by more than 5 %"),
        ((1.0, 10.0), (1.04, 99.0), None),
        ((1.0, 10.0), (0.9, 10.0), "total goodput differs by more than 5 %"),
        ((1.0, 10.0), (0.0, 10.0), "total goodput differs by more than 5 %"),
        ((0.0, 10.0), (1.0, 10.0), "A moved nothing, and B did"),
        ((0.0, 0.0), (0.0, 10.0), "A moved nothing, and B did"),
    ],
)
def test_what_is_within_a_band_has_the_same_totals(
    a: tuple[float, float], b: tuple[float, float], said: str | None
) -> None:
    assert compare_runs(moving(*a), moving(*b), names=("a", "b")).beyond(5.0) == said


def ring(latencies: dict[str, float], *, per_device: int = 1) -> RunResult:
    """Return a run of one workload on several devices, each with a mean latency of its own, in ns."""
    document = documents.run_document()
    document["flows"] = []
    for device, mean in latencies.items():
        for _ in range(per_device):
            flow = documents.flow("ring", device, 1.0)
            flow["latency_ns"] |= {"mean": mean, "p50": mean, "p99": mean, "min": mean, "max": mean}
            flow["latency_ns"]["buckets"] = {
                "from_ns": [int(mean)],
                "below_ns": [int(mean) + 1],
                "counts": [29],
            }
            document["flows"].append(flow)
    return RunResult(document)


A, B = {"gpu[0]": 1000.0, "gpu[1]": 2000.0}, {"gpu[0]": 1500.0, "gpu[1]": 9000.0}


def test_flows_of_several_devices_keep_their_device_and_their_latencies() -> None:
    found = compare_runs(ring(A), ring(B), names=("a", "b"))
    columns = ("flow", "device", "a_latency_ns_mean", "b_latency_ns_mean")
    rows = [("ring", "gpu[0]", 1000.0, 1500.0), ("ring", "gpu[1]", 2000.0, 9000.0)]
    assert found.flows.select(columns).rows() == rows
    assert [row["device"] for row in json.loads(found.to_json())["flows"]] == ["gpu[0]", "gpu[1]"]
    moved = next(each for each in comparison_part(found, drawn=False).sections if each.title == "What moved")
    said = {row[:4] for table in moved.tables for row in table.rows if row[0] == "latency, mean"}
    assert said == {
        ("latency, mean", "ring gpu[0] (write)", "1,000.00", "1,500.00"),
        ("latency, mean", "ring gpu[1] (write)", "2,000.00", "9,000.00"),
    }


def test_several_flows_of_one_device_are_matched_in_their_order() -> None:
    a, b = ring(A, per_device=2), ring(B, per_device=2)
    for run, means in ((a, (1.0, 2.0, 3.0, 4.0)), (b, (5.0, 6.0, 7.0, 8.0))):
        for flow, mean in zip(run.document["flows"], means, strict=True):
            flow["latency_ns"]["mean"] = mean
    found = compare_runs(a, b, names=("a", "b")).flows
    assert found.select("device", "a_latency_ns_mean", "b_latency_ns_mean").rows() == [
        ("gpu[0]", 1.0, 5.0),
        ("gpu[0]", 2.0, 6.0),
        ("gpu[1]", 3.0, 7.0),
        ("gpu[1]", 4.0, 8.0),
    ]


def test_a_curve_of_latencies_has_the_samples_of_its_own_device() -> None:
    told = str(run_figures.latencies([("", ring(A))]))
    assert told.count(": 29 samples") >= 2
    assert "58 samples" not in told


def test_json_has_everything() -> None:
    document = json.loads(comparison().to_json())
    assert set(document) == {
        *("format", "a", "b", "totals", "flows", "links"),
        *("time_attribution_changes", "links_only_in_a", "links_only_in_b", "explained"),
    }


def test_a_load_that_moves_nothing_in_either_is_shown_with_its_nothing(
    capsys: pytest.CaptureFixture[str],
) -> None:
    slower = documents.STARVED.replace('port0 = "gen4', 'port0 = "gen3')
    both = compare_runs(lanewise.run(documents.STARVED), lanewise.run(slower), names=("fast", "slow"))
    assert both.flows_to_show.select("flow", "direction", "b_mib_per_s").rows()[1] == (
        "nothing",
        "write",
        0.0,
    )
    print_comparison(both)
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["nothing", "write", "0.0", "0.0", "\N{EN DASH}", "\N{EN DASH}", "\N{EN DASH}"] in rows


def test_frames_of_a_game_have_no_bytes_and_a_table_of_their_own(capsys: pytest.CaptureFixture[str]) -> None:
    game = lanewise.run("scenarios/frames.toml")
    both = compare_runs(game, game, names=("one", "other"))
    (row,) = both.operations_without_bytes.iter_rows(named=True)
    assert (row["flow"], row["counted"], row["ratio"]) == ("game", "frames", 1.0)
    assert "frames" not in both.flows_to_show["direction"].to_list()
    print_comparison(both)
    assert "Operations without bytes" in capsys.readouterr().out
