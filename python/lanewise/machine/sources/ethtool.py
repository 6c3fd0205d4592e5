"""`ethtool -i`, and what `ethtool -S` counts of the link with the slot, put on top of another source.

The address is in the first; the name of the interface is not, and is taken from the command before it, where
that was copied along. Of the statistics those are taken that count damaged packets which the adapter
received: ``rx_pci_signal_integrity`` of mlx5, and what bnxt_en counts of each layer. Where a text has both,
and only one adapter, they are of that; otherwise the name of the interface says of which.
Source: ethtool 6.7, ``ethtool.c`` (dump_drvinfo); Linux,
Documentation/networking/device_drivers/ethernet/mellanox/mlx5/counters.rst and
drivers/net/ethernet/broadcom/bnxt/bnxt_hsi.h (pcie_ctx_hw_stats), read for the wording only.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from lanewise.machine.address import Address
from lanewise.machine.function import Function
from lanewise.machine.registers import BY_ETHTOOL

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from lanewise.machine.model import Machine

_RECORD = re.compile(
    r"[ \t>|]*(driver|version|firmware-version|expansion-rom-version|bus-info|supports-[a-z-]+): ?(.*)$"
)
_COMMAND = re.compile(r"\bethtool (?:-i|--driver) ([\w.@-]{1,15})\s*$")
_STATISTICS = re.compile(r"\bethtool (?:-S|--statistics) ([\w.@-]{1,15})\b")
_COUNTER = re.compile(r"[ \t>|]*(rx_pci_signal_integrity|pcie_[pdt]l_signal_integrity): (\d{1,19})[ \t]*$")
_ERRORS = {
    "rx_pci_signal_integrity": "RxErr",
    "pcie_pl_signal_integrity": "RxErr",
    "pcie_dl_signal_integrity": "BadDLLP",
    "pcie_tl_signal_integrity": "BadTLP",
}
"""What drivers count, by the bit of Correctable Error Status that it is."""
_NETWORK = 0x020000


@dataclass(frozen=True, slots=True)
class Adapter:
    """What a driver says of its adapter."""

    address: Address | None
    """None for statistics of which nothing but the interface is known."""
    driver: str | None
    firmware: str | None
    interface: str | None
    errors: tuple[tuple[str, int], ...] = ()
    """Damaged packets that it counts, by the names of `registers.Errors.counters`."""


def take(lines: Sequence[str]) -> tuple[list[Adapter], set[int]]:
    """Return the adapters in a text, and which of its lines are about them."""
    adapters: list[Adapter] = []
    taken: set[int] = set()
    records: dict[str, str] = {}
    counted: dict[str | None, dict[str, int]] = {}
    counting: str | None = None
    for number, line in enumerate(lines):
        record, command = _RECORD.match(line), _COMMAND.search(line)
        if record is None or (record[1] == "driver" and "driver" in records):
            adapters += _adapter(records)
            records = {}
        if command is not None:
            records["interface"] = command[1]
        elif record is not None and (records or record[1] == "driver"):
            records[record[1]] = record[2].strip()
        elif (statistics := _STATISTICS.search(line)) is not None:
            counting = statistics[1]
        elif (counter := _COUNTER.match(line)) is not None:
            counted.setdefault(counting, {})[f"correctable.{_ERRORS[counter[1]]}"] = int(counter[2])
        else:
            continue
        taken.add(number)
    return _with_errors([*adapters, *_adapter(records)], counted), taken


def _with_errors(adapters: list[Adapter], counted: dict[str | None, dict[str, int]]) -> list[Adapter]:
    """Give each adapter what was counted at its interface; the only one has all that names no other."""
    found = list(adapters)
    for interface, errors in counted.items():
        counters = tuple(errors.items())
        names = {adapter.interface for adapter in adapters}
        of = [n for n, adapter in enumerate(found) if interface and adapter.interface == interface]
        if not of and len(adapters) == 1 and (interface is None or names == {None}):
            of = [0]
        if of:
            found[of[0]] = replace(found[of[0]], errors=counters)
        elif interface is not None:
            found.append(Adapter(None, None, None, interface, counters))
    return found


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


def stands_alone(adapters: Iterable[Adapter]) -> bool:
    """Whether it tells of a device what no other source has to list: errors at an address."""
    return any(adapter.address is not None and adapter.errors for adapter in adapters)


def put_on(machine: Machine, adapters: Iterable[Adapter]) -> Machine:
    """Say of each function what its driver says, where the source does not."""
    functions = dict(machine.functions)
    alone = not functions
    by_name = {name: function.address for function in machine for name in function.interfaces}
    for adapter in adapters:
        address = adapter.address or by_name.get(adapter.interface or "")
        function = None if address is None else functions.get(address)
        if function is None and alone and address is not None and adapter.errors:
            function = Function(address)
            function = replace(
                function,
                identity=replace(function.identity, class_code=_NETWORK),
                driver_known=True,
            )
        if function is None or address is None:
            continue
        names = (*function.interfaces, *([adapter.interface] if adapter.interface else []))
        functions[address] = replace(
            _counting(function, adapter),
            driver=function.driver or adapter.driver,
            firmware=function.firmware or adapter.firmware,
            interfaces=tuple(dict.fromkeys(names)),
        )
    return replace(machine, functions=functions)


def _counting(function: Function, adapter: Adapter) -> Function:
    """Put the errors of an adapter on a function whose source has none."""
    total = sum(count for _, count in adapter.errors)
    if not total or function.errors.counters is not None:
        return function
    counters = (*adapter.errors, ("correctable.TOTAL", total), (BY_ETHTOOL, total))
    registers = function.registers
    return replace(function, registers=registers._replace(errors=function.errors._replace(counters=counters)))
