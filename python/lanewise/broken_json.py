"""Says where text that is meant as JSON stops being it: cut outputs of machines and of benchmarks."""

from __future__ import annotations

import json
import re

_BEGINNING = re.compile(r'\s*(?:\{\s*"|\[\s*\{\s*")')

_BLANKS = re.compile(r"\s*")


def said_of_broken_json(text: str) -> str:
    """Say where JSON ends too early or is damaged; empty for whole JSON, one or several, and other text."""
    if not _BEGINNING.match(text):
        return ""
    decoder, text, at = json.JSONDecoder(), text.rstrip(), 0
    try:
        while at < len(text):
            at = decoder.raw_decode(text, _BLANKS.match(text, at).end())[1]  # type: ignore[union-attr]
    except ValueError as error:
        return str(error)
    except RecursionError:
        return "it is nested deeper than any tool's"
    return ""
