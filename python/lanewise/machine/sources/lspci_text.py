"""The words that `lspci -v`, `-vv` and `-vvv` print about one function.

A line is ``Key: what it says``; some go on over the next lines, which have no key of their own. Indentation
is not relied upon, because copying spoils it. Capabilities that `registers` leaves out are passed over; in
the others, lines with a key that nobody knows are counted as not understood. Wordings changed over the years:
``UncorrErr`` became ``NonFatalErr``, commas came and went, ``(ok)`` and ``(downgraded)`` were added behind
speeds. Source: pciutils, ``lspci.c``, ``ls-caps.c``, ``ls-ecaps.c`` of 3.1.7, 3.9.0 and 3.13.0, read for the
wording only.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lanewise.machine.extended_capabilities import ACS_BITS, DPC_TRIGGERS, ROOT_ERROR_BITS
from lanewise.machine.model import Buses, Kind
from lanewise.machine.registers import SPEEDS_GT_S, Bar, Equalization, LinkMode, ResizableBar

if TYPE_CHECKING:
    from collections.abc import Callable

    from lanewise.machine.draft import Draft, Reading

_CAPABILITY = re.compile(r"\[([0-9a-f]{2,3})(?: v\d+)?\] (.*)")
_FLAG = re.compile(r"([^\s,;:]+?)([+-])(?=[\s,;)]|$)")
_SPEED = re.compile(r"Speed ([\d.,]+) ?GT/s")
_WIDTH = re.compile(r"Width x(\d+)")
_SIZE = re.compile(r"\[size=(\d+)([KMGTPE]?)\]")
_SIZES = re.compile(r"(\d+)([KMGTPE]?)B")
_NUMBER = re.compile(r"\d+")
_BUSES = re.compile(r"primary=([0-9a-f]+), secondary=([0-9a-f]+), subordinate=([0-9a-f]+)")
_PAYLOAD = re.compile(r"MaxPayload (\d+) bytes")
_READ_REQUEST = re.compile(r"MaxReadReq (\d+) bytes")
_ACCEPTABLE = re.compile(r"Latency L0s (unlimited|[<>]?[\d.]+ ?[num]s), L1 (unlimited|[<>]?[\d.]+ ?[num]s)")
_POWER = re.compile(r"PowerLimit >?([\d.]+) ?W")
_TIMEOUT = re.compile(r"Completion Timeout: ([\d.]+)([num]?s) to ([\d.]+)([num]?s)")
_RANGES = re.compile(r"Completion Timeout: Range ([A-D]+)")
_TARGET = re.compile(r"Target Link Speed: ([\d.]+)GT/s")
_SPEEDS = re.compile(r"Supported Link Speeds: ([\d.]+)(?:-([\d.]+))?GT/s")
_SLOT_NUMBER = re.compile(r"Slot #(\d+)")
_POWER_STATE = re.compile(r"\b(D0|D1|D2|D3(?:hot|cold)?)\b")
_VIRTUAL = re.compile(r"Initial VFs: (\d+), Total VFs: (\d+), Number of VFs: (\d+)")
_VF_PLACE = re.compile(r"VF offset: (\d+), stride: (\d+)")
_DVSEC = re.compile(r"Vendor=1e98 ID=([0-9a-f]{4})")
_PLACE = re.compile(r"(?:Memory|I/O ports|ROM) at ([0-9a-f]+|<[a-z]+>)")

_REGIONS = ("Expansion ROM at", "Memory at", "I/O ports at", "[virtual]")
_POWERS = {"": 0, "K": 10, "M": 20, "G": 30, "T": 40, "P": 50, "E": 60}
_PER_SECOND = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}
_DEVICE_STATUS_RENAMED = {"UncorrErr": "NonFatalErr", "UnsuppReq": "UnsupReq"}
_STATUS_ERRORS = frozenset({"ParErr", ">TAbort", "<TAbort", "<MAbort", ">SERR", "<PERR"})

# Longest first: "Root Complex ..." before "Root Port", "Legacy Endpoint" before "Endpoint".
_KINDS = (
    ("Root Complex Integrated Endpoint", Kind.INTEGRATED_ENDPOINT),
    ("Root Complex Event Collector", Kind.EVENT_COLLECTOR),
    ("PCI-Express to PCI/PCI-X Bridge", Kind.PCIE_TO_PCI_BRIDGE),
    ("PCI/PCI-X to PCI-Express Bridge", Kind.PCI_TO_PCIE_BRIDGE),
    ("Legacy Endpoint", Kind.LEGACY_ENDPOINT),
    ("Root Port", Kind.ROOT_PORT),
    ("Upstream Port", Kind.UPSTREAM_PORT),
    ("Downstream Port", Kind.DOWNSTREAM_PORT),
    ("Endpoint", Kind.ENDPOINT),
)


class BlockReader:
    """Reads the words about one function, line by line."""

    __slots__ = ("capability", "denied", "draft", "key", "passing_over", "seen_body", "text")

    def __init__(self, draft: Draft) -> None:
        """Start before the first line."""
        self.draft = draft
        self.capability = ""
        """The capability whose lines come."""
        self.passing_over = False
        """Whether that one is left out of the model."""
        self.key = ""
        self.text = ""
        self.denied = False
        self.seen_body = False

    def take(self, line: str, number: int, reading: Reading) -> bool:
        """Take a line; whether it was understood."""
        stripped = line.lstrip(" \t>|").rstrip()
        key, colon, rest = stripped.partition(":")
        if colon and rest.startswith((" [", " <access denied>")):
            self._start_capability(rest.strip())
        elif colon and (key in _RECORDS or key.split(" ", 1)[0] in _FAMILIES):
            self._start_record(key if key in _RECORDS else key.split(" ", 1)[0], stripped)
        elif not self.capability and stripped.startswith(_REGIONS):
            self._start_record("Region", stripped)
        elif self.passing_over:
            pass
        elif colon and key.split(" [", 1)[0] in _IGNORED:
            self._start_record("ignored", "")
        elif self.key and (line[:1] in " \t" or _FLAG.search(stripped)) and not _looks_like_key(stripped):
            self.text += " " + stripped
        else:
            reading.not_understood(number, line)
            return False
        return True

    def _start_record(self, key: str, text: str) -> None:
        self.finish_record()
        self.key, self.text = key, text

    def _start_capability(self, rest: str) -> None:
        self.finish_record()
        self.seen_body = True
        if rest.startswith("<access denied>"):
            self.denied = True
            return
        match = _CAPABILITY.match(rest)
        self.capability = match[2] if match else "?"
        self.passing_over = not self.capability.startswith(_READ_CAPABILITIES)
        _capability(self.draft, self.capability)

    def finish_record(self) -> None:
        """Hand a complete record to whoever reads it."""
        key, text = self.key, self.text
        self.key = self.text = ""
        if not key:
            return
        if key in ("Control", "Status", "Flags"):
            self.seen_body = True
            key = f"{self.capability.split(' ', 1)[0]} {key}".strip()
        if key == "Region" and self.capability:
            return
        handler = _RECORDS.get(key) or _FAMILIES.get(key)
        if handler is not None:
            handler(self.draft, text)

    def finish(self) -> None:
        """End the block: settle what only the whole of it tells."""
        self.finish_record()
        draft = self.draft
        if draft.kind in (Kind.INTEGRATED_ENDPOINT, Kind.EVENT_COLLECTOR):
            # Old versions print reserved link registers.
            draft.link.clear()
        if self.denied or not self.seen_body:
            return
        if draft.registers.setdefault("express", False) is False and draft.kind is None:
            draft.kind = _kind_without_express(draft)
        if "driver" not in draft.function:
            draft.function["driver_known"] = True


def _looks_like_key(text: str) -> bool:
    """Whether a line starts with a key of its own: a word, a colon, and something behind."""
    key, colon, rest = text.partition(":")
    return bool(colon) and key.isidentifier() and rest[:1] in (" ", "\t")


def _kind_without_express(draft: Draft) -> Kind:
    if draft.buses is not None:
        return Kind.CONVENTIONAL_BRIDGE
    code, name = draft.identity.get("class_code"), draft.identity.get("class_name")
    host = code >> 8 == 0x0600 if code is not None else name == "Host bridge"
    return Kind.HOST_BRIDGE if host else Kind.CONVENTIONAL


def _flags(text: str) -> dict[str, bool]:
    """Read ``This+ That-``."""
    return {name: sign == "+" for name, sign in _FLAG.findall(text)}


def _set_bits(text: str) -> frozenset[str]:
    return frozenset(name for name, sign in _FLAG.findall(text) if sign == "+")


def _copy(flags: dict[str, bool], into: dict[str, object], **names: str) -> None:
    """Copy flags to fields, where the line has them."""
    for field, flag in names.items():
        if flag in flags:
            into[field] = flags[flag]


def _mode(text: str) -> LinkMode:
    speed, width = _SPEED.search(text), _WIDTH.search(text)
    gt_s = float(speed[1].replace(",", ".")) if speed else None
    return LinkMode(gt_s if gt_s in SPEEDS_GT_S else None, int(width[1]) if width else None)


def _seconds(number: str, unit: str) -> float:
    return float(number) / _PER_SECOND[unit]


# --- capabilities ------------------------------------------------------------------------------------------


def _capability(draft: Draft, text: str) -> None:
    name = text.split(",", 1)[0].split(" (v", 1)[0]
    names = draft.registers.setdefault("capabilities", ())
    draft.registers["capabilities"] = (*names, name)
    if text.startswith("Express"):
        draft.registers["express"] = True
        draft.kind = next((kind for words, kind in _KINDS if words in text), None)
        if "FLIT+" in text or "FltMode+" in text:
            draft.link["flit_mode_supported"] = True
    elif text.startswith("Alternative Routing-ID"):
        draft.registers["ari"] = True
    elif text.startswith("Designated Vendor-Specific"):
        dvsec = _DVSEC.search(text)
        if dvsec:
            draft.cxl["dvsec_ids"] = (*draft.cxl.get("dvsec_ids", ()), int(dvsec[1], 16))


# --- the header of configuration space ---------------------------------------------------------------------


def _command(draft: Draft, text: str) -> None:
    _copy(_flags(text), draft.registers, bus_master="BusMaster", memory_enabled="Mem")


def _status(draft: Draft, text: str) -> None:
    draft.registers["status"] = _set_bits(text) & _STATUS_ERRORS


def _short_flags(draft: Draft, text: str) -> None:
    """Read the one line that `-v` prints for Control and Status."""
    draft.registers["bus_master"] = "bus master" in text
    for part in text.split(","):
        words = part.split()
        if words[:2] == ["NUMA", "node"] and words[-1].isdigit():
            draft.function["numa_node"] = int(words[-1])
        elif words[:2] == ["IOMMU", "group"] and words[-1].isdigit():
            draft.function["iommu_group"] = int(words[-1])


def _bus_numbers(draft: Draft, text: str) -> None:
    match = _BUSES.search(text)
    if match:
        primary, secondary, subordinate = (int(part, 16) & 0xFF for part in match.groups())
        draft.buses = Buses(primary, secondary, subordinate)


def _region(draft: Draft, text: str) -> None:
    """Read ``Region 0: Memory at ...``, without a number as `-v` does, or ``Expansion ROM at ...``."""
    if draft.bars is None:
        draft.bars = []
    is_rom = "Expansion ROM at" in text
    index = int(text[7]) if text.startswith("Region ") and text[7:8].isdigit() else len(draft.bars)
    match, size = _PLACE.search(text), _SIZE.search(text)
    place = match[1] if match else ""
    draft.bars.append(
        Bar(
            index=6 if is_rom else index,
            address=(int(place, 16) or None) if place and place[0] != "<" else None,
            size=int(size[1]) << _POWERS[size[2]] if size else None,
            io="I/O ports" in text,
            bits64="64-bit" in text,
            prefetchable=", prefetchable" in text or "(prefetchable" in text,
            virtual="[virtual]" in text,
            disabled="[disabled]" in text,
            ignored="<ignored>" in text,
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


def _kernel(draft: Draft, text: str) -> None:
    key, _, value = text.partition(":")
    if key == "Kernel driver in use":
        draft.function["driver"] = value.strip() or None
        draft.function["driver_known"] = True


def _physical_slot(draft: Draft, text: str) -> None:
    draft.function["physical_slot"] = text.partition(":")[2].strip()


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


# --- PCI Express -------------------------------------------------------------------------------------------


def _device_capabilities(draft: Draft, text: str) -> None:
    transfers, payload, power = draft.transfers, _PAYLOAD.search(text), _POWER.search(text)
    if payload:
        transfers["mps_supported"] = int(payload[1])
    if power:
        transfers["slot_power_limit_w"] = float(power[1])
    _copy(_flags(text), transfers, extended_tags_supported="ExtTag")
    acceptable = _ACCEPTABLE.search(text)
    if acceptable:
        transfers["latency_l0s_acceptable_s"] = _acceptable(acceptable[1])
        transfers["latency_l1_acceptable_s"] = _acceptable(acceptable[2])


def _acceptable(text: str) -> float | None:
    match = re.match(r"[<>]?([\d.]+) ?([num]s)", text)
    return _seconds(match[1], match[2]) if match else None


def _device_control(draft: Draft, text: str) -> None:
    transfers, payload, request = draft.transfers, _PAYLOAD.search(text), _READ_REQUEST.search(text)
    if payload:
        transfers["mps"] = int(payload[1])
    if request:
        transfers["mrrs"] = int(request[1])
    _copy(_flags(text), transfers, relaxed_ordering="RlxdOrd", extended_tags="ExtTag", no_snoop="NoSnoop")


def _device_status(draft: Draft, text: str) -> None:
    draft.transfers["status"] = frozenset(_DEVICE_STATUS_RENAMED.get(name, name) for name in _set_bits(text))


def _link_capabilities(draft: Draft, text: str) -> None:
    link = draft.link
    link["capability"] = _mode(text)
    if "ASPM" in text:
        aspm = text.partition("ASPM")[2].split(",", 1)[0]
        link["aspm_supported"] = tuple(state for state in ("L0s", "L1") if state in aspm)
    port = re.search(r"Port #(\d+)", text)
    if port:
        link["port_number"] = int(port[1])
    _copy(_flags(text), link, data_link_active_reporting="LLActRep")


def _link_control(draft: Draft, text: str) -> None:
    link = draft.link
    if "ASPM" in text:
        aspm = text.partition("ASPM")[2].split(";", 1)[0]
        link["aspm_enabled"] = tuple(state for state in ("L0s", "L1") if state in aspm)
    boundary = re.search(r"RCB (\d+) bytes", text)
    if boundary:
        link["rcb_bytes"] = int(boundary[1])
    _copy(
        _flags(text),
        link,
        disabled="LnkDisable" if "LnkDisable" in text else "Disabled",
        common_clock="CommClk",
        clock_power_management="ClockPM",
        autonomous_width_disabled="AutWidDis",
    )


def _link_status(draft: Draft, text: str) -> None:
    link = draft.link
    if not _SPEED.search(text) and not _WIDTH.search(text):
        return
    link["status"] = _mode(text)
    _copy(
        _flags(text),
        link,
        training="Train",
        slot_clock="SlotClk",
        data_link_active="DLActive",
        bandwidth_managed="BWMgmt",
        bandwidth_autonomous="ABWMgmt",
    )


def _slot_capabilities(draft: Draft, text: str) -> None:
    slot, number, power = draft.slot, _SLOT_NUMBER.search(text), _POWER.search(text)
    if number:
        slot["number"] = int(number[1])
    if power:
        slot["power_limit_w"] = float(power[1])
    _copy(_flags(text), slot, hot_plug="HotPlug", surprise="Surprise", power_controller="PwrCtrl")


def _slot_control(draft: Draft, text: str) -> None:
    _copy(_flags(text), draft.slot, power_off="Power")


def _slot_status(draft: Draft, text: str) -> None:
    _copy(_flags(text), draft.slot, presence="PresDet")


def _device_capabilities_2(draft: Draft, text: str) -> None:
    transfers, flags, ranges = draft.transfers, _flags(text), _RANGES.search(text)
    transfers["completion_timeout_ranges"] = ranges[1] if ranges else ""
    _copy(
        flags,
        transfers,
        completion_timeout_disable_supported="TimeoutDis",
        ten_bit_tags_completer="10BitTagComp",
        ten_bit_tags_requester="10BitTagReq",
    )


def _atomics(draft: Draft, text: str) -> None:
    flags = _flags(text)
    _copy(flags, draft.transfers, atomics_routing="Routing", atomics_enabled="ReqEn")


def _device_control_2(draft: Draft, text: str) -> None:
    transfers, flags, timeout = draft.transfers, _flags(text), _TIMEOUT.search(text)
    if timeout:
        transfers["completion_timeout_s"] = (_seconds(*timeout.group(1, 2)), _seconds(*timeout.group(3, 4)))
    _copy(flags, transfers, completion_timeout_disabled="TimeoutDis", ltr="LTR", ten_bit_tags="10BitTagReq")
    _copy(flags, draft.registers, ari_forwarding="ARIFwd")


def _device_3(draft: Draft, text: str) -> None:
    flags = _flags(text)
    if text.startswith("DevCap3"):
        _copy(
            flags,
            draft.transfers,
            fourteen_bit_tags_completer="14BitTagComp",
            fourteen_bit_tags_requester="14BitTagReq",
        )
    else:
        _copy(flags, draft.transfers, fourteen_bit_tags="14BitTagReq")


def _link_capabilities_2(draft: Draft, text: str) -> None:
    speeds = _SPEEDS.search(text)
    if speeds:
        low, high = float(speeds[1]), float(speeds[2] or speeds[1])
        draft.link["supported_gt_s"] = tuple(speed for speed in SPEEDS_GT_S if low <= speed <= high)


def _link_control_2(draft: Draft, text: str) -> None:
    target = _TARGET.search(text)
    if target:
        draft.link["target_gt_s"] = float(target[1])


def _link_status_2(draft: Draft, text: str) -> None:
    flags = _flags(text)
    _equalized(draft, 8.0, flags, "EqualizationComplete", "EqualizationPhase", "LinkEqualizationRequest")
    _copy(flags, draft.link, retimer="Retimer", two_retimers="2Retimers", flit_mode="FltMode")


def _equalized(
    draft: Draft, gt_s: float, flags: dict[str, bool], complete: str, phase: str, request: str
) -> None:
    if complete in flags:
        phases = (flags.get(f"{phase}1"), flags.get(f"{phase}2"), flags.get(f"{phase}3"))
        outcome = Equalization(gt_s, flags[complete], *phases, flags.get(request))
        draft.link["equalization"] = (*draft.link.get("equalization", ()), outcome)


def _physical_layer(draft: Draft, text: str) -> None:
    """Read ``Phy16Sta``, ``Phy32Sta`` and ``Phy64Sta``."""
    number = _NUMBER.search(text)
    if number:
        _equalized(draft, float(number[0]), _flags(text), "EquComplete", "EquPhase", "LinkEquRequest")


def _lane_errors(draft: Draft, text: str) -> None:
    _, _, rest = text.partition("LaneErr at lane:")
    draft.link["lane_errors"] = tuple(int(number) for number in _NUMBER.findall(rest))


def _l1_substates(draft: Draft, text: str) -> None:
    draft.link["l1_substates_enabled"] = tuple(sorted(name for name in _set_bits(text) if "_L1." in name))


# --- errors, access control, containment, virtual functions ------------------------------------------------


def _errors(field: str) -> Callable[[Draft, str], None]:
    def read(draft: Draft, text: str) -> None:
        names = _set_bits(text)
        if field.startswith("correctable") and "NonFatalErr" in names:
            names = (names - {"NonFatalErr"}) | {"AdvNonFatalErr"}
        draft.errors[field] = names

    return read


def _first_error(draft: Draft, text: str) -> None:
    pointer = re.search(r"First Error Pointer: ([0-9a-f]+)", text)
    if pointer:
        draft.errors["first_error"] = int(pointer[1], 16)


def _header_log(draft: Draft, text: str) -> None:
    words = re.findall(r"\b[0-9a-f]{8}\b", text)
    if len(words) >= 4:
        draft.errors["header_log"] = tuple(int(word, 16) for word in words[:4])


def _root_status(draft: Draft, text: str) -> None:
    if "CERcvd" in text:
        draft.errors["root_status"] = _set_bits(text) & frozenset(ROOT_ERROR_BITS)


def _acs(field: str) -> Callable[[Draft, str], None]:
    def read(draft: Draft, text: str) -> None:
        draft.acs[field] = _set_bits(text) & frozenset(ACS_BITS)

    return read


def _dpc_control(draft: Draft, text: str) -> None:
    trigger = re.search(r"Trigger:(\d)", text)
    if trigger and int(trigger[1]) < len(DPC_TRIGGERS):
        draft.dpc["trigger"] = DPC_TRIGGERS[int(trigger[1])]


def _dpc_status(draft: Draft, text: str) -> None:
    _copy(_flags(text), draft.dpc, triggered="Trigger")


def _sriov_control(draft: Draft, text: str) -> None:
    _copy(_flags(text), draft.sriov, enabled="Enable", ari_hierarchy="ARIHierarchy")


def _sriov_counts(draft: Draft, text: str) -> None:
    counts = _VIRTUAL.search(text)
    if counts:
        draft.sriov["initial"], draft.sriov["total"], draft.sriov["count"] = (int(n) for n in counts.groups())


def _sriov_place(draft: Draft, text: str) -> None:
    place = _VF_PLACE.search(text)
    if place:
        draft.virtual_functions = (int(place[1]), int(place[2]))


def _resizable_bar(draft: Draft, text: str) -> None:
    match = re.match(r"BAR (\d): current size: (\d+)([KMGTPE]?)B(?:, supported: (.*))?", text)
    if match:
        sizes = _SIZES.findall(match[4] or "")
        virtual = "Virtual Resizable BAR" in draft.registers.get("capabilities", ())[-1:]
        draft.resizable_bars.append(
            ResizableBar(
                index=int(match[1]),
                current=int(match[2]) << _POWERS[match[3]],
                supported=tuple(int(number) << _POWERS[unit] for number, unit in sizes),
                virtual=virtual,
            )
        )


def _cxl(draft: Draft, text: str) -> None:
    flags = _flags(text)
    if text.startswith("CXLCap"):
        _copy(flags, draft.cxl, cache_capable="Cache", io_capable="IO", memory_capable="Mem")
    elif text.startswith("CXLCtl"):
        _copy(flags, draft.cxl, cache_enabled="Cache", memory_enabled="Mem")
    elif text.startswith("FBSta"):
        _copy(flags, draft.cxl, link_cache="Cache", link_io="IO", link_memory="Mem")


_RECORDS: dict[str, Callable[[Draft, str], None]] = {
    "Control": _command,
    "Status": _status,
    "Flags": _short_flags,
    "Power Status": _power_state,
    "Express Control": _slot_control,
    "Bus": _bus_numbers,
    "NUMA node": _numa,
    "IOMMU group": _iommu,
    "Kernel driver in use": _kernel,
    "Kernel modules": _kernel,
    "Physical Slot": _physical_slot,
    "Subsystem": _subsystem,
    "DevCap": _device_capabilities,
    "DevCtl": _device_control,
    "DevSta": _device_status,
    "LnkCap": _link_capabilities,
    "LnkCtl": _link_control,
    "LnkSta": _link_status,
    "SltCap": _slot_capabilities,
    "SltCtl": _slot_control,
    "SltSta": _slot_status,
    "DevCap2": _device_capabilities_2,
    "DevCtl2": _device_control_2,
    "AtomicOpsCap": _atomics,
    "AtomicOpsCtl": _atomics,
    "LnkCap2": _link_capabilities_2,
    "LnkCtl2": _link_control_2,
    "LnkSta2": _link_status_2,
    "DevCap3": _device_3,
    "DevCtl3": _device_3,
    "Phy16Sta": _physical_layer,
    "Phy32Sta": _physical_layer,
    "Phy64Sta": _physical_layer,
    "LaneErrStat": _lane_errors,
    "L1SubCtl1": _l1_substates,
    "UESta": _errors("uncorrectable_status"),
    "UEMsk": _errors("uncorrectable_mask"),
    "UESvrt": _errors("uncorrectable_severity"),
    "CESta": _errors("correctable_status"),
    "CEMsk": _errors("correctable_mask"),
    "AERCap": _first_error,
    "HeaderLog": _header_log,
    "RootSta": _root_status,
    "ACSCap": _acs("supported"),
    "ACSCtl": _acs("enabled"),
    "DpcCtl": _dpc_control,
    "DpcSta": _dpc_status,
    "IOVCtl": _sriov_control,
    "Initial VFs": _sriov_counts,
    "VF offset": _sriov_place,
    "CXLCap": _cxl,
    "CXLCtl": _cxl,
    "FBSta": _cxl,
}
"""What reads a record, by its key; ``Control`` and such inside a capability go by its first word too."""

_FAMILIES: dict[str, Callable[[Draft, str], None]] = {"Region": _region, "BAR": _resizable_bar}
"""Keys with a number behind."""

_IGNORED = frozenset(
    {
        "ARICap",
        "ARICtl",
        "Address",
        "AltBus",
        "AlternateBus",
        "BIST",
        "Bridge",
        "Block1",
        "Block2",
        "Block3",
        "Block4",
        "BridgeCtl",
        "CXLCap2",
        "CXLCtl2",
        "CXLPortCtl",
        "CXLPortSta",
        "CXLSta",
        "CXLSta2",
        "Changed",
        "DevSta3",
        "DeviceName",
        "DpcCap",
        "ErrorSrc",
        "FBCap",
        "FBCtl",
        "FBModTS",
        "GPF Phase 1 Timeout",
        "GPF Phase 2 Duration",
        "GPF Phase 2 Power",
        "GPF Phase 2 Timeout",
        "I/O behind bridge",
        "IOVCap",
        "IOVSta",
        "Interrupt",
        "L1SubCap",
        "L1SubCtl2",
        "Latency",
        "LnkCap3",
        "LnkCtl3",
        "Memory behind bridge",
        "Phy16Cap",
        "Phy16Ctl",
        "Phy32Cap",
        "Phy32Ctl",
        "Phy64Cap",
        "Phy64Ctl",
        "PortCap",
        "PortSta",
        "Prefetchable memory behind bridge",
        "RP PIO",
        "Range1",
        "Range2",
        "RootCap",
        "RootCmd",
        "RootCtl",
        "Secondary status",
        "SltCap2",
        "SltCtl2",
        "SltSta2",
        "Source",
        "Supported Page Size",
        "TLP",
        "VF Migration",
    }
)
"""Keys that say nothing the model has room for; what follows without a key belongs to them."""

_READ_CAPABILITIES = (
    "Express",
    "Power Management",
    "Advanced Error Reporting",
    "Access Control Services",
    "Alternative Routing-ID",
    "Single Root I/O Virtualization",
    "Secondary PCI Express",
    "Downstream Port Containment",
    "L1 PM Substates",
    "Physical Resizable BAR",
    "Virtual Resizable BAR",
    "Resizable BAR",
    "Physical Layer",
    "Device 3",
    "Designated Vendor-Specific",
)
