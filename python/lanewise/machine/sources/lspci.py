"""`lspci` output: lists, `-v` to `-vvv` text, `-xxx` and `-xxxx` hexadecimal dumps, and both in one file.

Finds the functions and cuts the file into one block each; `lspci_text` reads the words of a block and
`config_space` its bytes. Accepts every pciutils since 3.1, with and without `-n`, `-nn`, `-D`, `-PP`, and
what happens to such text on its way: Markdown fences, quotes, blanks for tabs, shell prompts, messages in
between, several captures in one file. Source: pciutils, ``lspci.c`` (headers, hexadecimal rows) of 3.1.7,
3.9.0 and 3.13.0, read for the wording only.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lanewise.machine import config_space
from lanewise.machine.address import Address
from lanewise.machine.draft import Draft
from lanewise.machine.sources.lspci_text.block import BlockReader

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lanewise.machine.draft import Reading

_FUNCTION = r"(?:[0-9a-fA-F]{4,8}:)?[0-9a-fA-F]{2}:[01][0-9a-fA-F]\.[0-7]"
HEADER = re.compile(
    rf"^[ \t>|]{{0,8}}((?:{_FUNCTION}/){{0,12}}{_FUNCTION})[ \t]+"
    r"(?:([0-9a-fA-F]{4}): ([0-9a-fA-F]{4}):([0-9a-fA-F]{4})|([^\s:][^:]{1,80}): (.*\S))(.*)$",
    re.MULTILINE,
)
"""The first line of a function: path and address, then class and IDs in numbers, or both in words."""
HEX_ROW = re.compile(r"^[ \t>]{0,8}([0-9a-f]{2,3}): ?((?:[0-9a-f]{2}(?: |$)){1,16})(.*)$")
_MORE_HEX = re.compile(r"^[ \t>]{0,8}((?:[0-9a-f]{2}(?: |$)){1,15})$")
_NUMBERS = re.compile(r"\[([0-9a-fA-F]{4})\]$")
_IDS = re.compile(r"\[([0-9a-fA-F]{4}):([0-9a-fA-F]{4})\]")
_REVISION = re.compile(r" \(rev ([0-9a-fA-F]{2})\)")
_INTERFACE = re.compile(r" \(prog-if ([0-9a-fA-F]{2})")
_TAIL = re.compile(r" \((?:rev|prog-if) .*$")


def read(lines: Sequence[str], into: Reading) -> None:
    """Read all functions in a text; raises nothing, whatever the text is."""
    block: _Block | None = None
    seen_text = seen_hex = False
    for number, line in enumerate(lines, start=1):
        header = HEADER.match(line) if _may_be_header(line) else None
        if header is not None:
            if block is not None:
                block.finish(into)
            block = _Block(header, into)
        elif block is None:
            if line.strip() and not _is_wrapping(line):
                into.not_understood(number, line)
        elif block.take_hex(line):
            seen_hex = True
        elif not _is_wrapping(line):
            seen_text |= block.words.take(line, number, into)
    if block is not None:
        block.finish(into)
    into.kinds.append(f"lspci {' and '.join(_kinds(seen_text, seen_hex))}")


def _kinds(seen_text: bool, seen_hex: bool) -> list[str]:
    kinds = ["text"] if seen_text else []
    if seen_hex:
        kinds.append("hex")
    return kinds or ["list"]


def _may_be_header(line: str) -> bool:
    """Whether a dot and a colon are where an address has them: spares most lines a regular expression."""
    return ":" in line[:20] and "." in line[:24]


def _is_wrapping(line: str) -> bool:
    """Whether a line belongs to what the text was wrapped in: fences, prompts, rules."""
    text = line.strip(" \t>|")
    return not text or text.startswith(("```", "~~~", "$ ", "# ", "---", "===", "%")) or "lspci -" in text


class _Block:
    """What is printed of one function: words and bytes."""

    def __init__(self, header: re.Match[str], into: Reading) -> None:
        path = [Address.parse(part) for part in header[1].split("/")]
        if path[0].domain:
            # `-PP` names the domain only once.
            path = [part._replace(domain=path[0].domain) for part in path]
        self.draft = Draft(path[-1])
        self.draft.path = tuple(path[:-1])
        self.bytes = bytearray()
        self.missing = 0
        self.words = BlockReader(self.draft)
        if path[-1] in into.drafts:
            into.note("some functions occur twice: several captures in one file, read as one machine")
        _name(header, self.draft)

    def take_hex(self, line: str) -> bool:
        """Take a row of bytes; also one that a message interrupted, and the rest of it on the next line."""
        if self.missing:
            rest = _MORE_HEX.match(line)
            if rest is not None:
                self._append(rest[1])
                return True
            self.missing = 0
        row = HEX_ROW.match(line) if ":" in line.lstrip(" \t>")[2:4] else None
        if row is None:
            return False
        offset = int(row[1], 16)
        if offset == len(self.bytes):
            self.missing = 16
            self._append(row[2])
        return True

    def _append(self, pairs: str) -> None:
        found = bytes.fromhex(pairs)[: self.missing]
        self.bytes += found
        self.missing -= len(found)

    def finish(self, into: Reading) -> None:
        """Decode the bytes, let the words count where both speak, and hand over."""
        self.words.finish()
        if self.bytes:
            decoded = Draft(self.draft.address)
            config_space.decode(bytes(self.bytes), decoded)
            if self.words.denied:
                self.draft.registers.pop("express", None)
            self.draft.fill_from(decoded)
        if self.words.denied and not self.bytes:
            into.note("capabilities could not be read (<access denied>): capture as root to see links")
        into.add(self.draft)


def _name(header: re.Match[str], draft: Draft) -> None:
    """Read class, vendor, device, revision and interface from the first line."""
    identity = draft.identity
    tail = header[0][header.end(1) - header.start() :]
    revision, interface = _REVISION.search(tail), _INTERFACE.search(tail)
    if revision:
        identity["revision"] = int(revision[1], 16)
    prog_if = int(interface[1], 16) if interface else 0
    if header[2]:
        identity["class_code"] = int(header[2], 16) << 8 | prog_if
        identity["vendor_id"], identity["device_id"] = int(header[3], 16), int(header[4], 16)
        return
    class_name, name = header[5].strip(), _TAIL.sub("", header[6])
    code = _NUMBERS.search(class_name)
    if code:
        identity["class_code"] = int(code[1], 16) << 8 | prog_if
        class_name = class_name[: code.start()].strip()
    elif interface:
        draft.interface = prog_if
    ids = _IDS.search(name, max(0, name.rfind("[")))
    if ids is not None:
        identity["vendor_id"], identity["device_id"] = int(ids[1], 16), int(ids[2], 16)
        name = name[: ids.start()].strip()
    identity["class_name"] = class_name
    identity["device_name"] = name
