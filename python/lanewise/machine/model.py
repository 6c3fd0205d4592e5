"""A machine as its PCI functions see it: who hangs below whom, and what each one says about itself.

Models functions, the bridges between them, links with both ends, switches, NUMA nodes, and relations between
GPUs that only vendor tools report. Every reader (``sources/``) makes a `Machine`; every rule, prediction and
table reads one. ``None`` always means: this source does not say.

Leaves out: what hangs behind an endpoint (drives, wires), memory, and anything that changes by itself.
Sources: PCI Express Base Specification 5.0, 1.3 (topology) and 7.5.3.2 (device/port types).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from lanewise.errors import InputError
from lanewise.machine.address import Address
from lanewise.machine.function import ENDPOINTS, PORTS_TO_LINKS, Buses, Function, Identity, Kind
from lanewise.machine.kernel_event import EventKind, KernelEvent
from lanewise.machine.link import Link
from lanewise.machine.registers import (
    SPEEDS_GT_S,
    Acs,
    Bar,
    Cxl,
    Dpc,
    Equalization,
    Errors,
    LinkMode,
    LinkRegisters,
    Registers,
    ResizableBar,
    Slot,
    Sriov,
    Transfers,
    Window,
)
from lanewise.machine.surroundings import (
    Disagreement,
    NotUnderstood,
    NumaNode,
    PhysicalSlot,
    Relation,
    Switch,
)
from lanewise.machine.topology import find_links, infer
from lanewise.written import counted, in_short

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import polars as pl

    from lanewise.machine.chipset import Chipset

__all__ = [
    "ENDPOINTS",
    "PORTS_TO_LINKS",
    "SPEEDS_GT_S",
    "Acs",
    "Address",
    "Bar",
    "Buses",
    "Cxl",
    "Disagreement",
    "Dpc",
    "Equalization",
    "Errors",
    "EventKind",
    "Function",
    "Identity",
    "KernelEvent",
    "Kind",
    "Link",
    "LinkMode",
    "LinkRegisters",
    "Machine",
    "NotUnderstood",
    "NumaNode",
    "PhysicalSlot",
    "Registers",
    "Relation",
    "ResizableBar",
    "Slot",
    "Sriov",
    "Switch",
    "Transfers",
    "Window",
]


_ALL_UNDERSTOOD = NotUnderstood()

_MOST_CONTRADICTIONS = 4

OWN_LINKS = {"NV": "NVLink", "XGMI": "XGMI", "XL": "Xe Link"}
"""Paths of relations that are links between GPUs."""

IDLE_GPU_GT_S = 5.0
"""The most that links of idle GPUs have been seen to run at, in dumps of Turing, Ada and Blackwell."""


@dataclass(frozen=True)
class Machine:
    """Everything a source says about a machine. Addresses order everything."""

    functions: Mapping[Address, Function]
    source: str = ""
    """File, folder or ``-``, as it was named."""
    kinds: tuple[str, ...] = ()
    """What was read: ``lspci text``, ``lspci hex``, ``sysfs``, ``hwloc XML 2.0``, ``NCCL XML``, and so on."""
    hostname: str | None = None
    numa_nodes: tuple[NumaNode, ...] = ()
    relations: tuple[Relation, ...] = ()
    slots: tuple[PhysicalSlot, ...] = ()
    """Slots of the board, empty ones among them, where a source lists them."""
    not_understood: NotUnderstood = _ALL_UNDERSTOOD
    events: tuple[KernelEvent, ...] = ()
    """What a kernel log beside the dump tells of the bus, in its order; empty also where there is no log."""
    disagreements: tuple[Disagreement, ...] = ()
    """Where sources that were put on top of each other say different things."""
    notes: tuple[str, ...] = ()
    """What to know about this reading: two captures, access denied, declared speeds."""
    measured: bool = True
    """False where the source declares links rather than reads them (NCCL files written by vendors)."""
    breaks_off: str = ""
    """The note that says where the source was cut off; empty for one that is whole."""
    left_out: tuple[str, ...] = ()
    """The notes that say what the source also holds and is not in here: other machines, other moments."""
    shows_tree: bool = False
    """The source shows who is below whom but not of which kind they are: kinds are inferred."""

    def __getitem__(self, address: Address | str) -> Function:
        """Return the function at an address, which may be text; raises KeyError."""
        return self.functions[Address.parse(address) if isinstance(address, str) else address]

    def named(self, name: str) -> Function | None:
        """Return the function that findings and logs call by its address; None for any other name."""
        address = Address.find(name)
        return self.functions.get(address) if address is not None else None

    def find(self, address: Address) -> Function:
        """Return the function at a given address; InputError says which endpoints there are."""
        if address not in self.functions:
            known = ", ".join(function.address.short for function in self.endpoints[:8])
            raise InputError(f"the machine has no function {address.short}; endpoints are {known or 'none'}")
        return self.functions[address]

    def __iter__(self) -> Iterator[Function]:
        """All functions by address."""
        return iter(self.functions.values())

    def __len__(self) -> int:
        """Count the functions."""
        return len(self.functions)

    @cached_property
    def domains(self) -> tuple[int, ...]:
        """PCI domains in use."""
        return tuple(sorted({address.domain for address in self.functions}))

    @cached_property
    def roots(self) -> tuple[Function, ...]:
        """Functions with no bridge above them in this source."""
        return tuple(function for function in self if function.parent is None)

    def parent(self, function: Function) -> Function | None:
        """Return the bridge directly above."""
        return None if function.parent is None else self.functions[function.parent]

    def children(self, function: Function) -> tuple[Function, ...]:
        """Return what is directly below a bridge."""
        return tuple(self.functions[address] for address in function.children)

    def path(self, function: Function) -> tuple[Function, ...]:
        """Return the way to the root: its parent, that one's parent, and so on."""
        way: list[Function] = []
        above = self.parent(function)
        while above is not None:
            way.append(above)
            above = self.parent(above)
        return tuple(way)

    def descendants(self, function: Function) -> tuple[Function, ...]:
        """Return everything below a bridge, depth first."""
        found: list[Function] = []
        for child in self.children(function):
            found.append(child)
            found.extend(self.descendants(child))
        return tuple(found)

    def root_port(self, function: Function) -> Function | None:
        """Return the topmost bridge above a function; None for what is on a root bus itself."""
        way = self.path(function)
        return way[-1] if way else None

    @cached_property
    def host_ports(self) -> tuple[Function, ...]:
        """Root ports, with or without something below."""
        return tuple(function for function in self if self.role(function) is Kind.ROOT_PORT)

    @cached_property
    def host_bridges(self) -> tuple[Function, ...]:
        """Host bridges, and the functions of data fabrics, which have their class."""
        return tuple(function for function in self if function.is_class(0x0600))

    @cached_property
    def sockets(self) -> Mapping[Address, int]:
        """Socket of every function of which it is known: see `lanewise.machine.sockets`."""
        from lanewise.machine.sockets import found_sockets

        return found_sockets(self)

    @cached_property
    def chipset(self) -> Chipset | None:
        """The chipset, whose root ports share a link that no register shows: `lanewise.machine.chipset`."""
        from lanewise.machine.chipset import found_chipset

        return found_chipset(self)

    @cached_property
    def links(self) -> tuple[Link, ...]:
        """All links with both ends in this source, by the address of the port above.

        A link is a root port, a switch's downstream port or a PCI-to-PCIe bridge with an Express function on
        its secondary bus; where kinds are not stated, `role` decides.
        """
        return find_links(self.functions, {function.address: self.role(function) for function in self})

    @cached_property
    def contradictions(self) -> tuple[str, ...]:
        """Say which links cannot be as their registers tell, the first few: garbled dumps have many."""
        found = [link.contradiction for link in self.links if link.contradiction is not None]
        said = [f"{words}; the capability of the ends is used" for words in found[:_MOST_CONTRADICTIONS]]
        rest = len(found) - len(said)
        return (*said, *([f"{rest} more links contradict themselves"] if rest > 0 else []))

    @cached_property
    def _link_of(self) -> dict[Address, Link]:
        """Each link by the addresses of its port and of all functions below it."""
        of = {link.upper.address: link for link in self.links}
        of.update({function.address: link for link in self.links for function in link.lower})
        return of

    def link_above(self, function: Function) -> Link | None:
        """Return the link that a function is the lower end of."""
        link = self._link_of.get(function.address)
        if link is None or link.upper.address == function.address:
            return None
        return link

    def link_below(self, port: Function) -> Link | None:
        """Return the link that a port is the upper end of; None when it is empty."""
        link = self._link_of.get(port.address)
        return link if link is not None and link.upper.address == port.address else None

    def partner(self, function: Function) -> Function | None:
        """Return the other end of a link: for a port the device below, for a device the port above."""
        link = self.link_below(function) or self.link_above(function)
        if link is None:
            return None
        return link.device if link.upper.address == function.address else link.upper

    def link_path(self, function: Function) -> tuple[Link, ...]:
        """Return all links between a function and the root, nearest first."""
        above = [self.link_above(step) for step in (function, *self.path(function))]
        return tuple(link for link in above if link is not None)

    @cached_property
    def switches(self) -> tuple[Switch, ...]:
        """Every switch whose upstream port is in this source."""
        return tuple(
            Switch(
                upstream=function,
                downstream=tuple(
                    child for child in self.children(function) if self.role(child) is Kind.DOWNSTREAM_PORT
                ),
            )
            for function in self
            if self.role(function) is Kind.UPSTREAM_PORT
        )

    @cached_property
    def endpoints(self) -> tuple[Function, ...]:
        """Endpoints at the lower end of a link, virtual functions left out; one per function."""
        return tuple(
            function for function in self if self.role(function) in ENDPOINTS and not function.virtual
        )

    @cached_property
    def empty_ports(self) -> tuple[Function, ...]:
        """Ports that could have a link and have no Express function below them."""
        return tuple(
            function
            for function in self
            if self.role(function) in PORTS_TO_LINKS and self.link_below(function) is None
        )

    def role(self, function: Function) -> Kind | None:
        """Return its kind: as stated, or inferred from where it sits (`topology.infer`)."""
        return function.kind or self._inferred.get(function.address)

    @cached_property
    def _inferred(self) -> dict[Address, Kind]:
        return infer(self.functions) if self.shows_tree else {}

    def gpu_below(self, link: Link) -> Function | None:
        """Return the GPU at the lower end of a link, also behind the switch inside its chip."""
        if link.device.is_gpu:
            return link.device
        if self.role(link.device) is not Kind.UPSTREAM_PORT:
            return None
        inner = self.descendants(link.device)
        inside = [self.link_above(function) for function in inner]
        if any(link is not None and not link.on_die for link in inside):
            return None
        return next((function for function in inner if function.is_gpu), None)

    def is_slow_as_idle_gpus(self, link: Link) -> bool:
        """Whether a link below its speed leads to a GPU and runs at what links of idle GPUs run at.

        GPUs lower the speed, never the width, when idle, and raise it under load: the same machines move 26
        GB/s. One that runs at 8 GT/s and more of what it could is not asleep: its link fell back. Nor is one
        whose link is held at its speed by either end, which cannot raise it, or that says it is at work.
        """
        now = link.now.gt_s
        if not link.below_speed or now is None or now > IDLE_GPU_GT_S or link.held is not None:
            return False
        gpu = self.gpu_below(link)
        return gpu is not None and gpu.idle is not False

    def is_idle_gpu(self, link: Link) -> bool:
        """Whether a link is most likely that of an idle GPU saving power: slow, with all of its lanes."""
        return self.is_slow_as_idle_gpus(link) and not link.below_width

    @cached_property
    def function_table(self) -> pl.DataFrame:
        """One row per function: address, name, kind, parent, driver, NUMA node, MPS and MRRS in bytes."""
        # Polars takes a tenth of a second, and a health check on every boot asks for no table.
        from lanewise.machine.tables import function_table

        return function_table(self)

    @cached_property
    def link_table(self) -> pl.DataFrame:
        """One row per link: both ends, speed in GT/s and lanes now, and the most that both ends can do."""
        # Polars takes a tenth of a second, and a health check on every boot asks for no table.
        from lanewise.machine.tables import link_table

        return link_table(self)

    def __repr__(self) -> str:
        """Say what was read."""
        functions, links = counted(len(self.functions), "function"), counted(len(self.links), "link")
        return in_short(self, self.source, ", ".join(self.kinds), f"{functions}, {links}")

    def _repr_html_(self) -> str:
        """Return what a notebook shows: its links."""
        from lanewise.notebook import html

        return html(f"{len(self.links)} links of {self.source}", self.notes, [("Links", self.link_table)])

    def slot_of(self, function: Function) -> PhysicalSlot | None:
        """Return the slot that a function is in, itself or with a bridge above it."""
        way = {step.address.slot for step in (function, *self.path(function))}
        return next((slot for slot in self.slots if slot.device and slot.device.slot in way), None)

    def relation(self, first: Function, second: Function) -> Relation | None:
        """Return what a vendor's tool says about two devices."""
        wanted = {first.address, second.address}
        return next((r for r in self.relations if {r.first_address, r.second_address} == wanted), None)

    def own_links(self, first: Function, second: Function) -> str | None:
        """Name the links of their own that join two GPUs, directly or over switches for such links."""
        waiting, seen = [first.address], {first.address}
        while waiting:
            for address, path in self._by_own_links.get(waiting.pop(), {}).items():
                if address == second.address:
                    return OWN_LINKS[path]
                function = self.functions.get(address)
                if address not in seen and not (function and function.is_gpu):
                    waiting.append(address)
                    seen.add(address)
        return None

    @cached_property
    def _by_own_links(self) -> dict[Address, dict[Address, str]]:
        """For each device at links of GPUs, what is at their other ends."""
        near: dict[Address, dict[Address, str]] = {}
        for relation in self.relations:
            first, second = relation.first_address, relation.second_address
            if relation.path in OWN_LINKS and first is not None and second is not None:
                near.setdefault(first, {})[second] = relation.path
                near.setdefault(second, {})[first] = relation.path
        return near
