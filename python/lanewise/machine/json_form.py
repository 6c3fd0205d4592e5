"""A machine as JSON: what `lanewise scan --json` prints.

The shape is documented in docs/reference/json.md. A key that is missing was not said by the source; nothing
is null. Sets become sorted lists. Units are in the names: ``gt_s`` is GT/s per lane, ``_bytes`` bytes, ``_s``
seconds.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, cast

from lanewise.machine.address import Address
from lanewise.output_format import FORMAT

if TYPE_CHECKING:
    from lanewise.documents import Scan, ScanMachineFunction, ScanMachineLink
    from lanewise.machine.model import Function, Link, Machine

_GROUPS = ("errors", "acs", "dpc", "sriov", "cxl", "slot")
_LINK_RENAMED = {"capability": "cap", "status": "sta", "target_gt_s": "target", "supported_gt_s": "supported"}
_PAYLOAD = ("mps", "mps_supported", "mrrs")


def to_json(machine: Machine) -> Scan:
    """Return the document, ready for `json.dumps`."""
    document: Scan = {
        "format": FORMAT,
        "source": machine.source,
        "kinds": list(machine.kinds),
        "machine": {
            "domains": list(machine.domains),
            "functions": [_function(machine, function) for function in machine],
            "links": [_link(link) for link in machine.links],
            "switches": [
                {
                    "upstream": str(switch.upstream.address),
                    "downstream": [str(port.address) for port in switch.downstream],
                }
                for switch in machine.switches
            ],
            "numa_nodes": [_plain(node) for node in machine.numa_nodes],
            "relations": [_plain(relation) for relation in machine.relations],
            "slots": [_plain(slot) for slot in machine.slots],
            "disagreements": [_plain(one) for one in machine.disagreements],
            "events": [_plain(event) for event in machine.events],
        },
        "notes": list(machine.notes),
        "not_understood": [{"line": number, "text": text} for number, text in machine.not_understood.samples],
        "not_understood_lines": machine.not_understood.count,
    }
    if (chipset := machine.chipset) is not None:
        document["machine"]["chipset"] = {
            "name": chipset.name,
            "bridge": str(chipset.bridge.address),
            "part": chipset.part,
            "uplink": {"gt_s": chipset.uplink.gt_s or 0.0, "width": chipset.uplink.width or 0},
            "ports": [str(port.address) for port in chipset.ports],
        }
    if machine.hostname:
        document["hostname"] = machine.hostname
    if not machine.measured:
        document["measured"] = False
    return document


def _function(machine: Machine, function: Function) -> ScanMachineFunction:
    identity, registers = function.identity, function.registers
    role = machine.role(function)
    said: dict[str, object] = {
        "bdf": str(function.address),
        "kind": None if function.kind is None else function.kind.value,
        "inferred_kind": role.value if role is not None and function.kind is None else None,
        "implied": function.implied or None,
        "class": None if identity.class_code is None else f"{identity.class_code:06x}",
        "class_name": identity.class_name,
        "vendor": _hex(identity.vendor_id),
        "device": _hex(identity.device_id),
        "subsystem_vendor": _hex(identity.subsystem_vendor_id),
        "subsystem_device": _hex(identity.subsystem_id),
        "revision": identity.revision,
        "name": identity.name,
        "vendor_name": identity.vendor_name,
        "device_name": identity.device_name,
        "subsystem_name": identity.subsystem_name,
        "parent": None if function.parent is None else str(function.parent),
        "children": [str(child) for child in function.children] or None,
        "buses": None if function.buses is None else _plain(function.buses),
        "link": _registers(registers.link),
        "mps": _payload(function),
        "mrrs": function.transfers.mrrs,
        "numa_node": function.numa_node,
        "local_cpus": function.local_cpus,
        "driver": function.driver,
        "modules": list(function.modules) or None,
        "iommu_group": function.iommu_group,
        "iommu_type": function.iommu_type,
        "physical_slot": function.physical_slot,
        "label": function.label,
        "interfaces": list(function.interfaces) or None,
        "model": function.model,
        "firmware": function.firmware,
        "performance_state": function.performance_state,
        "idle": function.idle,
        "port_mbit_s": function.port_mbit_s,
        "gpu_direct": function.gpu_direct,
        "health": None if function.health is None else _plain(function.health),
        "stated_health": function.stated_health,
        "virtual": function.virtual or None,
        "physical_function": None if function.physical_function is None else str(function.physical_function),
        "no_answer": list(registers.no_answer) or None,
        "express": registers.express,
        "ari": registers.ari,
        "ari_forwarding": registers.ari_forwarding,
        "bus_master": registers.bus_master,
        "memory_enabled": registers.memory_enabled,
        "interrupts": registers.interrupts,
        "interrupts_masked": registers.interrupts_masked or None,
        "secondary_reset": registers.secondary_reset or None,
        "wire_interrupts_off": registers.wire_interrupts_off,
        "self_test": registers.self_test,
        "channel_pending": registers.channel_pending or None,
        "enabled": registers.enabled,
        "power_state": registers.power_state,
        "status": None if registers.status is None else sorted(registers.status),
        "secondary_status": None
        if registers.secondary_status is None
        else sorted(registers.secondary_status),
        "transfers": _transfers(function),
        "bars": _plain(registers.bars),
        "windows": _plain(registers.windows),
        "resizable_bars": _plain(registers.resizable_bars) or None,
        "capabilities": list(registers.capabilities) or None,
    }
    said.update({name: _plain(getattr(registers, name)) for name in _GROUPS})
    return cast("ScanMachineFunction", {key: value for key, value in said.items() if value is not None})


def _hex(number: int | None) -> str | None:
    return None if number is None else f"{number:04x}"


def _registers(link: Any) -> dict[str, object] | None:
    if link is None:
        return None
    return {_LINK_RENAMED.get(key, key): value for key, value in _plain(link).items()}


def _payload(function: Function) -> dict[str, int] | None:
    values = {"supported": function.transfers.mps_supported, "set": function.transfers.mps}
    return {key: value for key, value in values.items() if value is not None} or None


def _transfers(function: Function) -> dict[str, object] | None:
    plain = _plain(function.registers.transfers) or {}
    return {key: value for key, value in plain.items() if key not in _PAYLOAD} or None


def _link(link: Link) -> ScanMachineLink:
    return {
        "port": str(link.upper.address),
        "device": str(link.device.address),
        "now": _plain(link.now),
        "limit": _plain(link.limit),
        "below_speed": link.below_speed,
        "below_width": link.below_width,
        "on_die": link.on_die,
    }


@cache
def _names(kind: Any) -> tuple[str, ...]:
    return kind._fields if hasattr(kind, "_fields") else tuple(field.name for field in fields(kind))


def _plain(value: Any) -> Any:
    """Turn records, addresses and sets into what JSON has; leave out what is None."""
    if isinstance(value, Address):
        return str(value)
    if is_dataclass(value) or hasattr(value, "_fields"):
        kind: Any = type(value)
        pairs = ((name, _plain(getattr(value, name))) for name in _names(kind))
        return {key: plain for key, plain in pairs if plain is not None and plain != {}}
    if isinstance(value, frozenset):
        return sorted(value)
    if isinstance(value, tuple):
        if value and type(value[0]) is tuple:
            return dict(value)
        return [_plain(item) for item in value]
    return value
