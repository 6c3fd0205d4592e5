"""Tells a scenario from other texts, for verbs that were given one in place of a dump or of results."""

from __future__ import annotations

import re

_TABLE = re.compile(
    r"^[ \t]*+\[(?:\[workload\]\]|(?:host|switch|endpoint|storage|network|system)\.)", re.MULTILINE
)


def said_of_a_scenario(text: str, name: str) -> str | None:
    """Say what to do with a scenario; None for any other text."""
    if _TABLE.search(text[:1_000_000]) is None:
        return None
    return f"'{name}' is a scenario: 'lanewise run {name}' simulates it, 'lanewise explain {name}' draws it"
