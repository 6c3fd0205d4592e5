"""NCCL and RCCL topology XML: CPUs, switches, GPUs and network cards, and the links between GPUs.

Every ``<pci>`` is the lower end of a link: a device, or a switch known by its upstream port. NCCL leaves out
the ports above them, so one is implied for each (`Function.implied`): a root port below a ``<cpu>``, a
downstream port below a switch. Whoever wrote the file declared the speeds; in files of cloud vendors nobody
measured them, and numbers like ``ffff:ff:01.0`` stand for switches that do not exist. Source: NCCL 2.21,
``src/graph/xml.cc``, read for the format only.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lanewise.errors import InputError
from lanewise.machine.address import Address
from lanewise.machine.draft import Draft
from lanewise.machine.model import Buses, Kind, NumaNode, Relation
from lanewise.machine.registers import LinkMode
from lanewise.machine.sources import xml
from lanewise.machine.sources.numbers import line_rate, natural

if TYPE_CHECKING:
    from lanewise.machine.assembly import Reading
    from lanewise.machine.said import IdentityNumber

_SPEED = re.compile(r"([\d.]{1,16}) ?GT/s")
_DUMMY_DOMAIN = 0xFFFF
_IMPLIED_DOMAIN = 0xFFFF0000
"""Beyond any domain that Linux hands out."""


class _Reader:
    def __init__(self, into: Reading) -> None:
        self.into = into
        self.path: list[Draft] = []
        self.node: int | None = None
        self.cpus: str | None = None
        self.relations: set[tuple[Address, Address, str]] = set()
        self.dummies = 0
        self.made_up = 0

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """Open an element."""
        if name == "graphs":
            raise InputError(
                "this is an NCCL graph file (<graphs>): rings and trees that NCCL chose, not a topology; "
                "the file written by NCCL_TOPO_DUMP_FILE has what is needed"
            )
        if name == "system":
            self.into.kinds.append("NCCL XML")
        elif name == "cpu":
            self._cpu(attributes)
        elif name == "pci":
            self._pci(attributes)
        elif name in ("nvlink", "xgmi") and self.path:
            self._relation(name, attributes)
        elif name == "net" and self.path:
            _net(self.path[-1], attributes)
        elif name == "gpu" and self.path and natural(attributes.get("dev")) is not None:
            self.path[-1].add_interface(f"GPU{attributes['dev']}")
            if attributes.get("gdr") in ("0", "1"):
                self.path[-1].function["gpu_direct"] = attributes["gdr"] == "1"

    def end(self, name: str) -> None:
        """Close an element."""
        if name == "pci" and self.path:
            self.path.pop()
        elif name == "cpu":
            self.node = self.cpus = None

    def _cpu(self, attributes: dict[str, str]) -> None:
        self.node = natural(attributes.get("numaid"))
        self.cpus = _cpu_list(attributes.get("affinity", ""))
        if self.node is not None:
            self.into.numa_nodes.append(NumaNode(self.node, self.cpus, attributes.get("vendor")))

    def _pci(self, attributes: dict[str, str]) -> None:
        try:
            address = Address.parse(attributes.get("busid", ""))
        except ValueError:
            self.into.not_understood(0, f"<pci busid={attributes.get('busid', '')!r}>")
            address = self._made_up()
        if address in self.into.drafts:
            self.into.note(
                f"{address} stands for several devices in this file; the others have made-up addresses"
            )
            address = self._made_up()
        self.dummies += address.domain == _DUMMY_DOMAIN and address.bus >= 0xFE
        draft = Draft(address)
        is_bridge = attributes.get("class", "").startswith("0x0604")
        draft.kind = Kind.UPSTREAM_PORT if is_bridge else Kind.ENDPOINT
        draft.registers["express"] = True
        port = self._port_above(draft)
        draft.parent = port.address
        draft.function["numa_node"] = self.node
        draft.function["local_cpus"] = self.cpus
        _identify(draft, attributes)
        mode = _mode(attributes)
        if mode != LinkMode():
            draft.link["status"] = mode
        self.path.append(draft)
        self.into.add(draft)

    def _port_above(self, draft: Draft) -> Draft:
        """Make the port that the file leaves out; a port of its own for every device."""
        port = Draft(self._made_up())
        port.kind = Kind.DOWNSTREAM_PORT if self.path else Kind.ROOT_PORT
        port.registers["express"] = True
        port.parent = self.path[-1].address if self.path else None
        port.buses = Buses(None, draft.address.bus, draft.address.bus)
        port.identity["class_code"] = 0x060400
        port.function |= {"implied": True, "numa_node": self.node, "local_cpus": self.cpus}
        self.into.add(port)
        return port

    def _made_up(self) -> Address:
        number = self.made_up
        self.made_up += 1
        return Address(_IMPLIED_DOMAIN + (number >> 16), number >> 8 & 0xFF, number >> 3 & 0x1F, number & 7)

    def _relation(self, name: str, attributes: dict[str, str]) -> None:
        try:
            target = Address.parse(attributes.get("target", ""))
        except ValueError:
            return
        first, second = sorted((self.path[-1].address, target))
        kind = "NV" if name == "nvlink" else "XGMI"
        if (first, second, kind) in self.relations:
            return
        self.relations.add((first, second, kind))
        links = natural(attributes.get("count"))
        self.into.relations.append(Relation(str(first), str(second), kind, links, first, second))


def _net(draft: Draft, attributes: dict[str, str]) -> None:
    """Take the name of a network port, its speed, and whether it reaches the memory of GPUs."""
    if attributes.get("name"):
        draft.add_interface(attributes["name"])
    speed = natural(attributes.get("speed"))
    if speed:
        draft.function["port_mbit_s"] = max(speed, draft.function.get("port_mbit_s") or 0)
    if attributes.get("gdr") in ("0", "1"):
        draft.function["gpu_direct"] = attributes["gdr"] == "1" or bool(draft.function.get("gpu_direct"))


def _mode(attributes: dict[str, str]) -> LinkMode:
    speed = _SPEED.search(attributes.get("link_speed", ""))
    return LinkMode(line_rate(speed[1] if speed else None), natural(attributes.get("link_width")) or None)


def _identify(draft: Draft, attributes: dict[str, str]) -> None:
    fields: dict[str, IdentityNumber] = {
        "class": "class_code",
        "vendor": "vendor_id",
        "device": "device_id",
        "subsystem_vendor": "subsystem_vendor_id",
        "subsystem_device": "subsystem_id",
    }
    for name, field in fields.items():
        text = attributes.get(name, "")
        if re.fullmatch(r"0x[0-9a-fA-F]{1,6}", text):
            draft.identity[field] = int(text, 16)


def _cpu_list(mask: str) -> str | None:
    """Write a mask like ``0003ff,f0003fff`` as a list like ``0-13,28-41``."""
    try:
        bits = int(mask.replace(",", ""), 16)
    except ValueError:
        return None
    ranges, start = [], None
    for cpu in range(min(bits.bit_length(), 8192) + 1):
        if bits >> cpu & 1:
            start = cpu if start is None else start
        elif start is not None:
            ranges.append(f"{start}" if start == cpu - 1 else f"{start}-{cpu - 1}")
            start = None
    return ",".join(ranges) or None


def read(data: bytes, into: Reading) -> None:
    """Read a topology; raises InputError for a graph file."""
    into.measured = False
    reader = _Reader(into)
    xml.parse(data, reader.start, reader.end, into)
    into.note("link speeds are what the file declares; NCCL files of cloud vendors were never measured")
    if reader.dummies:
        into.note(f"{reader.dummies} addresses are placeholders of the file (ffff:ff:...)")
