"""What happens to a benchmark's output on its way to us, undone: quotes, logs, web pages, JSON around a text.

People keep outputs as continuous integration, `kubectl`, `journalctl` or `mpirun` wrote them, with a time or
a rank before every line; as a mail quotes them; as a forum shows them; and as automation keeps them, in a
string of its own JSON. Lines come out as the tool printed them. What stands before a line is known by its
form, or because it is before every line: that is tried last, where a text says nothing otherwise. Left out:
lines that were broken, and what stands behind every line.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING

from lanewise.machine.sources import markup

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

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
_ESCAPE = re.compile(r"\x1b\[[0-9;?]{0,16}[A-Za-z]")
"""What a terminal is told: colours, and to clear a line."""
_TOKEN = re.compile(r"[ \t]++(?:\d++)?|\d++|[A-Za-z]++|.")
_NUMBER = "0"
"""Any number, and the blanks before it."""
_LONGEST_STAMP = 160
"""Characters of a line in which what stands before it is looked for."""
_MOST_CUTS = 12
"""Places where that may end which are tried."""
_NEARLY_ALL = 0.9
"""Part of the lines that have what stands before every line. Assumed: a cut or a shell adds few others."""
_SIGNS_OF_MARKUP = ("</", "<br", "&gt;", "&lt;", "&amp;", "[/code]", "[/quote]")
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
    text = _ESCAPE.sub("", text.translate(_BLANKS))
    plain = "\n".join(line.rstrip() for line in _QUOTE.sub("", text).splitlines())
    yield _without_stamps(plain)
    if inside := _out_of_json(text):
        yield inside
    if len(plain) <= _MOST_SEARCHED:
        yield from map(_without_stamps, _with_less_in_front(plain.splitlines()))


def _with_less_in_front(lines: list[str]) -> Iterator[str]:
    """Yield the lines without what all begin with, the least of it first; then without blanks in front.

    Numbers may differ in it, the rest is the same: a pod, a host, a level, a mark. Numbers alone are those of
    the lines where they count them.
    """
    said = [line for line in lines if line.strip()]
    tokens = {line: _TOKEN.findall(line[:_LONGEST_STAMP]) for line in said}
    shapes = {line: _shape_of(each) for line, each in tokens.items()}
    shape = _common_shape(list(shapes.values()))
    ends = dict.fromkeys(said, 0)
    found: list[dict[str, int]] = []
    for at, last in enumerate(shape):
        begun = [line for line in ends if shapes[line][at : at + 1] == [last]]
        ends = {line: ends[line] + len(tokens[line][at]) for line in begun}
        is_mark = not last.isalnum() and not last.isspace() and (at == 0 or shape[at - 1] != _NUMBER)
        is_whole = (
            is_mark
            or at == len(shape) - 1
            or any(line[end : end + 1].isspace() for line, end in ends.items())
        )
        is_number = not set(shape[: at + 1]) - {_NUMBER, " "}
        if is_whole and (not is_number or _counts(line[:end] for line, end in ends.items())):
            found.append(ends)
    for ends in found[-_MOST_CUTS:]:
        yield "\n".join(_cut(line, ends.get(line)) for line in lines)
    yield "\n".join(line.lstrip() for line in said)


def _cut(line: str, end: int | None) -> str:
    """Take off what stands before a line, and the one blank behind that; more blanks are the line's own."""
    if end is None:
        return line
    return line[end + 1 :] if line[end : end + 1].isspace() else line[end:]


def _shape_of(tokens: Iterable[str]) -> list[str]:
    return [_NUMBER if each[-1].isdecimal() else " " if each.isspace() else each for each in tokens]


def _common_shape(shapes: list[list[str]]) -> list[str]:
    """Return what nearly all begin with; nothing of so few lines that they may be alike by chance."""
    common: list[str] = []
    fewest = max(_FEWEST, _NEARLY_ALL * len(shapes))
    while shapes:
        following = Counter(shape[len(common)] for shape in shapes if len(shape) > len(common))
        token, count = following.most_common(1)[0] if following else ("", 0)
        if count < fewest:
            break
        common.append(token)
        shapes = [shape for shape in shapes if shape[: len(common)] == common]
    return common


def _counts(numbers: Iterable[str]) -> bool:
    """Whether numbers are those of lines: each is the one before and one more."""
    values = [int(number) for number in numbers if number.strip().isdecimal()]
    return len(values) > 1 and all(after == before + 1 for before, after in pairwise(values))


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
