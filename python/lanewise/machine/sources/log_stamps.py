"""What stands before the message in a line of a kernel log: when, where, by which task, and how urgent.

Models the forms of `dmesg` (bare, ``-T``, ``-H``, ``-d``, ``-x``, ``-r``, ``--time-format iso``) and of
`journalctl -k` (``short``, ``short-iso``, ``short-precise``, ``short-unix``, ``short-monotonic``, syslog
files), and of ESXi's `vmkernel.log`. Names of months may be of any language.
Source: util-linux 2.39, ``sys-utils/dmesg.c``; systemd 255, ``src/shared/logs-show.c``; read for the wording
only.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_SINCE_BOOT = r" *\d+\.\d+(?: <[ \d.+-]{1,24}>)?"
_BETWEEN = r"<? *\+?\d+\.\d+>?"
_DAY_AND_TIME = r"\w{2,4}\.? \w{2,5}\.? +\d{1,2} \d\d:\d\d:\d\d \d{4}|\w{3,5} ?\d{1,2} \d\d:\d\d"
_NUMBER = r"(?:\d{1,7}[:-]?[ \t]{0,8})?"
"""Of a line, as `grep -n` and editors put it before the time."""
_BRACKETS = rf"{_NUMBER}\[(?:{_SINCE_BOOT}|{_BETWEEN}|{_DAY_AND_TIME})\] ?"
_ISO = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)? "
_TIME_OF_DAY = r"\d\d:\d\d:\d\d(?:\.\d{1,6})? "
"""What is left of a time after somebody has cut day and host."""
_URGENCY = r"<\d+>|kern *:\w{2,8} *: ?"
_HOST = r".{0,64}? (?:vm)?kernel: "
_PROCESSOR = r"cpu\d{1,5}:\d{1,10}\)(?:ALERT: |WARNING: )?"
"""On which processor, and for whom: ESXi."""
_FRONT = re.compile(
    rf"^(?:{_HOST})?(?:{_URGENCY})?(?:{_BRACKETS}|{_ISO}|{_TIME_OF_DAY})?(?:{_HOST})?(?:{_PROCESSOR})?"
    r"(?:\[ *[TC]\d+\] ?)?",
    re.ASCII,
)
_STAMP = re.compile(rf"^(?:{_URGENCY})?(?:{_BRACKETS}|{_ISO}|{_HOST}|{_PROCESSOR}|{_TIME_OF_DAY})", re.ASCII)
BOOT_SIGN = "Linux version "
"""In the first line of a boot."""
_SINCE_START = re.compile(rf"[ \t]*(?:<\d+>)?{_NUMBER}\[ *(\d{{1,9}}\.\d{{1,9}})[\] <]", re.ASCII)
_CLOCK = re.compile(
    r"(?<!\d)(?P<day>\d{1,2})(?:T| {1,2})(?P<hour>\d\d):(?P<minute>\d\d):(?P<second>\d\d)(?!\d)", re.ASCII
)
"""A day and a time, as in ``Aug 29 20:09:52``, ``11月 15 14:11:38`` and ``2025-01-01T23:59:40``."""
_MOST_STAMP = 60
"""Characters at the beginning of a line in which its time is."""
_BOOT = re.compile(r"Linux version \d")
_MOST_LOOKED_AT = 400
"""Lines that tell what a text is. Assumed to be enough."""


def beginning(lines: Sequence[str]) -> list[str]:
    """Return the lines by which a text is recognised: the first ones, without empty ones."""
    return [line for line in lines[:_MOST_LOOKED_AT] if line.strip()]


def looks_like_log(lines: Sequence[str]) -> bool:
    """Whether most of the first lines have a time or ``kernel:`` before them."""
    first = beginning(lines)
    return len(first) > 0 and 2 * sum(map(bool, map(_STAMP.match, first))) > len(first)


def message_of(line: str) -> str:
    """Return a line without what stands before its message."""
    return _FRONT.sub("", line.strip(), count=1)


def has_stamp(line: str) -> bool:
    """Whether a time, an urgency or ``kernel:`` stands before the message."""
    return _STAMP.match(line.strip()) is not None


def seconds_of(line: str) -> float | None:
    """Return when a line was written, in seconds after any moment that is the same for all lines of a log.

    None without a time. Of months nothing is told: around the end of one times may go back.
    """
    stamp = line[:_MOST_STAMP]
    if (since_boot := _SINCE_START.match(stamp)) is not None:
        return float(since_boot[1])
    clock = _CLOCK.search(stamp)
    if clock is None:
        return None
    day, hour, minute, second = (int(clock[part]) for part in ("day", "hour", "minute", "second"))
    return float(((day * 24 + hour) * 60 + minute) * 60 + second)


def is_boot(line: str) -> bool:
    """Whether a line is the first one of a boot."""
    return _BOOT.match(message_of(line)) is not None
