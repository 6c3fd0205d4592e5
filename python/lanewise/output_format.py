"""What every JSON output begins with: the version of its format.

Keys are only added within a version. A reader that finds another version than it knows should say so.
"""

from __future__ import annotations

from typing import Any

FORMAT = 1
"""Version of all that is in ``schema/output.schema.json``, whose `$id` ends with it."""


def stamped(document: dict[str, Any]) -> dict[str, Any]:
    """Return a document with its format in front."""
    return {"format": FORMAT, **document}
