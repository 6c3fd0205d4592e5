"""JSON in the outputs of tools: behind messages, before them, several documents one after another.

Tools write warnings in front of their JSON, shells a prompt, wrappers a log; some append a document for each
run, or for each interval. Everything that is no JSON object is handed back as text.
"""

from __future__ import annotations

import json

_MOST_ATTEMPTS = 50
"""Braces that begin no document, before the rest is taken for text: keeps hostile input cheap."""


_MOST_DIGITS = 40
"""Digits beyond which a whole number counts nothing that a tool counts."""


def _whole(text: str) -> int | float:
    """Read a whole number; one of thousands of digits, at which Python refuses, as what it is nearly."""
    return int(text) if len(text) <= _MOST_DIGITS else float(text)


def documents(text: str) -> tuple[list[dict[str, object]], list[str]]:
    """Return the outermost JSON objects in a text, and the lines around them that are not empty."""
    decoder = json.JSONDecoder(parse_int=_whole)
    found: list[dict[str, object]] = []
    around: list[str] = []
    at = searched = failed = 0
    while failed < _MOST_ATTEMPTS and (brace := text.find("{", searched)) >= 0:
        try:
            document, end = decoder.raw_decode(text, brace)
        except (ValueError, RecursionError):
            failed += 1
            searched = brace + 1
            continue
        found.append(document)
        around.append(text[at:brace])
        at = searched = end
    around.append(text[at:])
    return found, [line.strip() for piece in around for line in piece.splitlines() if line.strip(" \t,[]")]
