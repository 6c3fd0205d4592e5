"""Sizes on the wire and what a link can carry, outside Flit Mode (PCIe Base chapters 2 to 4).

Lanes carry symbols, one byte slot each. Everything is counted in symbols per lane, and turned into time once.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Literal

Kind = Literal[
    "memory read",
    "memory write",
    "io read",
    "io write",
    "config read",
    "config write",
    "atomic",
    "message",
    "message with data",
    "completion",
    "completion with data",
]

DLLP_BYTES = 8
"""A DLLP with start, CRC and end (PCIe Base 3.5, 4.2.2.3.2)."""

_GIGATRANSFERS = {
    1: Fraction(5, 2),
    2: Fraction(5),
    3: Fraction(8),
    4: Fraction(16),
    5: Fraction(32),
    6: Fraction(64),
    7: Fraction(128),
}
"""Gigatransfers per second of a lane (PCIe Base 4.2)."""

_BY_ADDRESS = {"memory read", "memory write", "atomic"}
_WITH_DATA = {
    "memory write",
    "io write",
    "config write",
    "atomic",
    "message with data",
    "completion with data",
}


def line_bits_per_symbol(generation: int) -> Fraction:
    """Return the line bits one byte takes: 10 with 8b/10b, 130/16 with 128b/130b, 8 with 1b/1b."""
    if generation <= 2:
        return Fraction(10)
    return Fraction(130, 16) if generation <= 5 else Fraction(8)


def symbol_ns(generation: int) -> Fraction:
    """Return the nanoseconds one symbol takes on its lane, sync headers included."""
    return line_bits_per_symbol(generation) / _GIGATRANSFERS[generation]


def coded_gb_per_s(*, generation: int, lanes: int) -> float:
    """Return the bandwidth after coding, before ordered sets."""
    return float(lanes / symbol_ns(generation))


def skip_share(generation: int, *, separate_spread_clocks: bool = False) -> Fraction:
    """Return the share of symbols that SKP ordered sets take (PCIe Base 4.2.8.1 to 4.2.8.4).

    8b/10b: 4 symbols in 1180 to 1538, of which the middle; below 154 with SRIS. 128b/130b: one block in 370
    to 375, of which the middle, 373 as whole blocks; below 38 with SRIS. Flit Mode is in ``flit``.
    """
    if generation <= 2:
        return Fraction(4, 153) if separate_spread_clocks else Fraction(4, (1180 + 1538) // 2)
    if generation <= 5:
        return Fraction(1, 37) if separate_spread_clocks else Fraction(1, 373)
    raise ValueError("64 GT/s and above run in Flit Mode only")


def header_bytes(kind: Kind, *, address: int = 0) -> int:
    """Return the bytes of a TLP's header: 12 or 16 (PCIe Base Table 2-5, 2.2.4.1)."""
    if kind in _BY_ADDRESS:
        return 12 if address < 2**32 else 16
    return 16 if kind.startswith("message") else 12


def ide_bytes(*, macs_per_tlp: Fraction | int = 1, pcrc: bool = False) -> Fraction:
    """Return the bytes that IDE adds to a TLP on average: a prefix, and its share of a MAC and a PCRC.

    These are 1, 3 and 1 DW; in Flit Mode OHC-C is in place of the prefix (PCIe Base 6.33.5, 2.2.1.2).
    `macs_per_tlp` is 1, or 1/2, 1/4 or 1/8 where so many are aggregated. Raises ValueError for any other.
    """
    if macs_per_tlp not in {Fraction(1, unit) for unit in (1, 2, 4, 8)}:
        raise ValueError(f"a MAC for 1, 2, 4 or 8 TLPs, not {macs_per_tlp} for each")
    return 4 + (12 + 4 * pcrc) * Fraction(macs_per_tlp)


def tlp_bytes(
    kind: Kind, *, payload: int = 0, address: int = 0, digest: bool = False, prefixes: int = 0
) -> int:
    """Return the bytes of a TLP on the link, with the 8 bytes of framing, sequence number and LCRC.

    Raises ValueError when a kind without data is given a payload, or one with data none.
    """
    if (payload > 0) != (kind in _WITH_DATA):
        raise ValueError(f"a {kind} of {payload} bytes")
    dwords = header_bytes(kind, address=address) // 4 + -(-payload // 4) + digest + prefixes
    return 8 + 4 * dwords


def payload_ceiling_gb_per_s(
    kind: Kind,
    *,
    generation: int,
    lanes: int,
    payload: int,
    address: int = 0,
    digest: bool = False,
    separate_spread_clocks: bool = False,
    ide: Fraction | int = 0,
) -> float:
    """Return the payload a link carries in TLPs of one kind sent back to back, after SKP ordered sets.

    `ide` is what `ide_bytes` returns, 0 without IDE.
    """
    efficiency = Fraction(payload) / (tlp_bytes(kind, payload=payload, address=address, digest=digest) + ide)
    usable = 1 - skip_share(generation, separate_spread_clocks=separate_spread_clocks)
    return float(lanes / symbol_ns(generation) * usable * efficiency)
