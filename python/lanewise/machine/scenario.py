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
from typing import TYPE_CHECKING, cast

from lanewise.errors import InputError
from lanewise.machine.lanes import LAST_WITHOUT_FLITS
from lanewise.machine.own_rate import said_of_rates
from lanewise.machine.parts import host_part, part_of, switch_part
from lanewise.machine.registers import PACKET_SIZES
from lanewise.machine.sleep import sleep_table
from lanewise.machine.sockets import interconnect_of
from lanewise.machine.ways import NO_CHANGE, Ways
from lanewise.scenario.annotated import Annotated, printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from lanewise import toml
    from lanewise.machine.address import Address
    from lanewise.machine.model import Function, Link, LinkMode, Machine
    from lanewise.machine.ways import Change, Modes
    from lanewise.scenario.tables import (
        Endpoint,
        EndpointLink,
        Host,
        HostSlot,
        Run,
        Scenario,
        Sourced,
        Switch,
        SwitchPort,
        Workload,
    )

_HOST_PARTS = {
    4: "generic-gen4-server",
    5: "generic-gen5-server",
    6: "generic-gen6-server",
    7: "generic-gen6-server",
}
"""Servers by the generation of their root ports; older ones have the defaults of theirs."""
_MEMORY = {4: (150, 180), 5: (255, 307), 6: (400, 500), 7: (400, 500)}
"""GB/s of a socket's memory: reads or writes alone, and both together, as those parts have them."""
CHIPSET = "chipset"
"""Name of the chipset in the scenario of a machine."""
_DMI = "dmi"
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


def scan_to_document(
    machine: Machine,
    *,
    endpoints: Iterable[Address | str] | None = None,
    workload: Sequence[Workload] | None = None,
    run: Run | None = None,
    changes: Mapping[Address, Change] | None = None,
    peer_to_peer: bool = False,
    title: str | None = None,
    settings: Mapping[str, Sequence[tuple[str, str]]] | None = None,
) -> Annotated:
    """Make a scenario, with notes for people who read it.

    `endpoints` are addresses of the devices to take part, all that can be written when None; their ways to
    the root are written, nothing else. In `workload`, ``endpoint_name`` names the devices; by default every
    device copies both ways at once. `changes` are per function. With `peer_to_peer` root ports forward to
    each other, and then one MPS holds for the whole machine. `settings` are further keys and values of
    devices by their names, without a source. Raises `InputError` when no link of the machine is known well
    enough, or not the way of a device that is named.
    """
    named = None if endpoints is None else list(endpoints)
    writer = _Writer(machine, changes or {}, peer_to_peer=peer_to_peer, settings=settings or {})
    chosen = writer.ways.choose(named)
    if not chosen:
        raise InputError(_nothing_to_write(machine))
    unknown = [f for address in named or () if (f := machine[address]) not in chosen]
    if unknown:
        raise InputError(f"no scenario can be written: how {unknown[0].address.short} is linked is not known")
    return writer.write(chosen, workload, run, title)


