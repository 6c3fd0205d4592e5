"""Null models beside predictions, what the headline makes of them, and misses that are known."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from textwrap import dedent
from typing import Any

import documents
import pytest
from fake_core import FakeCore

import lanewise as package
from lanewise.experiment.definition import ExperimentError
from lanewise.experiment.folders import load_experiment
from lanewise.experiment.headline import apart, headline
from lanewise.experiment.nulls import NullModel
from lanewise.experiment.reproduced_cell import ReproducedCell
from lanewise.report.page import render

# A processor of 10 us a frame and 1 ns a byte, in Mb/s of line.
FRAMES = {f"without/{size} B": (size + 20) * 8 / (10 + 0.001 * size) for size in (64, 512, 1518)}

EXPECTED = """
    id = "TINY"
    title = "A null model beside each cell"
    source = "a report"
    unit = "MiB/s"
    metric = "sum flows.goodput_mib_per_s"

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
    band_percent = 1
    scenario = "direct.toml"
    fits = ["drive rate"]

    [[cell]]
    id = "with"
    published = 980
    verdict = "C"
    role = "predicted"
    band_percent = 3
    scenario = "switch.toml"
    fits = ["drive rate"]
    null = { copy = "without" }

    [[cell]]
    id = "full"
    published = 1000
    verdict = "P"
    role = "predicted"
    band_percent = 3
    scenario = "direct.toml"
    fits = ["drive rate"]
    null = { copy = "without", times = 2, at_most = 1000 }
    exact = "it is the line"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "expected.toml").write_text(dedent(EXPECTED))
    for name in ("direct.toml", "switch.toml"):
        (tmp_path / name).write_text("")
    (tmp_path / "fitted.toml").write_text(
        '[[fitted]]\nname = "drive rate"\nparameters = ["disks0.write_rate"]\n'
        'value = "100 MB/s"\nfitted_on = ["TINY without"]\n'
    )
    return tmp_path


def goodput(core: FakeCore, *, direct: float, switch: float) -> None:
    def answer(path: str, overrides: dict[str, str]) -> documents.Document:
        document = documents.run_document(with_switch="switch" in path)
        for flow in document["flows"]:
            flow["goodput_mib_per_s"] = (switch if "switch" in path else direct) / len(document["flows"])
        return document

    core.answer = answer


def test_a_line_through_the_time_of_a_frame_is_a_processor() -> None:
    """Through throughput itself it is not: the line is drawn where a processor is straight."""
    ends = ["without/64 B", "without/1518 B"]
    line = NullModel.of_entry({"line": ends, "overhead": 20})
    assert line.value("without/512 B", FRAMES.__getitem__) == pytest.approx(FRAMES["without/512 B"])
    straight = NullModel.of_entry({"line": ends})
    assert straight.value("without/512 B", FRAMES.__getitem__) < 0.97 * FRAMES["without/512 B"]


def test_a_line_may_be_moved_to_a_third_cell_and_is_cut_at_the_ceiling() -> None:
    later = (1518 + 20) * 8 / (10 + 1.518 + 2)
    numbers = {**FRAMES, "with/1518 B": later}
    entry = {"line": ["without/64 B", "without/1518 B"], "overhead": 20, "shifted_by": "with/1518 B"}
    moved = NullModel.of_entry(entry)
    assert moved.value("with/512 B", numbers.__getitem__) == pytest.approx((512 + 20) * 8 / (10 + 0.512 + 2))
    cut = NullModel.of_entry({**entry, "at_most": 300})
    assert cut.value("with/512 B", numbers.__getitem__) == 300


def test_the_headline_sets_both_side_by_side_and_leaves_out_the_easy_ones(
    folder: Path, core: FakeCore
) -> None:
    goodput(core, direct=1000, switch=990)
    (experiment,) = package.reproduce(folder).experiments
    numbers = headline([experiment]).percent
    assert numbers.all.cells == 2
    assert numbers.all.worst == pytest.approx(100 * 10 / 980)
    assert numbers.all.null_worst == pytest.approx(100 * 20 / 980)
    assert numbers.where_they_differ.cells == 1
    assert numbers.without_exact.median == pytest.approx(100 * 10 / 980)
    assert "(null model: median" in experiment.headline.sentences()[0]


def test_a_null_model_knows_no_more_than_the_simulator(folder: Path, core: FakeCore) -> None:
    """It may not use the number of a predicted cell; that cell's own null model stands for it."""
    text = dedent(EXPECTED).replace('{ copy = "without", times = 2, at_most = 1000 }', '{ copy = "with" }')
    (folder / "expected.toml").write_text(text)
    goodput(core, direct=1000, switch=990)
    (experiment,) = package.reproduce(folder).experiments
    assert next(cell.null for cell in experiment.cells if cell.cell == "full") == 1000
    (folder / "expected.toml").write_text(text.replace('null = { copy = "without" }\n', ""))
    with pytest.raises(ExperimentError, match="neither calibrated nor selected"):
        load_experiment(folder)


