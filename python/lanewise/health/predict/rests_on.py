"""Parameters that limit predicted figures and that neither the specification nor the machine states.

The core says of a run what limits it, which settings would make that larger, and where each value comes
from. A setting that the machine states (links, payload sizes, tags) is no assumption; what comes from the
catalog or is a default is one, and a prediction names it with its provenance.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lanewise.documents import Assumption, LimitedBy, Run

_MOST_OWNERS = 6


class _Parameter(NamedTuple):
    """What the parameters of several components have in common."""

    key: str
    """Within its component, like ``credits.posted_data``."""
    value: str
    provenance: str
    source: str


class RestsOn:
    """Collects what limits the figures of a prediction."""

    def __init__(self, words: Mapping[str, str]) -> None:
        """Begin with nothing; `words` are a person's names for devices and switches, by the scenario's."""
        self._words = words
        self._found: dict[_Parameter, dict[str, set[str]]] = {}

    def note(self, result: Run, figures: str) -> None:
        """Take in what limits a run that predicts `figures`: "alone", or "all at once"."""
        found = result["limited_by"]
        if found is None or not found["edits"]:
            return
        stated = {assumption["path"]: assumption for assumption in result["assumptions"]}
        # Of several edits the likeliest is the first; others go round what limits.
        for setting in found["edits"][0]["settings"]:
            assumption = stated.get(setting["path"])
            if assumption is not None and not _is_idle(result, found, setting["path"]):
                owners = self._found.setdefault(_parameter(assumption), {})
                owners.setdefault(_owner(setting["path"]), set()).add(figures)

    def said(self) -> list[str]:
        """Say each of them once, with the components that have it."""
        return [self._words_of(parameter, owners) for parameter, owners in self._found.items()]

    def _words_of(self, parameter: _Parameter, owners: Mapping[str, set[str]]) -> str:
        names = [self._words.get(owner, "the host" if owner == "server" else owner) for owner in owners]
        rest = len(names) - _MOST_OWNERS
        where = ", ".join(names[:_MOST_OWNERS]) + (f" and {rest} more" if rest > 0 else "")
        figures = " and ".join(sorted(set().union(*owners.values())))
        return (
            f"{where}: rates {figures} rest on {parameter.key} {parameter.value}; {parameter.provenance}: "
            f"{parameter.source}"
        )


def _parameter(assumption: Assumption) -> _Parameter:
    _, _, key = assumption["path"].partition(".")
    for outer in ("ports", "slots"):
        if key.startswith(f"{outer}."):
            # Ports of one kind have the same values under different names.
            key = f"{outer}.{key.split('.', 2)[2]}"
    return _Parameter(key, assumption["value"], assumption["provenance"], assumption["source"])


def _owner(path: str) -> str:
    return path.partition(".")[0]


def _is_idle(result: Run, found: LimitedBy, path: str) -> bool:
    """Whether a pool of credits was never waited for: header and data are made larger together."""
    pool = path.rpartition(".credits.")[2]
    if found["kind"] != "credits" or pool == path:
        return False
    place = found["places"][0]
    link = next(each for each in result["links"] if each["name"] == place["component"])
    side = link["upstream"] if place["direction"] == "upstream" else link["downstream"]
    return not side["time_attribution"].get(f"blocked_{pool}", 0.0)
