"""Several kinds in one text, told apart line by line: kernel logs, link lines alone.

A mail holds a log with an `lspci` block below it, and drivers log lines that look like those of `lspci`. A
line of a log has a time, or the name of a driver before its address, in front; the rest of the text is read
as if the log were not there.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lanewise.machine.sources.wrapping import FENCE, HEADER

if TYPE_CHECKING:
    from collections.abc import Sequence

_LOGGED = re.compile(
    r"[ \t>|]{0,8}(?:\[ {0,12}\d{1,9}\.\d{1,9}\]|<\d{1,3}>|.{0,64}? kernel: "
    r"|[a-z][\w-]{1,24} [0-9a-f]{4,8}:[0-9a-f]{2}:[01][0-9a-f]\.[0-7]: )"
)
_LINK = re.compile(
    r"Lnk(Cap|Sta):[^\n]{0,60}?Speed ([\d.]{1,6} ?GT/s)[^\n]{0,40}?Width (x\d{1,2})( \(downgraded\))?"
)
_ACCESS = re.compile(r"ACSCtl:[ \t]{1,4}SrcValid[+-] TransBlk[+-] ReqRedir([+-])")
_MOST_TOLD = 4
_DETAIL = re.compile(
    r"^[ \t>|]{1,16}(?:Subsystem|Control|Flags|Capabilities|LnkCap|LnkSta|Kernel driver in use)\b",
    re.MULTILINE,
)
_FEW = 3
"""Lines of drivers that look like functions of `lspci`, and are not followed by what it says of them."""


def without_log(lines: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the lines of a kernel log, and all others; each list has a fence for the other's lines."""
    logged = [_LOGGED.match(line) is not None for line in lines]
    log = [line if is_log else FENCE for line, is_log in zip(lines, logged, strict=True)]
    return log, [FENCE if is_log else line for line, is_log in zip(lines, logged, strict=True)]


def holds_lspci(text: str) -> bool:
    """Whether what is beside a log is `lspci`, and not some lines of the log without their times."""
    return _DETAIL.search(text) is not None or len(HEADER.findall(text)) > _FEW


def links_told(text: str) -> str:
    """Say what lines about links tell when nothing tells of which device they are; empty for nothing."""
    able: tuple[str, str] | None = None
    told: list[str] = []
    for match in _LINK.finditer(text):
        mode = (match[2].replace(" ", ""), match[3])
        if match[1] == "Cap":
            able = mode
            continue
        below = match[4] or (able is not None and mode != able)
        limit = f" of {' '.join(able)}" if able and below else ""
        told.append(f"{' '.join(mode)}{limit}{' (downgraded)' if match[4] else ''}")
        able = None
    more = f" and {len(told) - _MOST_TOLD} more" if len(told) > _MOST_TOLD else ""
    return ", ".join(told[:_MOST_TOLD]) + more


def access_told(text: str) -> str:
    """Say what lines about access control tell when nothing tells of which port they are; empty for none."""
    ports = _ACCESS.findall(text)
    redirecting = sum(sign == "+" for sign in ports)
    where = f"{redirecting} with" if redirecting else "none with"
    return f"{len(ports)}, {where} ReqRedir+, which sends peers by way of the host" if ports else ""
