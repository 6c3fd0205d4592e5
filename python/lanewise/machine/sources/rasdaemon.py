"""Errors of PCI Express as rasdaemon keeps them: what ``ras-mc-ctl --errors`` prints.

``3 2024-05-02 11:20:31 +0200 0000:0b:00.0 Corrected error: Receiver Error, Bad TLP``: a record for each trace
event of the kernel (`traced_errors`), with the time at which it came and the words of its errors, behind
which a header may stand. ``ras-mc-ctl --summary`` names no devices. Source: rasdaemon 0.6 to 0.8,
``util/ras-mc-ctl.in`` and ``ras-aer-handler.c``, read for the wording only.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from lanewise.machine.address import Address
from lanewise.machine.registers import WITHOUT_DETAILS
from lanewise.machine.sources.error_names import NAMES, short_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lanewise.machine.assembly import Reading

LOOKS_LIKE = re.compile(
    r"^[^\n]{0,60}?(?<![\w:.])([0-9a-f]{4,8}:[0-9a-f]{2}:[01][0-9a-f]\.[0-7]) "
    r"(Corrected|Uncorrected \(Fatal\)|Uncorrected \(Non-Fatal\)) error:(.{0,400})",
    re.MULTILINE,
)
"""A record."""
_PREFIXES = {"Corrected": "correctable", "Uncorrected (Fatal)": "fatal"}
_HEADER = re.compile(r" ?TLP Header:.*")


def read(lines: Sequence[str], into: Reading) -> list[int]:
    """Count the errors of every device; return the lines that are records, by their index."""
    counted: defaultdict[Address, Counter[str]] = defaultdict(Counter)
    taken = []
    for number, line in enumerate(lines):
        record = LOOKS_LIKE.match(line)
        if record is None:
            continue
        taken.append(number)
        prefix = _PREFIXES.get(record[2], "nonfatal")
        names = {short_name(words.strip()) for words in _HEADER.sub("", record[3]).split(",")}
        known = sorted(names & set(NAMES.values())) or [WITHOUT_DETAILS]
        counted[Address.parse(record[1])].update(f"{prefix}.{name}" for name in ("TOTAL", *known))
    for address, counts in counted.items():
        into.draft(address).errors |= {"counters": tuple(sorted(counts.items())), "counted_in_log": True}
    if counted:
        into.kinds.append("ras-mc-ctl")
    return taken
