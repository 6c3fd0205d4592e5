"""What the core's catalog says, asked with a small scenario: parameters by path, with their provenance.

The whole catalog takes thirty times as long, and a health check runs on every boot.
"""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING

from lanewise import _core
from lanewise.machine.registers import SPEEDS_GT_S, LinkMode
from lanewise.quantity import stated_in
from lanewise.scenario import scenario_text

if TYPE_CHECKING:
    from lanewise.documents import Explain, ExplainedParameter
    from lanewise.scenario.tables import Scenario


@cache
def _told(text: str) -> Explain:
    found: Explain = json.loads(_core.explain("catalog", source=text))
    return found


@cache
def _by_path(text: str) -> dict[str, ExplainedParameter]:
    return {parameter["path"]: parameter for parameter in _told(text)["parameters"]}


def explained(scenario: Scenario) -> dict[str, ExplainedParameter]:
    """Return every parameter of a scenario by its path."""
    return _by_path(scenario_text(scenario))


def trained(scenario: Scenario) -> LinkMode:
    """Return what the one link of a scenario trains to."""
    (link,) = _told(scenario_text(scenario))["links"]
    return LinkMode(SPEEDS_GT_S[int(link["generation"][3:]) - 1], int(link["width"][1:]))


def gb_per_s(text: str | None) -> float | None:
    """Read a rate as the core prints it; 10⁹ bytes a second. None where it states none."""
    return stated_in("GB/s", text)


def whole_bytes(text: str | None) -> int | None:
    """Read a size as the core prints it, in bytes; None where it states none."""
    amount = stated_in("B", text)
    return None if amount is None else round(amount)
