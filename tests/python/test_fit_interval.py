"""How well fitted values are known: intervals that cover, steps of a simulation, what cells leave open."""

from __future__ import annotations

import math
import random
import re
from typing import TYPE_CHECKING, Any

import documents
import pytest

import lanewise as package
from lanewise.experiment.calibration import CalibrationError
from lanewise.experiment.definition import ExperimentError
from lanewise.experiment.fit_interval import covering, end_of_range, from_cells, from_residuals

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from fake_core import FakeCore

    Model = Callable[[dict[str, float], float], float]
    """What a cell of some size comes to with the fitted values."""

SIZES = (512, 1024, 2048, 4096, 8192, 16384)
TRUTH = 437.0
HEAD = 'id = "SYN"\ntitle = "t"\nsource = "s"\nunit = "GB/s"\nmetric = "sum flows.goodput_gb_per_s"\n'


def reads(latency: float, size: float) -> float:
    """Goodput of one read at a time, GB/s: a line in its inverse."""
    return size / (latency + 0.15 * size)


def fit(name: str, cells: Sequence[object], between: tuple[float, float], **more: str) -> str:
    """Write a [[fit]] of `server.NAME`."""
    says = {"unit": '"ns"', "parameters": f'["server.{name}"]', "why": '"w"', **more}
    rest = "\n".join(f"{key} = {value}" for key, value in says.items())
    listed = ", ".join(f'"{cell}"' for cell in cells)
    return f'[[fit]]\nname = "{name}"\ncells = [{listed}]\nbetween = {list(between)}\n{rest}\n'


def cell(size: int, published: float, fits: Sequence[str] = ("x",), *, fitted: bool = True) -> str:
    """Write a [[cell]] that is called by its size."""
    role, listed = "calibrated" if fitted else "predicted", ", ".join(f'"{name}"' for name in fits)
    return (
        f'[[cell]]\nid = "{size}"\npublished = {published}\nverdict = "C"\nrole = "{role}"\n'
        f'band_percent = 5\nscenario = "rig.toml"\nfits = [{listed}]\n'
        f'set = {{ "workload.p.size" = "{size} B" }}\n'
    )


@pytest.fixture
def experiment(tmp_path: Path, core: FakeCore) -> Callable[..., Path]:
    """Write an experiment of some fits and cells, on a core whose goodput is that of a model."""

    def written(model: Model, *tables: str) -> Path:
        def answer(path: str, overrides: dict[str, str]) -> documents.Document:
            document = documents.run_document(with_switch=False)
            values = {
                key.removeprefix("server."): float(
                    text.partition("value = ")[2].strip('"').split()[0].strip('",')
                )
                for key, text in overrides.items()
                if key.startswith("server.")
            }
            total = model(values, float(overrides["workload.p.size"].strip('"').split()[0]))
            for flow in document["flows"]:
                flow["goodput_gb_per_s"] = total / len(document["flows"])
            return document

        core.answer = answer
        (tmp_path / "expected.toml").write_text("\n".join((HEAD, *tables)))
        (tmp_path / "rig.toml").write_text("")
        return tmp_path

    return written


def found(folder: Path) -> tuple[float, float]:
    """Calibrate; return value and half of the interval of the one fit, as written."""
    (done,) = package.calibrate(folder).fits
    assert done.value.plus_minus, "there is an interval"
    return float(str(done.value.value).split()[0]), float(done.value.plus_minus.split()[0])


def test_half_of_an_interval_is_students_t_over_the_slopes() -> None:
    """By hand: residuals 1, -1, 1 have the variance 3/2, two degrees of freedom; slopes 1, 2, 3 make 14."""
    assert from_residuals([1, 2, 3], [1, -1, 1]) == pytest.approx(4.302653 * math.sqrt(1.5 / 14), rel=1e-6)
    assert from_cells([3, 4], [0.1, 0.2]) == pytest.approx(math.hypot(0.3, 0.8) / 25)
    assert from_cells([-2], [0.1]) == pytest.approx(0.05)


