"""Maximum Payload Sizes that no source states: a prediction names them among what it assumes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanewise.ladder import payload_gb_per_s

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lanewise.machine.address import Address
    from lanewise.machine.model import Function, Machine
    from lanewise.machine.ways import Change

_LEAST = 128
"""The smallest Maximum Payload Size in bytes, which every device supports (PCIe Base 6.3 §7.5.3.4)."""

_MOST_ADDRESSES = 8


def unstated_payloads(
    machine: Machine,
    chosen: Sequence[Function],
    changes: Mapping[Address, Change],
    simulated: Mapping[Address, int],
) -> list[str]:
    """Say for which devices no function between them and the host states its MPS, and what was simulated.

    `simulated` has the Maximum Payload Size of each device's way in bytes. One text for each size.
    """
    by_size: dict[int, list[Function]] = {}
    for function in chosen:
        size = simulated.get(function.address)
        if size is not None and not _is_stated(machine, function, changes):
            by_size.setdefault(size, []).append(function)
    return [_words(size, functions) for size, functions in sorted(by_size.items())]


def _is_stated(machine: Machine, function: Function, changes: Mapping[Address, Change]) -> bool:
    change = changes.get(function.address)
    if change is not None and change.mps:
        return True
    return any(step.transfers.mps for step in (function, *machine.path(function)))


def _words(size: int, functions: Sequence[Function]) -> str:
    addresses = [function.address.short for function in functions]
    others = f" and {len(addresses) - _MOST_ADDRESSES} others" if len(addresses) > _MOST_ADDRESSES else ""
    where = ", ".join(addresses[:_MOST_ADDRESSES]) + others
    said = f"{where}: MPS {size} B, which the source does not state"
    if size <= _LEAST:
        return said
    at_least, at_size = (
        payload_gb_per_s(3, 16, payload_bytes=payload, header_dwords=4) for payload in (_LEAST, size)
    )
    return f"{said}; with {_LEAST} B links carry {100 * (1 - at_least / at_size):.0f} % less"
