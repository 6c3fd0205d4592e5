"""What `lspci` prints of the configuration header, and of the kernel's view of a function."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lanewise.machine.model import Buses
from lanewise.machine.registers import Bar, Window
from lanewise.machine.sources.lspci_text.flags import POWERS, copy_flags, set_bits
from lanewise.machine.sources.numbers import natural

if TYPE_CHECKING:
    from collections.abc import Callable

    from lanewise.machine.draft import Draft

_SIZE = re.compile(r"\[size=(\d+)([KMGTPE]?)\]")
_NUMBER = re.compile(r"\d+")
_BUSES = re.compile(r"primary=([0-9a-f]+), secondary=([0-9a-f]+), subordinate=([0-9a-f]+)")
_POWER_STATE = re.compile(r"\b(D0|D1|D2|D3(?:hot|cold)?)\b")
_PLACE = re.compile(r"(?:Memory|I/O ports|ROM) at ([0-9a-f]{1,16}|<[a-z]+>)")
_WINDOW = re.compile(r"([0-9a-f]{8,16})-([0-9a-f]{8,16})")
_STATUS_ERRORS = frozenset({"ParErr", ">TAbort", "<TAbort", "<MAbort", ">SERR", "<SERR", "<PERR"})


def _command(draft: Draft, text: str) -> None:
    copy_flags(
        text, draft.registers, bus_master="BusMaster", memory_enabled="Mem", wire_interrupts_off="DisINTx"
    )


def _self_test(draft: Draft, text: str) -> None:
    code = re.search(r"BIST result: ([0-9a-f]{2})", text)
    if code:
        draft.registers["self_test"] = int(code[1], 16)


def _channel_status(draft: Draft, text: str) -> None:
    """Read Status of a virtual channel; the first one is VC0, which every link needs."""
    if "NegoPending" in text:
        draft.registers.setdefault("channel_pending", "NegoPending+" in text)


def _bridge_control(draft: Draft, text: str) -> None:
    copy_flags(text, draft.registers, secondary_reset=">Reset")


def _status(draft: Draft, text: str) -> None:
    draft.registers["status"] = set_bits(text) & _STATUS_ERRORS
    copy_flags(text, draft.registers, capability_list="Cap")


def _secondary_status(draft: Draft, text: str) -> None:
    draft.registers["secondary_status"] = set_bits(text) & _STATUS_ERRORS


def _short_flags(draft: Draft, text: str) -> None:
    """Read the one line that `-v` prints for Control and Status."""
    draft.registers["bus_master"] = "bus master" in text
    for part in text.split(","):
        words = part.split()
        if words[:2] == ["NUMA", "node"]:
            draft.function["numa_node"] = natural(words[-1])
        elif words[:2] == ["IOMMU", "group"]:
            draft.function["iommu_group"] = natural(words[-1])


def _bus_numbers(draft: Draft, text: str) -> None:
    match = _BUSES.search(text)
    if match:
        primary, secondary, subordinate = (int(part, 16) & 0xFF for part in match.groups())
        draft.buses = Buses(primary, secondary, subordinate)


def _window(draft: Draft, text: str) -> None:
    """Read ``Memory behind bridge: fb000000-fb1fffff [size=2M]``; also ``[disabled]`` and ``None``."""
    place = _WINDOW.search(text)
    if place is None and "[disabled]" not in text and "None" not in text:
        return
    is_open = place is not None and "[disabled]" not in text
    base, limit = (int(place[1], 16), int(place[2], 16)) if place is not None and is_open else (0, 0)
    window = Window.of(base, limit, prefetchable=text.startswith("Prefetchable"))
    draft.registers["windows"] = (*(draft.registers.get("windows") or ()), window)


def region(draft: Draft, text: str) -> None:
    """Read ``Region 0: Memory at ...``, without a number as `-v` does, or ``Expansion ROM at ...``."""
    if draft.bars is None:
        draft.bars = []
    is_rom = "Expansion ROM at" in text
    number = natural(text[7:8]) if text.startswith("Region ") else None
    match, size = _PLACE.search(text), _SIZE.search(text)
    place = match[1] if match else ""
    draft.bars.append(
        Bar(
            index=6 if is_rom else len(draft.bars) if number is None else number,
            address=(int(place, 16) or None) if place and place[0] != "<" else None,
            size=int(size[1]) << POWERS[size[2]] if size else None,
            io="I/O ports" in text,
            bits64="64-bit" in text,
            prefetchable=", prefetchable" in text or "(prefetchable" in text,
            virtual="[virtual]" in text,
            disabled="[disabled]" in text,
            ignored="<ignored>" in text,
            unassigned="<unassigned>" in text,
        )
    )


def _numa(draft: Draft, text: str) -> None:
    number = _NUMBER.search(text)
    if number and "-" not in text:
        draft.function["numa_node"] = int(number[0])


def _iommu(draft: Draft, text: str) -> None:
    number = _NUMBER.search(text)
    if number:
        draft.function["iommu_group"] = int(number[0])


def kernel(draft: Draft, text: str) -> None:
    """Read the driver, or the modules that fit: of one line each, below which scripts print more."""
    key, _, value = text.partition(":")
    if key == "Kernel driver in use":
        draft.function["driver"] = value.strip() or None
        draft.function["driver_known"] = True
    elif key == "Kernel modules":
        draft.function["modules"] = tuple(name.strip() for name in value.split(",") if name.strip())


def _physical_slot(draft: Draft, text: str) -> None:
    draft.function["physical_slot"] = text.partition(":")[2].strip()


def _label(draft: Draft, text: str) -> None:
    draft.function["label"] = text.partition(":")[2].strip() or None


def _subsystem(draft: Draft, text: str) -> None:
    name = text.partition(":")[2].strip()
    ids = re.search(r"\[?([0-9a-f]{4}):([0-9a-f]{4})\]?$", name)
    if ids:
        draft.identity["subsystem_vendor_id"], draft.identity["subsystem_id"] = (
            int(ids[1], 16),
            int(ids[2], 16),
        )
        name = name[: ids.start()].strip()
    if name:
        draft.identity["subsystem_name"] = name


def _power_state(draft: Draft, text: str) -> None:
    state = _POWER_STATE.search(text)
    if state:
        draft.registers["power_state"] = "D3hot" if state[1] == "D3" else state[1]


RECORDS: dict[str, Callable[[Draft, str], None]] = {
    "Control": _command,
    "Status": _status,
    "Secondary status": _secondary_status,
    "BIST result": _self_test,
    "Virtual Status": _channel_status,
    "Flags": _short_flags,
    "Power Status": _power_state,
    "Bus": _bus_numbers,
    "BridgeCtl": _bridge_control,
    "Memory behind bridge": _window,
    "Prefetchable memory behind bridge": _window,
    "NUMA node": _numa,
    "IOMMU group": _iommu,
    "Kernel driver in use": kernel,
    "Kernel modules": kernel,
    "DeviceName": _label,
    "Physical Slot": _physical_slot,
    "Subsystem": _subsystem,
}
"""What reads a record, by its key."""
