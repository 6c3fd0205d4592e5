"""Runs the trials of findings; what is the same in two trials is run once."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from lanewise import _core
from lanewise.health.doctor.finding import Compared, Cost

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lanewise.health.doctor.finding import Finding
    from lanewise.health.doctor.rig import Source, Trial


def priced(findings: Iterable[Finding], *, keep: bool = False) -> tuple[list[Finding], int]:
    """Return the findings with what they cost, and how many simulations that took.

    With `keep`, what an earlier call has simulated is not simulated again.
    """
    if not keep:
        _simulated.cache_clear()
    before = _simulated.cache_info().misses
    result = [
        replace(finding, cost=price(finding.trial)) if finding.trial else finding for finding in findings
    ]
    return result, _simulated.cache_info().misses - before


def price(trial: Trial) -> Cost:
    """Run a trial."""
    before = _simulated(trial.as_is.source(), trial.quantity)
    after = _simulated(trial.fixed.source(), trial.quantity)
    most = trial.most_gb_per_s
    if before > most or after > most:
        before, after = min(before, most), min(after, most)
    compared = Compared(trial.what, before, after)
    if trial.quantity == "latency":
        what = f"{trial.what}: {before:.0f} ns instead of {after:.0f} ns"
        return Cost(what, ns=before - after, compared=compared)
    what = f"{trial.what}: {before:.2f} GB/s instead of {after:.2f} GB/s"
    if trial.own is not None and after == most:
        what += f", the most of the {trial.own.whose}"
    return Cost(what, gb_per_s=after - before, compared=compared)


@cache
def _simulated(source: Source, quantity: str) -> float:
    """Return GB/s of all flows together, or the mean latency in ns of the first."""
    text, overrides = source
    result = json.loads(_core.run("doctor", list(overrides), source=text))
    if quantity == "latency":
        data = [flow for flow in result["flows"] if flow["direction"] != "control"]
        return float(data[0]["latency_ns"]["mean"] or 0.0)
    return float(result["goodput_gb_per_s"])
