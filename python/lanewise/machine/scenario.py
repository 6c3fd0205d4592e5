"""From a machine to a scenario file that `lanewise run` accepts.

What the machine says goes in: every physical link on the way from the chosen endpoints to the root (`ways`),
with speed and width of both ends, MPS set, MRRS, tags, relaxed ordering, RCB, ACS redirection. What no dump
says (buffers, latencies, memory) comes from a catalog part for a server of the generation, and is marked as
assumed in a comment.

Root ports of a machine with several NUMA nodes say which socket they are on, and the host what joins the
sockets (`sockets`), as soon as devices of two of them take part. Left out: conventional PCI; functions beside
the first of a device, which share its link.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lanewise.errors import InputError
from lanewise.machine.lanes import LAST_WITHOUT_FLITS
from lanewise.machine.model import Kind
from lanewise.machine.parts import part_of, switch_part
from lanewise.machine.registers import PACKET_SIZES
from lanewise.machine.sleep import sleep_entries
from lanewise.machine.sockets import interconnect_of, sockets_of
from lanewise.machine.ways import NO_CHANGE, Ways

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from lanewise.machine.address import Address
    from lanewise.machine.model import Function, Link, LinkMode, Machine
    from lanewise.machine.ways import Change, Modes

_HOST_PARTS = {
    4: "generic-gen4-server",
    5: "generic-gen5-server",
    6: "generic-gen6-server",
    7: "generic-gen6-server",
}
"""Servers by the generation of their root ports; older ones have the defaults of theirs."""
_MEMORY = {4: (150, 180), 5: (255, 307), 6: (400, 500), 7: (400, 500)}
"""GB/s of a socket's memory: reads or writes alone, and both together, as those parts have them."""
_MAKERS = {0x8086: "intel", 0x1022: "amd"}
_DRIVE_PARTS = {3: "generic-nvme-gen3-x4", 4: "generic-nvme-gen4-x4", 5: "generic-nvme-gen5-x4"}


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
    settings: Mapping[str, Sequence[tuple[str, str]]] | None = None,
) -> str:
    """Write a scenario.

    `endpoints` are addresses of the devices to take part, all that can be written when None; their ways to
    the root are written, nothing else. `workload` is the text of the ``[[workload]]`` tables, in which
    ``endpoint_name`` names the devices; by default every device copies both ways at once. `changes` are per
    function. With `peer_to_peer` root ports forward to each other, and then one MPS holds for the whole
    machine. `settings` are further keys and values of devices by their names, without a source. Raises
    `InputError` when no link of the machine is known well enough, or not the way of a device that is named.
    """
    named = None if endpoints is None else list(endpoints)
    writer = _Writer(machine, changes or {}, peer_to_peer=peer_to_peer, settings=settings or {})
    chosen = writer.ways.choose(named)
    if not chosen:
        raise InputError(_nothing_to_write(machine))
    unknown = [f for address in named or () if (f := machine[address]) not in chosen]
    if unknown:
        raise InputError(f"no scenario can be written: how {unknown[0].address.short} is linked is not known")
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
    def __init__(
        self,
        machine: Machine,
        changes: Mapping[Address, Change],
        *,
        peer_to_peer: bool,
        settings: Mapping[str, Sequence[tuple[str, str]]],
    ) -> None:
        self.machine = machine
        self.settings = settings
        self.peer_to_peer = peer_to_peer
        self.changes = changes
        self.ways = Ways(machine, changes)
        self.payloads: dict[Address, int] = {}
        """Payload size of each hierarchy, by its root port: the smallest that is set on it."""

    def write(self, chosen: Sequence[Function], workload: str | None, title: str | None) -> str:
        """Return the whole file."""
        devices: list[str] = []
        switches: dict[Address, list[tuple[str, str]]] = {}
        slots: dict[Address, tuple[Link, LinkMode]] = {}
        uplinks: dict[Address, Link] = {}
        for function in chosen:
            self._note_payload(function)
            link = self.machine.link_above(function)
            if link is not None and self.ways.has_switch(link):
                modes = self.ways.modes(link)
                assert modes is not None
                ports = switches.setdefault(link.device.address, [])
                ports.append((_beside_name(function), _word(modes.lower)))
                uplinks[link.device.address] = link
            while link is not None:
                modes = self.ways.modes(link)
                assert modes is not None
                above = self.ways.above_switch(link)
                if above is None:
                    slots[link.upper.address] = (link, modes.upper)
                else:
                    ports = switches.setdefault(above.device.address, [])
                    port = (_port_name(link.upper.address), _word(modes.upper))
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
            *(f"# Assumed: {text}." for text in sorted(self.ways.assumed)),
        ]
        if not machine.measured:
            lines.append("# The source declares its links; they were not read from the machine.")
        return [*lines, f"title = {_quoted(words)}", ""]

    def _host(self, slots: Mapping[Address, tuple[Link, LinkMode]]) -> list[str]:
        boundaries = {link.upper.link.rcb_bytes for link, _ in slots.values()} - {None}
        lines = ["[host.server]", *self._processor(slots)]
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

    def _processor(self, slots: Mapping[Address, tuple[Link, LinkMode]]) -> list[str]:
        """Say what the processor is like: by its root ports' generation and maker, and by its sockets."""
        ports = [f for f in self.machine if self.machine.role(f) is Kind.ROOT_PORT]
        able = [port.link.capability.generation or 1 for port in ports]
        used = [mode.generation or 1 for _, mode in slots.values()]
        generation = max([*able, *used], default=4)
        part = _HOST_PARTS.get(generation)
        of_host = [*ports, *(f for f in self.machine if f.is_class(0x0600))]
        makers = {_MAKERS.get(function.identity.vendor_id or 0) for function in of_host} - {None}
        lines = []
        if part is not None:
            lines.append(f"part = {_quoted(part)}      # Assumed: memory and latencies of a server")
        if len(makers) == 1:
            lines.append(
                f"maker = {_quoted(str(makers.pop()))}      # that of the root ports and host bridges"
            )
        sockets = len(set(sockets_of(self.machine).values()))
        if sockets > 1 and generation in _MEMORY:
            alone, together = (sockets * rate for rate in _MEMORY[generation])
            lines += [
                f'read_bandwidth = "{alone} GB/s"      # Assumed: each socket has memory of its own',
                f'write_bandwidth = "{alone} GB/s"',
                f'memory_bandwidth = "{together} GB/s"',
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
        modes = self.ways.modes(uplink)
        assert modes is not None
        upstream = uplink.device
        listing = ", ".join(
            f"{name} = {_quoted(word)}" for name, word in [("port0", _word(modes.lower)), *ports]
        )
        redirects = [
            child.registers.acs is not None and "ReqRedir" in (child.registers.acs.enabled or ())
            for child in self.machine.children(upstream)
        ]
        part = switch_part(upstream)
        known = [f"part = {_quoted(part)}      # known by its family", 'lanes = "none"'] if part else []
        lines = [
            f"[switch.{_switch_name(upstream)}]      # {_comment(f'{upstream.address} {upstream.name}')}",
            *known,
            f"attach = {_quoted(self._place(uplink))}",
            f"ports = {{ {listing} }}",
            *self._payload_supported(upstream),
        ]
        if any(redirects):
            lines.append("acs_redirect = true      # ReqRedir is set on a downstream port")
        return [*lines, *self._link(uplink, modes), ""]

    def _endpoint(self, function: Function) -> list[str]:
        link = self.machine.link_above(function)
        modes = None if link is None else self.ways.modes(link)
        assert link is not None
        assert modes is not None
        beside = self.ways.has_switch(link)
        place = f"{_switch_name(link.device)}.{_beside_name(function)}" if beside else self._place(link)
        transfers = function.transfers
        change = self.changes.get(function.address, NO_CHANGE)
        generation, width = _word(modes.lower).split()
        lines = [
            f"[endpoint.{endpoint_name(function)}]      # {_comment(f'{function.address} {function.name}')}"
        ]
        part = part_of(function)
        if part is not None:
            lines.append(f"part = {_quoted(part)}      # known by its name; rates as published")
        elif function.is_nvme:
            part = _DRIVE_PARTS[max(3, min(5, modes.lower.generation or 3))]
            lines.append(f"part = {_quoted(part)}      # Assumed: a drive of this generation")
        lines += [
            f"attach = {_quoted(place)}",
            f"generation = {_quoted(generation)}",
            f"width = {_quoted(width)}",
            *self._payload_supported(function),
        ]
        mrrs = change.mrrs or transfers.mrrs
        if mrrs in PACKET_SIZES and not function.virtual:
            lines.append(f'mrrs = "{mrrs} B"')
        relaxed = transfers.relaxed_ordering if change.relaxed_ordering is None else change.relaxed_ordering
        if relaxed is not None:
            lines.append(f"relaxed_ordering = {str(relaxed).lower()}")
        bits = change.tag_bits or _tag_bits(function)
        if bits is not None:
            lines.append(f'tag_width = "{bits} bits"')
            if part is not None:
                lines.append('tags = "auto"')
        for key, value in self.settings.get(endpoint_name(function), ()):
            lines.append(f"{key} = {value if value.isdigit() else _quoted(value)}      # as predict assumes")
        return [*lines, *([] if beside else self._link(link, modes)), ""]

    def _note_payload(self, function: Function) -> None:
        """Lower the payload size of a hierarchy to what a device and the way to it are set to."""
        change = self.changes.get(function.address, NO_CHANGE)
        way = (function, *self.machine.path(function))
        values = [change.mps] if change.mps else [step.transfers.mps for step in way]
        known = [value for value in values if value in PACKET_SIZES]
        if known:
            root = self._hierarchy(function)
            self.payloads[root] = min([*(value for value in known if value), self.payloads.get(root, 4096)])

    def _hierarchy(self, function: Function) -> Address:
        root = self.machine.root_port(function)
        return function.address if root is None else root.address

    def _payload_supported(self, function: Function) -> list[str]:
        supported = function.transfers.mps_supported
        payload = self.payloads.get(self._hierarchy(function))
        if supported not in PACKET_SIZES:
            supported = payload
        return [] if supported is None else [f'mps_supported = "{max(supported, payload or 128)} B"']

    def _payload_set(self, port: Function) -> list[str]:
        payload = min(self.payloads.values()) if self.peer_to_peer and self.payloads else None
        payload = payload or self.payloads.get(port.address)
        return [] if payload is None else [f'mps = "{payload} B"']

    def _place(self, link: Link) -> str:
        above = self.ways.above_switch(link)
        owner = "server" if above is None else _switch_name(above.device)
        return f"{owner}.{_port_name(link.upper.address)}"

    def _link(self, link: Link, modes: Modes) -> list[str]:
        """Write what is special about a link: less than both ends can do, and sleep."""
        entries = []
        if modes.forced is not None:
            generation, width = _word(modes.forced).split()
            entries += [f"force_generation = {_quoted(generation)}", f"force_width = {_quoted(width)}"]
        comment = "      # below what both ends can do" if entries else ""
        sleeps = self.changes.get(link.device.address, NO_CHANGE).asleep is not False
        if sleeps and max(modes.upper.generation or 1, modes.lower.generation or 1) <= LAST_WITHOUT_FLITS:
            entries += sleep_entries(link)
        return [f"link = {{ {', '.join(entries)} }}{comment}"] if entries else []

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
