"""A machine with devices at other ports: moved to an empty one, exchanged, or together below a switch.

A device takes all of its functions and what is below them along, and a GPU the switch inside it. Its address
stays, as that is how people know it, although firmware would give it another. The link trains to what both
ends can do, and the NUMA node is that of the port. Left out: windows and BARs, which firmware
would place anew.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from lanewise.errors import InputError
from lanewise.machine.model import PORTS_TO_LINKS, Address, Identity, Kind
from lanewise.machine.path_type import numa_node
from lanewise.machine.registers import LinkMode, LinkRegisters
from lanewise.machine.ways import Ways

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lanewise.machine.model import Function, Machine

_BRIDGE = 0x060400
"""Class of PCI-to-PCI bridges."""


def moved(machine: Machine, device: Function, port: Function) -> Machine:
    """Put a device below an empty port; InputError where it cannot be there, or comes from nowhere."""
    _check_port(machine, port)
    below = machine.link_below(port)
    if below is not None:
        raise InputError(
            f"{below.device.address.short} is below {port.address.short}; "
            f"'{device.address.short} <-> {below.device.address.short}' exchanges the two"
        )
    card = _card_of(machine, device)
    if port in machine.descendants(card):
        raise InputError(f"{port.address.short} is below {device.address.short} itself")
    old = _port_of(machine, card)
    return _with_children(machine, {old: (), port: _functions(machine, card)})


def exchanged(machine: Machine, first: Function, second: Function) -> Machine:
    """Put each of two devices where the other is; InputError where one is below the other."""
    cards = [_card_of(machine, device) for device in (first, second)]
    ports = [_port_of(machine, card) for card in cards]
    below = [machine.descendants(card) for card in cards]
    if cards[0] in below[1] or cards[1] in below[0] or ports[0] is ports[1]:
        raise InputError(f"{first.address.short} and {second.address.short} are at one port")
    return _with_children(
        machine, {ports[0]: _functions(machine, cards[1]), ports[1]: _functions(machine, cards[0])}
    )


def together(machine: Machine, first: Function, second: Function) -> Machine:
    """Return two devices of a machine below a switch that it does not have, and nothing else of it.

    The switch has no name, its ports can do what the present ports of the devices can, and its own link what
    the better of them can. InputError where that is not known of one.
    """
    cards = [_card_of(machine, device) for device in (first, second)]
    links = [(_port_of(machine, card), _able(machine, card)) for card in cards]
    domain = max(machine.domains) + 1
    places = [Address(domain, bus, device, 0) for bus, device in ((0, 0), (1, 0), (2, 0), (2, 1))]
    root, upstream, *downstream = places
    best, mode = max(links, key=lambda link: (link[1].gt_s or 0) * (link[1].width or 0))
    below = list(zip(downstream, links, (first, second), strict=True))
    functions = [
        _capable(replace(best, address=root, kind=Kind.ROOT_PORT, parent=None, children=(upstream,)), mode),
        _nameless(best, mode, upstream, Kind.UPSTREAM_PORT, root, tuple(downstream)),
        *(
            _nameless(*link, place, Kind.DOWNSTREAM_PORT, upstream, (device.address,))
            for place, link, device in below
        ),
        *(replace(device, parent=place, children=()) for place, _, device in below),
    ]
    return replace(machine, functions={each.address: each for each in functions}, numa_nodes=())


def _able(machine: Machine, device: Function) -> LinkMode:
    """Return what the port above a device can do; InputError where no source tells."""
    link = machine.link_above(device)
    modes = None if link is None else Ways(machine, {}).modes(link)
    if modes is None:
        raise InputError(f"what the port above {device.address.short} can do is not known")
    return modes.upper


def _nameless(
    like: Function,
    mode: LinkMode,
    address: Address,
    kind: Kind,
    parent: Address,
    children: tuple[Address, ...],
) -> Function:
    """Make a port of a switch of which nothing is known but what its links can do."""
    port = replace(like, address=address, kind=kind, parent=parent, children=children)
    registers = port.registers._replace(acs=None)
    return _capable(replace(port, identity=Identity(class_code=_BRIDGE), registers=registers), mode)


def _capable(port: Function, mode: LinkMode) -> Function:
    """Return a port that can do so much, and has done nothing yet."""
    link = (port.registers.link or LinkRegisters())._replace(capability=mode, status=mode)
    return replace(port, registers=port.registers._replace(link=link))


def _card_of(machine: Machine, device: Function) -> Function:
    """Return what hangs on a port of the board: the device, or the upstream port of the switch inside it."""
    link = machine.link_above(device)
    while link is not None and link.on_die:
        inside = machine.parent(link.upper)
        above = None if inside is None else machine.link_above(inside)
        if inside is None or above is None or above.tunnel or machine.gpu_below(above) is None:
            break
        device, link = inside, above
    return device


def _port_of(machine: Machine, device: Function) -> Function:
    link = machine.link_above(device)
    if link is None:
        raise InputError(f"{device.address.short} cannot be moved: the port above it is not known")
    return link.upper


def _check_port(machine: Machine, port: Function) -> None:
    if machine.role(port) not in PORTS_TO_LINKS:
        empty = ", ".join(each.address.short for each in machine.empty_ports[:8]) or "none"
        raise InputError(
            f"{port.address.short} is not a port below which a device can be; empty ones are {empty}"
        )


def _functions(machine: Machine, device: Function) -> tuple[Function, ...]:
    """Return all functions of a device, which hang on one port."""
    port = _port_of(machine, device)
    return machine.children(port)


def _with_children(machine: Machine, below: dict[Function, tuple[Function, ...]]) -> Machine:
    """Return the machine with other functions below some ports."""
    functions = dict(machine.functions)
    for port, children in below.items():
        functions[port.address] = replace(port, children=tuple(child.address for child in children))
        if not children:
            continue
        mode = _trained(port, children[0])
        functions[port.address] = _running(functions[port.address], mode)
        node = numa_node(machine, port)
        for child in children:
            functions[child.address] = _running(replace(child, parent=port.address), mode)
        for each in (*children, *_below(machine, children)):
            functions[each.address] = replace(
                functions[each.address], numa_node=node, physical_slot=port.physical_slot
            )
    ordered: dict[Address, Function] = {address: functions[address] for address in machine.functions}
    return replace(machine, functions=ordered)


def _below(machine: Machine, functions: Iterable[Function]) -> list[Function]:
    return [each for function in functions for each in machine.descendants(function)]


def _trained(port: Function, device: Function) -> LinkMode:
    """Return what a link between the two trains to; InputError where an end does not say what it can do."""
    able, other = port.link.capability, device.link.capability
    for end, mode in ((port, able), (device, other)):
        if not mode.known:
            raise InputError(
                f"what {end.address.short} can do is not known, so nor is what its link would train to"
            )
    return LinkMode(min(able.gt_s or 0, other.gt_s or 0), min(able.width or 0, other.width or 0))


def _running(function: Function, mode: LinkMode) -> Function:
    registers = function.registers
    if registers.link is None:
        return function
    link = registers.link._replace(status=mode, said_of_speed=None, said_of_width=None, target_gt_s=None)
    return replace(function, registers=registers._replace(link=link))
