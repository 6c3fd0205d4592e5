"""Errors as JSON, on stdout, for callers with `--json`: `error` of ``schema/output.schema.json``.

The same is said on stderr in words, as without `--json`.
"""

from __future__ import annotations

import json
import sys
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_OPTIONS = ("--json", "--format=json")


def is_asked_for(arguments: Iterable[str]) -> bool:
    """Whether a command line asks for JSON."""
    words = list(arguments)
    return any(word in _OPTIONS for word in words) or ("--format", "json") in pairwise(words)


def write(status: int, text: str, error: BaseException | None) -> None:
    """Write what went wrong: each mistake of a scenario, or the one that was said.

    Nothing after a result: two documents in one output are none. Then stderr and the status say it alone.
    """
    if getattr(sys.stdout, "was_written_to", False):
        return
    from lanewise.error_document import error_document

    document = error_document(status, text, error)
    try:
        sys.stdout.write(json.dumps(document, indent=2, ensure_ascii=False) + "\n")
        sys.stdout.flush()
    except OSError:
        # The reader has gone; the status says it all the same.
        return
