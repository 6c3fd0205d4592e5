"""From a machine to a scenario file that `lanewise run` accepts.

What the machine says goes in: every physical link on the way from the chosen endpoints to the root, with
speed and width of both ends, MPS set, MRRS, tags, relaxed ordering, RCB, ACS redirection. A link trains in
the simulator as it does in reality, to what both ends can do; one that runs below that is forced to what it
runs at, except idle GPUs, which speed up under load. What no dump says (buffers, latencies, memory) comes
from a catalog part for a server of the generation, and is marked as assumed in a comment.

Root ports of a machine with several NUMA nodes say which socket they are on, and the host what joins the
sockets (``sockets.py``), as soon as devices of two of them take part. Links inside one chip are as fast as
the link to the chip, because their registers are for show. Left out: conventional PCI; functions beside the
first of a device, which share its link.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from lanewise.errors import InputError
from lanewise.machine.lanes import WIDTHS
from lanewise.machine.link_bandwidth import widest_mode
from lanewise.machine.model import ENDPOINTS, Kind, LinkMode
from lanewise.machine.sockets import interconnect_of, sockets_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from lanewise.machine.address import Address
    from lanewise.machine.model import Function, Link, Machine

_PAYLOADS = (128, 256, 512, 1024, 2048, 4096)
_HOST_PARTS = {6: "generic-gen6-server", 7: "generic-gen6-server"}
_USUAL_HOST = "generic-gen4-server"
_DRIVE_PARTS = {3: "generic-nvme-gen3-x4", 4: "generic-nvme-gen4-x4", 5: "generic-nvme-gen5-x4"}


@dataclass(frozen=True, slots=True)
class Change:
    """What to write instead of what the machine says, for one function and the link above it."""

    gt_s: float | None = None
    """Speed of the link above, GT/s: both ends are taken to be able to do it."""
    width: int | None = None
    """Lanes of the link above: both ends are taken to have them."""
    mps: int | None = None
    """Bytes, for this function and for every port above it."""
    mrrs: int | None = None
    relaxed_ordering: bool | None = None
    tag_bits: int | None = None
    """5, 8, 10 or 14."""


_NO_CHANGE = Change()
_CHIPSET = LinkMode(8.0, 4)
"""DMI 3.0, which joins an Intel chipset to its processor."""


def endpoint_name(function: Function) -> str:
    """Return the name that a function has in the scenario, like ``nvme_3b_00_0``."""
    if function.is_nvme:
        kind = "nvme"
    elif function.is_gpu:
        kind = "gpu"
    else:
        kind = "nic" if function.is_nic else "storage" if function.is_storage else "device"
    return f"{kind}_{_identifier(function.address)}"


def scan_to_scenario(
    machine: Machine,
    *,
    endpoints: Iterable[Address | str] | None = None,
    workload: str | None = None,
    changes: Mapping[Address, Change] | None = None,
    peer_to_peer: bool = False,
    title: str | None = None,
) -> str:
    """Write a scenario.

    `endpoints` are addresses of the devices to take part, all when None; their ways to the root are written,
    nothing else. `workload` is the text of the ``[[workload]]`` tables, in which ``endpoint_name`` names the
    devices; by default every device copies both ways at once. `changes` are per function. With `peer_to_peer`
    root ports forward to each other, and then one MPS holds for the whole machine. Raises `InputError` when
    no link of the machine is known well enough.
    """
    writer = _Writer(machine, changes or {}, peer_to_peer=peer_to_peer)
    chosen = writer.choose(endpoints)
    if not chosen:
        raise InputError(_nothing_to_write(machine))
    return writer.write(chosen, workload, title)


def _nothing_to_write(machine: Machine) -> str:
    if not machine.links:
        return (
            "no scenario can be written: the source shows no link with both ends; capture a whole "
            "machine as root with 'lspci -vvv'"
        )
    return (
        "no scenario can be written: the source shows links but not how fast and wide they are; "
        "capture as root with 'lspci -vvv'"
    )


class _Writer:
    def __init__(self, machine: Machine, changes: Mapping[Address, Change], *, peer_to_peer: bool) -> None:
        self.machine = machine
        self.peer_to_peer = peer_to_peer
        self.changes = changes
        self.lines: list[str] = []
        self.payloads: dict[Address, int] = {}
        """Payload size of each hierarchy, by its root port: the smallest that is set on it."""
        self.assumed: set[str] = set()

    # --- which devices, and on which links ---

    def choose(self, endpoints: Iterable[Address | str] | None) -> list[Function]:
        """Return one function of every device whose links to the root are all known."""
        machine = self.machine
        if endpoints is None:
            wanted = [link.device for link in machine.links if self._takes_part(link)]
            wanted += [f for link in machine.links if self._has_switch(link) for f in link.lower]
            wanted = [function for function in wanted if machine.role(function) in ENDPOINTS]
        else:
            wanted = [machine[address] for address in endpoints]
        links = ((function, machine.link_above(function)) for function in wanted)
        chosen = {function.address: function for function, link in links if self._complete(link)}
        return list(chosen.values())

    def _takes_part(self, link: Link) -> bool:
        """Whether a link is physical, or inside a chip behind a physical one or behind the chipset's own."""
        return not link.on_die or self._physical_above(link) is not None or link.device.is_nic

    def _physical_above(self, link: Link) -> Link | None:
        """Return the nearest physical link above one inside a chip."""
        above: Link | None = link
        while above is not None and above.on_die:
            above = self._link_above_switch(above)
        return above

    def _has_switch(self, link: Link) -> bool:
        """Whether the lower end is a switch, perhaps with endpoints beside its upstream port."""
        return any(self.machine.role(function) is Kind.UPSTREAM_PORT for function in link.lower)

    def _link_above_switch(self, link: Link) -> Link | None:
        """Return the link above the switch that a link hangs on; None at a root port."""
        above = self.machine.parent(link.upper)
        return None if above is None else self.machine.link_above(above)

    def _complete(self, link: Link | None) -> bool:
        """Whether speed and width are known of this link and all above it."""
        while link is not None:
            if self._modes(link) is None:
                return False
            if self.machine.parent(link.upper) is None:
                return self.machine.role(link.upper) is Kind.ROOT_PORT
            link = self._link_above_switch(link)
        return False

    def _modes(self, link: Link) -> tuple[LinkMode, LinkMode, LinkMode | None] | None:
        """Return what the upper and the lower end can do, and what the link is to be forced to."""
        if link.on_die:
            return self._inside(link)
        change = self.changes.get(link.device.address, _NO_CHANGE)
        upper, lower = self._able(link.upper, link), self._able(link.device, link)
        if upper is None or lower is None:
            return None
        force = None
        if (link.below_speed and not self.machine.is_idle_gpu(link)) or link.below_width:
            force = _usable(link.now)
            if force is not None and self.machine.is_idle_gpu(_at_full_width(link)):
                force = LinkMode(min(upper.gt_s or 0, lower.gt_s or 0), force.width)
        if change.gt_s is not None or change.width is not None:
            upper, lower = (LinkMode(change.gt_s or m.gt_s, change.width or m.width) for m in (upper, lower))
            force = (
                None if force is None else LinkMode(change.gt_s or force.gt_s, change.width or force.width)
            )
        return upper, lower, force

    def _inside(self, link: Link) -> tuple[LinkMode, LinkMode, None] | None:
        """Give a link inside a chip a mode that is no limit: that of the physical link above."""
        physical = self._physical_above(link)
        modes = None if physical is None else self._modes(physical)
        mode = _CHIPSET if modes is None else modes[1]
        self.assumed.add("links inside a chip carry what the link to the chip does (DMI: Gen3 x4)")
        return mode, mode, None

    def _able(self, end: Function, link: Link) -> LinkMode | None:
        """Return what an end can do; where no source says, it can do what the link does."""
        able = _usable(end.link.capability)
        if able is not None:
            return able
        now = _usable(link.now) or widest_mode(link)
        if now is not None:
            self.assumed.add("ends whose capability is not known are taken to do what their link does")
        return now

    # --- the text ---

    def write(self, chosen: Sequence[Function], workload: str | None, title: str | None) -> str:
        """Return the whole file."""
        devices: list[str] = []
        switches: dict[Address, list[tuple[str, str]]] = {}
        slots: dict[Address, tuple[Link, LinkMode]] = {}
        uplinks: dict[Address, Link] = {}
        for function in chosen:
            self._note_payload(function)
            link = self.machine.link_above(function)
            if link is not None and self._has_switch(link):
                modes = self._modes(link)
                assert modes is not None
                ports = switches.setdefault(link.device.address, [])
                ports.append((_beside_name(function), _word(modes[1])))
                uplinks[link.device.address] = link
            while link is not None:
                modes = self._modes(link)
                assert modes is not None
                above = self._link_above_switch(link)
                if above is None:
                    slots[link.upper.address] = (link, modes[0])
                else:
                    ports = switches.setdefault(above.device.address, [])
                    port = (_port_name(link.upper.address), _word(modes[0]))
                    if port not in ports:
                        ports.append(port)
                    uplinks[above.device.address] = above
                link = above
        for function in chosen:
            devices += self._endpoint(function)
        body = [*self._host(slots)]
        for address, ports in switches.items():
            body += self._switch(uplinks[address], ports)
        text = workload if workload is not None else self._everything(chosen)
        return "\n".join([*self._head(title), *body, *devices, text.strip("\n")]) + "\n"

    def _head(self, title: str | None) -> list[str]:
        machine = self.machine
        name = machine.source.rpartition("/")[2]
        words = (
            title or f"{machine.hostname or name or 'a machine'}, from {', '.join(machine.kinds) or 'a scan'}"
        )
        lines = [
            f"# Written by `lanewise scan --scenario` from {_comment(name or 'this machine')}.",
            "# Links, payload sizes and what devices may do are the machine's own. Assumed: what no dump",
            "# says of host, switches and drives: catalog parts named below and the defaults of scenarios.",
            *(f"# Assumed: {text}." for text in sorted(self.assumed)),
        ]
        if not machine.measured:
            lines.append("# The source declares its links; nobody measured them.")
        return [*lines, f"title = {_quoted(words)}", ""]

    def _host(self, slots: Mapping[Address, tuple[Link, LinkMode]]) -> list[str]:
        generation = max((mode.generation or 1 for _, mode in slots.values()), default=4)
        part = _HOST_PARTS.get(generation, _USUAL_HOST)
        boundaries = {link.upper.link.rcb_bytes for link, _ in slots.values()} - {None}
        lines = ["[host.server]", f"part = {_quoted(part)}      # Assumed: memory and latencies of a server"]
        if boundaries:
            lines.append(f'rcb = "{min(b for b in boundaries if b)} B"')
        if self.peer_to_peer:
            lines.append("peer_to_peer = true      # Assumed: root ports forward between each other")
        sockets = self._sockets(slots)
        lines.append("")
        if sockets:
            lines += [*interconnect_of(self.machine).toml("server"), ""]
        for address, (link, mode) in sorted(slots.items()):
            lines += [
                f"[host.server.slots.{_port_name(address)}]      # {_comment(str(address))}",
                f"link = {_quoted(_word(mode))}",
                *([f"socket = {sockets[address]}"] if address in sockets else []),
                *self._payload_supported(link.upper),
                *self._payload_set(link.upper),
                "",
            ]
        return lines

    def _sockets(self, slots: Mapping[Address, tuple[Link, LinkMode]]) -> dict[Address, int]:
        """Return the socket of each root port that is used; nothing when they share one."""
        known = sockets_of(self.machine)
        found = {}
        for address, (link, _) in slots.items():
            socket = known.get(address, known.get(link.device.address))
            if socket is not None:
                found[address] = socket
        return found if len(set(found.values())) > 1 else {}

    def _switch(self, uplink: Link, ports: Sequence[tuple[str, str]]) -> list[str]:
        modes = self._modes(uplink)
        assert modes is not None
        upstream = uplink.device
        listing = ", ".join(
            f"{name} = {_quoted(word)}" for name, word in [("port0", _word(modes[1])), *ports]
        )
        redirects = [
            child.registers.acs is not None and "ReqRedir" in (child.registers.acs.enabled or ())
            for child in self.machine.children(upstream)
        ]
        lines = [
            f"[switch.{_switch_name(upstream)}]      # {_comment(f'{upstream.address} {upstream.name}')}",
            f"attach = {_quoted(self._place(uplink))}",
            f"ports = {{ {listing} }}",
            *self._payload_supported(upstream),
        ]
        if any(redirects):
            lines.append("acs_redirect = true      # ReqRedir is set on a downstream port")
        return [*lines, *self._forced(modes[2]), ""]

    def _endpoint(self, function: Function) -> list[str]:
        link = self.machine.link_above(function)
        modes = None if link is None else self._modes(link)
        assert link is not None
        assert modes is not None
        beside = self._has_switch(link)
        place = f"{_switch_name(link.device)}.{_beside_name(function)}" if beside else self._place(link)
        transfers = function.transfers
        change = self.changes.get(function.address, _NO_CHANGE)
        generation, width = _word(modes[1]).split()
        lines = [
            f"[endpoint.{endpoint_name(function)}]      # {_comment(f'{function.address} {function.name}')}"
        ]
        drive = _DRIVE_PARTS.get(max(3, min(5, modes[1].generation or 3))) if function.is_nvme else None
        if drive is not None:
            lines.append(f"part = {_quoted(drive)}      # Assumed: a drive of this generation")
        lines += [
            f"attach = {_quoted(place)}",
            f"generation = {_quoted(generation)}",
            f"width = {_quoted(width)}",
            *self._payload_supported(function),
        ]
        mrrs = change.mrrs or transfers.mrrs
        if mrrs in _PAYLOADS and not function.virtual:
            lines.append(f'mrrs = "{mrrs} B"')
        relaxed = transfers.relaxed_ordering if change.relaxed_ordering is None else change.relaxed_ordering
        if relaxed is not None:
            lines.append(f"relaxed_ordering = {str(relaxed).lower()}")
        bits = change.tag_bits or _tag_bits(function)
        if bits is not None:
            lines.append(f'tag_width = "{bits} bits"')
            if drive is not None:
                lines.append('tags = "auto"')
        return [*lines, *([] if beside else self._forced(modes[2])), ""]

    def _note_payload(self, function: Function) -> None:
        """Lower the payload size of a hierarchy to what a device and the way to it are set to."""
        change = self.changes.get(function.address, _NO_CHANGE)
        way = (function, *self.machine.path(function))
        values = [change.mps] if change.mps else [step.transfers.mps for step in way]
        known = [value for value in values if value in _PAYLOADS]
        if known:
            root = self._hierarchy(function)
            self.payloads[root] = min([*(value for value in known if value), self.payloads.get(root, 4096)])

    def _hierarchy(self, function: Function) -> Address:
        root = self.machine.root_port(function)
        return function.address if root is None else root.address

    def _payload_supported(self, function: Function) -> list[str]:
        supported = function.transfers.mps_supported
        payload = self.payloads.get(self._hierarchy(function))
        if supported not in _PAYLOADS:
            supported = payload
        return [] if supported is None else [f'mps_supported = "{max(supported, payload or 128)} B"']

    def _payload_set(self, port: Function) -> list[str]:
        payload = min(self.payloads.values()) if self.peer_to_peer and self.payloads else None
        payload = payload or self.payloads.get(port.address)
        return [] if payload is None else [f'mps = "{payload} B"']

    def _place(self, link: Link) -> str:
        above = self._link_above_switch(link)
        owner = "server" if above is None else _switch_name(above.device)
        return f"{owner}.{_port_name(link.upper.address)}"

    def _forced(self, mode: LinkMode | None) -> list[str]:
        if mode is None:
            return []
        generation, width = _word(mode).split()
        return [
            f"link = {{ force_generation = {_quoted(generation)}, force_width = {_quoted(width)} }}"
            "      # below what both ends can do"
        ]

    def _everything(self, chosen: Sequence[Function]) -> str:
        tables = []
        for function in chosen:
            tables.append(
                "[[workload]]\n"
                'kind = "dma"\n'
                f"name = {_quoted(endpoint_name(function))}\n"
                f"device = {_quoted(endpoint_name(function))}\n"
                'direction = "both"\n'
                'size = "64 KiB"\n'
                "outstanding = 16\n"
            )
        return "\n".join(tables)


