"""The text of a scenario: told from other texts, and read as the tables that it consists of."""

from __future__ import annotations

import json
import re
import tomllib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

_TABLE = re.compile(
    r"^[ \t]*+\[(?:\[workload\]\]|(?:host|switch|endpoint|storage|network|system)\.)", re.MULTILINE
)


def said_of_a_scenario(text: str, name: str) -> str | None:
    """Say what to do with a scenario; None for any other text."""
    if _TABLE.search(text[:1_000_000]) is None:
        return None
    return f"'{name}' is a scenario: 'lanewise run {name}' simulates it, 'lanewise explain {name}' draws it"


def written_tables(text: str) -> Mapping[str, Any]:
    """Return a scenario as it is written; nothing where it is no whole TOML or JSON."""
    try:
        found = json.loads(text) if text.lstrip().startswith("{") else tomllib.loads(text)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
