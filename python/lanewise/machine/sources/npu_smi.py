"""`npu-smi info`: Huawei's Ascend accelerators by address, and whether the tool calls them healthy.

A table with two rows for each chip: number, name and health, then place and address. Health is ``OK``,
``Warning``, ``Alarm``, ``Critical`` or ``UNKNOWN``; Redfish has no word between Warning and Critical, so an
alarm counts as a warning. The tool says nothing of links.
Source: Huawei, npu-smi Command Reference 24.1 (`npu-smi info`), and outputs of real machines.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lanewise.machine.address import Address
from lanewise.machine.function import Kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lanewise.machine.assembly import Reading

_BLANKS = r"[ \t]{0,40}"
LOOKS_LIKE = re.compile(
    rf"^{_BLANKS}\|{_BLANKS}NPU[ \t]{{1,20}}Name{_BLANKS}\|{_BLANKS}Health\b", re.MULTILINE
)
"""The heading."""
_NAMED = re.compile(
    rf"{_BLANKS}\|{_BLANKS}\d{{1,4}}[ \t]{{1,20}}(\w[\w-]{{1,30}}){_BLANKS}\|{_BLANKS}"
    rf"(OK|Warning|Alarm|Critical|UNKNOWN){_BLANKS}\|"
)
_PLACED = re.compile(
    rf"{_BLANKS}\|[ \t\d]{{1,60}}\|{_BLANKS}([0-9A-Fa-f]{{4}}:[0-9A-Fa-f]{{2}}:[01][0-9A-Fa-f]\.[0-7])"
    rf"{_BLANKS}\|"
)
_HEALTH = {"OK": "OK", "Warning": "Warning", "Alarm": "Warning", "Critical": "Critical"}
"""What the tool says, in words of Redfish."""
_HUAWEI, _ACCELERATOR = 0x19E5, 0x120000


def read(lines: Sequence[str], into: Reading) -> None:
    """Read all chips of a table."""
    named: re.Match[str] | None = None
    for line in lines:
        placed = _PLACED.match(line)
        if placed is not None and named is not None:
            draft = into.draft(Address.parse(placed[1]))
            draft.kind = Kind.ENDPOINT
            name = named[1] if named[1].startswith("Ascend") else f"Ascend {named[1]}"
            draft.identity |= {"class_code": _ACCELERATOR, "vendor_id": _HUAWEI, "device_name": name}
            draft.function["stated_health"] = _HEALTH.get(named[2])
        named = _NAMED.match(line)
    into.kinds.append("npu-smi")
