"""What went wrong as a document: `error` of ``schema/output.schema.json``, for ``--json`` and a server."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lanewise.output_format import stamped

if TYPE_CHECKING:
    from lanewise.documents import Mistake

_PREFIX = re.compile(r"^(?:error|internal error): ")

_NAME = re.compile(r"(?<![^\s(])(['`]).*?\1(?=[\s:;,)]|$)")
"""A name in quotes: one that is within a word, as in "it's", neither begins nor ends it."""

_OURS = 3
"""Exit status of a mistake in Lanewise itself."""


def error_document(status: int, text: str, error: BaseException | None) -> dict[str, object]:
    """Return each mistake of a scenario, or the one that was said; `status` is that of the command line."""
    mistakes = getattr(error, "diagnostics", None) or [_alone(status, _PREFIX.sub("", text), error)]
    return stamped({"status": status, "errors": mistakes})


def mistake(code: str, message: str, hint: str | None = None) -> Mistake:
    """Return the record of a mistake that is in no scenario."""
    return {"code": code, "message": message, "path": None, "line": None, "column": None, "hint": hint}


def _alone(status: int, text: str, error: BaseException | None) -> Mistake:
    """Return the record of a mistake of which a text was said; what follows a semicolon is its hint."""
    message, hint = _parts(text)
    code = "internal" if status == _OURS else "usage" if hasattr(error, "exit_code") else "wrong-input"
    return mistake(code, message, hint or None)


def _parts(text: str) -> tuple[str, str]:
    """Part a text at its first semicolon that is in no name of a file, which stands in quotes."""
    names = [found.span() for found in _NAME.finditer(text)]
    for found in re.finditer("; ", text):
        if not any(start < found.start() < end for start, end in names):
            return text[: found.start()], text[found.end() :]
    return text, ""
