"""What the model gives for a quantity of an experiment: the runs behind it, and what is read from them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanewise import ladder as ladder_rates
from lanewise.errors import InputError
from lanewise.experiment.metric import MetricError
from lanewise.experiment.runner import Job
from lanewise.experiment.toml import inline

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lanewise.experiment.definition import Experiment, Ladder, Quantity
    from lanewise.results import RunResult


class NotCalibratedError(InputError):
    """A cell needs a fitted value that is not there yet."""


class UndefinedCellError(InputError):
    """A cell cannot be read from its run, or not be computed from its operands."""


def jobs_behind(experiment: Experiment, quantity: Quantity) -> tuple[Job, ...]:
    """Return the runs that a quantity is read or computed from, each once."""
    leaves = experiment.simulated(quantity)
    return tuple(dict.fromkeys(job_for(experiment, leaf) for leaf in leaves if leaf.scenario is not None))


def value_of(experiment: Experiment, quantity: Quantity, results: Mapping[Job, RunResult]) -> float | None:
    """Return what the model gives for a quantity, from the runs behind it; None when nothing simulates it."""
    if quantity.formula is not None:

        def operand(id_: str) -> float:
            value = value_of(experiment, experiment.quantities[id_], results)
            assert value is not None, f"{id_} is not simulated"
            return value

        try:
            return quantity.formula.value(operand)
        except ZeroDivisionError:
            raise UndefinedCellError(
                f"{experiment.id} {quantity.id}: {quantity.formula} divides by zero"
            ) from None
    if quantity.ladder is not None and quantity.rung is not None:
        return rungs(quantity.ladder)[quantity.rung]
    if quantity.scenario is None or quantity.metric is None:
        return None
    try:
        return quantity.metric.read(results[job_for(experiment, quantity)])
    except MetricError as error:
        raise UndefinedCellError(f"{experiment.id} {quantity.id}: {error}") from error


def job_for(experiment: Experiment, cell: Quantity) -> Job:
    """Return the run behind a cell, with the fitted values that are in force in it."""
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
