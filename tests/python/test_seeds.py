"""Runs with several seeds: cells are means with an interval, and fits meet means and print what they know."""

from __future__ import annotations

import math
from pathlib import Path
from textwrap import dedent
from typing import Any

import documents
import pytest
from fake_core import FakeCore

import lanewise as package
from lanewise.experiment.fit_interval import rounded
from lanewise.experiment.folders import load_experiment
from lanewise.experiment.reproduced_cell import ReproducedCell
from lanewise.experiment.spread import half_width

EXPECTED = """
    id = "TINY"
    title = "A drive that scatters"
    source = "a report"
    unit = "MiB/s"
    metric = "sum flows.goodput_mib_per_s"
    seeds = 5

    [[fit]]
    name = "drive rate"
    parameters = ["disks0.write_rate"]
    unit = "MB/s"
    between = [10, 200]
    cells = ["without"]

    [[cell]]
    id = "without"
    published = 1000
    verdict = "C"
    role = "calibrated"
    band_percent = 5
    scenario = "direct.toml"
    fits = ["drive rate"]

    [[cell]]
    id = "with"
    published = 500
    verdict = "C"
    role = "predicted"
    band_percent = 5
    scenario = "switch.toml"
    fits = ["drive rate"]
    null = { copy = "without" }

    [[cell]]
    id = "once"
    published = 500
    verdict = "P"
    role = "predicted"
    band_percent = 5
    scenario = "switch.toml"
    seeds = 1

    [[cell]]
    id = "share"
    published = 50
    unit = "%"
    verdict = "C"
    role = "identity"
    note = "algebra"
    band_points = 5
    percent_of = ["with", "without"]
"""
SCATTER = (-2.0, -1.0, 0.0, 1.0, 2.0)
"""Percent by which each seed is off."""


@pytest.fixture
def folder(tmp_path: Path, core: FakeCore) -> Path:
    """A rig whose goodput is ten times the drive rate, half of it behind a switch, a little off by seed."""

    def answer(path: str, overrides: dict[str, str]) -> documents.Document:
        document = documents.run_document(with_switch="switch" in path)
        rate = overrides.get("disks0.write_rate")
        total = (5 if "switch" in path else 10) * (float(rate.split('"')[1].split()[0]) if rate else 100)
        if "run.seed" in overrides:
            total *= 1 + SCATTER[int(overrides["run.seed"]) - 1] / 100
        for flow in document["flows"]:
            flow["goodput_mib_per_s"] = total / len(document["flows"])
        return document

    core.answer = answer
    (tmp_path / "expected.toml").write_text(dedent(EXPECTED))
    for name in ("direct.toml", "switch.toml"):
        (tmp_path / name).write_text("")
    return tmp_path


def reproduced(folder: Path) -> dict[str, ReproducedCell]:
    package.calibrate(folder)
    (experiment,) = package.reproduce(folder).experiments
    return {cell.cell: cell for cell in experiment.cells}


def test_a_cell_is_the_mean_over_its_seeds_with_students_interval(folder: Path) -> None:
    cell = reproduced(folder)["with"]
    assert cell.seeds == 5
    assert cell.simulated == pytest.approx(500, rel=0.01)
    # Student's t of four degrees of freedom, 97.5 %; the variance of -2 to 2 is 2.5.
    assert cell.half_width == pytest.approx(5 * 2.7764 * math.sqrt(2.5 / 5), rel=0.01)


def test_one_seed_has_no_interval_and_no_seed_is_set(folder: Path, core: FakeCore) -> None:
    cell = reproduced(folder)["once"]
    assert (cell.seeds, cell.half_width) == (1, None)
    assert any("switch" in path and "run.seed" not in overrides for path, overrides in core.asked)


def test_what_is_computed_is_computed_seed_by_seed(folder: Path) -> None:
    """Both rigs scatter alike, so that their ratio does not scatter at all."""
    share = reproduced(folder)["share"]
    assert share.simulated == pytest.approx(50)
    assert share.half_width == pytest.approx(0, abs=1e-9)


def test_a_fit_meets_the_mean_and_prints_the_digits_that_its_interval_leaves(folder: Path) -> None:
    (fit,) = package.calibrate(folder).fits
    # 1000 is known to 2.0 %: 100 MB/s to two.
    assert fit.value.value == "100 MB/s"
    assert fit.value.plus_minus == "2 MB/s"
    assert load_experiment(folder).fitted["drive rate"].plus_minus == "2 MB/s"


def test_a_fit_on_a_cell_without_scatter_is_known_as_well_as_its_cell_was_printed(folder: Path) -> None:
    text = (folder / "expected.toml").read_text().replace("seeds = 5", "seeds = 1")
    (folder / "expected.toml").write_text(text)
    assert package.calibrate(folder).fits[0].value.plus_minus == "0.05 MB/s"
    (folder / "expected.toml").write_text(
        text.replace("published = 1000", "published = 1000\nprinted_to = 100")
    )
    assert package.calibrate(folder).fits[0].value.plus_minus == "5 MB/s"


@pytest.mark.parametrize(
    ("value", "plus_minus", "written"),
    [(6304.2, 400, "6300"), (2.50351, 0.0008, "2.5035"), (2.50351, 0.002, "2.504"), (51.878, 3e-9, "51.878")],
)
def test_digits_of_a_fit_end_where_its_interval_begins(value: float, plus_minus: float, written: str) -> None:
    assert float(rounded(value, plus_minus)) == float(written)


def test_seeds_that_agree_have_an_interval_of_nothing() -> None:
    assert half_width([7.0, 7.0, 7.0]) == 0.0
    assert half_width([7.0]) is None


def test_the_table_shows_the_interval(folder: Path, lanewise: Any) -> None:
    package.calibrate(folder)
    printed = lanewise("reproduce", folder, "--fresh").stdout
    assert "\N{PLUS-MINUS SIGN}" in printed
    assert "9.8" in printed
