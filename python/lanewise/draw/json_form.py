"""A topology as data: what `lanewise draw --json` prints."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, cast

from lanewise.output_format import FORMAT

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lanewise.documents import Draw, DrawnDevice, DrawnLink
    from lanewise.draw.model import Link, LinkUse, Node, Topology


def to_json(topology: Topology, use: Mapping[str, LinkUse] | None = None) -> Draw:
    """Return the document: every device before alike branches are put together, depth first."""
    devices: list[DrawnDevice] = []
    waiting: list[tuple[Node, int | None]] = [(top, None) for top in reversed(topology.tops)]
    while waiting:
        node, above = waiting.pop()
        waiting.extend((below, len(devices)) for below in reversed(node.below))
        devices.append(
            {
                "name": node.name,
                "head": node.head or node.name,
                "detail": node.detail,
                "about": list(node.about),
                "sort": node.sort.value,
                "slot": node.slot,
                "above": above,
                "count": node.count,
                "link": None if node.link is None else _link(node.link, use or {}),
            }
        )
    return {"format": FORMAT, "title": topology.title, "devices": devices, "notes": list(topology.notes)}


def _link(link: Link, use: Mapping[str, LinkUse]) -> DrawnLink:
    said = asdict(link) | {"state": link.state.value}
    if link.name in use:
        said["use"] = asdict(use[link.name])
    return cast("DrawnLink", said)