def scan_to_scenario(
    machine: Machine,
    *,
    endpoints: Iterable[Address | str] | None = None,
    workload: Sequence[Workload] | None = None,
    run: Run | None = None,
    changes: Mapping[Address, Change] | None = None,
    settings: Mapping[str, Sequence[tuple[str, str]]] | None = None,
) -> str:
    """Write a scenario file; everything as in `scan_to_document`."""
    return scan_to_document(
        machine, endpoints=endpoints, workload=workload, run=run, changes=changes, settings=settings
    ).to_toml()


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
        self.notes: dict[toml.Path, str] = {}
        self.headed: set[toml.Path] = set()
        """Tables within tables that have headings of their own."""

    def write(
        self,
        chosen: Sequence[Function],
        workload: Sequence[Workload] | None,
        run: Run | None,
        title: str | None,
    ) -> Annotated:
        """Return the whole scenario."""
        switches: dict[Address, dict[str, str | Sourced | SwitchPort]] = {}
        slots: dict[Address, tuple[Link, LinkMode]] = {}
        uplinks: dict[Address, Link] = {}
        behind: dict[str, str | Sourced | SwitchPort] = {}
        """Root ports of the chipset, which are ports of a switch to the wire."""
        for function in chosen:
            self._note_payload(function)
            link = self.machine.link_above(function)
            if link is not None and self.ways.has_switch(link):
                modes = self.ways.modes(link)
                assert modes is not None
                ports = switches.setdefault(link.device.address, {})
                ports[_beside_name(function)] = _word(modes.lower)
                uplinks[link.device.address] = link
            while link is not None:
                modes = self.ways.modes(link)
                assert modes is not None
                above = self.ways.above_switch(link)
                if above is None:
                    slots[link.upper.address] = (link, modes.upper)
                    if self.ways.chipset_above(link) is not None:
                        behind[_port_name(link.upper.address)] = _word(modes.upper)
                else:
                    ports = switches.setdefault(above.device.address, {})
                    ports[_port_name(link.upper.address)] = _word(modes.upper)
                    uplinks[above.device.address] = above
                link = above
        document: Scenario = {"title": self._title(title), "host": {"server": self._host(slots)}}
        tables = {CHIPSET: self._chipset(behind)} if behind else {}
        for address, ports in switches.items():
            tables[switch_name(uplinks[address].device)] = self._switch(uplinks[address], ports)
        if tables:
            document["switch"] = tables
        document["endpoint"] = {endpoint_name(function): self._endpoint(function) for function in chosen}
        if run is not None:
            document["run"] = run
            self.notes["run",] = "The time that predict measures."
        document["workload"] = list(workload) if workload is not None else list(map(_both_ways, chosen))
        return Annotated(document, tuple(self._head()), self.notes, self.headed)

    def _title(self, title: str | None) -> str:
        machine = self.machine
        name = machine.source.rpartition("/")[2]
        words = f"{machine.hostname or name or 'a machine'}, from {', '.join(machine.kinds) or 'a scan'}"
        return printable(title or words)

    def _head(self) -> list[str]:
        machine = self.machine
        name = machine.source.rpartition("/")[2]
        lines = [
            f"Written by `lanewise scan --scenario` from {name or 'this machine'}.",
            "Links, payload sizes and what devices may do are the machine's own. Assumed: what no dump",
            "says of host, switches and drives: catalog parts named below and the defaults of scenarios.",
            *(f"Assumed: {text}." for text in sorted(self.ways.assumed)),
        ]
        if not machine.measured:
            lines.append("The source declares its links; they were not read from the machine.")
        return lines

    def _host(self, slots: Mapping[Address, tuple[Link, LinkMode]]) -> Host:
        boundaries = {link.upper.link.rcb_bytes for link, _ in slots.values()} - {None}
        host = self._processor(slots)
        if boundaries:
            host["rcb"] = f"{min(b for b in boundaries if b)} B"
        if self.peer_to_peer:
            host["peer_to_peer"] = True
            self._note("host", "server", "peer_to_peer", "Assumed: root ports forward between each other")
        sockets = self._sockets(slots)
        if sockets:
            host["interconnect"] = interconnect_of(self.machine).table()
            self.headed.add(("host", "server", "interconnect"))
        places: dict[str, str | Sourced | HostSlot] = {}
        for address, (link, mode) in sorted(slots.items()):
            chipset = self.ways.chipset_above(link)
            name = _port_name(address) if chipset is None else _DMI
            slot: HostSlot = {"link": _word(mode if chipset is None else chipset.uplink)}
            if address in sockets:
                slot["socket"] = sockets[address]
            if (supported := self._payload_supported(link.upper)) is not None:
                slot["mps_supported"] = supported
            if (payload := self._payload_set(link.upper)) is not None:
                slot["mps"] = payload
            place = ("host", "server", "slots", name)
            places[name] = slot
            self.headed.add(place)
            self._note(*place, str(address) if chipset is None else f"the link to the {chipset.name}")
        host["slots"] = places
        return host

    def _note(self, *path_and_text: str) -> None:
        *path, text = path_and_text
        self.notes[tuple(path)] = text

    def _processor(self, slots: Mapping[Address, tuple[Link, LinkMode]]) -> Host:
        """Say what the processor is like: by its root ports' generation and maker, and by its sockets."""
        machine = self.machine
        ports = machine.host_ports
        able = [port.link.capability.generation or 1 for port in ports]
        used = [mode.generation or 1 for _, mode in slots.values()]
        generation = max([*able, *used], default=4)
        known = host_part(machine)
        part = known or _HOST_PARTS.get(generation)
        of_host = [*ports, *machine.host_bridges]
        makers = {_MAKERS.get(function.identity.vendor_id or 0) for function in of_host} - {None}
        host: Host = {}
        if part is not None:
            host["part"] = part
            told = "known by its host bridge" if known else "Assumed: memory and latencies of a server"
            self._note("host", "server", "part", told)
        if len(makers) == 1:
            host["maker"] = str(makers.pop())
            self._note("host", "server", "maker", "that of the root ports and host bridges")
        sockets = len(set(machine.sockets.values()))
        if sockets > 1 and generation in _MEMORY:
            alone, together = (
                _assumed(f"{sockets * rate} GB/s", f"{sockets} sockets, each with memory of its own")
                for rate in _MEMORY[generation]
            )
            host["read_bandwidth"] = alone
            host["write_bandwidth"] = alone
            host["memory_bandwidth"] = together
        return host

    def _sockets(self, slots: Mapping[Address, tuple[Link, LinkMode]]) -> dict[Address, int]:
        """Return the socket of each root port that is used; nothing when they share one."""
        known = self.machine.sockets
        found = {}
        for address, (link, _) in slots.items():
            socket = known.get(address, known.get(link.device.address))
            if socket is not None:
                found[address] = socket
        return found if len(set(found.values())) > 1 else {}

    def _chipset(self, ports: Mapping[str, str | Sourced | SwitchPort]) -> Switch:
        """Write the chipset as the switch that it is to the wire."""
        chipset = self.machine.chipset
        assert chipset is not None
        self._note("switch", CHIPSET, f"{chipset.bridge.address} {chipset.name}")
        self._note("switch", CHIPSET, "part", "known by its bridge to LPC")
        switch: Switch = {"part": chipset.part, "lanes": "none", "attach": f"server.{_DMI}"}
        switch["ports"] = {"port0": _word(chipset.uplink), **ports}
        if (supported := self._payload_supported(chipset.bridge)) is not None:
            switch["mps_supported"] = supported
        return switch

    def _switch(self, uplink: Link, ports: Mapping[str, str | Sourced | SwitchPort]) -> Switch:
        modes = self.ways.modes(uplink)
        assert modes is not None
        upstream = uplink.device
        redirects = [
            child.registers.acs is not None and "ReqRedir" in (child.registers.acs.enabled or ())
            for child in self.machine.children(upstream)
        ]
        path = ("switch", switch_name(upstream))
        self._note(*path, f"{upstream.address} {upstream.name}")
        switch: Switch = {}
        part = switch_part(upstream)
        if part:
            switch["part"] = part
            self._note(*path, "part", "known by its family")
            switch["lanes"] = "none"
        switch["attach"] = self._place(uplink)
        switch["ports"] = {"port0": _word(modes.lower), **ports}
        if (supported := self._payload_supported(upstream)) is not None:
            switch["mps_supported"] = supported
        if any(redirects):
            switch["acs_redirect"] = True
            self._note(*path, "acs_redirect", "ReqRedir is set on a downstream port")
        if (table := self._link(uplink, modes, path)) is not None:
            switch["link"] = table
        return switch

    def _endpoint(self, function: Function) -> Endpoint:
        link = self.machine.link_above(function)
        modes = None if link is None else self.ways.modes(link)
        assert link is not None
        assert modes is not None
        beside = self.ways.has_switch(link)
        transfers = function.transfers
        change = self.changes.get(function.address, NO_CHANGE)
        path = ("endpoint", endpoint_name(function))
        self._note(*path, f"{function.address} {function.name}")
        endpoint: Endpoint = {}
        part = part_of(function)
        if part is not None:
            endpoint["part"] = part
            rates = said_of_rates(part)
            self._note(*path, "part", "known by its name" + (f"; rates {rates}" if rates else ""))
        elif function.is_nvme:
            part = _DRIVE_PARTS[max(3, min(5, modes.lower.generation or 3))]
            endpoint["part"] = part
            self._note(*path, "part", "Assumed: a drive of this generation")
        endpoint["attach"] = (
            f"{switch_name(link.device)}.{_beside_name(function)}" if beside else self._place(link)
        )
        endpoint["generation"], endpoint["width"] = _word(modes.lower).split()
        if (supported := self._payload_supported(function)) is not None:
            endpoint["mps_supported"] = supported
        mrrs = change.mrrs or transfers.mrrs
        if mrrs in PACKET_SIZES and not function.virtual:
            endpoint["mrrs"] = f"{mrrs} B"
        relaxed = transfers.relaxed_ordering if change.relaxed_ordering is None else change.relaxed_ordering
        if relaxed is not None:
            endpoint["relaxed_ordering"] = relaxed
        bits = change.tag_bits or _tag_bits(function)
        if bits is not None:
            endpoint["tag_width"] = f"{bits} bits"
            if part is not None:
                endpoint["tags"] = "auto"
        for key, value in self.settings.get(path[1], ()):
            _set(endpoint, key, int(value) if value.isdigit() else value)
            self._note(*path, *key.split("."), "as predict assumes")
        if not beside and (table := self._link(link, modes, path)) is not None:
            endpoint["link"] = table
        return endpoint

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
        root = self.machine.root_port(function) or function
        chipset = self.machine.chipset
        return chipset.bridge.address if chipset is not None and root in chipset else root.address

    def _payload_supported(self, function: Function) -> str | None:
        supported = function.transfers.mps_supported
        payload = self.payloads.get(self._hierarchy(function))
        if supported not in PACKET_SIZES:
            supported = payload
        return None if supported is None else f"{max(supported, payload or 128)} B"

    def _payload_set(self, port: Function) -> str | None:
        payload = min(self.payloads.values()) if self.peer_to_peer and self.payloads else None
        payload = payload or self.payloads.get(self._hierarchy(port))
        return None if payload is None else f"{payload} B"

    def _place(self, link: Link) -> str:
        above = self.ways.above_switch(link)
        if above is not None:
            owner = switch_name(above.device)
        else:
            owner = "server" if self.ways.chipset_above(link) is None else CHIPSET
        return f"{owner}.{_port_name(link.upper.address)}"

    def _link(self, link: Link, modes: Modes, path: tuple[str, ...]) -> EndpointLink | None:
        """Say what is special about a link: less than both ends can do, and sleep."""
        table: EndpointLink = {}
        if modes.forced is not None:
            table["force_generation"], table["force_width"] = _word(modes.forced).split()
            self._note(*path, "link", "below what both ends can do")
        sleeps = self.changes.get(link.device.address, NO_CHANGE).asleep is not False
        if sleeps and max(modes.upper.generation or 1, modes.lower.generation or 1) <= LAST_WITHOUT_FLITS:
            table.update(sleep_table(link) or {})
        return table or None


def _assumed(value: str, source: str) -> Sourced:
    return {"value": value, "provenance": "assumed", "source": source}


def _both_ways(function: Function) -> Workload:
    name = endpoint_name(function)
    return {
        "kind": "dma",
        "name": name,
        "device": name,
        "direction": "both",
        "size": "64 KiB",
        "outstanding": 16,
    }


def _set(endpoint: Endpoint, key: str, value: str | int) -> None:
    """Set what a dotted key means, in the table that it means."""
    *outer, last = key.split(".")
    table = cast("dict[str, object]", endpoint)
    for name in outer:
        table = cast("dict[str, object]", table.setdefault(name, {}))
    table[last] = value


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


def switch_name(upstream: Function) -> str:
    """Return the name that a switch has in the scenario, by its upstream port."""
    return f"switch_{_identifier(upstream.address)}"
