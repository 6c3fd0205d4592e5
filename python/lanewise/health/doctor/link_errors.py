"""Correctable errors that tell of the wire; advisory and internal ones say nothing about it.

Source: PCI Express Base Specification 5.0, 6.2.7 and 7.8.4.5; the words are those of lspci.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanewise.machine.registers import WITHOUT_DETAILS

if TYPE_CHECKING:
    from lanewise.machine.model import Function

LINK_ERRORS = ("RxErr", "BadTLP", "BadDLLP", "Rollover", "Timeout")


def latched(function: Function) -> list[str]:
    """List the bits that a function has set; none where it does not say."""
    status = function.errors.correctable_status or frozenset()
    return [bit for bit in LINK_ERRORS if bit in status]


def counted(function: Function) -> list[tuple[str, int]]:
    """List what was counted and how often; last what a log counts without saying which error it was."""
    counts = [(bit, function.errors.counter(f"correctable.{bit}") or 0) for bit in LINK_ERRORS]
    other = function.errors.counter(f"correctable.{WITHOUT_DETAILS}") or 0
    return [(what, count) for what, count in (*counts, ("of an unnamed kind", other)) if count]
