"""Small machines for the tests of the doctor: a root port, perhaps a switch, and a device or two."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from lanewise.machine.model import (
    Acs,
    Address,
    Buses,
    Errors,
    Function,
    Identity,
    Kind,
    LinkMode,
    LinkRegisters,
    Machine,
    Registers,
    Slot,
    Transfers,
)

GPU, NVME, NIC, ACCELERATOR = 0x030200, 0x010802, 0x020000, 0x120000

HEALTHY = Transfers(
    mps_supported=256,
    mps=256,
    mrrs=512,
    relaxed_ordering=True,
    extended_tags_supported=True,
    extended_tags=True,
    ten_bit_tags_completer=True,
    ten_bit_tags_requester=True,
    ten_bit_tags=False,
    completion_timeout_s=(50e-6, 50e-3),
    completion_timeout_disabled=False,
)


def mode(text: str) -> LinkMode:
    """Read a mode like "16 x8"."""
    speed, _, width = text.partition(" x")
    return LinkMode(float(speed), int(width))


def function(
    bdf: str,
    kind: Kind,
    *,
    can: str = "16 x16",
    now: str | None = None,
    link: dict[str, Any] | None = None,
    transfers: dict[str, Any] | None = None,
    class_code: int | None = None,
    vendor: int = 0x15B3,
    parent: str | None = None,
    registers: dict[str, Any] | None = None,
    **more: Any,
) -> Function:
    """Make a function in order, with what is to be different."""
    bridge = kind in (Kind.ROOT_PORT, Kind.UPSTREAM_PORT, Kind.DOWNSTREAM_PORT)
    states = {"rcb_bytes": 64, "aspm_enabled": (), "slot_clock": True}
    slot = Slot(number=1) if kind in (Kind.ROOT_PORT, Kind.DOWNSTREAM_PORT) else None
    return Function(
        address=Address.parse(bdf),
        kind=kind,
        identity=Identity(
            class_code=class_code if class_code is not None else 0x060400 if bridge else NVME,
            vendor_id=vendor,
            device_id=0x1234,
            vendor_name="Example",
            device_name="Device",
        ),
        registers=Registers(
            express=True,
            link=LinkRegisters(capability=mode(can), status=mode(now or can), **states | (link or {})),
            transfers=HEALTHY._replace(**transfers or {}),
            errors=Errors(correctable_status=frozenset(), uncorrectable_status=frozenset()),
            slot=slot,
            bus_master=True,
            memory_enabled=True,
        )._replace(**registers or {}),
        parent=Address.parse(parent) if parent else None,
        buses=Buses(0, 1, 9) if bridge else None,
        **more,
    )


def machine(*functions: Function, **more: Any) -> Machine:
    """Put functions together; children follow from parents."""
    below: dict[Address, list[Address]] = {}
    for one in functions:
        if one.parent is not None:
            below.setdefault(one.parent, []).append(one.address)
    linked = [replace(one, children=tuple(below.get(one.address, ()))) for one in functions]
    ordered = sorted(linked, key=lambda one: one.address)
    return Machine(functions={one.address: one for one in ordered}, source="made up", **more)


def pair(*, port: dict[str, Any] | None = None, **device: Any) -> Machine:
    """Make a root port with one drive in its slot, 16 GT/s x4; `port` and the rest say what is different."""
    upper = {"can": "16 x4"} | (port or {})
    lower = {"can": "16 x4"} | device
    return machine(
        function("00:01.0", Kind.ROOT_PORT, **upper),
        function("01:00.0", Kind.ENDPOINT, parent="00:01.0", **lower),
    )


def switched(
    *devices: dict[str, Any], uplink: str = "16 x16", acs: frozenset[str] = frozenset(), **port: Any
) -> Machine:
    """Make a switch with a device below each of its ports."""
    functions = [
        function("00:01.0", Kind.ROOT_PORT, can=uplink),
        function("01:00.0", Kind.UPSTREAM_PORT, can=uplink, parent="00:01.0"),
    ]
    for number, device in enumerate(devices):
        can = device.get("can", "16 x16")
        registers = {"acs": Acs(frozenset({"ReqRedir"}), acs)}
        functions += [
            function(
                f"02:{number:02x}.0",
                Kind.DOWNSTREAM_PORT,
                can=can,
                parent="01:00.0",
                registers=registers,
                **port,
            ),
            function(
                f"{3 + number:02x}:00.0", Kind.ENDPOINT, parent=f"02:{number:02x}.0", **{"can": can} | device
            ),
        ]
    return machine(*functions)


def on_chipset(*devices: dict[str, Any], number: int = 0xA305, ports: int | None = None) -> Machine:
    """Make an Intel machine with a device at the processor's root port, and more at those of its chipset."""
    name = "Z390 Chipset LPC Controller"
    bridge = function("00:1f.0", Kind.INTEGRATED_ENDPOINT, class_code=0x060100, vendor=0x8086)
    identity = replace(bridge.identity, device_id=number, device_name=name)
    functions = [
        replace(bridge, kind=None, identity=identity, registers=Registers(express=False)),
        function("00:01.0", Kind.ROOT_PORT, vendor=0x8086),
        function("01:00.0", Kind.ENDPOINT, parent="00:01.0", class_code=NIC),
    ]
    for place, device in enumerate(devices):
        can = device.get("can", "8 x4")
        port, bus = f"00:{0x1B + place // 4:02x}.{place % 4}", 2 + place
        functions += [
            replace(
                root := function(port, Kind.ROOT_PORT, vendor=0x8086, can=can),
                identity=replace(root.identity, device_id=number & 0xFF00 if ports is None else ports),
            ),
            function(f"{bus:02x}:00.0", Kind.ENDPOINT, parent=port, **{"can": can} | device),
        ]
    return machine(*functions)
