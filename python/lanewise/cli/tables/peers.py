"""Pairs of devices: matrices with a row for each device and a column for each GPU, and what they come to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from lanewise.cli.tables import style
from lanewise.cli.tables.predict import measured_elsewhere
from lanewise.cli.tables.square import SAME, square
from lanewise.grouping import grouped, same_number
from lanewise.machine.path_type import PathType

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator

    from rich.console import Group, RenderableType

    from lanewise.health.predict.pairs import Pair
    from lanewise.health.predict.peers_result import PeerDevice, PeerPrediction

_MOST_NAMES = 4


def print_peers(peers: PeerPrediction) -> None:
    """Print devices, matrices, what redirection costs, and which adapter is for which GPU."""
    style.emit(*_pieces(peers))


def _pieces(peers: PeerPrediction) -> Iterator[RenderableType]:
    yield style.heading(peers.source or "this machine", style.GB_PER_S)
    for change in peers.changes:
        yield Text(f"What if: {change}")
    yield ""
    yield _devices(peers)
    yield from _matrices(peers)
    joined = [pair for pair in peers.pairs if pair.write_direct_gb_per_s is not None]
    if joined:
        yield _redirection(peers, joined)
    if peers.adapters:
        yield _adapters(peers)
    yield from measured_elsewhere(peers.measured_elsewhere)
    for text in peers.assumptions:
        yield Text(f"Assumed: {text}.", style="dim")
    for note in peers.notes:
        yield Text(f"Note: {note}.", style="dim")


def _devices(peers: PeerPrediction) -> Group:
    table = style.table()
    style.labels(table, "\nname", "\naddress", "NUMA\nnode", "\nlink", "\nIOMMU")
    style.words(table, "\ndevice", at_least=16)
    for each in peers.devices:
        known = f" ({', '.join(each.interfaces[:_MOST_NAMES])})" if each.interfaces else ""
        table.add_row(
            each.name,
            each.bdf,
            style.DASH if each.numa_node is None else str(each.numa_node),
            each.link or style.DASH,
            each.iommu or style.DASH,
            Text(each.device + known),
        )
    return style.titled("Devices", table)


def _matrices(peers: PeerPrediction) -> Iterator[RenderableType]:
    used = [kind for kind in PathType if any(pair.path == kind for pair in peers.pairs)]
    legend = "; ".join(f"{kind}: {kind.meaning}" for kind in used)
    own = sorted({pair.own_links for pair in peers.pairs if pair.own_links})
    legend += "".join(f"; {kind}: links of their own" for kind in own)
    yield from _matrix(peers, "Ways", legend, lambda pair: pair.own_links or pair.path)
    yield from _matrix(
        peers, "Writes", "GB/s, from the row to the column", lambda pair: style.fixed(pair.write_gb_per_s, 1)
    )
    yield from _matrix(
        peers, "Reads", "GB/s, from the column to the row", lambda pair: style.fixed(pair.read_gb_per_s, 1)
    )


def _matrix(
    peers: PeerPrediction, title: str, note: str, cell: Callable[[Pair], str]
) -> Iterator[RenderableType]:
    pairs = {(pair.device, pair.peer): pair for pair in peers.pairs}
    sources, targets = ({key[end] for key in pairs} for end in (0, 1))
    rows = [each for each in peers.devices if each.bdf in sources]
    columns = [each for each in peers.devices if each.bdf in targets]

    def text(row: int, column: int) -> str:
        one, other = rows[row].bdf, columns[column].bdf
        pair = pairs.get((one, other))
        return SAME if one == other else style.DASH if pair is None else cell(pair)

    yield from square(title, note, [each.name for each in rows], [each.name for each in columns], text)


def _redirection(peers: PeerPrediction, pairs: list[Pair]) -> Group:
    """Show pairs that a switch joins, alike ones together: by way of it, and by way of the root port."""
    kinds = {each.bdf: each.kind for each in peers.devices}

    def words(pair: Pair) -> Hashable:
        return kinds[pair.device], pair.path, pair.redirected_by

    def same(one: Pair, other: Pair) -> bool:
        return all(same_number(*both) for both in zip(_figures(one), _figures(other), strict=True))

    table = style.table()
    style.labels(table, "\npairs", "\nway", "as\nfound")
    style.numbers(table, "writes\ndirect", "by the\nroot", "reads\ndirect", "by the\nroot")
    style.numbers(table, "4 KiB\ndirect", "by the\nroot")
    for alike in grouped(pairs, words, same):
        pair = alike[0]
        found = f"root: {pair.redirected_by}" if pair.redirected_by else "direct"
        figures = _figures(pair)
        table.add_row(
            f"{len(alike)}x {kinds[pair.device]}-GPU",
            pair.path,
            found,
            *(style.fixed(rate, 1) for rate in figures[:4]),
            *(style.fixed(latency, 0) for latency in figures[4:]),
        )
    note = "GB/s, and ns of a write of 4 KiB, of pairs that a switch joins"
    return style.titled("What ACS and the IOMMU cost", table, note=note)


def _figures(pair: Pair) -> tuple[float | None, ...]:
    return (
        pair.write_direct_gb_per_s,
        pair.write_redirected_gb_per_s,
        pair.read_direct_gb_per_s,
        pair.read_redirected_gb_per_s,
        pair.latency_direct_ns,
        pair.latency_redirected_ns,
    )


def _adapters(peers: PeerPrediction) -> Group:
    of = {each.bdf: each for each in peers.devices}
    table = style.table()
    style.labels(table, "\nGPU", "\nadapter", "\nway", "NUMA\nnodes")
    style.numbers(table, "writes\nGB/s", "reads\nGB/s")
    style.words(table, "\nas near")
    for each in peers.adapters:
        gpu, nic = of[each.gpu], of[each.nic]
        others = ", ".join(of[other].name if other in of else other for other in each.as_near[:_MOST_NAMES])
        rest = len(each.as_near) - _MOST_NAMES
        table.add_row(
            f"{gpu.name} {gpu.bdf}",
            f"{_called(nic)}",
            each.path,
            " ".join(style.DASH if node is None else str(node) for node in (gpu.numa_node, nic.numa_node)),
            style.fixed(each.write_gb_per_s, 1),
            style.fixed(each.read_gb_per_s, 1),
            (others + (f" and {rest} more" if rest > 0 else "")) or style.DASH,
        )
    # Of all GPUs, also those that are not shown.
    most = max(each.shared_by for each in peers.adapters)
    note = "each has its own" if most == 1 else f"up to {most} share one: rates are of one alone"
    return style.titled("Which adapter for which GPU", table, note=note)


def _called(nic: PeerDevice) -> str:
    """Name an adapter as software for collectives is told of it, where a source says how."""
    verbs = next((name for name in nic.interfaces if "_" in name), None)
    return f"{nic.name} {nic.bdf}" + (f" {verbs}" if verbs else "")
