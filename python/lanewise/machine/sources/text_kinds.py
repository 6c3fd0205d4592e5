"""Kinds of text that hold a machine, and who reads them, in the order in which they are looked for.

What comes first tells more: lists before trees, trees before logs. `lspci -vvv` and its bytes are told by the
first lines of functions (`wrapping.HEADER`) and come before all of these; matrices go on top of any (`topo`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanewise.machine.sources import kernel_log, lshw, lspci_list, pciconf, tree

if TYPE_CHECKING:
    import re
    from collections.abc import Callable

    from lanewise.machine.assembly import Reading

    Reader = Callable[[list[str], Reading], object]

_KINDS: tuple[tuple[re.Pattern[str], Reader], ...] = (
    (pciconf.LOOKS_LIKE_PCICONF, pciconf.read),
    (lspci_list.LOOKS_LIKE_LIST, lspci_list.read),
    (lshw.LOOKS_LIKE_LSHW, lshw.read),
    (tree.LOOKS_LIKE_TREE, tree.read),
    (tree.LOOKS_LIKE_LINKS, tree.read_links),
    (kernel_log.LOOKS_LIKE_LOG, kernel_log.read),
)


def reader_of(text: str) -> Reader | None:
    """Return the reader of the first kind whose signs are in a text; None when there are none."""
    return next((reader for signs, reader in _KINDS if signs.search(text)), None)
