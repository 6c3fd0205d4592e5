"""XML elements as they come, without a tree in memory: for hwloc and NCCL files.

Refuses entity definitions, which can grow a small file to any size; keeps what was read before a file breaks
off.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.parsers import expat

from lanewise.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from lanewise.machine.assembly import Reading

_MOST_DEPTH = 256
_MOST_TEXT = 1 << 20
"""Bytes that expat gathers before it hands over text: rows of a matrix are some hundreds."""


def parse(
    data: bytes,
    start: Callable[[str, dict[str, str]], None],
    end: Callable[[str], None],
    into: Reading,
    *,
    text: Callable[[str], None] | None = None,
) -> None:
    """Call `start` and `end` for every element, `text` for every run of text in between.

    A broken file is read up to where it breaks, and noted.
    """
    parser = expat.ParserCreate()
    depth = 0

    def on_start(name: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > _MOST_DEPTH:
            raise InputError(f"the XML is nested deeper than {_MOST_DEPTH} levels, which no topology is")
        start(name, attributes)

    def on_end(name: str) -> None:
        nonlocal depth
        depth -= 1
        end(name)

    def refuse(*_: object) -> None:
        raise InputError("the XML defines entities, which topology files never do; it was not read")

    parser.StartElementHandler = on_start
    parser.EndElementHandler = on_end
    parser.EntityDeclHandler = refuse
    if text is not None:
        parser.buffer_text = True
        parser.buffer_size = _MOST_TEXT
        parser.CharacterDataHandler = text
    try:
        # As text, so that no encoding that the file claims is looked for: these are in ASCII, names apart.
        parser.Parse(data.decode("utf-8", "replace"), True)
    except expat.ExpatError as error:
        into.note_end(f"the XML is incomplete or damaged: {error}; everything before that was read")