def _at_full_width(link: Link) -> Link:
    """Return the link as if it ran at full width, to ask whether its speed alone is that of an idle GPU."""
    lower = link.device
    registers = replace(
        lower.registers,
        link=replace(lower.link, status=LinkMode(lower.link.status.gt_s, link.limit.width)),
    )
    return replace(link, lower=(replace(lower, registers=registers), *link.lower[1:]))


def _usable(mode: LinkMode) -> LinkMode | None:
    """Return a mode that scenarios can express."""
    if mode.generation is None or not mode.width:
        return None
    narrower = [width for width in WIDTHS if width <= mode.width]
    return LinkMode(mode.gt_s, narrower[-1])


def _tag_bits(function: Function) -> int | None:
    transfers = function.transfers
    if transfers.fourteen_bit_tags:
        return 14
    if transfers.ten_bit_tags:
        return 10
    if transfers.extended_tags is None:
        return None
    return 8 if transfers.extended_tags else 5


def _word(mode: LinkMode) -> str:
    return f"gen{mode.generation} x{mode.width}"


def _identifier(address: Address) -> str:
    text = str(address) if address.domain else address.short
    return re.sub(r"[^0-9a-f]", "_", text)


def _port_name(address: Address) -> str:
    return f"port_{_identifier(address)}"


def _beside_name(function: Function) -> str:
    """Name a port that stands for what is beside a switch's upstream port in one device."""
    return f"beside_{_identifier(function.address)}"


def _switch_name(upstream: Function) -> str:
    return f"switch_{_identifier(upstream.address)}"


def _comment(text: str) -> str:
    """Return text that can stand in a comment: one line, no control characters."""
    return "".join(character if character.isprintable() else " " for character in text)[:100]


def _quoted(text: str) -> str:
    """Return a TOML string."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if c.isprintable() else " " for c in escaped)[:200] + '"'
