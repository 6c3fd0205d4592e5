"""The compiled core. JSON text crosses the boundary; `lanewise.api` turns it into tables."""

from collections.abc import Callable, Sequence
from typing import Any, Final

VERSION: Final[str]

class ScenarioError(Exception):
    """A scenario cannot be used. ``str()`` is the report for a person, with lines and hints."""

    diagnostics: list[dict[str, Any]]
    """One dictionary per mistake: code, message, path, line, column, hint."""
