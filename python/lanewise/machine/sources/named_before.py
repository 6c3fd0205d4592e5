"""Of which device lines of a text are that name none themselves: of the one that was named last.

People print a device, or the name of one as a heading or in the prompt of their shell, and what they found
of it below. A list of several devices names none of them; nor does a line of a kernel log.
"""

from __future__ import annotations

import re

from lanewise.machine.address import Address
from lanewise.machine.sources.log_stamps import has_stamp
from lanewise.machine.sources.wrapping import HEADER

_ADDRESS = re.compile(
    r"(?<![\w.:])(?:[0-9a-fA-F]{4,8}\\?:)?[0-9a-fA-F]{2}\\?:[01][0-9a-fA-F]\.[0-7](?![\w.])"
)
_LISTING = re.compile(r"\blspci\b")


class NamedBefore:
    """Follows a text line by line."""

    def __init__(self) -> None:
        """Start before the first line."""
        self._named: Address | None = None
        self._listed: set[Address] = set()
        self._is_told_of = False

    def tell(self) -> Address | None:
        """Return the device that was named last; None where none was, or several in one list.

        What is listed after this is another list.
        """
        self._is_told_of = True
        return self._named or (next(iter(self._listed)) if len(self._listed) == 1 else None)

    def _begin(self) -> None:
        self._named, self._listed, self._is_told_of = None, set(), False

    def take(self, line: str) -> None:
        """Take the next line."""
        found = [Address.parse(text.replace("\\", "")) for text in _ADDRESS.findall(line)]
        if _LISTING.search(line):
            self._begin()
        if not found or has_stamp(line):
            return
        header = HEADER.match(line)
        if header is not None:
            # Of what `lspci -PP` prints, the last is the function; those before are bridges above it.
            self._list(Address.parse(header[1].rpartition("/")[2]))
        elif len(set(found)) == 1 or "/" in line:
            self._named, self._listed = found[-1], set()

    def _list(self, address: Address) -> None:
        if self._is_told_of and self._named != address:
            self._begin()
        if self._named is not None and self._named != address:
            self._listed, self._named = {self._named}, None
        if self._named is None:
            self._listed.add(address)
