"""Cells computed from other cells, bands in points, claims, instruments' metrics, and fits that are lent."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent
from typing import Any

import documents
import pytest
from fake_core import FakeCore

import lanewise
from lanewise.experiment.definition import ExperimentError
from lanewise.experiment.folders import load_experiment
from lanewise.experiment.headline import headline
from lanewise.experiment.metric import Metric, MetricError
from lanewise.experiment.reproduction import ReproducedCell
from lanewise.experiment.values import UndefinedCellError
from lanewise.experiment.wording import error_text
from lanewise.results import RunResult

HEAD = """
    id = "TINY"
    title = "What the prose says"
    source = "a report"
    unit = "MiB/s"
    metric = "sum flows.goodput_mib_per_s"
    where = { direction = ["read", "write"] }

    [[value]]
    id = "without"
    scenario = "direct.toml"

    [[value]]
    id = "with"
    scenario = "switch.toml"
"""

GAIN = """
    [[cell]]
    id = "gain"
    published = 87
    unit = "%"
    verdict = "P"
    role = "predicted"
    band_points = 4
    percent_change_of = ["without", "with"]
"""

CLAIM = """
    [[cell]]
    id = "almost double"
    claim = "almost double the bandwidth"
    unit = "1"
    verdict = "P"
    role = "predicted"
    between = [1.7, 2.0]
    ratio_of = ["without", "with"]
