"""The core's closed-form rates of one direction of a link: line rate, after coding, what is left for payload.

Nothing is simulated, and nothing derived here: ``crates/sim/src/rungs.rs`` of the core does. Ordered sets
and DLLPs are not in these rates; a run shows what they cost.
"""

from __future__ import annotations

import json

from lanewise import _core


def rungs(
    *, generation: int, lanes: int, payload_bytes: int, header_dwords: int, ecrc: bool = False
) -> dict[str, float]:
    """Return the rungs of a link that sends memory writes of one size back to back.

    ``line_rate_gbit_per_s`` and ``coded_gbit_per_s`` are 10⁹ bits per second; ``payload_fraction`` is the
    share of a packet with its framing that is payload, dimensionless. Raises ValueError for arguments that no
    such link has.
    """
    text = _core.ladder(
        generation=generation,
        lanes=lanes,
        payload_bytes=payload_bytes,
        header_dwords=header_dwords,
        ecrc=ecrc,
    )
    found: dict[str, float] = json.loads(text)
    return found


def coded_gb_per_s(generation: int, lanes: int) -> float:
    """Return what a link carries after coding, in GB/s, 10⁹ bytes per second."""
    any_packet = rungs(generation=generation, lanes=lanes, payload_bytes=256, header_dwords=4)
    return any_packet["coded_gbit_per_s"] / 8


def payload_gb_per_s(generation: int, lanes: int, *, payload_bytes: int, header_dwords: int) -> float:
    """Return the payload that a link carries in packets of one size, in GB/s, 10⁹ bytes per second."""
    found = rungs(
        generation=generation, lanes=lanes, payload_bytes=payload_bytes, header_dwords=header_dwords
    )
    return found["coded_gbit_per_s"] / 8 * found["payload_fraction"]
