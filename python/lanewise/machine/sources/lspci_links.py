"""Addresses with the link lines of `lspci` behind or below them: what a loop over devices leaves of a dump.

``for d in ...; do echo $d; lspci -vv -s $d | grep Lnk; done`` prints an address on a line of its own, or
before the first line about the link; so does a command (``$ lspci -vv -s 1f:00.0 | grep Lnk``). What the
device is stands nowhere; a tree of ``lspci -t`` in the same text says where it is. An address that comes
again begins another capture. Source: forms found in threads; the lines are those of ``lspci``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lanewise.machine.address import Address
from lanewise.machine.draft import Draft
from lanewise.machine.sources import tree
from lanewise.machine.sources.captures import merge
from lanewise.machine.sources.lspci_text.block import BlockReader
from lanewise.machine.sources.wrapping import FUNCTION

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lanewise.machine.assembly import Reading

_NAMED = (
    rf"(?:[^\n:]{{0,30}}?|[^\n]{{0,60}}?\blspci [^\n|]{{0,40}}?)(?<![\w:.])({FUNCTION})"
    r"(?:[ \t:=*#)\]-]{0,12}|[ \t][^\n|]{0,40}\|[^\n]{0,80}|[ \t]{1,4}[#(][^\n]{0,80})"
)
"""An address, with a few words before it; or a command about one, whose output goes to another, or with a
comment."""
_LINE = re.compile(rf"{_NAMED}(?:(Lnk(?:Cap|Sta):.*)|$)")
LOOKS_LIKE = re.compile(
    rf"^{_NAMED}(?:(?:\n{{1,2}}[ \t>|]{{0,40}})?Lnk(?:Cap|Sta):"
    r"|\n[ \t>|]{1,40}(?:Capabilities: \[|Control: I/O|Subsystem: |Region \d: ))",
    re.MULTILINE,
)
"""An address, and a line about its link, or one that `lspci` prints first of a function."""


def read(lines: Sequence[str], into: Reading) -> None:
    """Read all addresses that have lines about a link."""
    captures: list[dict[Address, Draft]] = [{}]
    block: BlockReader | None = None
    beside_tree = tree.LOOKS_LIKE_TREE.search("\n".join(lines)) is not None
    if beside_tree:
        tree.read(lines, into, alone=False)
    for number, line in enumerate(lines, start=1):
        named, text = _LINE.match(line), line
        if named is not None:
            _keep(block, captures)
            block, text = BlockReader(Draft(Address.parse(named[1]))), named[2] or ""
        if not text.strip():
            continue
        if block is None:
            if not beside_tree:
                into.not_understood(number, line)
        elif not block.take_key(text):
            block.take(text, number, into)
    _keep(block, captures)
    merge(captures, into, excerpts=True)
    into.kinds.append("links of lspci")


def _keep(block: BlockReader | None, captures: list[dict[Address, Draft]]) -> None:
    if block is None:
        return
    block.finish()
    if block.draft.link:
        if block.draft.address in captures[-1]:
            captures.append({})
        captures[-1][block.draft.address] = block.draft
