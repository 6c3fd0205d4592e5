"""GPUs that have fewer links of their own to the other GPUs than the rest of them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from lanewise.health.doctor import alike
from lanewise.health.doctor.finding import Finding, Severity
from lanewise.health.doctor.registry import Bearing, Rule, rule
from lanewise.machine.model import OWN_LINKS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lanewise.machine.address import Address
    from lanewise.machine.view import View

_FEWEST = 4
"""GPUs of a server whose links are compared."""
_PAIRED = 1
"""Other GPUs that a bridge between two cards reaches: who has one, and who has none, is a choice."""

FEWER = Rule(
    id="gpu-links-fewer",
    what="A GPU has fewer links to the other GPUs (NVLink, XGMI, Xe Link) than the rest of them.",
    why="All GPUs on one board have the same number of links. A GPU that has fewer lost some: they did not "
    "train, or were switched off after errors. Collective operations run at the rate of the slowest GPU.",
    severity="warning",
    cost="stated: work spread over all GPUs waits for this one",
    fix="Ask the driver for the state of each link (`nvidia-smi nvlink -s`, `rocm-smi --showxgmierr`), and "
    "look for Xid 74 or 144 to 150 in the log. Reset the GPUs or start the node again; if the link stays "
    "away, the baseboard or the GPU has to be replaced.",
    references=("NVIDIA, nvidia-smi manual (topo, nvlink)", "AMD, rocm-smi documentation (topology)"),
    not_said="Fewer than four GPUs; cards that are joined in pairs.",
    bearing=Bearing.LIMITS_PEERS,
)


@rule(FEWER)
def fewer_links(view: View, this: Rule) -> Iterable[Finding]:
    """Find GPUs whose links are fewer: one finding for all of them, as a lost link has two ends."""
    links: Counter[str] = Counter()
    peers: Counter[str] = Counter()
    places: dict[str, Address | None] = {}
    for relation in view.machine.relations:
        for name, address in (
            (relation.first, relation.first_address),
            (relation.second, relation.second_address),
        ):
            if name.startswith("GPU"):
                places.setdefault(name, address)
                if relation.path in OWN_LINKS:
                    links[name] += relation.links or 1
                    peers[name] += 1
    if len(places) < _FEWEST or not links:
        return
    counts = Counter(links[name] for name in places)
    usual = max(counts, key=lambda count: counts[count])
    odd = [name for name in places if links[name] < usual]
    paired = all(peers[name] <= _PAIRED for name in places)
    if not odd or paired or not alike.is_rare(len(odd), len(places)):
        return
    path = next(relation.path for relation in view.machine.relations if relation.path in OWN_LINKS)
    what = OWN_LINKS[path]
    addresses = [address for name in odd if (address := places[name]) is not None]
    yield this.finding(
        Severity.WARNING,
        addresses[0].short if addresses else "",
        f"{' and '.join(odd)}: fewer {what} links to the other GPUs than the rest",
        [
            *(f"{name} ({places[name] or 'address not told'}): {links[name]}" for name in odd),
            f"{counts[usual]} of {len(places)} GPUs have {usual}",
        ],
        also=[address.short for address in addresses[1:]],
    )
