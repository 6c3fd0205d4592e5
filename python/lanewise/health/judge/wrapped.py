"""What happens to a benchmark's output on its way to us, undone: quotes, logs, web pages, JSON around a text.

People keep outputs as continuous integration, `kubectl`, `journalctl` or `mpirun` wrote them, with a time or
a rank before every line; as a mail quotes them; as a forum shows them; and as automation keeps them, in a
string of its own JSON. Lines come out as the tool printed them. Left out: lines that were broken.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from lanewise.machine.sources import markup

if TYPE_CHECKING:
    from collections.abc import Iterator

_QUOTE = re.compile(r"^(?:> ?)++", re.MULTILINE)
_BLANKS = str.maketrans({"\u00a0": " ", "\u2007": " ", "\u202f": " ", "\u200b": "", "\ufeff": ""})
_CLOCK = r"\d\d:\d\d:\d\d(?:[.,]\d{1,9})?"
_STAMPS = (
    rf"\[?\d{{4}}[-/]\d\d[-/]\d\d[T _]{_CLOCK}(?: ?Z| ?[+-]\d\d:?\d\d)?\]?(?: ?[|:])?",
    rf"[A-Z][a-z]{{2}} [ \d]\d {_CLOCK} \S{{1,80}} [\w./-]{{1,60}}(?:\[\d{{1,8}}\])?:",
    rf"[A-Z][a-z]{{2}} [A-Z][a-z]{{2}} [ \d]\d {_CLOCK} \d{{4}}",
    rf"\[?{_CLOCK}\]?(?: [A-Z]{{4,8}} ?\|(?: \[std(?:out|err)\])?)?",
    r"[\w.-]{1,60} +\|(?! *\|)",
)
"""What stands before a line and a blank: ISO time, syslog, a date, a clock with a level, a container."""
_RANK = r"\[\d{1,5},\d{1,5}\]<std(?:out|err)>:"
"""What `mpirun --tag-output` puts before a line."""
_BEFORE_A_LINE = tuple(re.compile(s, re.ASCII) for s in (*(rf"(?:{s})(?: |$)" for s in _STAMPS), _RANK))
_SIGNS_OF_MARKUP = ("</", "&gt;", "&lt;", "&amp;", "[/code]", "[/quote]")
_MOST_SEARCHED = 1 << 20
"""Characters in which signs of markup are looked for."""
_FEWEST = 4
"""Lines with the same kind of stamp that are a log. Assumed: no tool's own lines look like that."""
_MOST_TEXTS = 1000


def forms(text: str) -> Iterator[str]:
    """Yield a text as the tool may have printed it, and then what a JSON around it keeps."""
    head = text[:_MOST_SEARCHED]
    if any(sign in head for sign in _SIGNS_OF_MARKUP):
        text = markup.taken_off(text, head)
    yield _without_stamps(_QUOTE.sub("", text.translate(_BLANKS)))
    if inside := _out_of_json(text):
        yield inside


def _without_stamps(text: str) -> str:
    """Take off what stands before every line, where most lines have the same kind of it."""
    lines = text.splitlines()
    said = [line for line in lines if line.strip()]
    for stamp in _BEFORE_A_LINE:
        stamped = sum(stamp.match(line) is not None for line in said)
        if stamped >= _FEWEST and 2 * stamped > len(said):
            return "\n".join(stamp.sub("", line, count=1) for line in lines)
    return text


def _out_of_json(text: str) -> str:
    """Return the texts of several lines inside JSON, one below the other; nothing for what is no JSON."""
    if text.lstrip()[:1] not in ("{", "["):
        return ""
    try:
        waiting = [json.loads(text)]
    except (ValueError, RecursionError):
        return ""
    found: list[str] = []
    while waiting and len(found) < _MOST_TEXTS:
        value = waiting.pop()
        if isinstance(value, str) and "\n" in value:
            found.append(value)
        elif isinstance(value, list):
            waiting.extend(reversed(value))
        elif isinstance(value, dict):
            waiting.extend(reversed(value.values()))
    return "\n".join(found)
