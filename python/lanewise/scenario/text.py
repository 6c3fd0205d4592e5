"""Scenarios as JSON text, which the core reads."""

from __future__ import annotations

import json
from collections.abc import Mapping
from numbers import Integral, Real


def scenario_text(document: Mapping[str, object]) -> str:
    """Write a scenario as the core reads it; TypeError or ValueError for what no scenario can hold.

    `document` is what a scenario file would say (`lanewise.scenario.tables.Scenario`). Lines are short, so
    that messages of the core show what they mean.
    """
    return json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False, default=_plain) + "\n"


def _plain(value: object) -> object:
    """Return what JSON has for numbers of other libraries and for other mappings."""
    match value:
        case Integral():
            return int(value)
        case Real():
            return float(value)
        case Mapping():
            return dict(value)
    raise TypeError(f"a scenario has no {type(value).__name__}")
