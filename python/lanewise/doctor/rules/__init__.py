"""The rules, a file for each matter; importing this package registers them in the order of the reference."""

from __future__ import annotations

from lanewise.doctor.rules import (
    configuration,
    containment,
    cxl,
    equalization,
    errors,
    link,
    numa,
    ordering,
    payload,
    peers,
    power,
    reads,
    resources,
    slot,
    switch,
    timeout,
)

__all__ = [
    "configuration",
    "containment",
    "cxl",
    "equalization",
    "errors",
    "link",
    "numa",
    "ordering",
    "payload",
    "peers",
    "power",
    "reads",
    "resources",
    "slot",
    "switch",
    "timeout",
]
