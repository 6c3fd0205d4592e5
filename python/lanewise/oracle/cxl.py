"""CXL.mem: lines of 64 B as messages in slots of 16 B, and what both ways of a link have left for them.

A read is a request (Req) down and a data response (DRS) up, a write a request with data (RwD) down and a
response (NDR) up. Each way is counted in slots, and the way that has more is the limit. Sources are sections
and tables of Compute Express Link 3.1.
"""

from __future__ import annotations

from fractions import Fraction

from lanewise.oracle import flit, wire

LINE = 64
_CHUNKS = 4
"""Slots of data of a line."""

_FLIT_68 = 68
_SLOTS_68 = 4
_PROTOCOL_ID, _CRC, _SLOT = 2, 2, 16
assert _PROTOCOL_ID + _SLOTS_68 * _SLOT + _CRC == _FLIT_68


def slots(*, reads: Fraction, writes: Fraction) -> tuple[Fraction, Fraction]:
    """Return the slots that each way has for so many lines, in 68 B flits with all that waits: down, up.

    Down one slot holds one header (Table 4-7). Up one slot holds two (H3, H4, H5 of Table 4-8), but two NDR
    and three DRS are in two slots (H4, G6), as often as there are so many.
    """
    down = reads + writes * (1 + _CHUNKS)
    fives = min(writes / 2, reads / 3)
    rest = reads + writes - 5 * fives
    up = reads * _CHUNKS + 2 * fives + rest / 2
    # No more than two messages without data go in a flit (4.2.5).
    return max(down, reads * _SLOTS_68 / 2), max(up, writes * _SLOTS_68 / 2)


def lines_gb_per_s(*, link_gb_per_s: float, read_share: Fraction) -> float:
    """Return the bytes of lines, read and written together, of a link with so many bytes each way."""
    busier = max(slots(reads=read_share, writes=1 - read_share))
    return float(link_gb_per_s * LINE / (busier * Fraction(_FLIT_68, _SLOTS_68)))


def link_gb_per_s(*, generation: int, lanes: int) -> float:
    """Return the bytes a second of one way after coding and SKP ordered sets."""
    return wire.coded_gb_per_s(generation=generation, lanes=lanes) * float(1 - wire.skip_share(generation))


def flit_ns(*, generation: int, lanes: int) -> Fraction:
    """Return the time of a flit of 68 B."""
    return _FLIT_68 * wire.symbol_ns(generation) / lanes


def idle_read_ns(
    *, generation: int, lanes: int, core_ns: float, hop_ns: float, switch_ns: float = 0, hops: int = 1
) -> float:
    """Return the latency of a read of an idle expander that takes no time itself, from core to core.

    ``core_ns`` is from a core to the root port, ``hop_ns`` from the end of a flit until it is acted on. The
    request is one flit on each of ``hops`` links, the data are two: a header and three chunks, then the last
    chunk.
    """
    flits = 3 * float(flit_ns(generation=generation, lanes=lanes))
    return 2 * core_ns + hops * (flits + 2 * hop_ns) + 2 * (hops - 1) * switch_ns


def lines_256_gb_per_s(*, lanes: int, read_share: Fraction, low_latency: bool = False) -> float:
    """Return the same in 256 B flits at 64 GT/s, standard or latency-optimised (4.3.2).

    A standard flit has a slot for headers and fourteen for all. The header slot holds two headers up, any
    other three (Tables 4-14 and 4-15). Three headers of data are all that two neighbouring groups of four
    slots may hold (4.3.4): where reads are nearly alone, ten lines are in three flits. A latency-optimised
    flit has two slots for headers, and thirteen for all.
    """
    reads, writes = read_share, 1 - read_share
    of_headers, of_all = (2, 13) if low_latency else (1, 14)
    down = max((reads + writes * (1 + _CHUNKS)) / (of_headers + of_all), reads / 8, writes * _CHUNKS / of_all)
    for_reads = reads * _CHUNKS / of_all if low_latency else reads * Fraction(3, 10)
    up = max(
        (reads * _CHUNKS + Fraction(1, 3)) / (of_all + of_headers * Fraction(2, 3)), for_reads, writes / 12
    )
    raw = flit.tlp_gb_per_s(generation=6, lanes=lanes) * 256 / 236
    return float(raw * LINE / (max(down, up) * 256))
