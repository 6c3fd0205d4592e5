"""What a simulated run says in the words of its instruments, for the modules that write tools' outputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lanewise.errors import InputError
from lanewise.quantity import amount_in, stated_in

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lanewise.results import RunResult


class NoSuchInstrumentError(InputError):
    """A run cannot be written as the output of a tool that it does not have."""


class NothingMeasuredError(InputError):
    """A run ended before a tool had anything to report."""


@dataclass(frozen=True)
class Instrument:
    """One workload of a run: what was asked of it, and what it reports."""

    name: str
    kind: str
    options: Mapping[str, str]
    """As the scenario has them, defaults included, with their units."""
    metrics: Mapping[str, float]
    """Under the instrument's own names, in its own units."""

    def option(self, name: str, default: str = "") -> str:
        """Return an option's text."""
        return self.options.get(name, default)


@dataclass(frozen=True)
class SimulatedRun:
    """The instruments of a run, and what a header says about it."""

    result: RunResult
    parameters: Mapping[str, str]
    """Resolved parameters by path, as `explain` prints them."""

    @property
    def version(self) -> str:
        """Version that simulated it."""
        return str(self.result.document["lanewise_version"])

    @property
    def measured_s(self) -> float:
        """Simulated time that results are about."""
        return float(self.result.document["measured_s"])

    def has_any_of(self, *kinds: str) -> bool:
        """Whether a workload is of one of these kinds."""
        return any(entry["kind"] in kinds for entry in self.result.document["instruments"])

    def instruments(self, kind: str) -> list[Instrument]:
        """Return the instruments of a kind; NoSuchInstrumentError when there is none."""
        found = [
            Instrument(
                entry["workload"],
                entry["kind"],
                self._options(entry["workload"]),
                {metric["name"]: float(metric["value"]) for metric in entry["metrics"]},
            )
            for entry in self.result.document["instruments"]
            if entry["kind"] == kind
        ]
        if not found:
            kinds = dict.fromkeys(entry["kind"] for entry in self.result.document["instruments"])
            has = ", ".join(kinds) or "none"
            raise NoSuchInstrumentError(
                f"'{self.result.title}' has no workload of kind '{kind}' to write so; its instruments: {has}"
            )
        return found

    def options_of(self, workload: str) -> Mapping[str, str]:
        """Return the options of a workload by name."""
        return self._options(workload)

    def _options(self, workload: str) -> dict[str, str]:
        start = f"workload.{workload}."
        return {
            path.removeprefix(start): value
            for path, value in self.parameters.items()
            if path.startswith(start)
        }


def size_in_bytes(text: str) -> int | None:
    """Read a size as scenarios write it, like '128 KiB'; None for anything else."""
    amount = amount_in("B", text if " " in text else f"{text} B")
    return None if amount is None else round(amount)


def stated_size(text: str) -> int:
    """Read a size that a resolved scenario states, in bytes; 0 where that is none, ValueError for no size."""
    return round(stated_in("B", text) or 0.0)


def stated_ns(text: str) -> float:
    """Read a time that a resolved scenario states; 0 where it states none, ValueError for no time."""
    return stated_in("ns", text) or 0.0
