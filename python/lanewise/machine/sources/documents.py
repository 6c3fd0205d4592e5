"""JSON documents in a text: one, or several after each other as a loop over URLs prints them.

What breaks off is left out. Bounded: in size, in the number of documents, and in the number of tries.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_START = re.compile(r"^[ \t]{0,8}[{\[]", re.MULTILINE)
_MOST_TEXT = 32 << 20
_MOST_DOCUMENTS = 4096
_MOST_TRIES = 64


def documents_of(text: str) -> Iterator[object]:
    """Yield every document of a text that begins on a line of its own."""
    decoder, at, tries = json.JSONDecoder(), 0, 0
    for _ in range(_MOST_DOCUMENTS):
        start = _START.search(text, at) if len(text) <= _MOST_TEXT and tries < _MOST_TRIES else None
        if start is None:
            return
        try:
            document, at = decoder.raw_decode(text, start.end() - 1)
        except (ValueError, RecursionError):
            tries += 1
            at = start.end()
            continue
        yield document


def objects_of(document: object) -> Iterator[dict[str, object]]:
    """Yield every object in a document, outer ones first."""
    waiting = [document]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            yield value
            waiting.extend(reversed(value.values()))
        elif isinstance(value, list):
            waiting.extend(reversed(value))


def text_at(value: object, *keys: str) -> str:
    """Return what is said below nested keys as text; empty where nothing or no single value is said."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return str(value).strip()[:200] if isinstance(value, str | int | float) else ""