@pytest.mark.parametrize(
    ("null", "said"),
    [
        ('{ colour = "red" }', "unknown key 'colour'"),
        ('{ copy = "without", line = ["a 1", "b 2"] }', "is one of"),
        ('{ line = ["without"] }', "through two cells"),
        ('{ copy = "lost" }', "there is no cell 'lost'"),
        ('{ line = ["without", "with"] }', "has no size"),
        ('{ copy = "with" }', "null model of 'with'"),
    ],
)
def test_null_models_that_mean_nothing_are_refused(folder: Path, null: str, said: str) -> None:
    text = dedent(EXPECTED).replace('{ copy = "without" }', null)
    (folder / "expected.toml").write_text(text)
    with pytest.raises(ExperimentError, match=said):
        load_experiment(folder)


@pytest.mark.parametrize("role", ["selected", "identity", "excluded"])
def test_a_cell_that_is_not_predicted_says_why(folder: Path, role: str) -> None:
    text = dedent(EXPECTED).replace('role = "predicted"', f'role = "{role}"', 1)
    (folder / "expected.toml").write_text(text)
    with pytest.raises(ExperimentError, match="'note' is missing: say why"):
        load_experiment(folder)
    (folder / "expected.toml").write_text(text.replace("null =", 'note = "because"\nnull =', 1))
    load_experiment(folder)


def test_only_predicted_cells_are_in_the_headline(folder: Path, core: FakeCore) -> None:
    text = dedent(EXPECTED).replace('role = "predicted"', 'note = "seen"\nrole = "selected"', 1)
    (folder / "expected.toml").write_text(text)
    goodput(core, direct=1000, switch=990)
    experiments = package.reproduce(folder).experiments
    assert [cell.cell for cell in headline(experiments).percent.cells] == ["full"]
    assert [cell.cell for cell in headline(experiments, "selected").percent.cells] == ["with"]


def test_identities_outside_their_band_are_counted_and_named_where_no_headline_has_them(
    folder: Path, core: FakeCore, lanewise: Any
) -> None:
    text = dedent(EXPECTED).replace('role = "predicted"', 'note = "algebra"\nrole = "identity"', 1)
    (folder / "expected.toml").write_text(text)
    goodput(core, direct=1000, switch=900)
    done = package.reproduce(folder)
    assert headline(done.experiments).misses == ()
    document = json.loads(done.to_json())
    assert document["identity"] == {"cells": 1, "judged": 1, "misses": ["TINY with"]}
    assert document["calibrated"] == {"cells": 1, "judged": 1, "misses": []}
    sentence = "1 identity, 1 of 1 with a band outside it: TINY with."
    assert sentence in " ".join(lanewise("reproduce", folder, "--fresh").stdout.split())
    assert sentence in render(done)

    goodput(core, direct=1000, switch=980)
    experiments = package.reproduce(folder).experiments
    assert apart(experiments, "identity").misses == ()

    # One of which nothing can be said is a miss, and among those that have a band.
    unknown = [
        replace(each, cells=tuple(replace(cell, simulated=None) for cell in each.cells))
        for each in experiments
    ]
    found = apart(unknown, "identity")
    assert [cell.within_band for each in unknown for cell in each.cells if cell.role == "identity"] == [None]
    assert (found.cells, found.judged, found.misses) == (1, 1, ("TINY with",))


def surprises(folder: Path) -> tuple[str, ...]:
    (experiment,) = package.reproduce(folder).experiments
    assert isinstance(experiment.cells[0], ReproducedCell)
    return experiment.surprises


def test_a_known_miss_is_named_and_noticed_when_it_moves_or_goes(
    folder: Path, core: FakeCore, lanewise: Any
) -> None:
    goodput(core, direct=1000, switch=900)
    assert surprises(folder) == ("TINY with is outside its band",)
    assert lanewise("reproduce", folder, "--fresh").exit_code == 1
    assert lanewise("reproduce", folder, "--note-misses", "--fresh").exit_code == 0
    assert surprises(folder) == ()
    printed = lanewise("reproduce", folder, "--fresh")
    assert printed.exit_code == 0
    assert "Outside their band: with (known)" in printed.stdout

    goodput(core, direct=1000, switch=880)
    assert surprises(folder) == ("TINY with is a known miss at 900 and now 880 MiB/s",)
    goodput(core, direct=1000, switch=980)
    assert "take it out of misses.toml" in surprises(folder)[0]
    lanewise("reproduce", folder, "--note-misses", "--fresh")
    assert not (folder / "misses.toml").exists()


def test_reasons_of_known_misses_survive_a_note(folder: Path, core: FakeCore, lanewise: Any) -> None:
    goodput(core, direct=1000, switch=900)
    lanewise("reproduce", folder, "--note-misses", "--fresh")
    path = folder / "misses.toml"
    path.write_text(path.read_text().replace("not explained", "the report\u2019s second drive"))
    goodput(core, direct=1000, switch=880)
    lanewise("reproduce", folder, "--note-misses", "--fresh")
    assert load_experiment(folder).known_misses["with"].why == "the report\u2019s second drive"
    assert load_experiment(folder).known_misses["with"].simulated == 880


def test_misses_of_cells_that_are_not_there_are_refused(folder: Path) -> None:
    (folder / "misses.toml").write_text('[[miss]]\ncell = "lost"\nsimulated = 1\nwhy = "gone"\n')
    with pytest.raises(ExperimentError, match=r"misses\.toml: there is no cell 'lost'"):
        load_experiment(folder)
