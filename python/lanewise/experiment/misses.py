"""Known misses: cells outside their band, with the figure at which that is known, kept as ``misses.toml``.

A miss counts in every headline and is named there. What the file is for is that a change is noticed: a miss
that is new, that has moved or that is gone makes `reproduce` fail until it is looked at and noted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanewise import toml
from lanewise.files import write_whole

if TYPE_CHECKING:
    from pathlib import Path

    from lanewise.experiment.reproduction import ReproducedExperiment

NOT_EXPLAINED = "not explained"
"""The reason of a miss for which none is written."""


def text_of(experiment: ReproducedExperiment) -> str:
    """Return the text of ``misses.toml`` for the misses there are now; reasons that were known are kept."""
    known = experiment.definition.known_misses
    folder = experiment.definition.folder.name
    misses = [
        {
            "cell": cell.cell,
            "simulated": toml.short(cell.simulated),
            "why": known[cell.cell].why if cell.cell in known else NOT_EXPLAINED,
        }
        for cell in experiment.cells
        if cell.is_miss and cell.simulated is not None
    ]
    head = [
        f"Cells of experiments/{folder} outside their band, and what they come to.",
        f"Made by `lanewise reproduce {experiment.id} --note-misses`; the reasons are written by hand.",
        "",
    ]
    return toml.document({"miss": misses}, head=head)


def save(experiment: ReproducedExperiment) -> Path:
    """Write ``misses.toml`` into the folder of the experiment, or remove it when there is no miss."""
    path = experiment.definition.folder / "misses.toml"
    if any(cell.is_miss for cell in experiment.cells):
        return write_whole(path, text_of(experiment))
    path.unlink(missing_ok=True)
    return path
