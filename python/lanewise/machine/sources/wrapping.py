"""What happens to a dump on its way to us, undone: web pages, mails, logs.

Lines come out as `lspci` printed them, as far as that can be told: markup of web pages and forums is taken
off, what stands before every line (a time, a line number, a host) too, hard blanks become blanks, lines that
a mail program broke are joined again, text inside JSON is taken out of it. Every step asks first whether it
is needed, so that a dump in order costs nothing.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lanewise.machine.sources.log_stamps import has_stamp

if TYPE_CHECKING:
    from collections.abc import Sequence

FUNCTION = r"(?:[0-9a-fA-F]{4,8}:)?[0-9a-fA-F]{2}:[01][0-9a-fA-F]\.[0-7]"
"""An address as `lspci` prints it."""
HEADER = re.compile(
    rf"^[ \t>|]{{0,16}}(?:[=#*]{{1,12}}[ \t]{{1,4}})?((?:{FUNCTION}/){{0,12}}{FUNCTION})[ \t]+"
    r"(?:(?:Class )?([0-9a-fA-F]{4}): ([0-9a-fA-F]{4}):([0-9a-fA-F]{4})|"
    r"((?!Lnk(?:Cap|Sta):|(?:PCIe|CXL) Bus Error:|(?:Uncorr|Corr)ected[^\n:]{0,16} error:)"
    r"[^\s:\"a-z=#*][^:]{0,79}[^\s:]): (.*\S))(.*)$",
    re.MULTILINE,
)
"""The first line of a function: path and address, then class and IDs in numbers, or both in words.

Loops print marks before it (``===== 52:00.0 3D controller: ...``).

