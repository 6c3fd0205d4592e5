"""Several captures of `lspci` in one text: of one machine, which they make together, or of others.

Captures of one machine fill each other's gaps: a list, `-v` and `-vvv` below one another. Where two of them
contradict each other, one is of another moment, or of another machine of the same make: the later counts, and
what the earlier says is kept as a disagreement or set aside (`capture_differences`). Captures of a machine
with other devices are set aside as a whole.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanewise.machine.assembly import mark_virtual_functions
from lanewise.machine.sources import capture_differences as differences
from lanewise.machine.sources.capture_differences import are_two_devices, who

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lanewise.machine.address import Address
    from lanewise.machine.assembly import Reading
    from lanewise.machine.draft import Draft

_OTHER_MACHINE = 0.3
"""Share of functions that are another device at the same address, from which on it is another machine."""

_MOST_NAMED = 3


def merge(captures: Sequence[Mapping[Address, Draft]], into: Reading, *, excerpts: bool) -> None:
    """Take captures of one machine together, and set aside those of others.

    `excerpts` says that the text was cut out of more: then a device that a capture lacks says nothing.
    """
    set_aside = 0
    differing: dict[Address, list[str]] = {}
    for number, capture in enumerate(captures, start=1):
        if len(captures) > 1:
            mark_virtual_functions(capture)
        again = capture.keys() & into.drafts.keys()
        if _is_other_machine(capture, into.drafts):
            set_aside += len(capture)
            continue
        if number > 1 and again:
            into.note("some functions occur twice: several captures in one file, read as one machine")
            into.disagreements += differences.disagreements(into.drafts, capture, number, whole=not excerpts)
        for address in again:
            earlier = into.drafts[address]
            groups = differences.contradictory_groups(earlier, capture[address])
            if groups:
                differing.setdefault(address, []).extend(groups)
            if are_two_devices(earlier, capture[address]):
                del into.drafts[address]
        for draft in capture.values():
            into.add(draft)
    if differing:
        into.set_aside(f"captures in one file differ, and only the later counts: {_named(differing)}")
    if set_aside:
        one = set_aside == 1
        into.set_aside(
            "dumps of several machines in one file; only the first is read, and "
            f"{set_aside} function{'' if one else 's'} of others {'is' if one else 'are'} not"
        )


def _named(differing: Mapping[Address, Sequence[str]]) -> str:
    """Name the first functions, with the registers that differ."""
    named = [
        f"{address.short} ({', '.join(dict.fromkeys(differing[address]))})"
        for address in sorted(differing)[:_MOST_NAMED]
    ]
    more = len(differing) - _MOST_NAMED
    return f"{', '.join(named)}{f' and {more} more' if more > 0 else ''}"


def _is_other_machine(capture: Mapping[Address, Draft], known: Mapping[Address, Draft]) -> bool:
    """Whether other devices are at the same addresses, as far as both captures say who they are."""
    same = other = 0
    for address, draft in capture.items():
        earlier = known.get(address)
        if earlier is None:
            continue
        mine, theirs = who(draft, earlier), who(earlier, draft)
        same += mine is not None and mine == theirs
        other += mine is not None and theirs is not None and mine != theirs
    return other > _OTHER_MACHINE * (same + other)
