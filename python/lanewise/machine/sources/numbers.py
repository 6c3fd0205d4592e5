"""Numbers in texts that anybody may have written: what is none, or longer than any register, is not known.

Python's own conversions raise for ``1.1.1``, for ``²`` (which `str.isdigit` takes for a digit) and for
numbers of thousands of digits, and print none of those either.
"""

from __future__ import annotations

from lanewise.machine.registers import SPEEDS_GT_S

DECIMAL = r"(\d+(?:\.\d+)?)"
"""A number with or without a fraction, in a regular expression."""
_MOST_DIGITS = 20
"""Digits of the largest 64-bit number."""


def whole(text: str | None, base: int = 10) -> int | None:
    """Return a whole number as registers hold it; with base 0 the text says its base (``0x10``)."""
    if text is None or len(text) > _MOST_DIGITS:
        return None
    try:
        return int(text, base)
    except ValueError:
        return None


def natural(text: str | None) -> int | None:
    """Return a number that counts something: ``-1`` is how kernels say that they do not know."""
    number = whole(text)
    return None if number is None or number < 0 else number


def line_rate(text: str | None) -> float | None:
    """Return a line rate of PCI Express in GT/s; None for every other number, and for what is none."""
    try:
        gt_s = float((text or "").replace(",", "."))
    except ValueError:
        return None
    return gt_s if gt_s in SPEEDS_GT_S else None
