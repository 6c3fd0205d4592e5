"""What a run rests on: which values that no specification fixes move its throughput or latency, and how far.

Here is what was found, and how documents hold it; `lanewise.experiment.dependence` finds it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from lanewise.written import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lanewise import documents


@dataclass(frozen=True)
class Moved:
    """Changes of a run when a value is another one, in percent of what it was without."""

    value: str
    goodput_percent: float | None
    """Of all flows of data; of their operations where no bytes are counted; None when it cannot be so."""
    latency_percent: float | None
    """Mean latency of the flow that moves most; None when it has none."""

    @property
    def size(self) -> float:
        """The larger of both changes, without its sign."""
        return max(abs(self.goodput_percent or 0.0), abs(self.latency_percent or 0.0))

    def document(self) -> documents.RestsOnMoved:
        """Return the changes for JSON."""
        return {
            "value": self.value,
            "goodput_percent": self.goodput_percent,
            "latency_percent": self.latency_percent,
        }

    @classmethod
    def of(cls, document: documents.RestsOnMoved) -> Moved:
        """Return what a document says."""
        return cls(document["value"], document["goodput_percent"], document["latency_percent"])


@dataclass(frozen=True)
class Dependence:
    """A value that a run rests on, varied both ways."""

    paths: tuple[str, ...]
    """Parameters that have it, all varied at once."""
    value: str
    provenance: str
    source: str
    lower: Moved
    higher: Moved

    @property
    def size(self) -> float:
        """The largest change, in percent without its sign."""
        return max(self.lower.size, self.higher.size)

    def document(self) -> documents.RestsOnEffect:
        """Return the value and its effect for JSON."""
        return {
            "paths": list(self.paths),
            "value": self.value,
            "provenance": cast("documents.Provenance", self.provenance),
            "source": self.source,
            "lower": self.lower.document(),
            "higher": self.higher.document(),
        }

    @classmethod
    def of(cls, document: documents.RestsOnEffect) -> Dependence:
        """Return what a document says."""
        return cls(
            tuple(document["paths"]),
            document["value"],
            document["provenance"],
            document["source"],
            Moved.of(document["lower"]),
            Moved.of(document["higher"]),
        )


@dataclass(frozen=True)
class RestsOn:
    """What a run rests on, the largest effect first."""

    effects: tuple[Dependence, ...]
    varied: int
    """How many values were varied, equal ones of equal parts counted once."""
    runs: int
    left_out: tuple[str, ...] = ()
    """Parameters that were not looked at: it would have taken too many runs, or the search was ended."""
    refused: tuple[str, ...] = ()
    """Parameters that were not varied: the scenario allows neither a lower nor a higher value."""
    one_way: tuple[str, ...] = ()
    """Parameters that were varied one way: the scenario does not allow the other one."""
    is_whole: bool = True
    """The search was not ended from outside."""

    def said(self, number: int) -> list[str]:
        """Say in sentences what was tried of a `number` of values that no specification fixes."""
        matter = len(self.effects)
        moved = (
            f"{matter} of them {'moves' if matter == 1 else 'move'} the goodput of all data or the mean "
            "latency of the flow that moves most by 1 % or more."
            if matter
            else "none of them moves goodput or latency by 1 % or more."
        )
        said = [
            f"{number} values in force are fixed by no specification. {self.varied} that are numbers were "
            f"varied, in {counted(self.runs, 'run')}; {moved}"
        ]
        for paths, what in (
            (self.refused, "Not varied, as the scenario allows neither a lower nor a higher value"),
            (self.one_way, "Varied one way, as the scenario does not allow the other one"),
        ):
            if paths:
                said.append(f"{what}: {counted(len(paths), 'parameter')}, {_some(paths)}.")
        if self.left_out:
            why = "it would have taken too many runs" if self.is_whole else "the search was ended before"
            said.append(
                f"{counted(len(self.left_out), 'parameter')} {'was' if len(self.left_out) == 1 else 'were'} "
                f"not looked at, because {why}: {_some(self.left_out)}."
            )
        return said

    def document(self) -> documents.RestsOn:
        """Return it for JSON."""
        return {
            "varied": self.varied,
            "runs": self.runs,
            "interrupted": not self.is_whole,
            "effects": [effect.document() for effect in self.effects],
            "one_way": list(self.one_way),
            "refused": list(self.refused),
            "left_out": list(self.left_out),
        }

    @classmethod
    def of(cls, document: documents.RestsOn) -> RestsOn:
        """Return what a document says."""
        return cls(
            tuple(map(Dependence.of, document["effects"])),
            document["varied"],
            document["runs"],
            tuple(document["left_out"]),
            tuple(document["refused"]),
            tuple(document["one_way"]),
            is_whole=not document["interrupted"],
        )


def _some(paths: Sequence[str]) -> str:
    return f"{', '.join(paths[:5])}{' and others' if len(paths) > 5 else ''}"
