"""Extended capabilities that say something about performance or health.

Source: PCI Express Base Specification 5.0, 7.7 to 7.9 and 9.3.3, section per function; 64 GT/s and Device 3:
6.0, 7.7.7 and 7.9.29; CXL 2.0, 8.1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanewise.machine.model import Kind
from lanewise.machine.registers import Equalization, ResizableBar

if TYPE_CHECKING:
    from collections.abc import Callable

    from lanewise.machine.config_space import Bytes
    from lanewise.machine.draft import Draft

UNCORRECTABLE_BITS = {
    4: "DLP",
    5: "SDES",
    12: "TLP",
    13: "FCP",
    14: "CmpltTO",
    15: "CmpltAbrt",
    16: "UnxCmplt",
    17: "RxOF",
    18: "MalfTLP",
    19: "ECRC",
    20: "UnsupReq",
    21: "ACSViol",
    22: "UncorrIntErr",
    23: "BlockedTLP",
    24: "AtomicOpBlocked",
    25: "TLPBlockedErr",
    26: "PoisonTLPBlocked",
    27: "DMWrReqBlocked",
    28: "IDECheck",
    29: "MisIDETLP",
    30: "PCRC_CHECK",
    31: "TLPXlatBlocked",
}
CORRECTABLE_BITS = {
    0: "RxErr",
    6: "BadTLP",
    7: "BadDLLP",
    8: "Rollover",
    12: "Timeout",
    13: "AdvNonFatalErr",
    14: "CorrIntErr",
    15: "HeaderOF",
}
ROOT_ERROR_BITS = ("CERcvd", "MultCERcvd", "UERcvd", "MultUERcvd", "FirstFatal", "NonFatalMsg", "FatalMsg")
ACS_BITS = ("SrcValid", "TransBlk", "ReqRedir", "CmpltRedir", "UpstreamFwd", "EgressCtrl", "DirectTrans")
L1_SUBSTATES = ("PCI-PM_L1.2", "PCI-PM_L1.1", "ASPM_L1.2", "ASPM_L1.1")
DPC_TRIGGERS = ("off", "fatal", "nonfatal")
_CXL_VENDOR = 0x1E98
_ALL_ONES = 0xFFFFFFFF


def decode(identifier: int, space: Bytes, at: int, into: Draft) -> str:
    """Read one extended capability; return its name."""
    if identifier not in _READERS:
        return _OTHERS.get(identifier, f"extended {identifier:02x}h")
    name, read = _READERS[identifier]
    read(space, at, into)
    return name


def bit_names(value: int, names: dict[int, str]) -> frozenset[str]:
    """Return the names of the bits that are set."""
    return frozenset(name for bit, name in names.items() if value >> bit & 1)


def _bits(value: int | None, names: dict[int, str]) -> frozenset[str] | None:
    return None if value is None else bit_names(value, names)


def _named(value: int | None, names: tuple[str, ...]) -> frozenset[str] | None:
    return _bits(value, dict(enumerate(names)))


def _aer(space: Bytes, at: int, into: Draft) -> None:
    """Advanced Error Reporting, 7.8.4. A status of all ones is a device that fell off the bus."""
    errors = into.errors
    if space.dword(at + 4) == _ALL_ONES:
        return
    errors["uncorrectable_status"] = _bits(space.dword(at + 0x04), UNCORRECTABLE_BITS)
    errors["uncorrectable_mask"] = _bits(space.dword(at + 0x08), UNCORRECTABLE_BITS)
    errors["uncorrectable_severity"] = _bits(space.dword(at + 0x0C), UNCORRECTABLE_BITS)
    errors["correctable_status"] = _bits(space.dword(at + 0x10), CORRECTABLE_BITS)
    errors["correctable_mask"] = _bits(space.dword(at + 0x14), CORRECTABLE_BITS)
    control = space.dword(at + 0x18)
    if control is not None:
        errors["first_error"] = control & 0x1F
    log = tuple(space.dword(at + 0x1C + 4 * number) for number in range(4))
    if None not in log:
        errors["header_log"] = tuple(word for word in log if word is not None)
    if into.kind in (Kind.ROOT_PORT, Kind.EVENT_COLLECTOR):
        errors["root_status"] = _named(space.dword(at + 0x30), ROOT_ERROR_BITS)
        correctable, uncorrectable = space.word(at + 0x34), space.word(at + 0x36)
        if correctable is not None and uncorrectable is not None:
            errors["error_sources"] = (correctable, uncorrectable)


def _acs(space: Bytes, at: int, into: Draft) -> None:
    """Access Control Services, 7.7.8."""
    into.acs["supported"] = _named(space.word(at + 4), ACS_BITS)
    into.acs["enabled"] = _named(space.word(at + 6), ACS_BITS)


def _ari(space: Bytes, at: int, into: Draft) -> None:
    """Alternative Routing-ID Interpretation, 7.8.7."""
    del space, at
    into.registers["ari"] = True


def _sriov(space: Bytes, at: int, into: Draft) -> None:
    """Single Root I/O Virtualization, 9.3.3."""
    control = space.word(at + 8)
    if control is not None:
        into.sriov["enabled"] = bool(control & 1)
        into.sriov["ari_hierarchy"] = bool(control & 0x10)
    into.sriov["initial"] = space.word(at + 0x0C)
    into.sriov["total"] = space.word(at + 0x0E)
    into.sriov["count"] = space.word(at + 0x10)
    offset, stride = space.word(at + 0x14), space.word(at + 0x16)
    if offset and stride is not None:
        into.virtual_functions = (offset, stride)


def _lanes(space: Bytes, at: int, into: Draft) -> None:
    """Secondary PCI Express: lane errors, 7.7.3.3."""
    errors = space.dword(at + 8)
    if errors is not None and errors != _ALL_ONES:
        into.link["lane_errors"] = tuple(lane for lane in range(32) if errors >> lane & 1)


def _equalization(gt_s: float) -> Callable[[Bytes, int, Draft], None]:
    def read(space: Bytes, at: int, into: Draft) -> None:
        """Physical Layer 16.0, 32.0 and 64.0 GT/s: status at 0Ch. 7.7.5.4, 7.7.6.4."""
        status = space.dword(at + 0xC)
        if status is not None:
            outcome = Equalization(gt_s, *(bool(status >> bit & 1) for bit in range(5)))
            into.link["equalization"] = (*into.link.get("equalization", ()), outcome)

    return read


def _dpc(space: Bytes, at: int, into: Draft) -> None:
    """Downstream Port Containment, 7.9.14."""
    control, status = space.word(at + 6), space.word(at + 8)
    if control is not None and control & 3 < len(DPC_TRIGGERS):
        into.dpc["trigger"] = DPC_TRIGGERS[control & 3]
    if status is not None:
        into.dpc["triggered"] = bool(status & 1)


_POWER_ON_UNITS_US = (2, 10, 100)
"""By T_POWER_ON Scale, 7.8.3.4."""


def _l1_substates(space: Bytes, at: int, into: Draft) -> None:
    """L1 PM Substates, 7.8.3."""
    control = space.dword(at + 8)
    if control is not None:
        enabled = (name for bit, name in enumerate(L1_SUBSTATES) if control >> bit & 1)
        into.link["l1_substates_enabled"] = tuple(sorted(enabled))
        into.link["l1_2_common_mode_s"] = (control >> 8 & 0xFF) * 1e-6
    power_on = space.dword(at + 0xC)
    if power_on is not None and power_on & 3 < len(_POWER_ON_UNITS_US):
        into.link["l1_2_power_on_s"] = (power_on >> 3 & 0x1F) * _POWER_ON_UNITS_US[power_on & 3] * 1e-6


def _resizable_bars(*, virtual: bool) -> Callable[[Bytes, int, Draft], None]:
    def read(space: Bytes, at: int, into: Draft) -> None:
        """Resizable BAR, 7.8.6; for virtual functions 9.3.7.5. Sizes are 1 MiB times powers of two."""
        first = space.dword(at + 8)
        if first is None or first == _ALL_ONES:
            return
        for number in range(min(first >> 5 & 7, 6)):
            capability, control = space.dword(at + 4 + 8 * number), space.dword(at + 8 + 8 * number)
            if capability is None or control is None:
                return
            sizes = capability >> 4 | control >> 16 << 28
            into.resizable_bars.append(
                ResizableBar(
                    index=control & 7,
                    current=1 << (control >> 8 & 0x3F) + 20,
                    supported=tuple(1 << bit + 20 for bit in range(44) if sizes >> bit & 1),
                    virtual=virtual,
                )
            )

    return read


def _dvsec(space: Bytes, at: int, into: Draft) -> None:
    """Designated Vendor-Specific, 7.9.6; only those of CXL are read."""
    header, identifier = space.dword(at + 4), space.word(at + 8)
    if header is None or identifier is None or header & 0xFFFF != _CXL_VENDOR:
        return
    cxl = into.cxl
    cxl["dvsec_ids"] = (*cxl.get("dvsec_ids", ()), identifier)
    capability, control, status = space.word(at + 0xA), space.word(at + 0xC), space.word(at + 0xE)
    if identifier == 0 and capability is not None and control is not None:
        cxl["cache_capable"] = bool(capability & 1)
        cxl["io_capable"] = bool(capability & 2)
        cxl["memory_capable"] = bool(capability & 4)
        cxl["cache_enabled"] = bool(control & 1)
        cxl["memory_enabled"] = bool(control & 4)
    elif identifier == 7 and status is not None:
        cxl["link_cache"] = bool(status & 1)
        cxl["link_io"] = bool(status & 2)
        cxl["link_memory"] = bool(status & 4)


def _device_3(space: Bytes, at: int, into: Draft) -> None:
    """Device 3: 14-bit tags. 6.0, 7.7.9."""
    capability, control = space.dword(at + 4), space.word(at + 8)
    if capability is not None:
        into.transfers["fourteen_bit_tags_completer"] = bool(capability & 2)
        into.transfers["fourteen_bit_tags_requester"] = bool(capability & 4)
    if control is not None:
        into.transfers["fourteen_bit_tags"] = bool(control & 4)


def _virtual_channel(space: Bytes, at: int, into: Draft) -> None:
    """Virtual Channel, 7.9.1, of which VC0 counts; a second ID is for devices of several functions."""
    status = space.word(at + 0x1A)
    if status is not None:
        into.registers.setdefault("channel_pending", bool(status & 2))


_READERS: dict[int, tuple[str, Callable[[Bytes, int, Draft], None]]] = {
    0x0001: ("Advanced Error Reporting", _aer),
    0x0002: ("Virtual Channel", _virtual_channel),
    0x0009: ("Virtual Channel", _virtual_channel),
    0x000D: ("Access Control Services", _acs),
    0x000E: ("Alternative Routing-ID Interpretation", _ari),
    0x0010: ("Single Root I/O Virtualization", _sriov),
    0x0015: ("Resizable BAR", _resizable_bars(virtual=False)),
    0x0019: ("Secondary PCI Express", _lanes),
    0x001D: ("Downstream Port Containment", _dpc),
    0x001E: ("L1 PM Substates", _l1_substates),
    0x0023: ("Designated Vendor-Specific", _dvsec),
    0x0024: ("Virtual Resizable BAR", _resizable_bars(virtual=True)),
    0x0026: ("Physical Layer 16.0 GT/s", _equalization(16.0)),
    0x002A: ("Physical Layer 32.0 GT/s", _equalization(32.0)),
    0x002F: ("Device 3", _device_3),
    0x0031: ("Physical Layer 64.0 GT/s", _equalization(64.0)),
}
_OTHERS = {
    0x0003: "Device Serial Number",
    0x0004: "Power Budgeting",
    0x0005: "Root Complex Link",
    0x0007: "Root Complex Event Collector",
    0x000B: "Vendor Specific",
    0x000F: "Address Translation Service",
    0x0012: "Multicast",
    0x0017: "Transaction Processing Hints",
    0x0018: "Latency Tolerance Reporting",
    0x001B: "Process Address Space ID",
    0x001F: "Precision Time Measurement",
    0x0025: "Data Link Feature",
    0x0027: "Lane Margining",
    0x002E: "Data Object Exchange",
    0x0032: "Flit Logging",
}
