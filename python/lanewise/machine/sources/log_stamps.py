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
_BRACKETS = rf"\[(?:{_SINCE_BOOT}|{_BETWEEN}|{_DAY_AND_TIME})\] ?"
_ISO = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)? "
_URGENCY = r"<\d+>|kern *:\w{2,8} *: ?"
_HOST = r".{0,64}? (?:vm)?kernel: "
_PROCESSOR = r"cpu\d{1,5}:\d{1,10}\)(?:ALERT: |WARNING: )?"
"""On which processor, and for whom: ESXi."""
_FRONT = re.compile(
    rf"^(?:{_HOST})?(?:{_URGENCY})?(?:{_BRACKETS}|{_ISO})?(?:{_HOST})?(?:{_PROCESSOR})?(?:\[ *[TC]\d+\] ?)?",
    re.ASCII,
)
_STAMP = re.compile(rf"^(?:{_URGENCY})?(?:{_BRACKETS}|{_ISO}|{_HOST}|{_PROCESSOR})", re.ASCII)
BOOT_SIGN = "Linux version "
"""In the first line of a boot."""
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


def is_boot(line: str) -> bool:
    """Whether a line is the first one of a boot."""
    return _BOOT.match(message_of(line)) is not None
