"""The published experiments: well-formed, provenance in force, and within their bands."""

from __future__ import annotations

import os
import re
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

import lanewise
from lanewise.experiment.definition import Cell, Experiment
from lanewise.experiment.folders import find_experiments, load_experiment
from lanewise.experiment.runner import Job, run_all
from lanewise.experiment.sensitivity import predicted, stored
from lanewise.experiment.values import job_for
from lanewise.experiment.wording import counted
from lanewise.runs.cache import RunCache

ROOT = Path(__file__).parents[2]
FOLDERS = find_experiments(ROOT / "experiments")
EXPERIMENTS = [load_experiment(folder) for folder in FOLDERS.values()]
SIMULATED = [(experiment, cell) for experiment in EXPERIMENTS for cell in experiment.cells if cell.scenario]

TINY_RIG = """\
    [host.server]
    slots = { slot1 = "gen3 x4" }

    [endpoint.nic]
    attach = "server.slot1"
    generation = "gen3"
    width = "x4"
    tags = 1

    [[workload]]
    kind = "dma"
    device = "nic"
    direction = "read"
    """
TINY_TABLE = """\
    id = "TINY"
    title = "One tag, so that latency alone decides"
    source = "no publication: made up for this test"
    unit = "GB/s"
    metric = "sum flows.goodput_gb_per_s"

    [[fit]]
    name = "memory latency"
    parameters = ["server.memory_latency"]
    cells = ["reads"]
    unit = "ns"
    between = [10, 4000]

    [[cell]]
    id = "reads"
    published = 0.4
    printed_to = 0.001
    verdict = "C"
    role = "calibrated"
    band_percent = 0.5
    scenario = "rig.toml"
    fits = ["memory latency"]
    """


def test_the_list_of_experiments_counts_what_each_predicts() -> None:
    text = (ROOT / "experiments" / "README.md").read_text()
    listed = {row[1]: row[2] for row in re.finditer(r"\| \[(.+?)\].*? \| .+? \| (.+?) \|", text)}
    assert listed == {each.folder.name: predictions(each) for each in EXPERIMENTS}


def predictions(experiment: Experiment) -> str:
    predicted = [cell for cell in experiment.cells if cell.role == "predicted"]
    changes = sum(cell.band_points is not None for cell in predicted)
    claims = sum(cell.between is not None for cell in predicted)
    cells = len(predicted) - changes - claims
    said = [
        *([str(cells)] if cells else []),
        *([counted(changes, "change")] if changes else []),
        *([counted(claims, "claim")] if claims else []),
    ]
    return ", ".join(said) or "none"


def test_every_page_and_table_is_there() -> None:
    assert {"IDT-S1", "IDT-T3", "IDT-T4", "IDT-T5"} <= set(FOLDERS)
    for experiment in EXPERIMENTS:
        page = (experiment.folder / "README.md").read_text()
        assert page.startswith(f"# {experiment.id}: ")
        assert set(experiment.fitted) == {fit.name for fit in experiment.fits}
        assert experiment.title
        assert experiment.source


@pytest.mark.parametrize(("experiment", "cell"), SIMULATED, ids=[f"{e.id} {c.id}" for e, c in SIMULATED])
def test_fitted_values_are_in_force_with_their_provenance(experiment: Experiment, cell: Cell) -> None:
    job = job_for(experiment, cell)
    rows = lanewise.explain(job.scenario, overrides=job.overrides).parameters.iter_rows(named=True)
    calibrated = {row["path"]: row for row in rows if row["provenance"] == "calibrated"}
    # What a part was calibrated on elsewhere is no fit of this experiment, and must not be one in disguise.
    of_parts = {path: row for path, row in calibrated.items() if str(row["place"]).startswith("catalog/")}
    assert not {cell.id for cell in experiment.cells} & {
        on for row in of_parts.values() for on in row["fitted_on"]
    }
    calibrated = {path: row for path, row in calibrated.items() if path not in of_parts}
    in_force = [fit for fit in experiment.fits if fit.name in cell.fits]
    assert set(calibrated) == {path for fit in in_force for path in fit.parameters}
    for fit in in_force:
        for path in fit.parameters:
            assert calibrated[path]["fitted_on"] == list(fit.fitted_on)


# A processor's reads across the switch, an adapter's engine and a host's queue show in nothing but these.
FITTED_WITH_A_SWITCH = {
    "IDT-T1 with/1518 B",
    "IDT-T2 with/512 B",
    "IDT-T8 mean change of Ethernet, SAS writes",
    # The row that the processor is fitted on, chosen with the table in view: no cell of it is predicted.
    *(f"IDT-T7 write with/{size} B" for size in (64, 128, 256, 512, 1024, 1280, 1518)),
}


def test_three_cells_and_a_row_with_idts_switch_are_fitted_on_and_no_other() -> None:
    fitted = {
        on
        for experiment in EXPERIMENTS
        if experiment.id.startswith("IDT-")
        for fit in experiment.own_fits
        for on, id_ in zip(fit.fitted_on, fit.cells, strict=True)
        if any("switch" in leaf.scenario.name for leaf in runs_behind(experiment, experiment.cell(id_)))
    }
    assert fitted == FITTED_WITH_A_SWITCH


def runs_behind(experiment: Experiment, cell: Cell) -> list[Any]:
    return [leaf for leaf in experiment.simulated(cell) if leaf.scenario is not None]


def test_every_prediction_of_a_number_has_a_null_model_beside_it() -> None:
    bare = [
        f"{experiment.id} {cell.id}"
        for experiment in EXPERIMENTS
        for cell in experiment.cells
        if cell.role == "predicted" and cell.between is None and cell.null is None
    ]
    assert bare == []


