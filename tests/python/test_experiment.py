"""Experiment folders: reading them, running each cell once, fitting what they name."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from textwrap import dedent

import documents
import pytest
from fake_core import FakeCore

import lanewise
from lanewise.experiment.calibration import CalibrationError, _Search
from lanewise.experiment.definition import ExperimentError, Fit
from lanewise.experiment.folders import find_experiments, load_experiment
from lanewise.experiment.values import NotCalibratedError

EXPECTED = """
    id = "TINY"
    title = "Two cells and a fit"
    source = "a report"
    unit = "MiB/s"
    metric = "sum flows.goodput_mib_per_s"
    where = { direction = ["read", "write"] }

    [variation.narrow]
    "hba0.link.slot_reducer" = "x4"
    "workload.drives.access" = [{ size = "310 KiB", read = 100 }]

    [[fit]]
    name = "drive rate"
    parameters = ["disks0.write_rate", "disks1.write_rate"]
    unit = "MB/s"
    between = [10, 200]
    cells = ["without"]

    [[cell]]
    id = "without"
    published = 1000
    verdict = "C"
    role = "calibrated"
    band_percent = 1
    scenario = "direct.toml"
    fits = ["drive rate"]

    [[cell]]
    id = "with"
    published = 500
    verdict = "C"
    role = "predicted"
    band_percent = 3
    scenario = "switch.toml"
    fits = ["drive rate"]

    [[cell]]
    id = "narrow"
    published = 1590
    verdict = "P"
    role = "predicted"
    band_percent = 3
    scenario = "switch.toml"
    variations = ["narrow"]

    [[cell]]
    id = "noise"
    published = 7
    verdict = "N"
    role = "excluded"
    note = "one reading of a noisy tool"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "tiny"
    folder.mkdir()
    (folder / "expected.toml").write_text(dedent(EXPECTED))
    for name in ("direct.toml", "switch.toml"):
        (folder / name).write_text("")
    return folder


@pytest.fixture
def drives(core: FakeCore) -> FakeCore:
    """A core whose goodput is ten times the drive rate, half of it behind a switch."""

    def answer(path: str, overrides: dict[str, str]) -> documents.Document:
        document = documents.run_document(with_switch="switch" in path)
        rate = overrides.get("disks0.write_rate")
        if rate is not None:
            assert rate.startswith('{ value = "')
            share = 5 if "switch" in path else 10
            total = share * float(rate.split('"')[1].split()[0])
            for flow in document["flows"]:
                flow["goodput_mib_per_s"] = total / len(document["flows"])
        return document

    core.answer = answer
    return core


def test_variations_become_overrides_in_toml(folder: Path) -> None:
    cell = load_experiment(folder).cell("narrow")
    assert dict(cell.overrides) == {
        "hba0.link.slot_reducer": "x4",
        "workload.drives.access": '[{ size = "310 KiB", read = 100 }]',
    }


def test_calibration_meets_its_cell_and_can_be_repeated(folder: Path, drives: FakeCore) -> None:
    calibration = lanewise.calibrate(folder)
    (fit,) = calibration.fits
    assert fit.value.value == "100 MB/s"
    assert fit.cells[0].error_percent == pytest.approx(0, abs=0.02)
    assert all(set(asked) == {"disks0.write_rate", "disks1.write_rate"} for _, asked in drives.asked)

    first = (folder / "fitted.toml").read_bytes()
    (folder / "fitted.toml").unlink()
    lanewise.calibrate(folder)
    assert (folder / "fitted.toml").read_bytes() == first


def test_the_fits_after_a_count_are_done_anew_for_every_count(folder: Path, core: FakeCore) -> None:
    """What is fitted on the cell without a switch depends on the queue, and the queue on what was fitted."""

    def answer(path: str, overrides: dict[str, str]) -> documents.Document:
        document = documents.run_document(with_switch="switch" in path)
        queue = int(overrides["server.queue"].partition("value = ")[2].split(",")[0])
        rate = float(overrides["disks0.write_rate"].split('"')[1].split()[0])
        total = rate * queue * (queue / 10 if "switch" in path else 1)
        for flow in document["flows"]:
            flow["goodput_mib_per_s"] = total / len(document["flows"])
        return document

    core.answer = answer
    text = (folder / "expected.toml").read_text()
    text = text.replace('fits = ["drive rate"]', 'fits = ["queue", "drive rate"]').replace(
        'role = "predicted"', 'role = "calibrated"', 1
    )
    queue = """
        [[fit]]
        name = "queue"
        parameters = ["server.queue"]
        unit = ""
        between = [2, 16]
        whole = true
        cells = ["with"]
    """
    text = text.replace("[[fit]]", dedent(queue) + "\n[[fit]]", 1).replace("[10, 200]", "[10, 1000]")
    (folder / "expected.toml").write_text(text)

    found = {fit.value.name: fit for fit in lanewise.calibrate(folder).fits}

    assert found["queue"].value.value == 5
    assert found["drive rate"].value.value == "200 MB/s"
    assert found["queue"].cells[0].simulated == pytest.approx(500, rel=1e-3)
    assert "value = 5\n" in (folder / "fitted.toml").read_text()
    assert load_experiment(folder).fitted["queue"].value == 5


