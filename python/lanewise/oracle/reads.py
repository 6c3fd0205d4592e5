"""What bounds reads: tags, completion sizes, and DLLPs that share the completions' direction.

A DMA read moves nothing but a header towards the root; its data comes back in completions, beside the Acks
and credit updates that its requests cause.
"""

from __future__ import annotations

from fractions import Fraction

from lanewise.oracle.wire import DLLP_BYTES, skip_share, symbol_ns, tlp_bytes

USABLE_TAGS = {5: 2**5, 8: 2**8, 10: 2**10 - 2**8, 14: 2**14 - 2**10}
"""Tags by field width in bits; from 10 bits on narrower fields' values are kept out (PCIe Base 2.2.6.2)."""


def tag_limited_gb_per_s(*, tags: int, request: int, round_trip_ns: float) -> float:
    """Return the read bandwidth that so many requests in flight allow (PCIe Base 2.2.6.2, note)."""
    return tags * request / round_trip_ns


def tags_needed(*, gb_per_s: float, request: int, round_trip_ns: float) -> float:
    """Return the requests in flight that a read bandwidth needs; Little's law."""
    return gb_per_s * round_trip_ns / request


def completion_lengths(*, address: int, length: int, rcb: int, lines: int = 1) -> list[int]:
    """Return the bytes of each completion of one read (PCIe Base 2.3.1.1).

    The completer fetches lines of one RCB and joins so many of them into a completion. Counted byte by byte.
    """
    lengths: list[int] = []
    first_line = address // rcb
    previous = None
    for byte in range(address, address + length):
        group = (byte // rcb - first_line) // lines
        if group != previous:
            lengths.append(0)
            previous = group
        lengths[-1] += 1
    return lengths


def read_ceiling_gb_per_s(
    *, generation: int, lanes: int, request: int, completion: int, dllp_bytes: int = 2 * DLLP_BYTES
) -> float:
    """Return the payload bandwidth of aligned reads, outside Flit Mode, after SKP ordered sets.

    ``completion`` is the payload of a full completion and ``dllp_bytes`` what one request puts on the
    completions' direction: by default one Ack and one UpdateFC.
    """
    payloads = [min(completion, request - start) for start in range(0, request, completion)]
    wire = sum(tlp_bytes("completion with data", payload=payload) for payload in payloads) + dllp_bytes
    usable = lanes / symbol_ns(generation) * (1 - skip_share(generation))
    return float(usable * Fraction(request, wire))
