"""What `lspci` prints of the PCI Express capability, and of the capabilities about its link.

Source: PCI Express Base Specification 5.0, 7.5.3, 7.7.3 to 7.7.6; Flit Mode and Device 3: 6.0.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lanewise.machine.registers import SPEEDS_GT_S, Equalization, LinkMode
from lanewise.machine.sources.lspci_text.flags import copy_flags, flags, link_mode, seconds, set_bits
from lanewise.machine.sources.numbers import DECIMAL, line_rate

if TYPE_CHECKING:
    from collections.abc import Callable

    from lanewise.machine.draft import Draft

_NUMBER = re.compile(r"\d+")
_PAYLOAD = re.compile(r"MaxPayload (\d+) bytes")
_READ_REQUEST = re.compile(r"MaxReadReq (\d+) bytes")
_ACCEPTABLE = re.compile(r"Latency L0s ([^,]{1,40}), L1 (.+)")
_TIME = re.compile(rf"[<>]?{DECIMAL} ?([num]s)")
_POWER = re.compile(rf"PowerLimit >?{DECIMAL} ?W")
_TIMEOUT = re.compile(rf"Completion Timeout: {DECIMAL}([num]?s) to {DECIMAL}([num]?s)")
_RANGES = re.compile(r"Completion Timeout: Range ([A-D]+)")
_TARGET = re.compile(r"Target Link Speed: ([\d.]+)GT/s")
_SPEEDS = re.compile(rf"Supported Link Speeds: {DECIMAL}(?:-{DECIMAL})?GT/s")
_SLOT_NUMBER = re.compile(r"Slot #(\d+)")
_SAID_OF_SPEED = re.compile(r"Speed [^,(]{1,40}\(([a-z]+)\)")
_SAID_OF_WIDTH = re.compile(r"Width x\d+ \(([a-z]+)\)")
"""What `lspci` 3.6 and later says behind speed and width: it compares them with LnkCap."""
_ATTENTION = re.compile(r"AttnInd (On|Blink|Off)")
_ALL_ONES = re.compile(r"Speed unknown[^,]{0,40}, Width x63\b")
_REPORTS = frozenset({"CorrErr", "NonFatalErr", "FatalErr", "UnsupReq"})
_TEST_MODES = ("EnterCompliance", "EnterModifiedCompliance", "ComplianceSOS")
_MARGIN = re.compile(r"Transmit Margin: ([^,]{1,60})")
_NORMAL_MARGIN = "Normal Operating Range"
_DEVICE_STATUS_RENAMED = {"UncorrErr": "NonFatalErr", "UnsuppReq": "UnsupReq"}


def _device_capabilities(draft: Draft, text: str) -> None:
    transfers, payload, power = draft.transfers, _PAYLOAD.search(text), _POWER.search(text)
    if payload:
        transfers["mps_supported"] = int(payload[1])
    if power:
        transfers["slot_power_limit_w"] = float(power[1])
    copy_flags(text, transfers, extended_tags_supported="ExtTag")
    acceptable = _ACCEPTABLE.search(text)
    if acceptable:
        transfers["latency_l0s_acceptable_s"] = _acceptable(acceptable[1])
        transfers["latency_l1_acceptable_s"] = _acceptable(acceptable[2])


def _acceptable(text: str) -> float | None:
    match = _TIME.match(text)
    return seconds(match[1], match[2]) if match else None


def _device_control(draft: Draft, text: str) -> None:
    transfers, payload, request = draft.transfers, _PAYLOAD.search(text), _READ_REQUEST.search(text)
    if payload:
        transfers["mps"] = int(payload[1])
    if request:
        transfers["mrrs"] = int(request[1])
    if "FatalErr" in text:
        transfers["reports"] = frozenset(
            _DEVICE_STATUS_RENAMED.get(name, name)
            for name in set_bits(text)
            if _DEVICE_STATUS_RENAMED.get(name, name) in _REPORTS
        )
    copy_flags(text, transfers, relaxed_ordering="RlxdOrd", extended_tags="ExtTag", no_snoop="NoSnoop")


def _device_status(draft: Draft, text: str) -> None:
    draft.transfers["status"] = frozenset(_DEVICE_STATUS_RENAMED.get(name, name) for name in set_bits(text))


def _link_capabilities(draft: Draft, text: str) -> None:
    link = draft.link
    link["capability"] = link_mode(text)
    if "ASPM" in text:
        aspm = text.partition("ASPM")[2].split(",", 1)[0]
        link["aspm_supported"] = tuple(state for state in ("L0s", "L1") if state in aspm)
        if "L0s" in aspm:
            link["exit_latency_l0s_s"] = _exit_latency("L0s", text)
        if "L1" in aspm:
            link["exit_latency_l1_s"] = _exit_latency("L1", text)
    port = re.search(r"Port #(\d+)", text)
    if port:
        link["port_number"] = int(port[1])
    copy_flags(text, link, data_link_active_reporting="LLActRep")


def _exit_latency(state: str, text: str) -> float | None:
    """Read ``Exit Latency L0s <1us, L1 <16us``; versions before 3.2 print ``Latency L0 <1us, L1 <16us``."""
    name = "L0s?" if state == "L0s" else "L1"
    latency = re.search(rf"Latency (?:L0s? [^,;]{{1,40}}, )?{name} ([^,;]+)", text)
    return _acceptable(latency[1]) if latency else None


def _link_control(draft: Draft, text: str) -> None:
    link = draft.link
    if "ASPM" in text:
        aspm = text.partition("ASPM")[2].split(";", 1)[0]
        link["aspm_enabled"] = tuple(state for state in ("L0s", "L1") if state in aspm)
    boundary = re.search(r"RCB (\d+) bytes", text)
    if boundary:
        link["rcb_bytes"] = int(boundary[1])
    copy_flags(
        text,
        link,
        disabled="LnkDisable" if "LnkDisable" in text else "Disabled",
        common_clock="CommClk",
        clock_power_management="ClockPM",
        autonomous_width_disabled="AutWidDis",
    )


def _link_status(draft: Draft, text: str) -> None:
    link = draft.link
    if ones := _ALL_ONES.search(text):
        draft.registers["no_answer"] = (*draft.registers.get("no_answer", ()), f"LnkSta: {ones[0]}")
        return
    mode = link_mode(text)
    if mode == LinkMode():
        return
    link["status"] = mode
    if said := _SAID_OF_SPEED.search(text):
        link["said_of_speed"] = said[1]
    if said := _SAID_OF_WIDTH.search(text):
        link["said_of_width"] = said[1]
    copy_flags(
        text,
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
    copy_flags(
        text, slot, hot_plug="HotPlug", surprise="Surprise", power_controller="PwrCtrl", latch_sensor="MRL"
    )


def _slot_control(draft: Draft, text: str) -> None:
    copy_flags(text, draft.slot, power_off="Power")
    attention = _ATTENTION.search(text)
    if attention:
        draft.slot["attention"] = attention[1].lower()


def _slot_status(draft: Draft, text: str) -> None:
    copy_flags(text, draft.slot, presence="PresDet", power_fault="PowerFlt", latch_open="MRL")


def _slot_changes(draft: Draft, text: str) -> None:
    """Read the second line of Slot Status, which has names of the first again."""
    copy_flags(text, draft.slot, presence_changed="PresDet", link_changed="LinkState")


def _device_capabilities_2(draft: Draft, text: str) -> None:
    transfers, ranges = draft.transfers, _RANGES.search(text)
    transfers["completion_timeout_ranges"] = ranges[1] if ranges else ""
    copy_flags(
        text,
        transfers,
        completion_timeout_disable_supported="TimeoutDis",
        ten_bit_tags_completer="10BitTagComp",
        ten_bit_tags_requester="10BitTagReq",
    )


def _atomics(draft: Draft, text: str) -> None:
    copy_flags(text, draft.transfers, atomics_routing="Routing", atomics_enabled="ReqEn")


def _device_control_2(draft: Draft, text: str) -> None:
    transfers, timeout = draft.transfers, _TIMEOUT.search(text)
    if timeout:
        transfers["completion_timeout_s"] = (seconds(*timeout.group(1, 2)), seconds(*timeout.group(3, 4)))
    copy_flags(
        text, transfers, completion_timeout_disabled="TimeoutDis", ltr="LTR", ten_bit_tags="10BitTagReq"
    )
    copy_flags(text, draft.registers, ari_forwarding="ARIFwd")


def _device_3(draft: Draft, text: str) -> None:
    if text.startswith("DevCap3"):
        copy_flags(
            text,
            draft.transfers,
            fourteen_bit_tags_completer="14BitTagComp",
            fourteen_bit_tags_requester="14BitTagReq",
        )
    else:
        copy_flags(text, draft.transfers, fourteen_bit_tags="14BitTagReq")


def _link_capabilities_2(draft: Draft, text: str) -> None:
    speeds = _SPEEDS.search(text)
    if speeds:
        low, high = float(speeds[1]), float(speeds[2] or speeds[1])
        draft.link["supported_gt_s"] = tuple(speed for speed in SPEEDS_GT_S if low <= speed <= high)


def _link_control_2(draft: Draft, text: str) -> None:
    target = _TARGET.search(text)
    if target:
        draft.link["target_gt_s"] = line_rate(target[1])
    copy_flags(text, draft.link, autonomous_speed_disabled="SpeedDis")
    if "EnterCompliance" in text:
        on, margin = set_bits(text), _MARGIN.search(text)
        modes = [name for name in _TEST_MODES if name in on]
        if margin is not None and margin[1].strip() != _NORMAL_MARGIN:
            modes.append("Transmit Margin")
        draft.link["test_modes"] = tuple(modes)


def _link_status_2(draft: Draft, text: str) -> None:
    _equalized(draft, 8.0, text, "EqualizationComplete", "EqualizationPhase", "LinkEqualizationRequest")
    copy_flags(text, draft.link, retimer="Retimer", two_retimers="2Retimers", flit_mode="FltMode")


def _equalized(draft: Draft, gt_s: float, text: str, complete: str, phase: str, request: str) -> None:
    phases = {f"phase{number}": f"{phase}{number}" for number in (1, 2, 3)}
    said = flags(text, complete=complete, requested=request, **phases)
    if "complete" in said:
        outcome = Equalization(gt_s, **said)
        others = (known for known in draft.link.get("equalization", ()) if known.gt_s != gt_s)
        draft.link["equalization"] = (*others, outcome)


def _physical_layer(draft: Draft, text: str) -> None:
    """Read ``Phy16Sta``, ``Phy32Sta`` and ``Phy64Sta``."""
    number = _NUMBER.search(text)
    if number:
        _equalized(draft, float(number[0]), text, "EquComplete", "EquPhase", "LinkEquRequest")


def _lane_errors(draft: Draft, text: str) -> None:
    _, _, rest = text.partition("LaneErr at lane:")
    draft.link["lane_errors"] = tuple(int(number) for number in _NUMBER.findall(rest))


def _l1_substates(draft: Draft, text: str) -> None:
    draft.link["l1_substates_enabled"] = tuple(sorted(name for name in set_bits(text) if "_L1." in name))
    if common_mode := re.search(r"T_CommonMode=(\d{1,9})us", text):
        draft.link["l1_2_common_mode_s"] = int(common_mode[1]) * 1e-6


def _l1_2_power_on(draft: Draft, text: str) -> None:
    if power_on := re.search(r"T_PwrOn=(\d{1,9})us", text):
        draft.link["l1_2_power_on_s"] = int(power_on[1]) * 1e-6


RECORDS: dict[str, Callable[[Draft, str], None]] = {
    "Express Control": _slot_control,
    "DevCap": _device_capabilities,
    "DevCtl": _device_control,
    "DevSta": _device_status,
    "LnkCap": _link_capabilities,
    "LnkCtl": _link_control,
    "LnkSta": _link_status,
    "SltCap": _slot_capabilities,
    "SltCtl": _slot_control,
    "SltSta": _slot_status,
    "Changed": _slot_changes,
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
    "L1SubCtl2": _l1_2_power_on,
}
"""What reads a record, by its key."""
