"""Errors as JSON, on stdout, for whoever asked for `--json`: `error` of ``schema/output.schema.json``.

The same is said on stderr in words, as without `--json`.
"""

from __future__ import annotations

import json
import re
import sys
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lanewise.documents import Mistake

_OPTIONS = ("--json", "--format=json")
_PREFIX = re.compile(r"^(?:error|internal error): ")


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
    document = document_of(status, text, error)
    try:
        sys.stdout.write(json.dumps(document, indent=2, ensure_ascii=False) + "\n")
        sys.stdout.flush()
    except OSError:
        # Nobody reads; the status says it all the same.
        return


def document_of(status: int, text: str, error: BaseException | None) -> dict[str, object]:
    """Return each mistake of a scenario, or the one that was said, as `error` of the output's schema."""
    from lanewise.output_format import stamped

    errors = getattr(error, "diagnostics", None) or [_alone(_PREFIX.sub("", text), error)]
    return stamped({"status": status, "errors": errors})


def _alone(text: str, error: BaseException | None) -> Mistake:
    """Return the record of a mistake that is in no scenario; what follows a semicolon is its hint."""
    message, _, hint = text.partition("; ")
    code = "usage" if hasattr(error, "exit_code") else "wrong-input"
    if text.startswith("internal") or (error is not None and type(error).__name__ == "PanicException"):
        code = "internal"
    return {
        "code": code,
        "message": message,
        "path": None,
        "line": None,
        "column": None,
        "hint": hint or None,
    }
