"""What registers allow of a change: payloads that a function on the way supports, tags that both ends know.

Speed and width are not looked at: a change of these is about another card or slot. What no register says is
taken to be possible.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from lanewise.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lanewise.machine.address import Address
    from lanewise.machine.model import Function, Machine
    from lanewise.machine.ways import Change

_MOST_ADDRESSES = 8
_EXTENDED, _TEN, _FOURTEEN = 8, 10, 14


def refuse_impossible(changes: Mapping[Address, Change], machine: Machine, text: str) -> None:
    """Raise `InputError` where a change, written as `text`, is more than registers allow."""
    for address, change in changes.items():
        function = machine[address]
        size, who = _largest_payload(machine, function)
        if change.mps and who is not None and size < change.mps:
            raise InputError(
                f"'{text}': {who.address.short} supports payloads of at most {size} B; write 'mps {size}' "
                "or less"
            )
        bits, who = _most_tag_bits(machine, function)
        if change.tag_bits and who is not None and bits < change.tag_bits:
            raise InputError(
                f"'{text}': {who.address.short} does not support tags of {change.tag_bits} bits; write "
                f"'tags {bits}'"
            )


def as_far_as_possible(
    changes: Mapping[Address, Change], machine: Machine
) -> tuple[dict[Address, Change], tuple[str, ...]]:
    """Return the changes, none of them more than registers allow, and what was taken back, in sentences."""
    kept: dict[Address, Change] = {}
    less: dict[str, list[str]] = {}
    for address, change in changes.items():
        function = machine[address]
        size, _ = _largest_payload(machine, function)
        bits, _ = _most_tag_bits(machine, function)
        bounded = replace(
            change,
            mps=min(change.mps, size) if change.mps else None,
            tag_bits=min(change.tag_bits, bits) if change.tag_bits else None,
        )
        kept[address] = bounded
        if bounded.mps != change.mps:
            less.setdefault(f"payloads of {bounded.mps} B, the most", []).append(address.short)
        if bounded.tag_bits != change.tag_bits:
            less.setdefault(f"tags of {bounded.tag_bits} bits, the most", []).append(address.short)
    return kept, tuple(f"{_listed(found)}: {what} that the way supports" for what, found in less.items())


def _largest_payload(machine: Machine, function: Function) -> tuple[int, Function | None]:
    """Return the largest payload that all on the way of a device support, and who supports no more."""
    way = [(step.transfers.mps_supported, step) for step in (function, *machine.path(function))]
    known = [(size, step) for size, step in way if size]
    return min(known, key=lambda found: found[0], default=(4096, None))


def _most_tag_bits(machine: Machine, function: Function) -> tuple[int, Function | None]:
    """Return how long tags a device may use for reads of memory, and who knows no longer ones."""
    root = machine.root_port(function)
    most: tuple[int, Function | None] = (_FOURTEEN, None)
    for end, fourteen, ten in (
        (function, "fourteen_bit_tags_requester", "ten_bit_tags_requester"),
        (root, "fourteen_bit_tags_completer", "ten_bit_tags_completer"),
    ):
        if end is None:
            continue
        if getattr(end.transfers, fourteen) is False:
            most = min(most, (_TEN, end), key=lambda found: found[0])
        if getattr(end.transfers, ten) is False:
            most = min(most, (_EXTENDED, end), key=lambda found: found[0])
    if function.transfers.extended_tags_supported is False:
        most = min(most, (5, function), key=lambda found: found[0])
    return most


def _listed(addresses: list[str]) -> str:
    rest = len(addresses) - _MOST_ADDRESSES
    return ", ".join(addresses[:_MOST_ADDRESSES]) + (f" and {rest} more" if rest > 0 else "")
