"""The kernel's lines of a journal in JSON, as `dmesg -r` would print them.

Models ``journalctl -k -o json`` (an object per line, also ``json-sse`` and ``json-seq``) and ``json-pretty``.
Each message of the kernel becomes ``<priority>[seconds] message``; what programs wrote is left out. A message
with bytes that are no text is a list of numbers there.
Source: systemd 255, ``journalctl(1)``, "Journal Export Formats".
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from lanewise.machine.sources.documents import documents_of

if TYPE_CHECKING:
    from collections.abc import Iterator

_SIGNS = ('"MESSAGE"', '"__MONOTONIC_TIMESTAMP"')
"""Fields that every entry of a journal in JSON has."""
_KERNEL = ("kernel", None)
_MICROSECONDS = 1_000_000
_PRIORITIES = frozenset("01234567")


def plain(text: str) -> str:
    """Return a text with the kernel's lines in place of a journal's entries; any other text as it is."""
    if not all(sign in text for sign in _SIGNS):
        return text
    lines = [line for entry in _entries(text) if (line := _line(entry)) is not None]
    return "\n".join((*lines, "")) if lines else text


def _entries(text: str) -> Iterator[dict[str, object]]:
    found = False
    for line in text.splitlines():
        start = line.find('{"')
        if start < 0 or '"MESSAGE"' not in line:
            continue
        try:
            entry = json.loads(line[start:])
        except (ValueError, RecursionError):
            continue
        if isinstance(entry, dict):
            found = True
            yield entry
    if not found:
        yield from (one for one in documents_of(text) if isinstance(one, dict))


def _line(entry: dict[str, object]) -> str | None:
    """Return one entry as a line; None for what a program wrote."""
    if entry.get("_TRANSPORT", "kernel") != "kernel" or entry.get("SYSLOG_IDENTIFIER") not in _KERNEL:
        return None
    message = entry.get("MESSAGE")
    if isinstance(message, list):
        message = bytes(part for part in message if isinstance(part, int) and 0 <= part < 256).decode(
            "utf-8", "replace"
        )
    if not isinstance(message, str):
        return None
    since, priority = str(entry.get("__MONOTONIC_TIMESTAMP", "")), str(entry.get("PRIORITY", "6"))
    seconds = int(since) / _MICROSECONDS if since.isdecimal() and len(since) <= 18 else 0.0
    urgency = priority if priority in _PRIORITIES else "6"
    return f"<{urgency}>[{seconds:12.6f}] {message}"