Classes have a capital letter, and no blank before the colon; what kernels and programs log of a device
(``0000:02:00.0 eth0: ...``, ``0000:30:00.0 C2H channel 1 failure : ...``) has not.
"""

FENCE = "```"
"""A line that belongs to no dump."""

_LONGEST_LINE = 4096
_MOST_SEARCHED = 1 << 20
"""Characters in which signs of wrapping are looked for."""
_MOST_WRAPPED = 16 << 20
"""Characters beyond which nobody wrapped a dump: pages and mails are small."""
_SHORTEST_BROKEN = 40
"""Lines shorter than this were not broken by a mail program; they are 60 to 80 characters wide."""

_NARROWEST_MAIL, _WIDEST_MAIL = 64, 80
"""Characters of a line between which mail programs break: the usual limits are 65, 72, 76 and 78."""

_BLANKS = "\u00a0\u2007\u202f"
_DASHES = "\u2010\u2011\u2012\u2013\u2212"
_NOTHING = "\u200b\ufeff\u00ad"
_SIGNS_OF_MARKUP = ("</", "<br", "<BR", "<pre", "<PRE", "&", "[/")
_BEHIND_SOMETHING = re.compile(
    rf"^(.{{1,120}}?){FUNCTION}[ \t]+"
    r"(?:(?:Class )?[0-9a-f]{4}: [0-9a-f]{4}:[0-9a-f]{4}|[A-Z][^:\n]{2,80}: \S)",
    re.MULTILINE,
)
_ADDRESS = re.compile(FUNCTION)
_QUOTE = re.compile(r"^(?:> ?)+")
_KEY = re.compile(r"[A-Za-z][\w ./()\[\]-]{0,40}:(?:\s|$)")
_HEX = re.compile(r"[0-9a-f]{2,3}: ?[0-9a-f]{2}(?: |$)|(?:[0-9a-f]{2} ?){1,16}$")
_LONGEST_RECORD = 160
"""Characters of a line from which on it may be several of a log. Most records have fewer. Assumed."""
_FEWEST_TOGETHER = 2
_SYSLOG = r"(?:[A-Z][a-z]{2} {1,2}\d{1,2} \d\d:\d\d:\d\d \S{1,64} )?kernel: "
_RECORD = re.compile(
    rf"(?<!\S)(?:(?:{_SYSLOG})?\[ *\d{{1,7}}\.\d{{6}}\] |{_SYSLOG})"
    r"(?:[a-z][\w-]{1,24} [0-9a-f]{4,8}:[0-9a-f]{2}:[01][0-9a-f]\.[0-7]: )?"
    r"|(?<!\S)[a-z][\w-]{1,24} [0-9a-f]{4,8}:[0-9a-f]{2}:[01][0-9a-f]\.[0-7]: "
)
"""How a record of a kernel log begins: with its time, with ``kernel:``, or with a driver and its device."""
_NO_CONTINUATION = (FENCE, "~~~", "---", "===", "***", "$", "#", "[ ", "+\t", "-\t")


def tidy(text: str) -> list[str]:
    """Return the lines of a text without what it was wrapped in."""
    head = text[:_MOST_SEARCHED]
    if len(text) <= _MOST_WRAPPED and any(sign in head for sign in _SIGNS_OF_MARKUP):
        from lanewise.machine.sources import markup

        text = markup.taken_off(text, head)
    if not text.isascii():
        text = _with_plain_characters(text)
    if head.lstrip()[:1] in ("{", "[") and len(text) <= _MOST_WRAPPED and not HEADER.search(text):
        text = _out_of_json(text)
    if "\r" in text:
        text = text.replace("\r\r\n", "\n").replace("\r\n", "\n").replace("\r", "\n")
    lines = text.split("\n")
    if max(map(len, lines)) > _LONGEST_LINE:
        lines = [line[:_LONGEST_LINE] for line in lines]
    if head.startswith(">") or "\n>" in head:
        lines = _without_quotes(lines)
    if any(len(line) > _LONGEST_RECORD for line in lines):
        lines = [record for line in lines for record in _records(line)]
    if not HEADER.search(text):
        lines = _without_prefix("\n".join(lines), lines)
    return lines


def _records(line: str) -> list[str]:
    """Take apart records of a kernel log that a web page ran together: each has its time or its driver."""
    if len(line) <= _LONGEST_RECORD:
        return [line]
    starts = [match.start() for match in _RECORD.finditer(line)]
    if len(starts) < _FEWEST_TOGETHER:
        return [line]
    return [line[at:end].rstrip() for at, end in zip([0, *starts[1:]], [*starts[1:], None], strict=True)]


def _without_quotes(lines: list[str]) -> list[str]:
    """Take off the marks of a quoted mail, where most lines have them."""
    quoted = sum(line.startswith(">") for line in lines)
    if quoted <= len(lines) // 2:
        return lines
    return [_QUOTE.sub("", line) for line in lines]


def _with_plain_characters(text: str) -> str:
    for characters, plain in ((_BLANKS, " "), (_DASHES, "-"), (_NOTHING, "")):
        for character in characters:
            text = text.replace(character, plain)
    return text


def _out_of_json(text: str) -> str:
    """Return the texts inside JSON, where automation tools keep what a command printed; else the text."""
    import json

    found: list[str] = []
    try:
        waiting = [json.loads(text)]
    except (ValueError, RecursionError):
        return text
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            found.append(value)
        elif isinstance(value, list):
            waiting.extend(reversed(value))
        elif isinstance(value, dict):
            waiting.extend(reversed(value.values()))
    joined = "\n".join(found)
    return joined if HEADER.search(joined) else text


def _without_prefix(text: str, lines: list[str]) -> list[str]:
    """Take off what stands before every line: numbers in it may differ, the rest is always the same."""
    first = _BEHIND_SOMETHING.search(text[:_MOST_SEARCHED])
    if first is None:
        return lines
    words = re.split(r"(\d+|[ \t]+)", first[1])
    shape = "".join(
        r"\d+" if word.isdigit() else r"[ \t]+" if word.isspace() else re.escape(word) for word in words
    )
    # Blanks at the end may belong to the line itself.
    prefix = re.compile(shape.removesuffix(r"[ \t]+") + r" ?")
    return [line[match.end() :] if (match := prefix.match(line)) else line for line in lines]


def joined(lines: list[str]) -> list[str]:
    """Join lines that a mail program broke: what begins at the margin without address or key goes on."""
    whole: list[str] = []
    for line in lines:
        if line[:1] in (" ", "\t", "") or not whole or not _goes_on(line, whole[-1]):
            whole.append(line)
        else:
            whole[-1] = f"{whole[-1].rstrip()} {line.lstrip('> |')}"[:_LONGEST_LINE]
    return whole


def joined_log(lines: Sequence[str]) -> Sequence[str]:
    """Join lines of a kernel log that a mail program broke.

    A line without a time before it goes on with one that has, if its first word did not fit there.
    """
    last = ""
    """The line before as it came; empty where it is of no log."""
    whole: list[str] = []
    for line in lines:
        stamped = has_stamp(line)
        if last and not stamped and _did_not_fit(line, last):
            whole[-1] = f"{whole[-1].rstrip()} {line}"[:_LONGEST_LINE]
        else:
            whole.append(line)
            if not stamped:
                last = ""
                continue
        last = line
    return whole


def _did_not_fit(line: str, before: str) -> bool:
    """Whether a line of a log begins with what did not fit on the one before, of 65 to 80 characters."""
    if line[:1] in (" ", "\t", "") or line.startswith(_NO_CONTINUATION) or len(before) > _WIDEST_MAIL:
        return False
    first_word = line.split(" ", 1)[0]
    return len(before) + 1 + len(first_word) > _NARROWEST_MAIL and not HEADER.match(line)


def _goes_on(line: str, before: str) -> bool:
    if len(before) < _SHORTEST_BROKEN:
        return False
    text = line.lstrip("> |")
    return (
        text[:1] not in ("", "\t")
        and not text.startswith(_NO_CONTINUATION)
        and not _KEY.match(text)
        and not _HEX.match(text)
        and not _HEX.match(before.lstrip(" \t>|"))
        and not _ADDRESS.match(text)
        and '" "' not in text
    )
