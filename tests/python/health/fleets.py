"""Machines with GPUs, an adapter and drives, for the tests of what a fleet file expects."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from machines import GPU, NIC, NVME, function, machine

from lanewise.machine.model import Acs, Function, Kind, Machine, ResizableBar, Slot, Sriov

GPUS = 4


def device(place: int, class_code: int, *, bus: int | None = None, **more: Any) -> list[Function]:
    """Make a root port with a device in its slot; `bus` is that of the device, `place` counts root ports."""
    bus = 0x10 * place + 1 if bus is None else bus
    port = {"registers": {"slot": Slot(number=place), "acs": Acs(frozenset({"ReqRedir"}), frozenset())}}
    port |= more.pop("port", {})
    root = f"{0x10 * place:02x}:01.0"
    numbers = {GPU: (0x10DE, 0x2330), NIC: (0x15B3, 0x1021), NVME: (0x144D, 0xA80A)}[class_code]
    can = {GPU: "32 x16", NIC: "32 x16", NVME: "16 x4"}[class_code]
    names = {GPU: "H100", NIC: "ConnectX-7", NVME: "drive"}
    more = {"can": can, "driver": "native", "driver_known": True, "numa_node": min(place // 4, 1)} | more
    lower = function(f"{bus:02x}:00.0", Kind.ENDPOINT, class_code=class_code, parent=root, **more)
    identity = replace(
        lower.identity,
        vendor_id=numbers[0],
        device_id=numbers[1],
        vendor_name="Maker",
        device_name=names[class_code],
    )
    return [function(root, Kind.ROOT_PORT, **({"can": can} | port)), replace(lower, identity=identity)]


def gpu(place: int, **more: Any) -> list[Function]:
    registers = {
        "resizable_bars": (ResizableBar(1, 128 << 30),),
        "sriov": Sriov(total=16, enabled=False, count=0),
    }
    return device(place, GPU, **{"registers": registers | more.pop("registers", {})} | more)


def node(*parts: list[Function], **more: Any) -> Machine:
    return machine(*(one for part in parts for one in part), **more)


def parts() -> dict[int, list[Function]]:
    """Return what is in each place of a whole node: GPUs in 1 to 4, an adapter in 5, drives in 6 and 7."""
    return {place: gpu(place) for place in range(1, GPUS + 1)} | {
        5: device(5, NIC),
        6: device(6, NVME),
        7: device(7, NVME),
    }


def whole(**more: Any) -> Machine:
    return node(*parts().values(), **more)


def changed(**places: list[Function] | None) -> Machine:
    """Return a node with other things in some places, named like `p3`; None leaves one empty."""
    there = parts() | {int(name[1:]): part for name, part in places.items()}
    return node(*(part for part in there.values() if part is not None))
