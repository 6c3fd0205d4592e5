"""What one reading may use, shared by all readers that it goes through, however they are nested.

An archive in a mail holds compressed files, of which each may unpack to a thousand times its size; a bound of
each reader's own would multiply. What is used up anywhere is used up for all, and then the reading ends with
an error that says what was too much. Time needs no bound of its own: every reader's grows with bytes and
lines (docs/adr/0013).
"""

from __future__ import annotations

from dataclasses import dataclass

from lanewise.errors import InputError

MOST_UNPACKED = 1 << 30
"""Bytes that may come out of decompressors, most of them passed over: bug reports have hundreds of MB."""
MOST_KEPT = 96 << 20
"""Bytes of those that may be in memory at once."""
MOST_TEXT = 24 << 20
"""Bytes of text that readers are given. Assumed: the longest bug reports seen have some millions."""
MOST_LINES = 1_000_000
MOST_MEMBERS = 1_000_000
"""Files in archives."""


class UsedUpError(InputError):
    """A reading has used up what it may."""


@dataclass
class Budget:
    """What is left of it."""

    unpacked: int = MOST_UNPACKED
    kept: int = MOST_KEPT
    text: int = MOST_TEXT
    lines: int = MOST_LINES
    members: int = MOST_MEMBERS

    def unpack(self, size: int) -> None:
        """Spend bytes that a decompressor delivered."""
        self.unpacked -= size
        if self.unpacked < 0:
            raise UsedUpError(f"it unpacks to more than {MOST_UNPACKED >> 30} GiB in all")

    def keep(self, size: int) -> None:
        """Spend bytes that stay in memory."""
        self.kept -= size
        if self.kept < 0:
            raise UsedUpError(f"it unpacks to more than {MOST_KEPT >> 20} MiB that would have to be read")

    def member(self) -> None:
        """Spend a file of an archive."""
        self.members -= 1
        if self.members < 0:
            raise UsedUpError(f"its archives have more than {MOST_MEMBERS:,} members")

    def read(self, size: int, lines: int) -> None:
        """Spend bytes and lines of a text that a reader is given."""
        self.text -= size
        if self.text < 0:
            raise UsedUpError(
                f"it has more than {MOST_TEXT >> 20} MiB of text, which no dump of a machine has; "
                "cut out what lspci printed"
            )
        self.lines -= lines
        if self.lines < 0:
            raise UsedUpError(f"it has more than {MOST_LINES:,} lines, which no dump of a machine has")