def test_intervals_of_residuals_cover_in_19_cases_of_20() -> None:
    """Of a line through the origin, for which the linear approximation is exact."""
    chance, slopes, covered, sets = random.Random(3), (0.5, 1.0, 1.5, 3.0), 0, 4000
    for _ in range(sets):
        measured = [2 * slope + chance.gauss(0, 0.3) for slope in slopes]
        best = sum(s * m for s, m in zip(slopes, measured, strict=True)) / sum(s * s for s in slopes)
        residuals = [best * s - m for s, m in zip(slopes, measured, strict=True)]
        covered += abs(best - 2) <= from_residuals(slopes, residuals)
    assert 0.94 < covered / sets < 0.96


def test_calibration_covers_what_noisy_cells_were_made_of(experiment: Callable[..., Path]) -> None:
    covered, sizes = [], SIZES[::2] + SIZES[-1:]
    for seed in range(20):
        chance = random.Random(seed)
        cells = [cell(size, round(reads(TRUTH, size) * chance.gauss(1, 0.01), 4)) for size in sizes]
        folder = experiment(lambda of, size: reads(of["x"], size), fit("x", sizes, (50, 2000)), *cells)
        value, half = found(folder)
        covered.append(abs(value - TRUTH) <= half)
        assert half < 0.1 * TRUTH, "and is not wide for no reason"
    assert sum(covered) >= 17, "the chance of fewer is 1.6 %"


def test_cells_without_noise_leave_what_they_were_rounded_to(experiment: Callable[..., Path]) -> None:
    cells = [cell(size, round(reads(TRUTH, size), 4)) for size in SIZES]
    value, half = found(
        experiment(lambda of, size: reads(of["x"], size), fit("x", SIZES, (50, 2000)), *cells)
    )
    assert abs(value - TRUTH) <= half < 0.1


@pytest.mark.parametrize("cells", [(4096,), (2048, 4096)])
def test_a_step_of_the_simulation_is_covered_whole(
    experiment: Callable[..., Path], cells: tuple[int, ...]
) -> None:
    """Latencies from 430 ns to less than 440 ns give the same, and any of them may be what is looked for."""
    step = 10.0

    def stepped(of: dict[str, float], size: float) -> float:
        return reads(math.floor(of["x"] / step) * step + step / 2, size)

    made = [cell(size, round(stepped({"x": TRUTH}, size), 5)) for size in cells]
    value, half = found(experiment(stepped, fit("x", cells, (50, 2000)), *made))
    assert value == pytest.approx(435, abs=0.3)
    assert value - half <= 430
    assert value + half >= 440
    assert half <= 6


def test_a_smooth_cell_keeps_the_interval_of_its_digits(experiment: Callable[..., Path]) -> None:
    published = round(reads(TRUTH, 4096), 3)
    folder = experiment(
        lambda of, size: reads(of["x"], size), fit("x", [4096], (50, 2000)), cell(4096, published)
    )
    value, half = found(folder)
    slope = reads(TRUTH, 4096) ** 2 / 4096
    assert half == float(f"{0.0005 / slope:.1g}")
    assert abs(value - TRUTH) <= half + 1e-9


@pytest.mark.parametrize(
    ("model", "opens"),
    [
        (lambda _, size: size / 1000, "50 ns to 2000 ns"),
        (lambda of, size: size / 1000 * min(of["x"], 300) / 300, "300 ns to 2000 ns"),
        (lambda of, size: size / 1000 * 300 / max(of["x"], 300), "50 ns to 300 ns"),
    ],
    ids=["no effect", "none above", "none below"],
)
@pytest.mark.parametrize("sizes", [(4096,), (4096, 5120)], ids=["one cell", "two cells"])
def test_what_cells_leave_open_up_to_a_bound_is_an_error(
    experiment: Callable[..., Path], lanewise: Any, model: Model, opens: str, sizes: tuple[int, ...]
) -> None:
    folder = experiment(model, fit("x", sizes, (50, 2000)), *(cell(size, size / 1000) for size in sizes))
    with pytest.raises(CalibrationError, match="SYN: x is not determined by what it is fitted on") as error:
        package.calibrate(folder)
    bounds = re.search(r"anything from ([\d.]+) ns to ([\d.]+) ns", str(error.value))
    assert bounds is not None
    low, high = map(float, bounds.groups())
    first, last = (float(text.split()[0]) for text in opens.split(" to "))
    assert first <= low <= first + 0.02 * 1950
    assert last - 0.02 * 1950 <= high <= last + 0.1
    assert not (folder / "fitted.toml").exists()
    assert lanewise("calibrate", folder).exit_code == 2


