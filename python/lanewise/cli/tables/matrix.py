"""Copies between devices: who is who, one way, both ways, latency."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from lanewise.cli.tables import style
from lanewise.cli.tables.square import SAME, square
from lanewise.tools.instruments.copy_matrices import both_writes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rich.console import Group, RenderableType

    from lanewise.runs.copy_matrix import Copies, CopyMatrix


def print_matrix(matrix: CopyMatrix) -> None:
    """Print the devices, and a matrix for each thing that was measured."""
    style.emit(*_pieces(matrix))


def _pieces(matrix: CopyMatrix) -> Iterator[RenderableType]:
    yield Text(matrix.title, style="bold")
    yield ""
    yield _devices(matrix)
    yield from _square(matrix, "Writes", "GB/s, from the row to the column", lambda pair: pair.write_gb_per_s)
    yield from _square(matrix, "Reads", "GB/s, from the column to the row", lambda pair: pair.read_gb_per_s)
    yield from _square(matrix, "Both ways", "GB/s, writes of both together", both_writes)
    yield from _square(
        matrix,
        "Latency",
        f"us of a write of 16 B, {matrix.queued_start} of it before its first request",
        lambda pair: pair.latency_us,
        digits=2,
    )
    yield from _blocked(matrix)


def _blocked(matrix: CopyMatrix) -> Iterator[str]:
    """Say of pairs that cannot copy what is in the way, of the first of them with its names."""
    if matrix.blocked:
        count = style.counted(len(matrix.blocked), "pair")
        yield f"{style.DASH}: {count} cannot copy directly: {matrix.blocked[0].why}."


def _devices(matrix: CopyMatrix) -> Group:
    table = style.table()
    style.labels(table, "\n", "\naddress", "\ndevice")
    style.numbers(table, "from host\nGB/s", "to host\nGB/s")
    for each in matrix.devices:
        table.add_row(
            str(each.number),
            each.address,
            Text(each.name),
            style.fixed(each.to_device_gb_per_s, 1),
            style.fixed(each.to_host_gb_per_s, 1),
        )
    alike = f"{len(matrix.copies)} pairs of {matrix.kinds} kind{'' if matrix.kinds == 1 else 's'}"
    return style.titled("Devices", table, note=f"{alike}; {style.GB_PER_S}")


def _square(
    matrix: CopyMatrix, title: str, note: str, figure: Callable[[Copies], float], digits: int = 1
) -> Iterator[RenderableType]:
    pairs = {(pair.first, pair.second): pair for pair in matrix.copies}
    names = [str(each.number) for each in matrix.devices]

    def cell(row: int, column: int) -> str:
        pair = pairs.get((row, column))
        return SAME if row == column else style.fixed(None if pair is None else figure(pair), digits)

    yield from square(title, note, names, names, cell)
