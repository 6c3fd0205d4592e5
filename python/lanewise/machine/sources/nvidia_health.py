"""What `nvidia-smi` says of the health of a GPU, whichever of its forms says it.

Text has headings by indentation, XML elements in elements: both are read by the two names above a value. What
stands below a part of a GPU (``MIG Device``) is that part's. Source: nvidia-smi of drivers 352 to 595, and
outputs of real machines.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lanewise.machine.gpu_health import GpuHealth
from lanewise.machine.sources.numbers import natural, whole

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_PARTS = frozenset({"MIG Device", "mig_device"})

_KEYS = {
    "ECC Mode|Current": "ecc",
    "Ecc Mode|Current": "ecc",
    "ecc_mode|current_ecc": "ecc",
    "Remapped Rows|Pending": "remap_pending",
    "remapped_rows|remapped_row_pending": "remap_pending",
    "Remapped Rows|Remapping Failure Occurred": "remap_failed",
    "remapped_rows|remapped_row_failure": "remap_failed",
    "Retired Pages|Pending Page Blacklist": "retirement_pending",
    "Retired Pages|Pending": "retirement_pending",
    "retired_pages|pending_blacklist": "retirement_pending",
    "retired_pages|pending_retirement": "retirement_pending",
    "Utilization|Gpu": "util",
    "Utilization|GPU": "util",
    "utilization|gpu_util": "util",
    "BAR1 Memory Usage|Total": "bar1",
    "bar1_memory_usage|total": "bar1",
    "Temperature|GPU Current Temp": "degrees",
    "temperature|gpu_temp": "degrees",
    "Temperature|GPU Slowdown Temp": "slowdown at",
    "temperature|gpu_temp_slow_threshold": "slowdown at",
    "Temperature|GPU T.Limit Temp": "degrees left",
    "temperature|gpu_temp_tlimit": "degrees left",
    "Bank Remap Availability Histogram|None": "no spares",
    "row_remapper_histogram|row_remapper_histogram_none": "no spares",
    "Remapped Rows|Uncorrectable Error": "rows",
    "remapped_rows|remapped_row_unc": "rows",
    "Retired Pages|Single Bit ECC": "pages of single bits",
    "multiple_single_bit_retirement|retired_count": "pages of single bits",
    "Retired Pages|Double Bit ECC": "pages of double bits",
    "double_bit_retirement|retired_count": "pages of double bits",
    "Fabric|State": "fabric state",
    "fabric|state": "fabric state",
    "Fabric|Status": "fabric status",
    "fabric|status": "fabric status",
    "GPU Power Readings|Current Power Limit": "power limit",
    "Power Readings|Power Limit": "power limit",
    "gpu_power_readings|current_power_limit": "power limit",
    "power_readings|power_limit": "power limit",
    "Health|Summary": "fabric",
    "health|summary": "fabric",
}
"""By the name above a value and its own."""
_ANYWHERE = {
    "SRAM Threshold Exceeded": "sram_threshold_exceeded",
    "sram_threshold_exceeded": "sram_threshold_exceeded",
    "Channel Repair Pending": "channel_repair_pending",
    "channel_repair_pending": "channel_repair_pending",
    "TPC Repair Pending": "tpc_repair_pending",
    "tpc_repair_pending": "tpc_repair_pending",
    "Unrepairable Memory": "unrepairable_memory",
    "unrepairable_memory": "unrepairable_memory",
    "Remapping Failure Occurred": "remap_failed",
    "Pending Page Blacklist": "retirement_pending",
    "SW Thermal Slowdown": "slowed by driver",
    "clocks_event_reason_sw_thermal_slowdown": "slowed by driver",
    "clocks_throttle_reason_sw_thermal_slowdown": "slowed by driver",
    "GPU Recovery Action": "recovery_action",
    "gpu_recovery_action": "recovery_action",
}
"""By its name alone: `grep` leaves no headings."""
_REASONS = re.compile(r"clocks_(?:event|throttle)_reasons?$|Clocks (?:Event|Throttle) Reasons$")
_SLOWDOWN = re.compile(
    r"(?:clocks_(?:event|throttle)_reason_)?(?:hw_|HW )"
    r"(thermal_|Thermal |power_brake_|Power Brake )?[sS]lowdown$"
)
_REASON_BITS = {0x40: "thermal", 0x80: "power brake"}
_HARDWARE_SLOWDOWN = 0x8
_UNCORRECTABLE = re.compile(
    r"(?:SRAM|DRAM) Uncorrectable(?: Parity| SEC-DED)?$|[sd]ram_uncorrectable(?:_\w+)?$"
)
_SPANS = {"volatile": "volatile", "aggregate": "aggregate"}
_DOUBLE_BIT = frozenset({"Double Bit", "double_bit"})
_SIZE = re.compile(r"(\d{1,9}) ?([KMG])i?B")
_SHIFTS = {"K": 10, "M": 20, "G": 30}
_NUMBER = re.compile(r"-?\d{1,6}")
_UNREADABLE = re.compile(
    r"\[?(?:Unknown Error|ERR!|GPU is lost|(?:GPU )?requires reset|Insufficient Power)\]?$", re.IGNORECASE
)
_SENSORS = {
    "Fan Speed": "fan",
    "fan_speed": "fan",
    "fan.speed": "fan",
    **dict.fromkeys(("Power Draw", "Average Power Draw", "Instantaneous Power Draw"), "power"),
    **dict.fromkeys(("power_draw", "average_power_draw", "instant_power_draw"), "power"),
    **{f"power.draw{which}": "power" for which in ("", ".average", ".instant")},
}
"""Values of a sensor by itself, which may fail without the GPU."""
_OF_THE_DRIVER = frozenset(
    (
        *("Addressing Mode", "addressing_mode", "Persistence Mode", "persistence_mode", "Accounting Mode"),
        *("accounting_mode", "Compute Mode", "compute_mode", "Driver Model", "Virtualization Mode"),
        *("virtualization_mode", "Host VGPU Mode", "host_vgpu_mode", "vGPU Heterogeneous Mode"),
        *("vgpu_heterogeneous_mode", "Product Brand", "product_brand", "Product Architecture"),
        *("product_architecture", "GSP Firmware Version", "gsp_firmware_version"),
    )
)
"""Settings and names that the driver keeps itself: it may fail to tell them of a GPU that is in order."""
_NO_ANSWER = re.compile(r"N/A|Unknown|Requested|Not |\[|ERR|$", re.IGNORECASE)


def take(path: Sequence[str], key: str, value: str, said: dict[str, str]) -> None:
    """Keep a value that is about health; `path` holds the names above it, outermost first."""
    if not _PARTS.isdisjoint(path):
        return
    take_unreadable(key, value, said)
    above = path[-1] if path else ""
    known = _KEYS.get(f"{above}|{key}") or _ANYWHERE.get(key)
    if known is not None:
        said.setdefault(known, value)
    elif (reason := _SLOWDOWN.match(key)) is not None and any(map(_REASONS.match, path)):
        which = (reason[1] or "unknown").lower().replace("_", " ").strip()
        said.setdefault(f"slowdown {which}", value)
    else:
        span = next((_SPANS[name.lower()] for name in path if name.lower() in _SPANS), None)
        counts = _UNCORRECTABLE.match(key) or (above in _DOUBLE_BIT and key in ("Total", "total"))
        if span is not None and counts:
            said.setdefault(f"{span} {key}", value)


def take_unreadable(key: str, value: str, said: dict[str, str]) -> None:
    """Keep what stands in place of a value that the driver could not read, in whatever form."""
    if not _UNREADABLE.match(value) or key in _OF_THE_DRIVER:
        return
    sensor = _SENSORS.get(key)
    if sensor is None:
        said.setdefault("unreadable", value.strip("[]"))
    else:
        said[f"unreadable {sensor}"] = value.strip("[]")


def health(said: Mapping[str, str]) -> GpuHealth | None:
    """Return what was said; None where nothing was."""
    action, fabric = said.get("recovery_action", ""), said.get("fabric", "")
    size = _SIZE.match(said.get("bar1", ""))
    found = GpuHealth(
        ecc=_yes(said.get("ecc"), "Enabled", "Disabled"),
        uncorrectable=_sum(said, "volatile"),
        uncorrectable_in_life=_sum(said, "aggregate"),
        recovery_action=_answer(action) or _reset_status(said),
        fabric=_answer(fabric),
        inforom_corrupted=True if said.get("inforom") else None,
        slowdowns=_slowdowns(said) if "reasons" not in said else _slowdowns_of_bits(said["reasons"]),
        bar1_bytes=int(size[1]) << _SHIFTS[size[2]] if size else None,
        slowed_by_driver=_yes(said.get("slowed by driver"), "Active", "Not Active"),
        degrees_c=_number(said, "degrees"),
        slowdown_at_c=_number(said, "slowdown at"),
        degrees_left_c=_number(said, "degrees left"),
        banks_without_spares=_number(said, "no spares"),
        rows_replaced=_number(said, "rows"),
        pages_retired=_pages(said),
        fabric_state=_answer(said.get("fabric state", "")),
        fabric_status=_answer(said.get("fabric status", "")),
        unreadable=said.get("unreadable"),
        sensors_unreadable=tuple(each for each in ("fan", "power") if f"unreadable {each}" in said) or None,
        power_limit_w=_number(said, "power limit"),
        utilization_percent=natural(said.get("util", "").removesuffix("%").strip()),
        **{name: _yes_or_number(said.get(name)) for name in _YES_OR_NO},
    )
    return None if found == GpuHealth() else found


_YES_OR_NO = (
    "sram_threshold_exceeded",
    "remap_pending",
    "remap_failed",
    "retirement_pending",
    "channel_repair_pending",
    "tpc_repair_pending",
    "unrepairable_memory",
)


def _yes(text: str | None, yes: str, no: str) -> bool | None:
    return {yes: True, no: False}.get(text or "")


def _reset_status(said: Mapping[str, str]) -> str | None:
    """Return what drivers before the GPU Recovery Action asked for."""
    if said.get("reset required") == "Yes":
        return "Reset"
    return "Drain and Reset" if said.get("drain recommended") == "Yes" else None


def _yes_or_number(text: str | None) -> bool | None:
    """Read ``Yes`` and ``No``, and the ``1`` and ``0`` of `--query-remapped-rows`."""
    return {"Yes": True, "No": False, "1": True, "0": False}.get(text or "")


def _answer(text: str) -> str | None:
    return None if _NO_ANSWER.match(text) and text != "Not Started" else text


def _number(said: Mapping[str, str], key: str) -> int | None:
    """Return the whole number that a value begins with; None where it is none."""
    found = _NUMBER.match(said.get(key, ""))
    return int(found[0]) if found else None


def _pages(said: Mapping[str, str]) -> int | None:
    counts = [_number(said, key) for key in ("pages of single bits", "pages of double bits")]
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


def _sum(said: Mapping[str, str], span: str) -> int | None:
    counts = [natural(value) for key, value in said.items() if key.startswith(f"{span} ")]
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


def _slowdowns_of_bits(text: str) -> tuple[str, ...] | None:
    """Read all reasons in one number (NVML, nvmlClocksEventReasons)."""
    bits = whole(text, 16)
    if bits is None:
        return None
    active = tuple(reason for bit, reason in _REASON_BITS.items() if bits & bit)
    return active or (("unknown",) if bits & _HARDWARE_SLOWDOWN else ())


def _slowdowns(said: Mapping[str, str]) -> tuple[str, ...] | None:
    """Return why hardware holds the clocks down; what it names is not said again without a reason."""
    told = {
        key.removeprefix("slowdown "): value for key, value in said.items() if key.startswith("slowdown ")
    }
    if not any(value in ("Active", "Not Active") for value in told.values()):
        return None
    active = tuple(sorted(reason for reason, value in told.items() if value == "Active"))
    return tuple(reason for reason in active if reason != "unknown") or active
