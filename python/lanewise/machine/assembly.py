"""Everything a reader collects about a machine, and how it becomes one.

Who is below whom: a source that shows the tree says so itself (`Draft.parent`, or the path of `lspci -PP`);
the others show bus numbers of bridges, and a function is below the bridge whose secondary bus it is on. A
bridge that is not in the source leaves its functions without a parent: no link is made up for them.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from lanewise.errors import InputError
from lanewise.machine.address import Address
from lanewise.machine.draft import Draft
from lanewise.machine.function import HYPERVISORS
from lanewise.machine.model import Buses, Function, Kind, Machine, NotUnderstood
from lanewise.machine.naming import complete

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence, Sized

    from lanewise.machine.model import Disagreement, KernelEvent, NumaNode, PhysicalSlot, Relation

_OF_A_LINK = re.compile(r"[ \t>|]{0,80}(?:LnkSta|UESta|CESta|DevSta):")
_SAMPLES = 20
_SAMPLE_LENGTH = 120
_SHAPE_LENGTH = 40
_WORDS = re.compile(r"\b[^\W\d]*+\d\w*")
_MOST_BUSES = 256
"""Buses of a domain: a bridge has one below it, so no way to the root has more bridges. 7.5.1.3.3."""
_MOST_FUNCTIONS = 1 << 15
"""Functions that a source may name. Assumed: large machines have some thousands, virtual ones included."""
_ROUTING_IDS = 1 << 16
"""Functions that a domain can have, virtual ones among them. 2.2.4.2."""


class Reading:
    """Everything a reader has collected: drafts, lines not understood, notes."""

    def __init__(self) -> None:
        """Start empty."""
        self.drafts: dict[Address, Draft] = {}
        self.kinds: list[str] = []
        self.notes: list[str] = []
        self.relations: list[Relation] = []
        self.numa_nodes: list[NumaNode] = []
        self.slots: list[PhysicalSlot] = []
        self.events: list[KernelEvent] = []
        self.hostname: str | None = None
        self.measured = True
        self.shows_tree = False
        self.lists_all_gpus = False
        """Whether the source counts the GPUs of a driver, and lists as many."""
        self.breaks_off = ""
        """Where the source was cut off, in a sentence; empty for one that is whole."""
        self.left_out: list[str] = []
        """What the source also holds and the machine does not show, in sentences."""
        self.disagreements: list[Disagreement] = []
        self.made_up = 0
        """Addresses given to what the source does not name (`sources.made_up`)."""
        self.unknown_lines = 0
        self.samples: list[tuple[int, str]] = []
        self._shapes: set[str] = set()
        """Of the samples: what is left of a line without what differs from one to the next."""

    def add(self, draft: Draft) -> None:
        """Keep a draft; a second one for an address is merged, and counts more unless it says less."""
        earlier = self.drafts.get(draft.address)
        if earlier is None:
            self.drafts[draft.address] = draft
            refuse_more_than_a_machine_has(self.drafts)
            return
        if earlier.registers.get("express") and not draft.registers.get("express"):
            earlier.fill_from(draft)
        else:
            draft.fill_from(earlier)
            self.drafts[draft.address] = draft

    def draft(self, address: Address) -> Draft:
        """Return the draft of a function, for sources that tell of one in several places."""
        if address not in self.drafts:
            self.drafts[address] = Draft(address)
            refuse_more_than_a_machine_has(self.drafts)
        return self.drafts[address]

    def not_understood(self, number: int, line: str) -> None:
        """Count a line that means nothing to the reader, and keep the first few of different shapes.

        Bug reports hold thousands of lines of other tools; twenty of one tool would tell nothing of the next.
        """
        self.unknown_lines += 1
        if _OF_A_LINK.match(line):
            self.note(
                "lines about links or errors stand where no device is named, or in a form that is not known: "
                "'lanewise scan -v' shows some"
            )
        if len(self.samples) >= _SAMPLES:
            return
        text = "".join(
            character if character.isprintable() else " " for character in line.strip()[:_SAMPLE_LENGTH]
        )
        shape = _WORDS.sub("", text)[:_SHAPE_LENGTH]
        if shape not in self._shapes:
            self._shapes.add(shape)
            self.samples.append((number, text))

    def note(self, text: str) -> None:
        """Remember something a person should know about this reading; once."""
        if text not in self.notes:
            self.notes.append(text)

    def note_end(self, text: str) -> None:
        """Remember that the source was cut off, and say where."""
        self.breaks_off = self.breaks_off or text
        self.note(text)

    def set_aside(self, text: str) -> None:
        """Remember that the source holds something that the machine does not show."""
        self.left_out.append(text)
        self.note(text)

    def machine(self, source: str) -> Machine:
        """Assemble everything."""
        refuse_more_than_a_machine_has(self.drafts)
        ids = complete(self.drafts.values())
        if ids.path is not None:
            self.note(f"names are from {ids.path}, version {ids.version or 'not stated'}")
        functions = _assemble(list(self.drafts.values()))
        return Machine(
            functions=functions,
            source=source,
            kinds=tuple(dict.fromkeys(self.kinds)),
            hostname=self.hostname,
            numa_nodes=tuple(self.numa_nodes),
            slots=tuple(self.slots),
            events=tuple(self.events),
            relations=tuple(self.relations),
            disagreements=tuple(self.disagreements),
            not_understood=NotUnderstood(self.unknown_lines, tuple(self.samples)),
            notes=tuple(self.notes),
            measured=self.measured,
            breaks_off=self.breaks_off,
            left_out=tuple(self.left_out),
            shows_tree=self.shows_tree,
        )


def refuse_more_than_a_machine_has(functions: Sized) -> None:
    """Raise InputError for a flood of functions, while it is read rather than when all is in memory."""
    if len(functions) > _MOST_FUNCTIONS:
        raise InputError(f"there are more than {_MOST_FUNCTIONS:,} functions, which no machine has")


def _assemble(drafts: Sequence[Draft]) -> dict[Address, Function]:
    drafts = sorted(drafts, key=lambda draft: draft.address)
    known = {draft.address: draft for draft in drafts}
    bridges = _by_secondary_bus(drafts)
    mark_virtual_functions(known)
    children: dict[Address, list[Address]] = {}
    for draft in drafts:
        draft.parent = _parent(draft, known, bridges)
    for draft in drafts:
        if not _leads_up(draft, known):
            draft.parent = None
        if draft.parent is not None:
            children.setdefault(draft.parent, []).append(draft.address)
    functions = {}
    for draft in drafts:
        function = draft.freeze()
        below = children.get(draft.address)
        if below:
            buses = function.buses or Buses(draft.address.bus, below[0].bus, below[-1].bus)
            function = replace(function, children=tuple(below), buses=buses)
        functions[draft.address] = function
    return functions


def _by_secondary_bus(drafts: Iterable[Draft]) -> dict[tuple[int, int], Address]:
    """Return bridges by domain and secondary bus. Bridges that were never numbered have secondary bus 0."""
    bridges: dict[tuple[int, int], Address] = {}
    for draft in drafts:
        if (
            draft.buses is not None
            and draft.buses.secondary > 0
            and draft.buses.secondary != draft.address.bus
        ):
            bridges.setdefault((draft.address.domain, draft.buses.secondary), draft.address)
    return bridges


def _parent(
    draft: Draft, known: Mapping[Address, Draft], bridges: dict[tuple[int, int], Address]
) -> Address | None:
    if draft.parent is not None:
        return draft.parent if draft.parent in known else None
    if draft.path:
        return draft.path[-1] if draft.path[-1] in known else None
    address = draft.address
    physical = draft.function.get("physical_function")
    if physical is not None and physical.bus != address.bus:
        # Virtual functions may sit on a bus beyond the secondary one; they are where their owner is.
        address = physical
    return bridges.get((address.domain, address.bus))


def _leads_up(draft: Draft, known: dict[Address, Draft]) -> bool:
    """Whether the way up ends at a root: damaged dumps can claim circles, and ways longer than any."""
    for _ in range(_MOST_BUSES):
        if draft.parent is None:
            return True
        draft = known[draft.parent]
    return False


def _is_virtual_in_a_guest(draft: Draft, port: Draft | None) -> bool:
    """Whether a function is virtual although nobody says whose: in a guest its owner is not to be seen.

    Its name says so, or an endpoint that answers has no lanes, because the register is reserved (9.3.5.8).
    The first function below a port is never virtual (9.2.1.2): its register contradicts that of `port`, which
    is None elsewhere, and in a guest.
    """
    if "Virtual Function" in (draft.identity.get("device_name") or ""):
        return True
    status = draft.link.get("status")
    above = None if port is None else port.link.get("status")
    counted = above is not None and bool(above.width)
    reserved = status is not None and (status.gt_s, status.width) == (None, 0)
    return draft.kind is Kind.ENDPOINT and reserved and not counted


def mark_virtual_functions(known: Mapping[Address, Draft]) -> None:
    """Mark the virtual functions of each physical function: First VF Offset, VF Stride, NumVFs (9.2.1.2)."""
    bridges = _by_secondary_bus(known.values())
    in_a_guest = any(draft.identity.get("vendor_id") in HYPERVISORS for draft in known.values())
    unclaimed = dict.fromkeys({address.domain for address in known}, _ROUTING_IDS)
    for draft in known.values():
        is_first = (draft.address.device, draft.address.function) == (0, 0) and not in_a_guest
        above = _parent(draft, known, bridges) if is_first else None
        if _is_virtual_in_a_guest(draft, None if above is None else known[above]):
            draft.function["virtual"] = True
        if draft.virtual_functions is None or not draft.sriov.get("enabled"):
            continue
        offset, stride = draft.virtual_functions
        address = draft.address
        count = min(draft.sriov.get("count") or 0, unclaimed[address.domain])
        unclaimed[address.domain] -= count
        first = (address.bus << 8 | address.device << 3 | address.function) + offset
        for number in range(count):
            routing_id = first + number * stride
            virtual = Address(address.domain, routing_id >> 8 & 0xFF, routing_id >> 3 & 0x1F, routing_id & 7)
            if virtual in known and virtual != address:
                known[virtual].function.setdefault("physical_function", address)
                known[virtual].function["virtual"] = True