def test_a_count_fitted_on_several_cells_is_the_best_of_all() -> None:
    """Errors go in steps, on which a search of a minimum stops: only 19 meets both cells."""

    class Steps(_Search):
        def __init__(self) -> None:
            self.fit = Fit("queue", ("a.b",), ("one", "two"), "", (2.0, 40.0), "", "X", whole=True)

        def _errors(self, value: float) -> tuple[float, ...]:
            count = round(value)
            return (0.0, 0.0) if count == 19 else (0.3, -0.1 * (abs(count - 27) // 6))

    assert Steps()._least_squares() == 19.0


def test_a_dry_run_writes_nothing(folder: Path, drives: FakeCore) -> None:
    lanewise.calibrate(folder, write=False)
    assert not (folder / "fitted.toml").exists()


def test_without_a_fit_there_is_nothing_to_write(folder: Path, core: FakeCore) -> None:
    text = dedent(EXPECTED)
    fit = text[text.index("[[fit]]") : text.index("[[cell]]")]
    text = text.replace(fit, "").replace('fits = ["drive rate"]', "").replace("calibrated", "predicted")
    (folder / "expected.toml").write_text(text)
    assert lanewise.calibrate(folder).fits == ()
    assert not (folder / "fitted.toml").exists()


def test_bounds_that_do_not_hold_the_answer_are_reported(folder: Path, drives: FakeCore) -> None:
    text = (folder / "expected.toml").read_text()
    (folder / "expected.toml").write_text(text.replace("[10, 200]", "[10, 20]"))
    with pytest.raises(CalibrationError, match="no drive rate between 10 MB/s and 20 MB/s"):
        lanewise.calibrate(folder)


def test_reproduction_keeps_predicted_and_calibrated_apart(folder: Path, drives: FakeCore) -> None:
    lanewise.calibrate(folder)
    drives.asked.clear()
    (experiment,) = lanewise.reproduce(folder).experiments
    assert len(drives.asked) == 3
    document = experiment.document()
    cells = {cell["cell"]: cell for cell in document["cells"]}
    assert cells["without"]["role"] == "calibrated"
    assert cells["with"]["fitted_on"] == ["TINY without"]
    assert cells["with"]["error_percent"] == pytest.approx(0, abs=0.02)
    assert cells["narrow"]["fitted_on"] == []
    assert cells["noise"]["simulated"] is None
    assert document["predicted_worst_abs_error_percent"] == pytest.approx(0.37, abs=0.01)
    assert experiment.passed


def test_calibration_and_reproduction_are_tables(folder: Path, drives: FakeCore) -> None:
    fitted = lanewise.calibrate(folder).table
    assert fitted.select("fit", "value", "cell").rows() == [("drive rate", "100 MB/s", "without")]
    assert abs(fitted["error_percent"].item()) < 0.02

    table = lanewise.reproduce(folder).table
    assert table["experiment"].unique().to_list() == ["TINY"]
    assert table["cell"].to_list() == ["without", "with", "narrow", "noise"]
    assert table.filter(role="predicted", fitted_on=["TINY without"])["within_band"].to_list() == [True]


def test_cells_of_other_experiments_come_after_our_own(folder: Path) -> None:
    """So that a list like "OTHER with, without" cannot be read as two cells of OTHER."""
    other = folder.parent / "other"
    shutil.copytree(folder, other)
    theirs = dedent(EXPECTED).replace('"TINY"', '"OTHER"').replace("drive rate", "adapter rate")
    (other / "expected.toml").write_text(theirs)
    borrowed = '[[fit]]\nname = "adapter rate"\nfrom = "other"\nparameters = ["hba0.tags"]\n\n[[fit]]'
    ours = dedent(EXPECTED).replace("[[fit]]", borrowed, 1)
    ours = ours.replace('fits = ["drive rate"]', 'fits = ["adapter rate", "drive rate"]')
    (folder / "expected.toml").write_text(ours)
    experiment = load_experiment(folder)
    assert experiment.fitted_on(experiment.cell("with")) == ("TINY without", "OTHER without")


def test_equal_runs_are_done_once(folder: Path, core: FakeCore) -> None:
    text = (folder / "expected.toml").read_text()
    twin = text.replace('fits = ["drive rate"]', "").replace('role = "calibrated"', 'role = "predicted"')
    twin = twin.replace(twin[twin.index("[[fit]]") : twin.index("[[cell]]")], "")
    twin = twin.replace("direct.toml", "switch.toml")
    (folder / "expected.toml").write_text(twin)
    (experiment,) = lanewise.reproduce(folder).experiments
    assert len(core.asked) == 2
    assert not experiment.passed


def test_a_cell_without_its_fitted_value_says_what_to_do(folder: Path, core: FakeCore) -> None:
    with pytest.raises(NotCalibratedError, match="run 'lanewise calibrate"):
        lanewise.reproduce(folder)


def test_all_mistakes_are_reported_at_once(folder: Path) -> None:
    text = (folder / "expected.toml").read_text()
    text = text.replace('verdict = "P"', 'verdict = "Q"').replace('variations = ["narrow"]', "colour = 1")
    text = text.replace('role = "calibrated"', 'role = "predicted"').replace("switch.toml", "lost.toml")
    (folder / "expected.toml").write_text(text)
    with pytest.raises(ExperimentError) as caught:
        load_experiment(folder)
    for mistake in ("verdict is 'Q'", "unknown key 'colour'", "is fitted on", "no file 'lost.toml'"):
        assert mistake in str(caught.value)


@pytest.mark.parametrize(
    ("right", "wrong", "said"),
    [
        ("band_percent = 3", "band_percent = -3", "'band_percent' is -3"),
        ("[10, 200]", "[200, 10]", "the lower number comes first"),
        ('source = "a report"', "", "'source' is missing"),
        ("published = 500", "published = 0", "cell 'with': 'band_percent' of nothing: use 'band_points'"),
    ],
)
def test_numbers_that_mean_nothing_are_refused(folder: Path, right: str, wrong: str, said: str) -> None:
    text = (folder / "expected.toml").read_text()
    (folder / "expected.toml").write_text(text.replace(right, wrong))
    with pytest.raises(ExperimentError) as caught:
        load_experiment(folder)
    assert said in str(caught.value)


def test_an_experiment_without_a_cell_is_none(folder: Path) -> None:
    (folder / "expected.toml").write_text("")
    with pytest.raises(ExperimentError, match=r"there is no \[\[cell\]\]"):
        load_experiment(folder)


@pytest.mark.parametrize(
    ("right", "wrong", "said"),
    [
        ("published = 500", 'published = "500"', "cell 'with': 'published' is '500', but a number is needed"),
        ("published = 500", "published = true", "'published' is True, but a number is needed"),
        ('variations = ["narrow"]', 'variations = "narrow"', "but a list of texts is needed"),
        ("[variation.narrow]", "[variation]", "a table of tables, such as [variation.x4] is needed"),
        ('where = { direction = ["read", "write"] }', "where = 3", "'where' is 3"),
        ("[10, 200]", "[10, 100, 200]", "a list of two numbers is needed"),
        ('id = "TINY"', "id = 7", "'id' is 7, but a text is needed"),
        (
            'note = "one reading of a noisy tool"',
            "percent_of = 3",
            "but a list of cells or numbers is needed",
        ),
    ],
)
def test_a_value_of_another_kind_is_named_beside_other_mistakes(
    folder: Path, right: str, wrong: str, said: str
) -> None:
    text = (folder / "expected.toml").read_text().replace('verdict = "C"', 'verdict = "Q"', 1)
    (folder / "expected.toml").write_text(text.replace(right, wrong))
    with pytest.raises(ExperimentError) as caught:
        load_experiment(folder)
    assert said in str(caught.value)
    assert "verdict is 'Q'" in str(caught.value)


def test_a_table_where_a_list_of_tables_belongs_is_named(folder: Path) -> None:
    (folder / "expected.toml").write_text('source = "a report"\n[cell]\nid = "x"\n')
    with pytest.raises(ExperimentError, match=r"write each under \[\[cell\]\]"):
        load_experiment(folder)


@pytest.mark.parametrize("number", ["nan", "inf", "true", '"3"'])
def test_what_is_published_is_a_number(folder: Path, number: str) -> None:
    expected = folder / "expected.toml"
    expected.write_text(re.sub(r"published = [\d.]+", f"published = {number}", expected.read_text(), count=1))
    with pytest.raises(ExperimentError, match=r"'published' is .*, but a number is needed"):
        load_experiment(folder)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("fitted = 3", r"write each under \[\[fitted\]\]"),
        ('[[fitted]]\nname = "drive rate"\nparameters = 1', "'parameters' is 1, but a list of texts"),
        ("fitted", "fitted.toml: "),
    ],
)
def test_a_damaged_file_of_fitted_values_is_named(folder: Path, text: str, said: str) -> None:
    (folder / "fitted.toml").write_text(text)
    with pytest.raises(ExperimentError, match=said):
        load_experiment(folder)


def test_a_damaged_folder_does_not_hide_the_others(tmp_path: Path) -> None:
    for name, text in (("broken", "id = "), ("numbered", "id = 7"), ("whole", 'id = "WHOLE"')):
        (tmp_path / name).mkdir()
        (tmp_path / name / "expected.toml").write_text(text)
    assert list(find_experiments(tmp_path)) == ["BROKEN", "NUMBERED", "WHOLE"]


def test_two_folders_with_one_id_are_named(tmp_path: Path) -> None:
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "expected.toml").write_text('id = "SAME"')
    with pytest.raises(ExperimentError, match=r"first' and '.*second' have the same id, 'SAME'"):
        find_experiments(tmp_path)
