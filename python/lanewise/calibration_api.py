"""Calibration as a function: of a published experiment, or of a scenario by one's own measurements."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, overload

from lanewise.errors import InputError
from lanewise.extras import need

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lanewise.api import Overrides
    from lanewise.calibration.fitting import OwnCalibration
    from lanewise.experiment.calibration import Calibration
    from lanewise.runs.simulator import Scenario


@overload
def calibrate(
    scenario: str | Path, *, write: bool = True, on_progress: Callable[[str, int], None] | None = None
) -> Calibration: ...


@overload
def calibrate(
    scenario: Scenario,
    data: str | Path,
    fit: str | Sequence[str],
    *,
    hold_out: str | Sequence[str] = (),
    overrides: Overrides = (),
    seeds: int = 1,
    out: str | Path | None = None,
    write: bool = True,
    on_progress: Callable[[str, int], None] | None = None,
) -> OwnCalibration: ...


def calibrate(
    scenario: Scenario,
    data: str | Path | None = None,
    fit: str | Sequence[str] = (),
    *,
    hold_out: str | Sequence[str] = (),
    overrides: Overrides = (),
    seeds: int = 1,
    out: str | Path | None = None,
    write: bool = True,
    on_progress: Callable[[str, int], None] | None = None,
) -> Calibration | OwnCalibration:
    """Fit parameters to measurements: of a scenario to a file, or those that an experiment names.

    With `data`, `scenario` is as in `run`, and `data` the path of a table in CSV or TOML, or of the output
    of a benchmark that `judge` reads: each row has values of parameters and what was measured
    there, as in ``size,goodput GB/s``. `fit` names parameters, with what they lie between if that is not a
    quarter to four times their values: "nic.path_latency=0 ns..400 ns", "nic0.tags & nic1.tags". Rows in
    `hold_out` are not fitted: their numbers, "2,5..7", or "size=64 KiB". `overrides` hold in every run,
    each of which is done with the seeds 1 to `seeds`. With `out`, the values that the rows determine are
    written as a part: into this file, or for several components into files of a folder. Without `write`
    nothing is.

    Without `data`, `scenario` is the ID or the folder of an experiment, which gets its ``fitted.toml``
    unless it names no parameter.

    `on_progress` hears what is done and how many runs it took so far. Needs the extra ``calibrate``. Raises
    `lanewise.InputError` when that is not installed, for data and parameters that mean nothing, and for an
    experiment whose cells cannot be met or leave a parameter open; of one's own data that is said in the
    result.

    >>> import lanewise
    >>> found = lanewise.calibrate("my-rig.toml", "measured.csv", "server.memory_latency")  # doctest: +SKIP
    >>> found.parameters[0].interval  # doctest: +SKIP
    '519.49 to 520.33 ns'
    """
    need("calibrate", "calibrate")
    if data is None:
        _refuse_for_an_experiment(
            fit=bool(fit), hold_out=bool(hold_out), overrides=bool(overrides), out=out is not None
        )
        return _experiment(scenario, write=write, on_progress=on_progress)
    from lanewise.api import run_pairs
    from lanewise.calibration.fitting import calibrate_scenario
    from lanewise.calibration.part import write_parts

    found = calibrate_scenario(
        scenario,
        data,
        (fit,) if isinstance(fit, str) else tuple(fit),
        hold_out=(hold_out,) if isinstance(hold_out, str) else tuple(hold_out),
        overrides=run_pairs(overrides, None, None),
        seeds=seeds,
        out=None if out is None else Path(out),
        on_progress=on_progress,
    )
    if write and out is not None:
        write_parts(found, Path(out))
    return found


def _refuse_for_an_experiment(**given: bool) -> None:
    wrong = [name for name, is_given in given.items() if is_given]
    if wrong:
        raise InputError(
            f"'{wrong[0]}' goes with a scenario and its measurements: without a file of measurements the "
            "ID or folder of an experiment is meant, which says itself what is fitted to what"
        )


def _experiment(
    experiment: Scenario, *, write: bool, on_progress: Callable[[str, int], None] | None
) -> Calibration:
    from lanewise.api import experiment_folder
    from lanewise.experiment.calibration import calibrate_experiment
    from lanewise.experiment.folders import load_experiment

    if not isinstance(experiment, str | Path):
        raise InputError(
            "an experiment is an ID or a folder; give measurements with a scenario that is a dictionary"
        )
    if str(experiment).endswith(".toml"):
        raise InputError(
            f"'{experiment}' is fitted to measurements: name their file, too, like 'lanewise calibrate "
            f"{experiment} measured.csv --fit nic.tags'. Without one, give the ID or the folder of an "
            "experiment"
        )
    calibration = calibrate_experiment(
        load_experiment(experiment_folder(experiment)), on_progress=on_progress
    )
    if write and calibration.fits:
        calibration.save()
    return calibration
