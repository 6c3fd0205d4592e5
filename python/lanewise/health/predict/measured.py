"""How near simulations of a kind of case were to machines that others measured.

The cells are those of ``docs/explanation/validation.md``: of public data sets, and no value was chosen with
them in view. ``validation/validate.py --page`` writes ``measured.csv``. Where no part says what a device
does by itself, a prediction is what PCI Express carries, and there is nothing to compare it with.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING

from lanewise.machine.parts import part_of
from lanewise.machine.sockets import across_sockets

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lanewise.documents import PredictMeasuredElsewhere
    from lanewise.health.predict.benchmarks import Benchmark
    from lanewise.machine.model import Machine

FILE = "measured.csv"
"""Beside this module."""


class CaseKind(StrEnum):
    """Kinds of cases that a prediction may have, as the validation has them."""

    LARGE_COPY = "large copies between a host and a GPU, one way"
    COPIES_AT_ONCE = "copies to and from a GPU at once"
    PEERS = "peers at one socket, or below its switches"
    PEERS_ACROSS_SOCKETS = "peers across sockets"
    LARGE_MESSAGES = "adapters: large messages"
    DRIVE_BANDWIDTH = "drives: bandwidth"
    DRIVE_LATENCY = "drives: latency of an I/O"
    OTHERS_TO_GPU = "drives or adapters to the memory of a GPU"


@dataclass(frozen=True)
class MeasuredElsewhere:
    """What was measured, beside what is simulated for it, of one kind of case."""

    kind: CaseKind
    """The kind of case."""
    cells: int
    """Measured numbers that no value was chosen from."""
    data_sets: int
    """Public data sets that they are from."""
    low_percent: float
    """Measured over simulated, in percent: a tenth of the cells are below this."""
    median_percent: float
    """Half are below this."""
    high_percent: float
    """A tenth are above this."""

    def document(self) -> PredictMeasuredElsewhere:
        """Return it as JSON has it."""
        return {
            "kind_of_case": str(self.kind),
            "cells": self.cells,
            "data_sets": self.data_sets,
            "low_percent": self.low_percent,
            "median_percent": self.median_percent,
            "high_percent": self.high_percent,
        }


def measured_elsewhere(kinds: Iterable[str | None]) -> list[MeasuredElsewhere]:
    """Return what is known of each of these kinds of cases, once."""
    return [_all_kinds()[CaseKind(kind)] for kind in dict.fromkeys(kinds) if kind is not None]


@cache
def _all_kinds() -> dict[CaseKind, MeasuredElsewhere]:
    text = resources.files(__package__).joinpath(FILE).read_text("utf-8")
    rows = csv.DictReader(text.splitlines())
    found = [
        MeasuredElsewhere(
            kind=CaseKind(row["kind"]),
            cells=int(row["cells"]),
            data_sets=int(row["data_sets"]),
            low_percent=float(row["low_percent"]),
            median_percent=float(row["median_percent"]),
            high_percent=float(row["high_percent"]),
        )
        for row in rows
    ]
    return {each.kind: each for each in found}


def kind_of(machine: Machine, benchmark: Benchmark) -> CaseKind | None:
    """Return the kind of case that a benchmark is.

    None where a device is no known part, or nothing like it was measured.
    """
    if not all(map(part_of, benchmark.parties)):
        return None
    workload = benchmark.workload
    if benchmark.peer is not None:
        across = across_sockets(machine, benchmark.function, benchmark.peer)
        peers = CaseKind.PEERS_ACROSS_SOCKETS if across else CaseKind.PEERS
        return peers if benchmark.function.is_gpu else CaseKind.OTHERS_TO_GPU
    if workload["kind"] == "copy":
        return CaseKind.COPIES_AT_ONCE if benchmark.direction == "both" else CaseKind.LARGE_COPY
    if workload["kind"] == "fio":
        return CaseKind.DRIVE_LATENCY if benchmark.quantity == "latency" else CaseKind.DRIVE_BANDWIDTH
    is_large = workload["kind"] == "dma" and benchmark.frame_bytes is None
    return CaseKind.LARGE_MESSAGES if is_large and benchmark.function.does_rdma else None
