"""PCI Express errors as the kernel's trace event has them: ``aer_event: 0000:c1:00.0 PCIe Bus Error: ...``.

`trace-cmd`, `perf script` and the file `trace_pipe` print such lines, and logs have them where a kernel was
told to print its events. They tell of the same errors as the lines of `pcieport`, so they count only for
functions of which no such line tells. Ports and memory that run CXL say ``CXL Bus Error``.

Source: Linux, include/ras/ras_event.h (`aer_event`), 3.12 to 6.17, read for the wording only.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict

from lanewise.machine.address import Address
from lanewise.machine.registers import WITHOUT_DETAILS
from lanewise.machine.sources.error_names import NAMES

_EVENT = re.compile(
    r"(?<![^ \t])([0-9a-f]{4,8}:[0-9a-f]{2}:[01][0-9a-f]\.[0-7]) (?:PCIe|CXL) Bus Error: severity="
    r"(Corrected|Fatal|Uncorrected, non-fatal), ([^,]{0,200})"
)
"""Its name may be gone, like whatever stands before every line. Lines of drivers have a colon there."""
_PREFIXES = {"Corrected": "correctable", "Fatal": "fatal"}


class TracedErrors:
    """Counts the errors of trace events, line by line."""

    def __init__(self) -> None:
        """Start before the first line."""
        self._counted: defaultdict[Address, Counter[str]] = defaultdict(Counter)

    def take(self, line: str) -> bool:
        """Take a line about an error; False for one that is no trace event."""
        event = _EVENT.search(line)
        if event is None:
            return False
        prefix = _PREFIXES.get(event[2], "nonfatal")
        named = [NAMES[words] for words in event[3].split("|") if words in NAMES]
        nameless = [WITHOUT_DETAILS] if prefix == "correctable" else []
        counts = self._counted[Address.parse(event[1])]
        counts.update(f"{prefix}.{name}" for name in ("TOTAL", *(named or nameless)))
        return True

    def counts(self) -> dict[Address, Counter[str]]:
        """Return the counts of every function."""
        return dict(self._counted)