def test_the_reads_that_only_links_limit_rest_on_nothing_fitted() -> None:
    table_5 = next(experiment for experiment in EXPERIMENTS if experiment.id == "IDT-T5")
    for id_ in ("read/without_x4", "read/with_switch"):
        assert table_5.fitted_on(table_5.cell(id_)) == ()


# What the publications say in prose, by the experiment whose cells say whether it holds.
CLAIMS = {
    "DELL-1": ["87 %", "16 %", "54 Gbits/s", "32 Gbits/s", "8 GT/s"],
    "DELL-2": ["69 %", "20 %"],
    "DELL-3": ["40 %", "minimal difference", "lowest micro benchmark level latency"],
    "DELL-4": ["difference in performance is significant"],
    "H3-1": ["19,209"],
    "H3-2": ["almost double performance", "200Gbps", "23,772", "more initiators"],
    "IDT-T1": ["any meaningful impact", "stresses the switch more", "low hundreds of nanoseconds"],
    "IDT-T2": ["any meaningful impact"],
    "IDT-T3": ["almost identical"],
    "IDT-T4": ["almost identical"],
    "IDT-T5": [
        "significant advantage",
        "impact of the switch is negligible",
        "balance in the upstream lanes",
    ],
    "IDT-T6": ["just 1.3%"],
    "IDT-T7": ["helps the system throughput", "remained constant"],
    "IDT-T8": ["does not adversely affect"],
    "OPP-1": ["very low standard deviation", "better than best x86"],
    "OPP-2": ["50 percent", "2 to 3 microseconds"],
    "OPP-3": ["full 100 Gb/s"],
    "OPP-4": ["without oversubscription"],
    "OPP-5": [
        "pretty good latency",
        "very helpful",
        "double the bandwidth",
        "16 gigabyte",
        "twenty five gigabit",
    ],
    "OPP-6": ["200 gigabit", "32 gigabit", "NVMe direct"],
    "WIS-1": ["96.6 % of the theoretical bandwidth of PCIe Gen4", "around 10 %", "nearly doubling"],
    "WIS-2": ["no significant performance difference"],
}


@pytest.mark.parametrize("name", CLAIMS)
def test_what_is_claimed_in_prose_is_a_cell(name: str) -> None:
    experiment = next(experiment for experiment in EXPERIMENTS if experiment.id == name)
    claims = [cell.claim for cell in experiment.cells if cell.claim]
    for words in CLAIMS[name]:
        assert any(words in claim for claim in claims), words


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda experiment: str(experiment.id))
def test_what_predictions_rest_on_is_known_and_current(experiment: Experiment) -> None:
    """`lanewise reproduce ID --sensitivity` makes it again when a scenario or a parameter has changed.

    One that was made on another core says so, and the list of experiments does.
    """
    looked_at = {cell.id for cell in predicted(experiment)}
    found = stored(experiment)
    if found is not None and found.made_on:
        assert experiment.folder.name in stale_on_the_list()
        return
    assert experiment.folder.name not in stale_on_the_list()
    assert {cell.cell for cell in found.cells} == looked_at if found else not looked_at
    assert found is None or not found.stale


def stale_on_the_list() -> set[str]:
    """Return the experiments that the list names as having a sensitivity of another core."""
    text = (ROOT / "experiments" / "README.md").read_text()
    listed = re.search(r"Made on another core: (.+?)\.\n", text)
    return set(re.findall(r"\[(.+?)\]", listed[1])) if listed else set()


@pytest.fixture(scope="session")
def done(tmp_path_factory: pytest.TempPathFactory) -> RunCache:
    """Runs that several of these tests ask for, in whatever process, are done once."""
    of_this_process = tmp_path_factory.getbasetemp()
    of_all = of_this_process.parent if "PYTEST_XDIST_WORKER" in os.environ else of_this_process
    return RunCache(of_all / "published")


@pytest.mark.slow
@pytest.mark.parametrize("name", FOLDERS)
def test_every_cell_is_within_its_band_or_a_known_miss(name: str, done: RunCache) -> None:
    (experiment,) = lanewise.reproduce(name, cache=done).experiments
    assert experiment.surprises == ()
    rests_on = experiment.sensitivity
    assert rests_on is None or rests_on.made_on or not rests_on.stale


@pytest.mark.slow
@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda experiment: str(experiment.id))
def test_runs_with_one_seed_give_the_same_with_another(experiment: Experiment, done: RunCache) -> None:
    """To a tenth of a percent; what scatters by more is run with several seeds."""
    once = [
        quantity for quantity in experiment.quantities.values() if quantity.scenario and quantity.seeds == 1
    ]
    jobs = {quantity.id: job_for(experiment, quantity) for quantity in once}
    others = {id_: Job(job.scenario, (*job.overrides, ("run.seed", "2"))) for id_, job in jobs.items()}
    results = run_all([*jobs.values(), *others.values()], cache=done)
    for quantity in once:
        assert quantity.metric is not None
        numbers = [quantity.metric.read(results[kind[quantity.id]]) for kind in (jobs, others)]
        assert numbers[0] == pytest.approx(numbers[1], rel=1e-3), quantity.id


def test_calibration_on_the_real_core_can_be_repeated(tmp_path: Path) -> None:
    (tmp_path / "rig.toml").write_text(dedent(TINY_RIG))
    (tmp_path / "expected.toml").write_text(dedent(TINY_TABLE))
    lanewise.calibrate(tmp_path)
    first = (tmp_path / "fitted.toml").read_bytes()
    (tmp_path / "fitted.toml").unlink()
    lanewise.calibrate(tmp_path)
    assert (tmp_path / "fitted.toml").read_bytes() == first
    assert lanewise.reproduce(tmp_path).passed
