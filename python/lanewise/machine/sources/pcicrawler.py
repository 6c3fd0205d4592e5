"""`pcicrawler -j` of the Open Compute Project: functions by address in JSON, with links and error counters.

``capable_speed`` and ``capable_width`` are the most that a function can do, ``cur_speed`` and ``cur_width``
how its link runs; with ``-a`` the counters of sysfs (`sysfs`) are among it. Leaves out the tree. Source:
ocp-diag-pcicrawler, for the form only.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lanewise.machine.address import Address
from lanewise.machine.function import Kind
from lanewise.machine.registers import LinkMode
from lanewise.machine.sources.documents import documents_of, text_at
from lanewise.machine.sources.error_names import short_name
from lanewise.machine.sources.numbers import line_rate, natural, whole

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lanewise.machine.assembly import Reading
    from lanewise.machine.draft import Draft
    from lanewise.machine.said import IdentityNumber

JSON_SIGNS = re.compile(r'"(?:express_type|capable_width)"\s*:')
"""Keys that only this tool has."""
_KINDS = {
    "endpoint": Kind.ENDPOINT,
    "legacy_endpoint": Kind.LEGACY_ENDPOINT,
    "root_port": Kind.ROOT_PORT,
    "upstream_port": Kind.UPSTREAM_PORT,
    "downstream_port": Kind.DOWNSTREAM_PORT,
}
_NUMBERS: tuple[tuple[str, IdentityNumber], ...] = (
    ("vendor_id", "vendor_id"),
    ("device_id", "device_id"),
    ("class_id", "class_code"),
    ("subsystem_vendor", "subsystem_vendor_id"),
    ("subsystem_device", "subsystem_id"),
)
_PREFIXES = ("correctable", "nonfatal", "fatal")


def read_document(document: str, into: Reading) -> None:
    """Read all functions of a text."""
    for found in documents_of(document):
        for name, said in found.items() if isinstance(found, dict) else ():
            address = Address.find(str(name))
            if address is not None and isinstance(said, dict):
                _take(into.draft(address), said)
    if into.drafts:
        into.kinds.append("pcicrawler")


def _take(draft: Draft, said: dict[str, object]) -> None:
    for key, field in _NUMBERS:
        number = whole(text_at(said, key), 16)
        if number is not None:
            draft.identity[field] = number
    draft.kind = _KINDS.get(text_at(said, "express_type"))
    draft.function["driver"] = text_at(said, "driver") or None
    now, most = _mode(said, "cur"), _mode(said, "capable")
    if most != LinkMode():
        draft.link |= {"status": now, "capability": most}
        draft.registers["express"] = True
    counters = tuple(_counters(said))
    if counters:
        draft.errors["counters"] = counters


def _mode(said: dict[str, object], which: str) -> LinkMode:
    speed = text_at(said, f"{which}_speed").removesuffix("GT/s")
    return LinkMode(line_rate(speed), natural(text_at(said, f"{which}_width")))


def _counters(said: dict[str, object]) -> Iterator[tuple[str, int]]:
    for prefix in _PREFIXES:
        errors: object = said
        for key in ("aer", "device", f"aer_dev_{prefix}"):
            errors = errors.get(key) if isinstance(errors, dict) else None
        for name in errors if isinstance(errors, dict) else ():
            count = natural(text_at(errors, name))
            if count is not None:
                yield f"{prefix}.{'TOTAL' if name.startswith('TOTAL') else short_name(name)}", count
