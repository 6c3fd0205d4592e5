"""The PCI Express capability: device, link and slot registers.

Leaves out Root Control and Status, and Slot 2, which say nothing about performance. Source: PCI Express Base
Specification 5.0, 7.5.3; Flit Mode: 6.0, 7.5.3.2, .7 and .20.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanewise.machine.model import Kind
from lanewise.machine.registers import SPEEDS_GT_S, Equalization, LinkMode

if TYPE_CHECKING:
    from lanewise.machine.config_space import Bytes
    from lanewise.machine.draft import Draft

_KINDS = {
    0x0: Kind.ENDPOINT,
    0x1: Kind.LEGACY_ENDPOINT,
    0x4: Kind.ROOT_PORT,
    0x5: Kind.UPSTREAM_PORT,
    0x6: Kind.DOWNSTREAM_PORT,
    0x7: Kind.PCIE_TO_PCI_BRIDGE,
    0x8: Kind.PCI_TO_PCIE_BRIDGE,
    0x9: Kind.INTEGRATED_ENDPOINT,
    0xA: Kind.EVENT_COLLECTOR,
}
_WITHOUT_LINK = frozenset({Kind.INTEGRATED_ENDPOINT, Kind.EVENT_COLLECTOR})
_WITH_BOUNDARY = frozenset({Kind.ROOT_PORT, Kind.ENDPOINT, Kind.LEGACY_ENDPOINT, Kind.PCIE_TO_PCI_BRIDGE})
"""Kinds with a Read Completion Boundary; it is reserved in switches. 7.5.3.7."""
_WITH_SLOT = frozenset({Kind.ROOT_PORT, Kind.DOWNSTREAM_PORT})

DEVICE_STATUS_BITS = ("CorrErr", "NonFatalErr", "FatalErr", "UnsupReq", "AuxPwr", "TransPend")
COMPLETION_TIMEOUTS_S = {
    0x0: (50e-6, 50e-3),
    0x1: (50e-6, 100e-6),
    0x2: (1e-3, 10e-3),
    0x5: (16e-3, 55e-3),
    0x6: (65e-3, 210e-3),
    0x9: (260e-3, 900e-3),
    0xA: (1.0, 3.5),
    0xD: (4.0, 13.0),
    0xE: (17.0, 64.0),
}
"""Completion Timeout Value. 7.5.3.16."""
_POWER_SCALES_W = (1.0, 0.1, 0.01, 0.001)
_POWER_ABOVE_239 = {0xF0: 250.0, 0xF1: 275.0, 0xF2: 300.0}
_L0S_LATENCIES_S = (64e-9, 128e-9, 256e-9, 512e-9, 1e-6, 2e-6, 4e-6, None)
_L1_LATENCIES_S = (1e-6, 2e-6, 4e-6, 8e-6, 16e-6, 32e-6, 64e-6, None)
"""Acceptable latencies and exit latencies have the same codes; None means no limit. 7.5.3.3, 7.5.3.6."""


def decode(space: Bytes, at: int, into: Draft) -> None:
    """Read the capability at an offset."""
    flags = space.word(at + 2)
    if flags is None:
        return
    into.registers["express"] = True
    into.kind = kind = _KINDS.get(flags >> 4 & 0xF)
    _device(space, at, into)
    has_link = kind not in _WITHOUT_LINK
    if has_link:
        _link(space, at, into)
    if kind in _WITH_SLOT and flags & 0x100:
        _slot(space, at, into)
    if flags & 0xF >= 2:
        _device_2(space, at, into)
        if has_link:
            _link_2(space, at, into)
            if flags & 0x8000:
                into.link["flit_mode_supported"] = True


def _device(space: Bytes, at: int, into: Draft) -> None:
    transfers = into.transfers
    capability, control, status = space.dword(at + 4), space.word(at + 8), space.word(at + 0xA)
    if capability is not None:
        transfers["mps_supported"] = 128 << (capability & 7)
        transfers["extended_tags_supported"] = bool(capability & 0x20)
        if into.kind in (Kind.ENDPOINT, Kind.LEGACY_ENDPOINT):
            transfers["latency_l0s_acceptable_s"] = _L0S_LATENCIES_S[capability >> 6 & 7]
            transfers["latency_l1_acceptable_s"] = _L1_LATENCIES_S[capability >> 9 & 7]
        if into.kind in (Kind.ENDPOINT, Kind.LEGACY_ENDPOINT, Kind.UPSTREAM_PORT, Kind.PCIE_TO_PCI_BRIDGE):
            transfers["slot_power_limit_w"] = _power(capability >> 18 & 0xFF, capability >> 26 & 3)
    if control is not None:
        transfers["reports"] = frozenset(
            name
            for bit, name in enumerate(("CorrErr", "NonFatalErr", "FatalErr", "UnsupReq"))
            if control >> bit & 1
        )
        transfers["relaxed_ordering"] = bool(control & 0x10)
        transfers["mps"] = 128 << (control >> 5 & 7)
        transfers["extended_tags"] = bool(control & 0x100)
        transfers["no_snoop"] = bool(control & 0x800)
        transfers["mrrs"] = 128 << (control >> 12 & 7)
    if status is not None:
        transfers["status"] = frozenset(
            name for bit, name in enumerate(DEVICE_STATUS_BITS) if status >> bit & 1
        )


def _power(value: int, scale: int) -> float:
    """Watts of a slot power limit. 7.5.3.9; values above 239 stand for more than 239 W."""
    return _POWER_ABOVE_239.get(value, float(value)) if scale == 0 else value * _POWER_SCALES_W[scale]


def _link(space: Bytes, at: int, into: Draft) -> None:
    link = into.link
    capability, control, status = space.dword(at + 0xC), space.word(at + 0x10), space.word(at + 0x12)
    if capability is not None:
        link["capability"] = LinkMode(_speed(capability & 0xF), capability >> 4 & 0x3F)
        aspm = _aspm(capability >> 10)
        link["aspm_supported"] = aspm
        if "L0s" in aspm:
            link["exit_latency_l0s_s"] = _L0S_LATENCIES_S[capability >> 12 & 7]
        if "L1" in aspm:
            link["exit_latency_l1_s"] = _L1_LATENCIES_S[capability >> 15 & 7]
        link["data_link_active_reporting"] = bool(capability & 0x100000)
        link["port_number"] = capability >> 24
    if control is not None:
        link["aspm_enabled"] = _aspm(control)
        if into.kind in _WITH_BOUNDARY:
            link["rcb_bytes"] = 128 if control & 8 else 64
        link["disabled"] = bool(control & 0x10)
        link["common_clock"] = bool(control & 0x40)
        link["clock_power_management"] = bool(control & 0x100)
        link["autonomous_width_disabled"] = bool(control & 0x200)
    if status is not None:
        link["status"] = LinkMode(_speed(status & 0xF), status >> 4 & 0x3F)
        link["training"] = bool(status & 0x800)
        link["slot_clock"] = bool(status & 0x1000)
        link["data_link_active"] = bool(status & 0x2000)
        link["bandwidth_managed"] = bool(status & 0x4000)
        link["bandwidth_autonomous"] = bool(status & 0x8000)


def _speed(code: int) -> float | None:
    return SPEEDS_GT_S[code - 1] if 1 <= code <= len(SPEEDS_GT_S) else None


def _aspm(bits: int) -> tuple[str, ...]:
    return (("L0s",) if bits & 1 else ()) + (("L1",) if bits & 2 else ())


_TEST_MODES = (
    (0x10, "EnterCompliance"),
    (0x400, "EnterModifiedCompliance"),
    (0x800, "ComplianceSOS"),
    (0x380, "Transmit Margin"),
)
"""Bits of Link Control 2 that tests switch on. 7.5.3.19."""


def _slot(space: Bytes, at: int, into: Draft) -> None:
    slot = into.slot
    capability, control, status = space.dword(at + 0x14), space.word(at + 0x18), space.word(at + 0x1A)
    if capability is not None:
        slot["power_controller"] = bool(capability & 2)
        slot["latch_sensor"] = bool(capability & 4)
        slot["surprise"] = bool(capability & 0x20)
        slot["hot_plug"] = bool(capability & 0x40)
        slot["power_limit_w"] = _power(capability >> 7 & 0xFF, capability >> 15 & 3)
        slot["number"] = capability >> 19
    if control is not None:
        slot["power_off"] = bool(control & 0x400)
        slot["attention"] = (None, "on", "blink", "off")[control >> 6 & 3]
    if status is not None:
        slot["presence"] = bool(status & 0x40)
        slot["presence_changed"] = bool(status & 0x8)
        slot["link_changed"] = bool(status & 0x100)
        slot["power_fault"] = bool(status & 0x2)
        slot["latch_open"] = bool(status & 0x20)


def _device_2(space: Bytes, at: int, into: Draft) -> None:
    transfers = into.transfers
    capability, control = space.dword(at + 0x24), space.word(at + 0x28)
    forwards = into.kind in (Kind.ROOT_PORT, Kind.DOWNSTREAM_PORT)
    if capability is not None:
        transfers["completion_timeout_ranges"] = "".join(
            letter for bit, letter in enumerate("ABCD") if capability >> bit & 1
        )
        transfers["completion_timeout_disable_supported"] = bool(capability & 0x10)
        transfers["ten_bit_tags_completer"] = bool(capability & 0x10000)
        transfers["ten_bit_tags_requester"] = bool(capability & 0x20000)
        if forwards or into.kind is Kind.UPSTREAM_PORT:
            transfers["atomics_routing"] = bool(capability & 0x40)
    if control is not None:
        transfers["completion_timeout_s"] = COMPLETION_TIMEOUTS_S.get(control & 0xF)
        transfers["completion_timeout_disabled"] = bool(control & 0x10)
        transfers["ltr"] = bool(control & 0x400)
        transfers["ten_bit_tags"] = bool(control & 0x1000)
        if forwards:
            into.registers["ari_forwarding"] = bool(control & 0x20)
        if into.kind in (Kind.ROOT_PORT, Kind.ENDPOINT, Kind.LEGACY_ENDPOINT, Kind.INTEGRATED_ENDPOINT):
            transfers["atomics_enabled"] = bool(control & 0x40)


def _link_2(space: Bytes, at: int, into: Draft) -> None:
    link = into.link
    capability, control, status = space.dword(at + 0x2C), space.word(at + 0x30), space.word(at + 0x32)
    if capability:
        link["supported_gt_s"] = tuple(
            speed for bit, speed in enumerate(SPEEDS_GT_S, start=1) if capability >> bit & 1
        )
    first_function = into.address.device == 0 and into.address.function == 0
    if control is not None and (first_function or into.kind not in (Kind.ENDPOINT, Kind.LEGACY_ENDPOINT)):
        # Only function 0 of a device controls the link; in the others the field is reserved.
        # Hardwired to 0 where 2.5 GT/s is all there is (7.5.3.19).
        link["target_gt_s"] = _speed(control & 0xF or 1)
        link["autonomous_speed_disabled"] = bool(control & 0x20)
        link["test_modes"] = tuple(name for bits, name in _TEST_MODES if control & bits)
    if status is not None:
        outcome = [bool(status >> bit & 1) for bit in range(1, 6)]
        link["equalization"] = (Equalization(8.0, *outcome),)
        link["retimer"] = bool(status & 0x40)
        link["two_retimers"] = bool(status & 0x80)
        if status & 0x400:
            link["flit_mode"] = True
