"""What every JSON output begins with: the version of its format.

Keys are only added within a version. A reader that finds another version than it knows should say so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

FORMAT: Literal[1] = 1
"""Version of all that is in ``schema/output.schema.json``, whose `$id` ends with it."""


def stamped(document: Mapping[str, object]) -> dict[str, object]:
    """Return a document with its format in front."""
    return {"format": FORMAT, **document}
