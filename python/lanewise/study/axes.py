"""What a study varies: each axis is one or more parameters and the values that they take in turn.

    ssd.count=1..24                        whole numbers
    sw0.latency=100 ns..400 ns:50 ns       in steps
    nic.tags=8..1024:*2                    each twice the one before
    sw0.latency=100 ns..400 ns:/7          so many, evenly spaced
    switch.sw0.ports.port0=gen4 x8,gen4 x16,gen5 x16
    a.count=1,2,4 & b.count=8,4,2          in step: the first with the first
    ssd.queues=1..8 if ssd.count=1,2       only where another axis has one of these values
    sw0.latency=100 ns..400 ns             of a sample, which takes what lies between

A range includes its end when a step meets it. Sums, products and units are reckoned exactly: 0.1 is a tenth.
What is written is exact for whole numbers and for up to 15 significant digits; of values that ``:/7`` spaces
evenly, those between the ends are rounded to 6 significant digits unless they are whole.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from lanewise.errors import InputError
from lanewise.quantity import kind_of, size_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


class AxisError(InputError):
    """An axis means nothing."""


MOST_VALUES = 100_000
"""Of one axis."""
_MOST_DIGITS = 40
_MOST_EXPONENT = 30
_MOST_BITS = 20_000
"""Of the exact numbers of a range that a factor makes: its digits grow with each value."""

_NUMBER = re.compile(
    r"(?P<number>[+-]?(?P<digits>[0-9]+(?:\.[0-9]+)?)(?:[eE][+-]?(?P<exponent>[0-9]+))?)"
    r"\s*(?P<unit>[A-Za-z\N{MICRO SIGN}\N{GREEK SMALL LETTER MU}/%]*)"
)
_PORT = re.compile(r"(?P<switch>[\w-]+)\.(?P<port>port\d+)")
_BASES = {"time": "ps", "bytes": "B", "rate": "B/s", "share": ""}


@dataclass(frozen=True)
class Axis:
    """Parameters that vary together, and what they take in turn."""

    paths: tuple[str, ...]
    """Dotted paths as `--set` takes them."""
    rows: tuple[tuple[str, ...], ...]
    """One row for each step: a value for each path."""
    only_if: tuple[str, tuple[str, ...]] | None = None
    """The path of another axis, and the values of it at which this one varies. None: at all."""
    between: tuple[tuple[str, str], ...] = ()
    """For each path the ends of its range; empty for lists. A sample takes values between them."""

    @property
    def name(self) -> str:
        """What tables call it."""
        return " & ".join(self.paths)

    @property
    def text(self) -> str:
        """It as people read it, which may not be how an axis is written: values may hold commas."""
        return f"{self.name}={', '.join(' & '.join(row) for row in self.rows)}"


def axis_of(path: str, values: Sequence[str]) -> Axis:
    """Return an axis of one parameter that takes these values, as they are: none of them is a range.

    AxisError for what is no path, no value at all, and too many.
    """
    if "." not in path:
        raise AxisError(f"'{path}' is not a path, which has at least two parts, like 'nic.tags'")
    if not values:
        raise AxisError(f"'{path}' has no values")
    if len(values) > MOST_VALUES:
        raise AxisError(f"'{path}' has more than {MOST_VALUES:,} values")
    for value in values:
        number_of(value)  # Refused here rather than when the table is made.
    return Axis((_full(path.strip()),), tuple((value,) for value in values))


def parse_axis(text: str, *, is_sampled: bool = False) -> Axis:
    """Read an axis; AxisError says what is wrong with it.

    Where it `is_sampled`, ranges need no step: a point lies anywhere between their ends.
    """
    body, condition = _split_condition(text)
    parts = [part.strip() for part in body.split(" & ")]
    paths, columns, ends = [], [], []
    for part in parts:
        path, equals, values = part.partition("=")
        if not (equals and path.strip() and values.strip()):
            raise AxisError(
                f"'{text}' is not an axis: write PATH=VALUES, like 'ssd.count=1..24' or 'nic.tags=64,256'"
            )
        if "." not in path:
            raise AxisError(
                f"'{text}' is not an axis: '{path.strip()}' is not a path, which has at least two parts, "
                "like "
                "'nic.tags'"
            )
        items = _items(values)
        paths.append(_full(path.strip()))
        ends.append(_ends(items))
        needs_no_step = is_sampled and ends[-1] is not None and ":" not in values
        columns.append(_two_ends(items[0]) if needs_no_step else list(_values(items, text)))
    between = tuple(pair for pair in ends if pair is not None)
    if is_sampled and len(between) == len(paths):
        # How many values there would be without the sample is nothing to it.
        columns = [list(pair) for pair in between]
    sizes = sorted({len(column) for column in columns})
    if len(sizes) > 1:
        counts = ", ".join(f"{path} {len(column)}" for path, column in zip(paths, columns, strict=True))
        raise AxisError(f"'{text}' joins lists of different lengths: {counts}")
    if len(set(paths)) < len(paths):
        raise AxisError(f"'{text}' has the same path twice")
    return Axis(
        tuple(paths),
        tuple(zip(*columns, strict=True)),
        condition,
        between if len(between) == len(paths) else (),
    )


def number_of(value: str) -> tuple[Fraction, str] | None:
    """Return a value as a number and its unit, exactly; None for what is no number.

    AxisError for more than 40 digits and for powers of ten beyond 30: nothing that is simulated needs them.
    """
    found = _NUMBER.fullmatch(value.strip())
    if found is None:
        return None
    exponent = (found["exponent"] or "0").lstrip("0")
    # Before anything is computed: a few letters can stand for a number of a billion digits.
    if len(found["digits"]) > _MOST_DIGITS or len(exponent) > 2 or int(exponent or 0) > _MOST_EXPONENT:
        shown = value.strip()
        shown = shown if len(shown) <= _MOST_DIGITS else f"{shown[:_MOST_DIGITS]}…"
        raise AxisError(
            f"'{shown}' is not a number of a study: "
            f"at most {_MOST_DIGITS} digits, and powers of ten from -{_MOST_EXPONENT} to {_MOST_EXPONENT}"
        )
    return Fraction(found["number"]), found["unit"]


def in_base_unit(value: str) -> tuple[Fraction, str] | None:
    """Return a value in ps, B, B/s, ones or its own unit, and that; None for what is no number."""
    found = number_of(value)
    if found is None:
        return None
    number, unit = found
    kind = kind_of(unit)
    return (number, unit) if kind is None else (number * size_of(unit), _BASES[kind])


def same_as(value: str) -> object:
    """Return what equal values have in common: 0.1 us and 100 ns are the same, and so are 2 and 2.0."""
    return in_base_unit(value) or value.strip()


def size_in_bytes(value: str) -> Fraction | None:
    """Return a size in bytes; None for what is none."""
    found = number_of(value)
    return found[0] * size_of(found[1]) if found is not None and kind_of(found[1]) == "bytes" else None


def written(number: Fraction, unit: str) -> str:
    """Write a number as people do, with its unit."""
    digits = str(number.numerator) if number.denominator == 1 else repr(float(number))
    return f"{digits} {unit}".rstrip()


def rounded(number: Fraction) -> Fraction:
    """Round to 6 significant digits; whole numbers stay as they are."""
    return number if number.denominator == 1 else Fraction(f"{float(number):.6g}")


def _split_condition(text: str) -> tuple[str, tuple[str, tuple[str, ...]] | None]:
    body, word, condition = text.rpartition(" if ")
    if not word:
        return text.strip(), None
    path, equals, values = condition.partition("=")
    if not (equals and path.strip() and values.strip()):
        raise AxisError(f"'{text}': after 'if' stands PATH=VALUES of another axis, like 'if ssd.count=1,2'")
    return body.strip(), (_full(path.strip()), tuple(_values(_items(values), text)))


def _full(path: str) -> str:
    """Return the path of a switch's port as a scenario has it."""
    found = _PORT.fullmatch(path)
    return path if found is None else f"switch.{found['switch']}.ports.{found['port']}"


