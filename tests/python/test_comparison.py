"""Two runs side by side: ratios, changes by link and direction, links that only one has."""

from __future__ import annotations

import json

import documents
import pytest

from lanewise.comparison import Comparison, compare_runs
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


def test_json_has_everything() -> None:
    document = json.loads(comparison().to_json())
    assert set(document) == {
        *("format", "a", "b", "totals", "flows", "links"),
        *("time_attribution_changes", "links_only_in_a", "links_only_in_b"),
    }
