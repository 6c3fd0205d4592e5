"""Says where text that is meant as JSON stops being it: cut outputs of machines and of benchmarks."""

from __future__ import annotations

import json
import re

_BEGINNING = re.compile(r'\s*(?:\{\s*"|\[\s*\{\s*")')
_SOMETHING = re.compile(r"\S")


def said_of_broken_json(text: str) -> str:
    """Say where JSON ends too early or is damaged; empty for whole JSON, one or several, and other text."""
    if not _BEGINNING.match(text):
        return ""
    decoder, at = json.JSONDecoder(), 0
    try:
        while (next_one := _SOMETHING.search(text, at)) is not None:
            _, at = decoder.raw_decode(text, next_one.start())
    except ValueError as error:
        return str(error)
    except RecursionError:
        return "it is nested deeper than any tool's"
    return ""