def _items(text: str) -> list[str]:
    """Split at commas that are not inside of brackets or quotes."""
    items, depth, quoted = [""], 0, False
    for letter in text:
        quoted ^= letter == '"'
        depth += 0 if quoted else (letter in "[{") - (letter in "]}")
        if letter == "," and depth == 0 and not quoted:
            items.append("")
        else:
            items[-1] += letter
    return [item.strip() for item in items]


def _values(items: Sequence[str], text: str) -> Iterator[str]:
    count = 0
    for item in items:
        if not item:
            raise AxisError(f"'{text}' has a comma with nothing beside it")
        for value in _range(item) if _is_range(item) else [item]:
            count += 1
            if count > MOST_VALUES:
                raise AxisError(f"'{text}' has more than {MOST_VALUES:,} values")
            number_of(value)  # Refused here rather than when the table is made.
            yield value


def _is_range(item: str) -> bool:
    first, dots, _ = item.partition("..")
    return bool(dots) and number_of(first) is not None


def _ends(items: Sequence[str]) -> tuple[str, str] | None:
    if len(items) != 1 or not _is_range(items[0]):
        return None
    first, _, rest = items[0].partition("..")
    last = rest.partition(":")[0]
    unit = (number_of(last) or (0, ""))[1]
    start = number_of(first)
    assert start is not None
    return written(start[0], start[1] or unit), last.strip()


