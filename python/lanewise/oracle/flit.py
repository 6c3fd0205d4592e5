"""Flit Mode: 256-byte flits of which 236 bytes carry TLPs (PCIe Base 4.2.3.3, 4.2.3.4).

Gen7 is assumed to keep the layout of Gen6.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from lanewise.oracle.wire import header_bytes, symbol_ns

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lanewise.oracle.wire import Kind

_FLIT = 256
_TLP_PART = 236
_HALF = 128
_TLPS_PER_HALF = 8
_SKIP_BLOCK = {False: 40, True: 16}
"""Symbols per lane of a SKP ordered set: 1b/1b, and 128b/130b below 64 GT/s (PCIe Base 4.2.8.2, 4.2.8.3)."""

FLITS_BETWEEN_SKIPS = {
    ("1b/1b", "common"): {16: 748, 8: 374, 4: 187, 2: 93, 1: 46},
    ("128b/130b", "common"): {16: 374, 8: 187, 4: 93, 2: 46, 1: 23},
    ("1b/1b", "sris"): {16: 74, 8: 37, 4: 18, 2: 9, 1: 4},
    ("128b/130b", "sris"): {16: 37, 8: 18, 4: 9, 2: 4, 1: 2},
}
"""PCIe Base Table 4-30."""


def tlp_gb_per_s(*, generation: int, lanes: int, separate_spread_clocks: bool = False) -> float:
    """Return the bandwidth left for TLPs after SKP ordered sets; Gen3 and later."""
    if generation <= 2:
        raise ValueError("with 8b/10b the cadence of Flit Mode is not in the table")
    below = generation <= 5
    row = FLITS_BETWEEN_SKIPS[
        "128b/130b" if below else "1b/1b", "sris" if separate_spread_clocks else "common"
    ]
    flits = row[lanes]
    symbols = Fraction(flits * _FLIT, lanes) + _SKIP_BLOCK[below]
    return float(flits * _TLP_PART / (symbols * symbol_ns(generation)))


def tlp_bytes(kind: Kind, *, payload: int = 0, address: int = 0, digest: bool = False) -> int:
    """Return the bytes of a whole-DW TLP in a flit: header, payload and trailer only (PCIe Base 2.2.1.2)."""
    return header_bytes(kind, address=address) + 4 * (-(-payload // 4) + digest)


def payload_ceiling_gb_per_s(
    kind: Kind, *, generation: int, lanes: int, payload: int, address: int = 0
) -> float:
    """Return the payload carried by TLPs of one kind back to back: by their size, and at most 16 a flit."""
    per_flit = min(Fraction(_TLP_PART, tlp_bytes(kind, payload=payload, address=address)), Fraction(16))
    return float(per_flit * payload / _TLP_PART) * tlp_gb_per_s(generation=generation, lanes=lanes)


def pack(sizes: Iterable[int]) -> list[int]:
    """Return the byte offsets in the TLP parts of successive flits at which TLPs of these sizes start.

    At most 8 TLPs, whole or partial, touch bytes 0 to 127 of a flit, and at most 8 bytes 128 to 235; NOPs
    fill what that leaves (PCIe Base 4.2.3.4.1). Found by trying every DW: slow, obviously right.
    """
    touching: dict[int, int] = {}
    starts: list[int] = []
    at = 0
    for size in sizes:
        while touching.get(_half(at), 0) == _TLPS_PER_HALF:
            at += 4
        starts.append(at)
        for half in {_half(byte) for byte in range(at, at + size, 4)}:
            touching[half] = touching.get(half, 0) + 1
        at += size
    return starts


def _half(byte: int) -> int:
    """Return which half of which flit a byte of the TLP parts lies in."""
    flit, offset = divmod(byte, _TLP_PART)
    return 2 * flit + (offset >= _HALF)
