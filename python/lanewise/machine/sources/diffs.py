"""Diffs in a text: of two dumps, whose newer side is read, and of source code, which is left out.

People send two dumps as a diff of them, and developers send a log with a patch below it. What stands outside
the hunks of a unified diff is text as any other and stays. A hunk of a file with source code is left out, of
another file its newer side is read. Mail programs break lines of hunks, so a line that begins like none of a
hunk is left as it is. People shorten hunks, so where the next file begins a hunk ends, whatever its count.
Source: POSIX.1-2017, `diff` (default and ``-u`` output formats).
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import NamedTuple

_HUNK = re.compile(r"@@ -\d{1,7}(?:,(\d{1,7}))? \+\d{1,7}(?:,(\d{1,7}))? @@")
_COMMAND = re.compile(r"\d{1,7}(?:,\d{1,7})?[acd]\d{1,7}(?:,\d{1,7})?$")
_MARKS = ("diff ", "index ", "--- ", "+++ ", "\\ No newline")
_SOURCE_CODE = re.compile(
    r"[ /]Documentation/|"
    r"(?:\.(?:[chS]|cc|cpp|hpp|rs|go|py|sh|pl|dtsi?|mk|cu|patch|ya?ml|json|toml|config|rst|md)|"
    r"/?(?:Kconfig|Makefile)[\w.]{0,24})\s*$"
)
"""Names of source code, and of what stands beside it in a repository, where texts show logs as examples."""
_NO_FILE = "+++ /dev/null"
"""The newer side of a file that was deleted; its name stands on the older one."""
_LONGEST_MARK = 600
"""Characters: two names with their folders."""
_TREE = "-["
"""How `lspci -tv` begins."""


class Side(NamedTuple):
    """One side of a text with diffs in it."""

    text: str
    of_dumps: bool
    """Whether anything but source code is compared."""


def newer_side(text: str) -> Side | None:
    """Return a text with the newer side of its diffs, unified or plain; None for what has none."""
    if "@@ -" in text and (lines := text.splitlines()) and any(map(_HUNK.match, lines)):
        return _of_unified(lines)
    if "\n> " in text and (lines := text.splitlines()) and _is_plain(lines):
        return Side("\n".join(line[2:] for line in lines if line.startswith("> ")), True)
    return None


def _is_plain(lines: list[str]) -> bool:
    return any(
        _COMMAND.match(line) and following.startswith(("< ", "> ")) for line, following in pairwise(lines)
    )


def _of_unified(lines: list[str]) -> Side:
    kept: list[str] = []
    older = newer = 0
    inside = of_code = of_dumps = False
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        if (hunk := _HUNK.match(line)) is not None:
            older, newer = int(hunk[1] or 1), int(hunk[2] or 1)
            inside, of_dumps = True, of_dumps or not of_code
            continue
        if line.startswith("diff ") or (line.startswith("--- ") and following.startswith("+++ ")):
            older = newer = 0
            inside, of_code = False, _is_source_code(line)
            continue
        if older <= 0 and newer <= 0 and line.startswith(_MARKS):
            if line.startswith("+++ ") and not line.startswith(_NO_FILE):
                of_code = _is_source_code(line)
            inside = False
            continue
        if not inside or not _is_of_a_hunk(line, more=older > 0 or newer > 0):
            inside = inside and (older > 0 or newer > 0)
            kept.append(line)
            continue
        older -= line[:1] != "+"
        newer -= line[:1] != "-"
        if line[:1] != "-" and not of_code:
            kept.append(line[1:])
    return Side("\n".join(kept), of_dumps)


def _is_source_code(line: str) -> bool:
    """Whether the name at the end of a mark, before a tab and a time, is that of source code."""
    return _SOURCE_CODE.search(line.partition("\t")[0][:_LONGEST_MARK]) is not None


def _is_of_a_hunk(line: str, *, more: bool) -> bool:
    """Whether a line begins as those of a hunk do; where the hunk's count is full, only what it changes."""
    if more:
        return line[:1] in ("+", "-", " ", "")
    return line[:1] in ("+", "-") and not line.startswith(("--", _TREE))
