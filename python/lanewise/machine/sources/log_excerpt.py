"""A few lines of a kernel log in which nothing is known to be wrong: they still name devices.

People copy the lines that they wonder about, one to five of them, often without what stands before the
message. Where no line is one of those that `kernel_events` and `kernel_log` know, the devices that they name
are the machine. Nothing more is known of them, but that the link of some runs in full, as drivers say.
Source: Linux, drivers/base/core.c (`dev_printk`: driver and device before each message).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lanewise.machine.address import Address
from lanewise.machine.sources.kernel_log import take_full_link
from lanewise.machine.sources.log_stamps import beginning, looks_like_log, message_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lanewise.machine.assembly import Reading

_ADDRESS = r"[0-9a-f]{4,8}:[0-9a-f]{2}:[01][0-9a-f]\.[0-7]"
_SPOKEN = re.compile(
    rf"^[A-Za-z_][\w-]{{0,31}}:? \[?({_ADDRESS})\]?(?:: | [a-z]\w{{1,15}}: |-[0-9a-f]{{4}}:)"
)
_NAMED = re.compile(rf"(?<![0-9a-f:])({_ADDRESS})(?![0-9a-f])")
"""In a line that has a time before it: wherever it stands."""
_LONGEST = 500
"""Characters of a line that are looked at."""


def looks_like(lines: Sequence[str]) -> bool:
    """Whether these are lines of a kernel log, with what stands before each message or without."""
    first = beginning(lines)
    spoken = sum(_SPOKEN.match(line[:_LONGEST].strip()) is not None for line in first)
    return 2 * spoken > len(first) or looks_like_log(lines)


def read(lines: Sequence[str], into: Reading) -> bool:
    """Take the devices that a log names; False where the text is no log, or names none."""
    if not looks_like(lines):
        return False
    stamped = looks_like_log(lines)
    for line in lines:
        told = line[:_LONGEST].strip()
        named = _NAMED.search(told) if stamped else _SPOKEN.match(message_of(told))
        if named is not None:
            take_full_link(into.draft(Address.parse(named[1])), told)
    if not into.drafts:
        return False
    into.kinds.append("kernel log")
    into.note("the text is a few lines of a kernel log; 'sudo lspci -vvv' tells of links and devices")
    return True