def test_a_count_that_others_meet_as_well_is_an_error(experiment: Callable[..., Path]) -> None:
    folder = experiment(
        lambda of, size: size * min(of["x"], 8),
        fit("x", [4], (1, 64), unit='""', whole="true"),
        cell(4, 32),
    )
    with pytest.raises(CalibrationError, match="anything from 8 to 64 meets 32 GB/s of 4"):
        package.calibrate(folder)


def test_the_count_that_meets_several_cells_best_is_found(experiment: Callable[..., Path]) -> None:
    """Nothing follows it above 8, so that a search that narrows down loses it there."""
    folder = experiment(
        lambda of, size: size * min(of["x"], 8),
        fit("x", [4, 6], (1, 64), unit='""', whole="true"),
        cell(4, 12.1),
        cell(6, 17.8),
    )
    (done,) = package.calibrate(folder).fits
    assert done.value.value == 3
    assert not done.value.plus_minus


def test_a_least_squares_fit_at_a_bound_is_an_error(experiment: Callable[..., Path]) -> None:
    cells = [cell(size, round(reads(TRUTH, size), 4)) for size in SIZES]
    folder = experiment(lambda of, size: reads(of["x"], size), fit("x", SIZES, (600, 2000)), *cells)
    with pytest.raises(CalibrationError, match="x fits best at a bound, 600 ns"):
        package.calibrate(folder)


def both(of: dict[str, float], size: float) -> float:
    """Two latencies of which only the sum matters."""
    return reads(of.get("x", 0) + of.get("y", 0), size)


def test_two_fits_that_need_each_other_are_refused(experiment: Callable[..., Path]) -> None:
    folder = experiment(
        both,
        fit("x", [4096], (50, 2000)),
        fit("y", [1024], (0, 1000)),
        cell(4096, 3.4137, ("x", "y")),
        cell(1024, 1.318, ("x", "y")),
    )
    with pytest.raises(CalibrationError, match="do not tell the two apart") as error:
        package.calibrate(folder)
    assert "'x' is fitted on cell '4096', in which 'y' is in force" in str(error.value)


def test_a_fit_that_needs_a_later_one_is_told_to_come_after_it(experiment: Callable[..., Path]) -> None:
    first, second = fit("x", [4096], (50, 2000)), fit("y", [1024], (0, 1000))
    cells = cell(4096, round(reads(587, 4096), 4), ("x", "y")), cell(1024, round(reads(150, 1024), 4), ("y",))
    with pytest.raises(CalibrationError, match=r"put the \[\[fit\]\] of 'y' before that of 'x'"):
        package.calibrate(experiment(both, first, second, *cells))
    done = {
        each.value.name: each.value
        for each in package.calibrate(experiment(both, second, first, *cells)).fits
    }
    assert float(str(done["x"].value).split()[0]) == pytest.approx(437, rel=1e-3)


def test_bounds_are_told_with_the_digits_that_miss_and_with_what_was_fitted_before(
    experiment: Callable[..., Path],
) -> None:
    """The first fit, on a cell without the second, takes up what both do."""
    folder = experiment(
        both,
        fit("x", [4096], (50, 2000)),
        fit("y", [1024], (0, 1000)),
        cell(4096, round(reads(587, 4096), 4)),
        cell(1024, round(reads(586, 1024), 4), ("x", "y")),
    )
    with pytest.raises(CalibrationError, match="no y between 0 ns and 1000 ns") as error:
        package.calibrate(folder)
    published, given = round(reads(586, 1024), 4), reads(587, 1024)
    assert f"published {published:g} GB/s of SYN 1024: the bounds give {given:.4g} and " in str(error.value)
    assert "'x' is 586.98 ns, fitted on cell '4096', and may have taken up what 'y' does" in str(error.value)