def _range(item: str) -> Iterator[str]:
    """Go from the first to the last: by one, by a step, by a factor, or so many evenly spaced."""
    low, high, unit, how = _bounds(item)
    if how.startswith("*"):
        yield from _by_factor(low, high, unit, how, item)
    elif how.startswith("/"):
        yield from _evenly(low, high, unit, how, item)
    else:
        yield from _by_step(low, high, unit, how, item)


def _two_ends(item: str) -> list[str]:
    low, high, unit, _ = _bounds(item)
    return [written(low, unit), written(high, unit)]


def _bounds(item: str) -> tuple[Fraction, Fraction, str, str]:
    """Return the ends of a range, their unit, and how it goes from the one to the other."""
    first, _, rest = item.partition("..")
    last, _, how = rest.partition(":")
    start, stop = number_of(first), number_of(last)
    if start is None or stop is None:
        raise AxisError(f"'{item}' is no range: write FIRST..LAST, like '1..24' or '100 ns..400 ns:50 ns'")
    unit = start[1] or stop[1]
    low, high = start[0], _in(stop, unit, item)
    if high < low:
        raise AxisError(f"'{item}' ends before it begins")
    return low, high, unit, how.strip()


def _in(value: tuple[Fraction, str], unit: str, item: str) -> Fraction:
    number, own = value
    if own in ("", unit):
        return number
    if kind_of(unit) is not None and kind_of(own) == kind_of(unit):
        return number * size_of(own) / size_of(unit)
    raise AxisError(f"'{item}' mixes the units '{unit}' and '{own}'")


def _by_step(low: Fraction, high: Fraction, unit: str, how: str, item: str) -> Iterator[str]:
    step = Fraction(1)
    if how:
        found = number_of(how)
        if found is None or found[0] <= 0:
            raise AxisError(f"'{item}': a step is a number above zero, like ':50 ns', ':*2' or ':/7'")
        step = _in(found, unit, item)
    elif low.denominator != 1 or unit:
        step_of_unit = f"50 {unit}" if unit else "0.1"
        raise AxisError(f"'{item}' needs a step, like '{item}:{step_of_unit}', '{item}:*2' or '{item}:/7'")
    while low <= high:
        yield written(low, unit)
        low += step


def _by_factor(low: Fraction, high: Fraction, unit: str, how: str, item: str) -> Iterator[str]:
    found = number_of(how[1:])
    if found is None or found[1] or found[0] <= 1 or low <= 0:
        raise AxisError(
            f"'{item}': a factor is a number above one, like ':*2', and the range begins above zero"
        )
    while low <= high:
        yield written(low, unit)
        low *= found[0]
        if low.denominator.bit_length() > _MOST_BITS:
            raise AxisError(f"'{item}': the factor has too many digits for so many values")


def _evenly(low: Fraction, high: Fraction, unit: str, how: str, item: str) -> Iterator[str]:
    text = how[1:].strip()
    if not text.isdecimal() or not 2 <= int(text) <= MOST_VALUES:
        raise AxisError(f"'{item}': after '/' stands how many values, 2 or more, like ':/7'")
    count = int(text)
    for index in range(count):
        value = low + (high - low) * index / (count - 1)
        yield written(value if index in (0, count - 1) else rounded(value), unit)
