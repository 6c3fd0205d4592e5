"""Flows of a run that something else limits than the run as a whole, those alike together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lanewise.alike_names import stem, together

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lanewise import documents


@dataclass(frozen=True)
class OtherLimit:
    """Flows that have limits of their own, which are the same or alike."""

    flows: Sequence[documents.Flow]

    @property
    def words(self) -> str:
        """What limits them, in words: of several that are alike, the first."""
        limits = [flow["limited_by"] for flow in self.flows]
        alike = len({limit["name"] for limit in limits if limit is not None}) - 1
        first = limits[0]
        said = "" if first is None else first["words"]
        return said if alike == 0 else f"{said}; {alike} alike"

    def of(self, key: str) -> str:
        """Return their `name`, `device` or `direction`, several as one."""
        return together(list(dict.fromkeys(str(flow.get(key)) for flow in self.flows)))

    @property
    def directions(self) -> str:
        """Their directions."""
        return ", ".join(dict.fromkeys(flow["direction"] for flow in self.flows))


def limiting_wires(run: documents.Run) -> list[tuple[str, str]]:
    """Return the wires that limit a run, by link and direction: the one that is named, then those alike."""
    limit = run.get("limited_by")
    if limit is None or limit["kind"] != "wire":
        return []
    # Results of older versions do not say where.
    return [(place["component"], place["direction"] or "") for place in limit.get("places", [])]


def other_limits(run: documents.Run) -> list[OtherLimit]:
    """Return what limits flows and not the run, by what they move, the most first.

    Flows are together whose limits have the same name, or names that differ in numbers only.
    """
    limit = run.get("limited_by")
    of_run = set() if limit is None else {limit["name"], *limit["alike"]}
    groups: dict[tuple[str, str, str], list[documents.Flow]] = {}
    for flow in run["flows"]:
        # Results of older versions have none.
        own = flow.get("limited_by")
        if own is not None and own["name"] not in of_run and flow["bytes"]:
            key = (own["kind"], stem(own["name"]), stem(flow["name"]))
            groups.setdefault(key, []).append(flow)

    def moved(flows: Sequence[documents.Flow]) -> float:
        return -sum(flow["goodput_gb_per_s"] for flow in flows)

    return [OtherLimit(flows) for flows in sorted(groups.values(), key=moved)]