@pytest.mark.parametrize(
    ("table", "complaint"),
    [
        (fit("x", [], (50, 2000)), "fit 'x': 'cells' is empty"),
        (fit("x", [4096], (50, 2000), parameters="[]"), "fit 'x': 'parameters' is empty"),
    ],
)
def test_a_fit_of_nothing_or_on_nothing_is_refused(
    experiment: Callable[..., Path], table: str, complaint: str
) -> None:
    with pytest.raises(ExperimentError, match=complaint):
        package.calibrate(experiment(both, table, cell(4096, 3)))


def test_a_fit_is_in_force_in_what_it_is_fitted_on(experiment: Callable[..., Path]) -> None:
    folder = experiment(both, fit("x", [4096], (50, 2000)), cell(4096, 3, ()))
    with pytest.raises(ExperimentError, match="fit 'x' uses cell '4096', whose 'fits' do not name it"):
        package.calibrate(folder)


RIG = """
[host.server]
slots = { slot1 = "gen3 x8" }

[endpoint.card]
attach = "server.slot1"
generation = "gen3"
width = "x8"

[[workload]]
kind = "dma"
name = "p"
device = "card"
direction = "read"
size = "4 KiB"
"""


@pytest.mark.parametrize(
    ("parameter", "unit", "complaint"),
    [
        (
            "server.memory_latency",
            "GB/s",
            "'50 GB/s' cannot be the value of server.memory_latency: .*a data rate",
        ),
        ("server.memory_latency", "", "'50' cannot be the value of server.memory_latency: .*without a unit"),
        ("server.nosuch", "ns", "'50 ns' cannot be the value of server.nosuch: unknown key `nosuch`"),
    ],
)
def test_a_wrong_unit_or_path_is_told_with_the_fit(
    tmp_path: Path, parameter: str, unit: str, complaint: str
) -> None:
    """On the core itself, which knows what takes which unit."""
    table = fit("x", [4096], (50, 2000), parameters=f'["{parameter}"]', unit=f'"{unit}"')
    (tmp_path / "expected.toml").write_text("\n".join((HEAD, table, cell(4096, 3))))
    (tmp_path / "rig.toml").write_text(RIG)
    with pytest.raises(CalibrationError, match=f"(?s)expected.toml: fit 'x': {complaint}"):
        package.calibrate(tmp_path)


def test_what_is_wrong_with_the_scenario_itself_is_not_said_of_the_fit(tmp_path: Path) -> None:
    table = fit("x", [4096], (50, 2000), parameters='["server.memory_latency"]')
    (tmp_path / "expected.toml").write_text("\n".join((HEAD, table, cell(4096, 3))))
    (tmp_path / "rig.toml").write_text(RIG.replace('"gen3 x8"', '"gen3 x7"'))
    with pytest.raises(package.ScenarioError, match=r"rig.toml:3"):
        package.calibrate(tmp_path)


def test_ends_of_a_range_are_within_a_fiftieth_of_their_distance() -> None:
    def is_in(value: float) -> bool:
        return 10 <= value <= 70

    within, beyond = end_of_range(is_in, 20, 1, 100, 1e-9)
    assert within <= 70 < beyond < 71.1
    within, beyond = end_of_range(is_in, 20, 1, 0, 1e-9)
    assert beyond < 10 <= within < 10.2
    assert end_of_range(is_in, 20, 1, 60, 1e-9) == (60, 60)


@pytest.mark.parametrize(
    ("value", "half", "written"),
    [
        (437.69, 6.7, (437.7, "6.8")),
        (436.8, 1.02, (436.8, "1.1")),
        (456.54, 49.9, (457, "51")),
        (2.50351, 0.0000001, (2.5035, "0.0001")),
        (0.0, 0.3, (0, "0.30")),
        (12345678.0, 120000.0, (12350000.0, "130000")),
    ],
)
def test_a_half_width_is_rounded_up_and_covers_what_the_value_lost(
    value: float, half: float, written: tuple[float, str]
) -> None:
    number, plus_minus = covering(value, half)
    assert (number, plus_minus) == written
    assert number - float(plus_minus) <= value - half
    assert number + float(plus_minus) >= value + half
