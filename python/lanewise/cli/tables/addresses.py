"""Bus numbers, windows and BARs of a scenario, as firmware gives them, in the form of `lspci -v`."""

from __future__ import annotations

from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING

from lanewise.cli.tables.patterns import is_like, nothing_like
from lanewise.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lanewise.documents import AddressedFunction, Region, Window
    from lanewise.results import ExplainResult

_UNITS = "KMGT"


def addresses(result: ExplainResult, patterns: Sequence[str] = ()) -> list[str]:
    """Return the lines: each function by its number, with what lspci shows of its header.

    With patterns, which are those of a shell, only functions whose name, or device's name, is like one of
    them; InputError when none is. Several hosts have a heading each; segments are left out where there is
    only 0, as lspci does.
    """
    functions = [row for row in result.document["functions"] if _is_meant(row["name"], patterns)]
    if patterns and not functions:
        names = (row["name"].partition(".")[0] for row in result.document["functions"])
        raise InputError(nothing_like("port or device", names, patterns))
    all_zero = all(row["address"].startswith("0000:") for row in functions)
    hosts = [list(group) for _, group in groupby(functions, key=itemgetter("host"))]
    lines = []
    for of_host in hosts:
        if len(hosts) > 1:
            lines.append(f"{of_host[0]['host']}:")
        for row in of_host:
            number = row["address"].removeprefix("0000:") if all_zero else row["address"]
            lines.append(f"{number} {_title(row)}")
            lines.extend(f"\t{line}" for line in _header(row))
    return lines


def _title(row: AddressedFunction) -> str:
    return (
        f"Endpoint: {row['name']}"
        if row["kind"] == "endpoint"
        else f"PCI bridge: {row['name']} ({row['kind']})"
    )


def _header(row: AddressedFunction) -> Iterator[str]:
    primary = row["address"].split(":")[1]
    secondary, subordinate = row["secondary_bus"], row["subordinate_bus"]
    if secondary is not None and subordinate is not None:
        below = f"secondary={secondary:02x}, subordinate={subordinate:02x}"
        yield f"Bus: primary={primary}, {below}, sec-latency=0"
        yield f"Memory behind bridge: {_behind(row['memory'], 8)} [32-bit]"
        yield f"Prefetchable memory behind bridge: {_behind(row['prefetchable'], 16)} [64-bit]"
    yield from map(_region, row["regions"])


def _behind(window: Window | None, digits: int) -> str:
    if window is None:
        return "[disabled]"
    start, size = int(window["start"], 16), window["size_bytes"]
    return f"{start:0{digits}x}-{start + size - 1:0{digits}x} [size={_size(size)}]"


def _region(region: Region) -> str:
    kind = "64-bit, prefetchable" if region["bits"] == 64 else "32-bit, non-prefetchable"
    start = int(region["start"], 16)
    return f"Region {region['number']}: Memory at {start:08x} ({kind}) [size={_size(region['size_bytes'])}]"


def _size(size: int) -> str:
    """Return a size as lspci writes it: in the largest unit of which it is a whole number."""
    unit = ""
    for larger in _UNITS:
        if size % 1024:
            break
        size, unit = size // 1024, larger
    return f"{size}{unit}"


def _is_meant(name: str, patterns: Sequence[str]) -> bool:
    device = name.partition(".")[0]
    texts = (name, device, device.partition("[")[0])
    return not patterns or any(is_like(text, pattern) for text in texts for pattern in patterns)
