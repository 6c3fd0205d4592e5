"""Several block sizes of a job, as fio 3.33 reads them and the core takes them.

    bsrange=4k-16k             "4096 B to 16384 B"
    bssplit=4k/60:64k/40       "4096 B 60 %, 65536 B 40 %"

Sizes of a split that have no share divide what is left. fio looks a size up in the order of shares, so the
one with the largest takes what is missing to a hundred, and loses what is above.
"""

from __future__ import annotations

from lanewise.errors import InputError
from lanewise.tools.job_file.numbers import number

_MOST_SIZES = 64


class NoSizesError(InputError):
    """A value says no sizes."""

    def __init__(self, message: str, hint: str) -> None:
        """Say what is wrong, and what is right."""
        super().__init__(message)
        self.hint = hint


def bsrange(text: str, kb_base: int) -> str:
    """Return the range that a value of `bsrange` means for one direction."""
    parts = text.replace(":", "-").split("-")
    sizes = [number(part.strip(), kb_base) for part in parts]
    ends = sorted(size for size in sizes if size is not None)
    if len(sizes) != 2 or len(ends) != 2:
        raise NoSizesError("two sizes are needed", "the smallest and the largest, such as 4k-64k")
    return f"{ends[0]} B to {ends[1]} B"


def bssplit(text: str, kb_base: int) -> str:
    """Return the sizes with their shares that a value of `bssplit` means for one direction."""
    parts = [_part(part.strip(), kb_base) for part in text.split(":")]
    if len(parts) > _MOST_SIZES:
        raise NoSizesError(f"{len(parts)} sizes", f"fio takes {_MOST_SIZES}")
    given = sum(share for _, share in parts if share is not None)
    blank = sum(share is None for _, share in parts)
    if blank and given >= 100:
        raise NoSizesError("nothing is left for a size without a share", "shares below 100 in all")
    rest = (100 - given) // max(1, blank)
    shares = [(size, rest if share is None else share) for size, share in parts]
    return ", ".join(f"{size} B {share} %" for size, share in _made_a_hundred(shares))


def _part(text: str, kb_base: int) -> tuple[int, int | None]:
    """Read one size and its share in percent; None for a share that is left blank."""
    size_text, _, share_text = text.partition("/")
    size = number(size_text.strip(), kb_base)
    share_text = share_text.strip().removesuffix("%")
    if size is None or not (share_text == "" or (share_text.isascii() and share_text.isdigit())):
        raise NoSizesError(f"`{text}` is no size with a share", "such as 4k/60:64k/40")
    share = int(share_text) if share_text else None
    if share is not None and not 1 <= share <= 100:
        raise NoSizesError(f"a share of {share} %", "leave out sizes that never come, and share 100 at most")
    return size, share


def _made_a_hundred(shares: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Cut what is above a hundred, and give what is missing to the largest share, as looking it up does."""
    left = 100
    made = []
    ascending = sorted(shares, key=lambda part: part[1])
    for position, (size, share) in enumerate(ascending, start=1):
        taken = left if position == len(ascending) else min(share, left)
        if taken > 0:
            made.append((size, taken))
        left -= taken
    return made
