"""Redfish: PCIeDevice, PCIeFunction and PCIeSlots of a management controller, single or gathered, in JSON.

A device states how its link runs and the most it can do (`PCIeInterface`), often the slot it is in (`Slot`),
and its functions their numbers. Addresses are in none of these; those that makers put into identifiers are
taken (``59-0`` of Dell in decimal, ``00_D4_00`` of AMI in hexadecimal), others are made up. The slot makes a
port with its lanes and generation. Where no device is there, network and storage controllers and processors
that state a `PCIeInterface` count as devices. Source: DMTF DSP0268, PCIeDevice 1.17, PCIeFunction 1.6,
PCIeSlots 1.6.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lanewise.machine.address import Address
from lanewise.machine.function import Buses, Kind
from lanewise.machine.model import PhysicalSlot
from lanewise.machine.registers import SPEEDS_GT_S, LinkMode
from lanewise.machine.sources.documents import documents_of, objects_of, text_at
from lanewise.machine.sources.made_up import made_up_address
from lanewise.machine.sources.numbers import natural, whole

if TYPE_CHECKING:
    from lanewise.machine.assembly import Reading
    from lanewise.machine.draft import Draft
    from lanewise.machine.said import IdentityNumber

JSON_SIGNS = re.compile(r'"(?:PCIeInterface|MaxPCIeType|LanesInUse)"\s*:|#PCIe(?:Slots|Device|Function)\.v\d')
"""A key or a type that only Redfish has."""
_DELL = re.compile(r"(\d{1,3})-(\d{1,2})(?:-(\d))?$")
_AMI = re.compile(r"([0-9A-F]{2,4})_([0-9A-F]{2})_([0-9A-F]{2})(?:_([0-7]{1,2}))?$")
_HEALTH = ("OK", "Warning", "Critical")
"""Values of Status.Health (Redfish, Resource.json)."""
_PLAIN_NAME = re.compile(r"[A-Za-z]{3,12}_?\d{1,3}$")
"""An identifier that people use for a device: ``GPU5``, ``NIC_2``."""
_GENERATION = re.compile(r"Gen(\d)$")
_CLASSES = {
    "MassStorageController": 0x018000,
    "NetworkController": 0x028000,
    "DisplayController": 0x038000,
    "Bridge": 0x068000,
    "ProcessingAccelerators": 0x120000,
    "Coprocessor": 0x0B4000,
}
_GPU = re.compile(r"\bGPU\b|GeForce|Tesla|Quadro|Instinct|\bRTX\b|\b[ABHL]\d{2,3}S?\b")
_GPU_MAKERS = ("NVIDIA", "AMD", "Advanced Micro", "Intel")
_DISPLAY = 0x038000
_MOST_DEVICES = 4096
_NUMBERS: tuple[tuple[str, IdentityNumber], ...] = (
    ("VendorId", "vendor_id"),
    ("DeviceId", "device_id"),
    ("SubsystemVendorId", "subsystem_vendor_id"),
    ("SubsystemId", "subsystem_id"),
)


def read_document(document: str, into: Reading) -> None:
    """Read all devices, functions and slots."""
    devices: list[dict[str, object]] = []
    others: list[dict[str, object]] = []
    functions: list[dict[str, object]] = []
    before = len(into.drafts)
    for found in documents_of(document):
        for one in objects_of(found):
            kind = text_at(one, "@odata.type")
            if "PCIeFunction." in kind:
                functions.append(one)
            elif "PCIeSlots." in kind:
                _slots(one, into)
            elif "PCIeDevice." in kind or isinstance(one.get("PCIeInterface"), dict):
                (devices if "PCIeDevice." in kind else others).append(one)
    for device in (devices or others)[:_MOST_DEVICES]:
        own = [one for one in functions if _is_of(one, device)]
        _device(device, own or [{}], into)
    if len(into.drafts) > before or into.slots:
        into.kinds.append("Redfish")


def _is_of(function: dict[str, object], device: dict[str, object]) -> bool:
    name = text_at(device, "@odata.id")
    of = text_at(function, "Links", "PCIeDevice", "@odata.id")
    return bool(name) and (of == name or text_at(function, "@odata.id").startswith(f"{name}/"))


def _device(device: dict[str, object], functions: list[dict[str, object]], into: Reading) -> None:
    base = _address(text_at(device, "Id"))
    if base is None:
        base = made_up_address(into)
        into.note("Redfish states no addresses: those of devices are made up")
    port = None
    for function in functions:
        number = natural(text_at(function, "FunctionId")) or 0
        draft = into.draft(base._replace(function=number & 7))
        _describe(draft, device, function)
        if _link(draft, device):
            port = port or _port(device, base, into)
            draft.parent = port.address if port is not None else None


def _address(name: str) -> Address | None:
    """Return the address in an identifier, of makers whose form is known."""
    dell, ami = _DELL.match(name), _AMI.match(name)
    if dell is not None:
        bus, device, function = int(dell[1]), int(dell[2]), int(dell[3] or 0)
        return Address(0, bus, device, function) if bus < 256 and device < 32 and function < 8 else None
    if ami is not None and int(ami[3], 16) < 32:
        return Address(int(ami[1], 16), int(ami[2], 16), int(ami[3], 16), 0)
    return None


def _describe(draft: Draft, device: dict[str, object], function: dict[str, object]) -> None:
    identity = draft.identity
    for key, field in _NUMBERS:
        number = whole(text_at(function, key), 16)
        if number:
            identity[field] = number & 0xFFFF
    code = whole(text_at(function, "ClassCode"), 16)
    kind = _CLASSES.get(text_at(function, "DeviceClass"))
    maker, name = text_at(device, "Manufacturer"), text_at(device, "Model") or text_at(device, "Name")
    if kind is None and maker.startswith(_GPU_MAKERS) and _GPU.search(f"{name} {text_at(device, 'Name')}"):
        kind = _DISPLAY
    identity["class_code"] = code if code and code > 0xFFFF else kind
    if "device_id" not in identity:
        identity["vendor_name"], identity["device_name"] = maker or None, name or None
    draft.function["firmware"] = text_at(device, "FirmwareVersion") or None
    label = text_at(device, "Slot", "Location", "PartLocation", "ServiceLabel")
    draft.function["physical_slot"] = label or None
    health = text_at(device, "Status", "Health")
    draft.function["stated_health"] = health if health in _HEALTH else None
    own_name = text_at(device, "Id")
    if _PLAIN_NAME.match(own_name):
        draft.add_interface(own_name)


def _mode(said: object, generation: str, lanes: str) -> LinkMode:
    found = _GENERATION.match(text_at(said, generation))
    number = int(found[1]) if found else 0
    gt_s = SPEEDS_GT_S[number - 1] if 0 < number <= len(SPEEDS_GT_S) else None
    return LinkMode(gt_s, natural(text_at(said, lanes)) or None)


def _link(draft: Draft, device: dict[str, object]) -> bool:
    """Take how the link runs and what the device can do; whether anything is said of it."""
    interface = device.get("PCIeInterface")
    now = _mode(interface, "PCIeType", "LanesInUse")
    most = _mode(interface, "MaxPCIeType", "MaxLanes")
    if now != LinkMode():
        draft.link["status"] = now
    if most != LinkMode():
        draft.link["capability"] = most
        draft.registers["express"] = True
    draft.kind = Kind.ENDPOINT
    return most != LinkMode()


def _port(device: dict[str, object], below: Address, into: Reading) -> Draft | None:
    """Make the port of a slot that the device states."""
    mode = _mode(device.get("Slot"), "PCIeType", "Lanes")
    if mode == LinkMode():
        return None
    port = into.draft(made_up_address(into))
    port.kind = Kind.ROOT_PORT
    port.registers["express"] = True
    port.identity["class_code"] = 0x060400
    port.buses = Buses(None, below.bus, below.bus)
    port.link["capability"] = mode
    port.function["implied"] = True
    return port


def _slots(said: dict[str, object], into: Reading) -> None:
    """Take the slots of a chassis."""
    slots = said.get("Slots")
    for number, slot in enumerate(slots if isinstance(slots, list) else []):
        mode, state = _mode(slot, "PCIeType", "Lanes"), text_at(slot, "Status", "State")
        label = text_at(slot, "Location", "PartLocation", "ServiceLabel")
        place = text_at(slot, "Location", "PartLocation", "LocationOrdinalValue")
        into.slots.append(
            PhysicalSlot(
                name=label or f"slot {place or number}",
                kind=text_at(slot, "SlotType") or None,
                lanes=mode.width,
                generation=mode.generation,
                used={"Enabled": True, "Absent": False}.get(state),
            )
        )
