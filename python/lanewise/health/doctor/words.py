"""How findings put addresses, sizes and registers into words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanewise.quantity import size_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lanewise.machine.model import Function


UNNAMED = "unknown device"
"""The name of a function of which a source says nothing but its address."""
SOLDERED = "Nothing: the port has no slot, so the board decides how many lanes the device has."


def listed(functions: Sequence[Function], most: int = 8) -> str:
    """Write addresses for a sentence."""
    return listed_words([function.address.short for function in functions], most)


def listed_words(words: Sequence[str], most: int = 8) -> str:
    """Write words for a sentence, the first of many."""
    shown = ", ".join(words[:most])
    return shown if len(words) <= most else f"{shown} and {len(words) - most} more"


def who(place: str, function: Function | None) -> list[str]:
    """Write a line of evidence that says what is at an address; none where the source does not say."""
    return [] if function is None or function.name == UNNAMED else [f"{place} is {function.name}"]


def size(number: int) -> str:
    """Write a number of bytes with a binary unit."""
    for unit in ("TiB", "GiB", "MiB", "KiB"):
        if number >= size_of(unit):
            return f"{float(number / size_of(unit)):g} {unit}"
    return f"{number} B"


def sign(value: bool | None) -> str:
    """Write a bit as lspci does, and a question mark for one that the source does not tell."""
    return "?" if value is None else "+" if value else "-"


def port_words(port: Function) -> str:
    """Write the address of a port, or that a source leaves it out: the addresses of those are made up."""
    return "the port above" if port.implied else port.address.short
