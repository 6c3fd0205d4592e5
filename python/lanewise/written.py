"""The few ways in which numbers and names of results are written for people, in tables and in reports."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

DASH = "\N{EN DASH}"

ENDINGS = {
    "Converged": "Converged",
    "Finished": "Finished",
    "TimeLimit": "Stopped at the time limit",
    "EventLimit": "Stopped at the event limit",
    "MemoryLimit": "Stopped at the memory limit",
    "Stalled": "STALLED",
    "Interrupted": "Interrupted",
}
"""How a run ended, by its end reason."""


def plain(value: object) -> str:
    """Write a value of a table of any kind: floats with 6 significant digits, a dash for none."""
    return DASH if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def with_unit(value: object, unit: str | None) -> str:
    """Write a value as `plain` does, with its unit where it is a number that has one."""
    return f"{plain(value)} {unit}" if unit and isinstance(value, int | float) else plain(value)


def counted(number: int, noun: str) -> str:
    """Write a number of things."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def fixed(value: float | None, digits: int) -> str:
    """Write a number with so many decimals; a dash for none."""
    return DASH if value is None else f"{value:,.{digits}f}"


def decimals(values: Iterable[float], usual: int) -> int:
    """Choose decimals for numbers side by side: at least three digits of the smallest above 0 show."""
    smallest = min((value for value in values if value > 0), default=1.0)
    return max(usual, 2 - math.floor(math.log10(smallest)))


def in_short(of: object, *said: str) -> str:
    """Write an object as its class and a few words: its fields may have megabytes."""
    return f"<{type(of).__name__}: {'; '.join(filter(None, said))}>"


def significant(value: float) -> str:
    """Write a number with 6 significant digits, and all of those before the decimal point."""
    return f"{value:,.6g}" if abs(value) < 999_999.5 else f"{value:,.0f}"


def signed(value: float | None, digits: int) -> str:
    """Write a number with its sign; a dash for none."""
    return DASH if value is None else f"{value:+,.{digits}f}"


def percent(share: float | None, digits: int = 1) -> str:
    """Write a share of 1 as a percentage."""
    return DASH if share is None else f"{100 * share:.{digits}f} %"


def gain(percent_more: float | None) -> str:
    """Write a change in percent, where nothing is not below zero; a dash for none."""
    return DASH if percent_more is None else f"{round(percent_more, 1) + 0.0:+.1f} %"


def time_scale(nanoseconds: Iterable[float | None]) -> tuple[str, float]:
    """Choose a unit that suits the largest of these times: its name, and nanoseconds in one of it."""
    largest = max((value for value in nanoseconds if value is not None), default=0.0)
    if largest >= 10e6:
        return "ms", 1e6
    return ("us", 1e3) if largest >= 10e3 else ("ns", 1.0)


def spelled(category: str) -> str:
    """Write a category's name as words: `blocked_non_posted_data` is "blocked non-posted data"."""
    return category.replace("non_posted", "non-posted").replace("_", " ")


def shares_in_words(shares: Mapping[str, float], *, at_least: float = 0.0005, at_most: int = 6) -> str:
    """Write the largest shares first, like 'payload 83.9 %, header 7.9 %, ...'."""
    largest = sorted(shares.items(), key=lambda item: -item[1])
    shown = [(name, share) for name, share in largest if share >= at_least]
    text = [f"{spelled(name)} {percent(share)}" for name, share in shown[:at_most]]
    rest = sum(share for _, share in shown[at_most:])
    if rest >= at_least:
        text.append(f"other {percent(rest)}")
    return ", ".join(text) or DASH