"""


def write(folder: Path, *tables: str) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "expected.toml").write_text("\n".join(dedent(table) for table in tables))
    for name in ("direct.toml", "switch.toml"):
        (folder / name).write_text("")
    return folder


def goodput(core: FakeCore, *, direct: float, switch: float) -> None:
    def answer(path: str, overrides: dict[str, str]) -> documents.Document:
        document = documents.run_document(with_switch="switch" in path)
        rate = overrides.get("disks0.write_rate")
        total = switch if "switch" in path else direct
        if rate is not None:
            total *= float(rate.split('"')[1].split()[0]) / 100
        for flow in document["flows"]:
            flow["goodput_mib_per_s"] = total / len(document["flows"])
        return document

    core.answer = answer


def cells(folder: Path) -> dict[str, ReproducedCell]:
    (experiment,) = lanewise.reproduce(folder).experiments
    return {cell.cell: cell for cell in experiment.cells}


def test_a_change_in_percent_is_judged_in_points(tmp_path: Path, core: FakeCore) -> None:
    goodput(core, direct=1850, switch=1000)
    (experiment,) = lanewise.reproduce(write(tmp_path, HEAD, GAIN)).experiments
    (gain,) = experiment.cells
    assert gain.simulated == pytest.approx(85)
    assert gain.error_points == pytest.approx(-2)
    assert gain.within_band
    assert experiment.headline.percent.cells == ()
    assert experiment.document()["predicted_worst_abs_error_points"] == pytest.approx(2)
    assert gain.document()["band_percent"] == pytest.approx(100 * 4 / 87)
    assert [value["id"] for value in experiment.document()["values"]] == ["without", "with"]


def test_a_claim_holds_or_fails_and_has_no_error(tmp_path: Path, core: FakeCore) -> None:
    folder = write(tmp_path, HEAD, CLAIM)
    goodput(core, direct=1850, switch=1000)
    claim = cells(folder)["almost double"]
    assert claim.within_band
    assert claim.error_percent is None
    goodput(core, direct=1600, switch=1000)
    reproduction = lanewise.reproduce(folder)
    assert not reproduction.passed
    assert headline(reproduction.experiments).sentences() == ["0 of 1 predicted claim holds"]


def test_an_error_that_rounds_to_nothing_is_not_below_zero(tmp_path: Path, core: FakeCore) -> None:
    goodput(core, direct=1869.9999, switch=1000)
    (gain,) = cells(write(tmp_path, HEAD, GAIN)).values()
    assert gain.error_points is not None
    assert gain.error_points < 0
    assert error_text(gain) == "+0.00 points"


def test_formulas_nest_and_take_numbers(tmp_path: Path, core: FakeCore) -> None:
    goodput(core, direct=1200, switch=600)
    nested = """
        [[value]]
        id = "both"
        sum_of = ["without", "with"]

        [[cell]]
        id = "of 2000"
        published = 90
        unit = "%"
        verdict = "P"
        role = "predicted"
        band_percent = 1
        percent_of = ["both", 2000]
        """
    assert cells(write(tmp_path, HEAD, nested))["of 2000"].simulated == pytest.approx(90)


def test_a_derived_cell_rests_on_the_fits_of_its_operands_and_can_be_fitted_on(
    tmp_path: Path, core: FakeCore
) -> None:
    goodput(core, direct=1000, switch=500)
    fitted = """
        [[fit]]
        name = "drive rate"
        parameters = ["disks0.write_rate"]
        unit = "MB/s"
        between = [10, 400]
        cells = ["gain"]

        [[value]]
        id = "tuned"
        scenario = "direct.toml"
        fits = ["drive rate"]
        """
    gain = GAIN.replace('"without", "with"', '"tuned", "with"').replace("predicted", "calibrated")
    folder = write(tmp_path, HEAD, fitted, gain)
    assert lanewise.calibrate(folder).fits[0].value.value == "93.5 MB/s"
    assert cells(folder)["gain"].fitted_on == ("TINY gain",)


def test_a_fit_may_be_lent_to_another_experiment(tmp_path: Path, core: FakeCore) -> None:
    goodput(core, direct=1000, switch=500)
    lender = """
        id = "LENDER"
        source = "a report"
        unit = "MiB/s"
        metric = "sum flows.goodput_mib_per_s"

        [[fit]]
        name = "drive rate"
        parameters = ["disks0.write_rate"]
        unit = "MB/s"
        between = [10, 400]
        cells = ["write"]

        [[cell]]
        id = "write"
        published = 1200
        verdict = "C"
        role = "calibrated"
        band_percent = 1
        scenario = "direct.toml"
        fits = ["drive rate"]
        """
    lanewise.calibrate(write(tmp_path / "lender", lender))
    borrowing = """
        [[fit]]
        name = "drive rate"
        from = "lender"

        [[cell]]
        id = "elsewhere"
        published = 600
        verdict = "C"
        role = "predicted"
        band_percent = 1
        scenario = "switch.toml"
        fits = ["drive rate"]
        """
    folder = write(tmp_path / "borrower", HEAD, borrowing)
    elsewhere = cells(folder)["elsewhere"]
    assert elsewhere.simulated == pytest.approx(600)
    assert elsewhere.fitted_on == ("LENDER write",)
    assert not lanewise.calibrate(folder).fits


def test_mistakes_in_formulas_are_reported_together(tmp_path: Path) -> None:
    circle = """
        [[value]]
        id = "a"
        sum_of = ["b"]

        [[value]]
        id = "b"
        sum_of = ["a"]
        """
    lost = GAIN.replace('"with"]', '"lost"]').replace("band_points = 4", "")
    with pytest.raises(ExperimentError) as caught:
        load_experiment(write(tmp_path, HEAD, circle, lost, CLAIM.replace("ratio_of", "product_of")))
    for mistake in ("a of b of a", "'lost', which is not there", "'band_points'", "unknown key 'product_of'"):
        assert mistake in str(caught.value)


def test_division_by_nothing_names_the_cell(tmp_path: Path, core: FakeCore) -> None:
    goodput(core, direct=1000, switch=0)
    with pytest.raises(
        UndefinedCellError, match="TINY gain: percent change of without, with divides by zero"
    ):
        lanewise.reproduce(write(tmp_path, HEAD, GAIN))


def test_an_instrument_is_asked_in_its_own_words() -> None:
    document = documents.run_document()
    document["instruments"] = [
        {
            "workload": "pair",
            "kind": "smartflow",
            "metrics": [{"name": "throughput 512 B (Mb/s)", "value": 512}],
        },
        {"workload": "other", "kind": "fio", "metrics": [{"name": "bw (KiB/s)", "value": 7}]},
        {"workload": "third", "kind": "fio", "metrics": [{"name": "bw (KiB/s)", "value": 8}]},
    ]
    result = RunResult(document)
    assert Metric.parse("smartflow: throughput 512 B (Mb/s)").read(result) == 512
    assert Metric.parse("pair: throughput 512 B (Mb/s)").read(result) == 512
    assert Metric.parse("sum fio: bw (KiB/s)").read(result) == 15
    with pytest.raises(MetricError, match="several instruments report 'bw \\(KiB/s\\)': other, third"):
        Metric.parse("fio: bw (KiB/s)").read(result)
    with pytest.raises(
        MetricError, match="reports no 'throughput 64 B \\(Mb/s\\)'; it reports throughput 512 B"
    ):
        Metric.parse("pair: throughput 64 B (Mb/s)").read(result)
    with pytest.raises(MetricError, match="no instrument 'osu'; it has pair, other, third, smartflow, fio"):
        Metric.parse("osu: bandwidth").read(result)


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ({"mps_bytes": "256 B"}, "column 'mps_bytes' of 'links' has no '256 B': each .* is a whole number"),
        ({"mps_bytes": ["8", "-8"]}, "column 'mps_bytes' of 'links' has no '8 or -8'"),
        ({"mps_bytes": "1e30"}, "no '1e30'"),
        ({"mps_bytes": str(2**70)}, "no '1180"),
        ({"utilisation": "much"}, "column 'utilisation' of 'links' has no 'much': each .* is a number"),
    ],
)
def test_a_condition_on_a_number_is_checked_before_anything_runs(
    where: dict[str, str | list[str]], said: str
) -> None:
    with pytest.raises(MetricError, match=said):
        Metric.parse("max links.utilisation", where).check()


def test_a_condition_on_what_is_true_or_false_keeps_the_rows_that_have_it() -> None:
    document = documents.run_document()
    document["flows"][0]["in_total"] = False
    result = RunResult(document)
    rates = result.flows["goodput_gb_per_s"].to_list()
    assert Metric.parse("sum flows.goodput_gb_per_s", {"in_total": "false"}).read(result) == rates[0]
    assert Metric.parse("sum flows.goodput_gb_per_s", {"in_total": "true"}).read(result) == sum(rates[1:])
    both = Metric.parse("sum flows.goodput_gb_per_s", {"in_total": ["true", "false"]})
    assert both.read(result) == sum(rates)
    with pytest.raises(MetricError, match=r"'in_total' of 'flows' has no 'yes': each .* is true or false"):
        Metric.parse("sum flows.goodput_gb_per_s", {"in_total": ["true", "yes"]}).check()


def test_a_condition_on_a_number_keeps_the_rows_that_have_it() -> None:
    result = RunResult(documents.run_document())
    for size in result.links["mps_bytes"].unique():
        metric = Metric.parse("max links.goodput_gb_per_s", {"mps_bytes": str(size)})
        metric.check()
        assert metric.read(result) == result.links.filter(mps_bytes=size)["goodput_gb_per_s"].max()
    with pytest.raises(MetricError, match="no row of 'links' has a goodput_gb_per_s where mps_bytes=3"):
        Metric.parse("max links.goodput_gb_per_s", {"mps_bytes": "3"}).read(result)
    (use,) = result.links["utilisation"].unique()[:1]
    of_use = Metric.parse("min links.utilisation", {"utilisation": ["7", str(use)]})
    assert of_use.read(result) == use


@pytest.mark.parametrize(
    ("band", "simulated", "missed"),
    [
        ({"band_percent": 3.0}, 5.0, True),
        ({"band_points": 3.0}, 5.0, True),
        ({"band_points": 3.0}, 2.0, False),
        ({"between": (0.0, 1.0)}, None, True),
        ({}, 5.0, False),
    ],
)
def test_a_cell_whose_band_says_nothing_is_a_miss(
    band: dict[str, Any], simulated: float | None, missed: bool
) -> None:
    """Of nothing no percentage can be said, and what is not simulated is in no band."""
    given: dict[str, Any] = {"band_percent": None, "band_points": None, "between": None, **band}
    cell = ReproducedCell(
        cell="x",
        unit="%",
        published=0.0,
        simulated=simulated,
        verdict="P",
        role="predicted",
        fitted_on=(),
        claim="",
        computed_as="",
        note="",
        **given,
    )
    assert cell.is_miss is missed
