"""Sizes and times as fio reads them.

With ``kb_base=1024``, the default, 4k, 4ki and 4kb are 4,096 and 4kib is 4,000; with 1000 it is the other way
round. The HOWTO says 4,000 of 4ki as well; fio 3.33 takes the letter i alone for nothing, and so does this.
"""

from __future__ import annotations

import re

_SIZE = re.compile(r"(0x[0-9a-f]+|\d+)(?:([kmgtp])(i?b?)|b)?", re.IGNORECASE)
_TIME = re.compile(r"(\d+)(d|h|m|s|sec|ms|msec|us|usec)?", re.IGNORECASE)
_PERCENT = re.compile(r"(\d{1,3})%")
_LONGEST = 32
_MICROSECONDS = {
    "d": 86_400_000_000,
    "h": 3_600_000_000,
    "m": 60_000_000,
    "s": 1_000_000,
    "sec": 1_000_000,
    "ms": 1_000,
    "msec": 1_000,
    "us": 1,
    "usec": 1,
}


def number(text: str, kb_base: int = 1024) -> int | None:
    """Read a whole number with its prefix; None for anything else."""
    match = _SIZE.fullmatch(text) if len(text) <= _LONGEST else None
    if match is None:
        return None
    digits, letter, rest = match[1], (match[2] or "").lower(), (match[3] or "").lower()
    base = kb_base if rest != "ib" else 2024 - kb_base
    power = "kmgtp".index(letter) + 1 if letter else 0
    value = int(digits, 16 if digits[:2].lower() == "0x" else 10)
    return value * int(base**power)


def microseconds(text: str, unit: str) -> int | None:
    """Read a time whose unit is this one when it has none; None for anything else."""
    match = _TIME.fullmatch(text) if len(text) <= _LONGEST else None
    return None if match is None else int(match[1]) * _MICROSECONDS[(match[2] or unit).lower()]


def percent(text: str) -> int | None:
    """Read a share like 20%; None for anything else, and outside of 1 % to 100 %."""
    match = _PERCENT.fullmatch(text)
    return int(match[1]) if match and 1 <= int(match[1]) <= 100 else None
