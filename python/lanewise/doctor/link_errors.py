"""Correctable errors that tell of the wire; advisory and internal ones say nothing about it.

Source: PCI Express Base Specification 5.0, 6.2.7 and 7.8.4.5; the words are those of lspci.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lanewise.machine.model import Function

LINK_ERRORS = ("RxErr", "BadTLP", "BadDLLP", "Rollover", "Timeout")


def latched(function: Function) -> list[str]:
    """List the bits that a function has set; none where it does not say."""
    status = function.errors.correctable_status or frozenset()
    return [bit for bit in LINK_ERRORS if bit in status]
