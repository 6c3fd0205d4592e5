"""What the model gives for a quantity of an experiment: the runs behind it, and what is read from them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanewise import ladder as ladder_rates
from lanewise.errors import InputError
from lanewise.experiment.metric import MetricError
from lanewise.experiment.runner import Job
from lanewise.experiment.spread import mean
from lanewise.toml import inline

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lanewise.experiment.definition import Experiment, Ladder, Quantity
    from lanewise.results import RunResult


class NotCalibratedError(InputError):
    """A cell needs a fitted value that is not there yet."""


class UndefinedCellError(InputError):
    """A cell cannot be read from its run, or not be computed from its operands."""


def jobs_behind(experiment: Experiment, quantity: Quantity) -> tuple[Job, ...]:
    """Return the runs that a quantity is read or computed from, with every seed, each once."""
    leaves = [leaf for leaf in experiment.simulated(quantity) if leaf.scenario is not None]
    return tuple(dict.fromkeys(job for leaf in leaves for job in jobs_for(experiment, leaf)))


def jobs_for(experiment: Experiment, quantity: Quantity) -> tuple[Job, ...]:
    """Return the runs of a quantity that is read from a scenario, one for each seed."""
    return tuple(job_for(experiment, quantity, seed) for seed in range(1, quantity.seeds + 1))


def value_of(experiment: Experiment, quantity: Quantity, results: Mapping[Job, RunResult]) -> float | None:
    """Return what the model gives for a quantity, the mean over its seeds; None when nothing simulates it."""
    samples = samples_of(experiment, quantity, results)
    return None if samples is None else mean(samples)


def samples_of(
    experiment: Experiment, quantity: Quantity, results: Mapping[Job, RunResult]
) -> tuple[float, ...] | None:
    """Return what the model gives with each seed; None when nothing simulates it.

    What is computed from several runs is computed seed by seed: a change between two rigs that see the same
    requests is known better than either of them.
    """
    if not quantity.is_simulated or (quantity.scenario is not None and quantity.metric is None):
        return None
    seeds = max((leaf.seeds for leaf in experiment.simulated(quantity)), default=1)
    return tuple(_value(experiment, quantity, results, seed) for seed in range(1, seeds + 1))


def _value(experiment: Experiment, quantity: Quantity, results: Mapping[Job, RunResult], seed: int) -> float:
    if quantity.formula is not None:

        def operand(id_: str) -> float:
            return _value(experiment, experiment.quantities[id_], results, seed)

        try:
            return quantity.formula.value(operand)
        except ZeroDivisionError:
            raise UndefinedCellError(
                f"{experiment.id} {quantity.id}: {quantity.formula} divides by zero"
            ) from None
    if quantity.ladder is not None and quantity.rung is not None:
        return rungs(quantity.ladder)[quantity.rung]
    assert quantity.metric is not None, f"{quantity.id} is not simulated"
    try:
        return quantity.metric.read(results[job_for(experiment, quantity, min(seed, quantity.seeds))])
    except MetricError as error:
        raise UndefinedCellError(f"{experiment.id} {quantity.id}: {error}") from error


def job_for(experiment: Experiment, cell: Quantity, seed: int = 1) -> Job:
    """Return the run behind a cell, with the fitted values that are in force in it.

    The seed is set where the cell has several; elsewhere it is the scenario's own.
    """
    assert cell.scenario is not None, f"cell {cell.id} is not simulated"
    overrides = list(cell.overrides)
    for fit in experiment.fits:
        if fit.name not in cell.fits:
            continue
        if fit.name not in experiment.fitted:
            raise NotCalibratedError(
                f"{experiment.id} {cell.id} needs the fitted {fit.name}: "
                f"run 'lanewise calibrate {fit.home if fit.borrowed else experiment.folder}' first"
            )
        calibrated = inline(
            {
                "value": experiment.fitted[fit.name].value,
                "provenance": "calibrated",
                "source": fit.name,
                "fitted_on": list(fit.fitted_on),
            }
        )
        overrides += [(path, calibrated) for path in fit.parameters]
    if cell.seeds > 1:
        overrides.append(("run.seed", str(seed)))
    return Job(cell.scenario, tuple(overrides))


def rungs(ladder: Ladder) -> dict[str, float]:
    """Return the rungs of equal links together in Gb/s: the core's rate model, times links and directions."""
    one = ladder_rates.rungs(
        generation=ladder.generation,
        lanes=ladder.lanes,
        payload_bytes=ladder.payload_bytes,
        header_dwords=ladder.header_dwords,
        ecrc=ladder.ecrc,
    )
    directions = ladder.links * ladder.directions
    bandwidth = one["coded_gbit_per_s"] * directions
    after_dllps = bandwidth * (1 - ladder.dllp_fraction)
    return {
        "line_rate_gbit_per_s": one["line_rate_gbit_per_s"] * directions,
        "coded_gbit_per_s": bandwidth,
        "tlp_bandwidth_gbit_per_s": after_dllps,
        "goodput_gbit_per_s": after_dllps * one["payload_fraction"],
    }
