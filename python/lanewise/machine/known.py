"""Which catalog part a device is, by what it is called and by its numbers.

Parts say how devices call themselves (`known_as`), in a regular expression over the numbers and one of the
names: ``10de:2204 GA102 [GeForce RTX 3090]``. A name that could be two parts is neither.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from lanewise.machine.function import Function


def known_as(function: Function, names: Iterable[str | None], parts: Mapping[str, str]) -> str | None:
    """Return the part that the first telling name means; None when none does."""
    identity = function.identity
    numbers = ":".join(
        "" if number is None else f"{number:04x}" for number in (identity.vendor_id, identity.device_id)
    )
    for name in names:
        text = f"{numbers} {name or ''}"
        found = [part for part, words in parts.items() if re.search(words, text, re.IGNORECASE)]
        if len(found) == 1:
            return found[0]
    return None
