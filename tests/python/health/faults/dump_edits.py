"""Changes a dump as a fault would: words of `lspci`, bytes of a hexadecimal dump, files of a sysfs.

Every change must find its place: a pattern that is nowhere in the dump is an error.
"""

from __future__ import annotations

import io
import re
import tarfile
from collections.abc import Callable

Edit = Callable[[bytes], bytes]

_PATH = r"(?:[0-9a-f]{4,8}:)?(?:(?:[0-9a-f]{2}:)?[0-9a-f]{2}\.[0-7]/)*"
"""What may stand before an address: its domain, and the bridges above it (`lspci -PP`)."""
_HEX_ROW = re.compile(r"^([0-9a-f]{2,3}):((?: [0-9a-f]{2}){16})[ \t]*$", re.MULTILINE)
_HEADER = re.compile(rf"^{_PATH}[0-9a-f]{{2}}:[0-9a-f]{{2}}\.[0-7][ \t]", re.MULTILINE)

EXPRESS, AER = 0x10, 0x0001
"""Capability IDs (PCIe Base 5.0, 7.5.3.1 and 7.8.4.1)."""


def together(*edits: Edit) -> Edit:
    """Make one fault of several changes, as a link has two ends."""

    def edit(dump: bytes) -> bytes:
        for one in edits:
            dump = one(dump)
        return dump

    return edit


def _on_text(change: Callable[[str], str]) -> Edit:
    def edit(dump: bytes) -> bytes:
        return change(dump.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")

    return edit


def _span(text: str, bdf: str) -> tuple[int, int]:
    """Return where the lines about a function begin and end."""
    first = re.search(rf"^{_PATH}{re.escape(bdf)}[ \t]", text, re.MULTILINE)
    assert first is not None, f"no {bdf} in the dump"
    after = _HEADER.search(text, first.end())
    return first.start(), after.start() if after else len(text)


def words(bdf: str, pattern: str, instead: str, *, count: int = 0) -> Edit:
    """Replace words of one function; `count` is how often, 0 for wherever they are."""

    def change(text: str) -> str:
        start, end = _span(text, bdf)
        changed, times = re.subn(pattern, instead, text[start:end], count=count, flags=re.MULTILINE)
        assert times, f"no {pattern!r} at {bdf}"
        return text[:start] + changed + text[end:]

    return _on_text(change)


def whole(bdf: str, instead: Callable[[str], str]) -> Edit:
    """Replace all that a dump says of one function, made from its first line."""

    def change(text: str) -> str:
        start, end = _span(text, bdf)
        return text[:start] + instead(text[start:end]) + text[end:]

    return _on_text(change)


def gone(bdf: str) -> Edit:
    """Take a function out of the dump."""
    return whole(bdf, lambda block: "")


def line_after(text: str) -> Edit:
    """Put lines of a kernel log behind the dump."""
    return _on_text(lambda dump: f"{dump}\n{text}\n")


def only_hex(dump: bytes) -> bytes:
    """Keep first lines and bytes of a dump that has words, too: what `lspci -xxxx` alone would print."""
    lines = dump.decode("utf-8", "surrogateescape").splitlines()
    kept = [line for line in lines if not line or _HEADER.match(line) or _HEX_ROW.match(line)]
    return ("\n".join(kept) + "\n").encode("utf-8", "surrogateescape")


def only_words(dump: bytes) -> bytes:
    """Leave the bytes of a dump out that has words, too."""
    lines = dump.decode("utf-8", "surrogateescape").splitlines()
    return ("\n".join(line for line in lines if not _HEX_ROW.match(line)) + "\n").encode(
        "utf-8", "surrogateescape"
    )


def memory_of(block: str) -> bytearray:
    """Return the configuration space of a function from its rows."""
    rows = {int(at, 16): bytes.fromhex(row) for at, row in _HEX_ROW.findall(block)}
    space = bytearray(max(rows) + 16)
    for at, row in rows.items():
        space[at : at + 16] = row
    return space


def place_of(space: bytearray, capability: int) -> int:
    """Walk the list of capabilities, or of extended ones from 0x100 on, to the one with an ID."""
    if capability == AER:
        at = 0x100
        while at and len(space) > at:
            header = int.from_bytes(space[at : at + 4], "little")
            if header & 0xFFFF == capability:
                return at
            at = header >> 20
    else:
        at = space[0x34]
        while at:
            if space[at] == capability:
                return at
            at = space[at + 1]
    raise AssertionError(f"no capability {capability:#x}")


def registers(bdf: str, capability: int, offset: int, clear: int, to: int, size: int = 2) -> Edit:
    """Set bits of a register in bytes: those of `clear` become those of `to`."""

    def instead(block: str) -> str:
        space = memory_of(block)
        at = place_of(space, capability) + offset
        old = int.from_bytes(space[at : at + size], "little")
        space[at : at + size] = (old & ~clear | to).to_bytes(size, "little")
        return _HEX_ROW.sub(
            lambda row: f"{row[1]}: " + space[int(row[1], 16) :][:16].hex(" "),
            block,
        )

    return whole(bdf, instead)


def ones(bdf: str) -> Edit:
    """Let a function answer with ones in bytes, as `lspci -xxx` shows it."""

    def instead(block: str) -> str:
        rows = "".join(f"{at:02x}: {' '.join(['ff'] * 16)}\n" for at in range(0, 64, 16))
        first = re.sub(r" \(rev \w+\)| \(prog-if .*", "", block.partition("\n")[0])
        return f"{first} (rev ff)\n{rows}\n"

    return whole(bdf, instead)


def files(**contents: str | bytes) -> Callable[[str], Edit]:
    """Write files of one function in a sysfs that is packed as tar; those that are missing are added."""

    def of(bdf: str) -> Edit:
        def edit(dump: bytes) -> bytes:
            return _repacked(dump, bdf, contents)

        return edit

    return of


def _repacked(dump: bytes, bdf: str, contents: dict[str, str | bytes]) -> bytes:
    out = io.BytesIO()
    left = dict(contents)
    with tarfile.open(fileobj=io.BytesIO(dump)) as old, tarfile.open(fileobj=out, mode="w") as new:
        members = old.getmembers()
        folder = next(
            m.name for m in members if m.isdir() and m.name.endswith(f"/0000:{bdf}") and "pci0000" in m.name
        )
        for member in members:
            where, _, name = member.name.rpartition("/")
            if where == folder and name in left:
                continue
            new.addfile(member, old.extractfile(member) if member.isfile() else None)
        for name, content in left.items():
            data = content if isinstance(content, bytes) else content.encode()
            member = tarfile.TarInfo(f"{folder}/{name}")
            member.size = len(data)
            new.addfile(member, io.BytesIO(data))
    return out.getvalue()
