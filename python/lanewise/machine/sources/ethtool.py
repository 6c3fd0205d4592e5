"""`ethtool -i`: the driver and the firmware of a network adapter, put on top of another source.

The address is in it; the name of the interface is not, and is taken from the command before it, where that
was copied along. Source: ethtool 6.7, ``ethtool.c`` (dump_drvinfo), read for the wording only.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from lanewise.machine.address import Address

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from lanewise.machine.model import Machine

_RECORD = re.compile(
    r"[ \t>|]*(driver|version|firmware-version|expansion-rom-version|bus-info|supports-[a-z-]+): ?(.*)$"
)
_COMMAND = re.compile(r"\bethtool (?:-i|--driver) ([\w.@-]{1,15})\s*$")


@dataclass(frozen=True, slots=True)
class Adapter:
    """What a driver says of its adapter."""

    address: Address
    driver: str | None
    firmware: str | None
    interface: str | None


def take(lines: Sequence[str]) -> tuple[list[Adapter], set[int]]:
    """Return the adapters in a text, and which of its lines are about them."""
    adapters: list[Adapter] = []
    taken: set[int] = set()
    records: dict[str, str] = {}
    for number, line in enumerate(lines):
        record, command = _RECORD.match(line), _COMMAND.search(line)
        if record is None or (record[1] == "driver" and "driver" in records):
            adapters += _adapter(records)
            records = {}
        if command is not None:
            records["interface"] = command[1]
        elif record is not None and (records or record[1] == "driver"):
            records[record[1]] = record[2].strip()
        else:
            continue
        taken.add(number)
    return [*adapters, *_adapter(records)], taken


def _adapter(records: dict[str, str]) -> list[Adapter]:
    """Return the adapter of some records, if they say which it is: bridges and tunnels have no address."""
    try:
        address = Address.parse(records.get("bus-info", ""))
    except ValueError:
        return []
    firmware = records.get("firmware-version", "").strip(" ,") or None
    return [
        Adapter(
            address,
            records.get("driver") or None,
            None if firmware == "N/A" else firmware,
            records.get("interface"),
        )
    ]


def put_on(machine: Machine, adapters: Iterable[Adapter]) -> Machine:
    """Say of each function what its driver says, where the source does not."""
    functions = dict(machine.functions)
    for adapter in adapters:
        function = functions.get(adapter.address)
        if function is None:
            continue
        names = (*function.interfaces, *([adapter.interface] if adapter.interface else []))
        functions[adapter.address] = replace(
            function,
            driver=function.driver or adapter.driver,
            firmware=function.firmware or adapter.firmware,
            interfaces=tuple(dict.fromkeys(names)),
        )
    return replace(machine, functions=functions)
