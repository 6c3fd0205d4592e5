"""What one device reads and another writes counts once, wherever a run's payload is added up."""

from __future__ import annotations

import io

import documents
import pytest
from rich.console import Console

from lanewise.cli import live
from lanewise.cli.tables.run import print_run
from lanewise.comparison import compare_runs
from lanewise.report.answers import in_short, tiles
from lanewise.report.run_part import run_part
from lanewise.report.several_part import several_part
from lanewise.results import RunResult
from lanewise.study.measures import row_of
from lanewise.written import DASH

READ, WRITTEN = 12.418, 12.419


def joined() -> RunResult:
    """Return a run of two adapters on a wire: one reads, the other writes the same."""
    document = documents.run_document()
    reads, writes = (
        documents.flow("perftest0", device, rate) for device, rate in (("nic0", READ), ("nic1", WRITTEN))
    )
    document["flows"] = [{**reads, "direction": "read", "in_total": False}, writes]
    document["goodput_gb_per_s"] = WRITTEN
    return RunResult(document)


def test_a_study_keeps_the_total_of_the_core() -> None:
    row, lacking = row_of({**joined().document, "limited_by": None}, [], dict)  # type: ignore[arg-type]
    assert (row["goodput_gb_per_s"], lacking) == (WRITTEN, None)


def test_a_comparison_has_the_total_of_the_core() -> None:
    once = joined()
    totals = {
        row["quantity"]: row["a"] for row in compare_runs(once, once, names=("a", "b")).totals.to_dicts()
    }
    assert totals["goodput_gb_per_s"] == WRITTEN
    assert totals["goodput_mib_per_s"] == pytest.approx(WRITTEN * 1e9 / 2**20, rel=1e-12)


def test_a_report_and_its_table_have_the_total_of_the_core() -> None:
    once = joined()
    assert next(tiles(once)) == (f"{WRITTEN:.3f} GB/s", "goodput of all data, 1 flow")
    gives = dict(in_short(once).answers)["What does it give?"]
    assert gives.startswith(f"{WRITTEN:.3f} GB/s of data.")
    sections = {section.title: section for section in run_part(once, drawn=False).sections}
    assert "counts once" in sections["Throughput"].tables[0].note
    assert sections["Throughput"].tables[0].rows[-1][:4] == ("all data", "", "", f"{WRITTEN:.3f}")


def test_the_command_line_has_the_total_of_the_core(capsys: pytest.CaptureFixture[str]) -> None:
    print_run(joined())
    row = next(line for line in capsys.readouterr().out.splitlines() if "all data" in line)
    assert row.split() == ["all", "data", f"{WRITTEN:.3f}", f"{WRITTEN * 1e9 / 2**20:,.1f}", DASH]


def test_operations_of_both_ends_are_not_added_up() -> None:
    once = joined()
    assert once.operations_per_s is None
    totals = compare_runs(once, once, names=("a", "b")).totals
    assert totals.filter(quantity="operations_per_s").rows() == [("operations_per_s", None, None, None)]
    table = several_part([("a", once), ("b", once)], drawn=False).sections[1].tables[0]
    assert [row[4] for row in table.rows] == [DASH, DASH]
    assert float(table.rows[0][1]) == WRITTEN

    document = joined().document
    for flow in document["flows"]:
        flow["goodput_gb_per_s"] = flow["goodput_mib_per_s"] = 0.01
    document["goodput_gb_per_s"] = 0.01
    little = RunResult(document)
    assert next(words for _, words in tiles(little)) == "goodput of all data, 1 flow"
    assert "operations a second" not in [words for _, words in tiles(little)]
    assert "operations a second" not in dict(in_short(little).answers)["What does it give?"]


def test_operations_are_added_up_where_the_other_end_did_nothing() -> None:
    document = joined().document
    document["flows"][0] |= {"bytes": 0, "operations": 0, "operations_per_s": 0.0}
    assert RunResult(document).operations_per_s == document["flows"][1]["operations_per_s"]


def test_a_display_adds_up_what_is_in_the_total() -> None:
    flow = documents.live_flows()[0]
    console = Console(file=io.StringIO(), width=160)
    console.print(*live.live_table([{**flow, "in_total": False}, flow], 0.004, most=9), sep="\n")
    assert isinstance(console.file, io.StringIO)
    row = next(line for line in console.file.getvalue().splitlines() if line.startswith("all"))
    assert row.split() == ["all", "3.250", "2.500"]


def test_results_of_an_older_version_are_added_up() -> None:
    document = documents.run_document()
    for flow in document["flows"]:
        del flow["in_total"]
    del document["goodput_gb_per_s"]
    result = RunResult(document)
    assert result.goodput_gb_per_s == pytest.approx(2 * 0.8367)
    assert result.flows_in_total.height == 2
