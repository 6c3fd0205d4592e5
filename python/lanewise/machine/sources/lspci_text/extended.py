"""What `lspci` prints of errors, access control, containment, virtual functions, large BARs and CXL."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lanewise.machine.extended_capabilities import (
    ACS_BITS,
    CORRECTABLE_BITS,
    DPC_TRIGGERS,
    ROOT_ERROR_BITS,
    UNCORRECTABLE_BITS,
)
from lanewise.machine.registers import ResizableBar
from lanewise.machine.sources.lspci_text.flags import POWERS, copy_flags, set_bits

if TYPE_CHECKING:
    from collections.abc import Callable

    from lanewise.machine.draft import Draft
    from lanewise.machine.said import AcsBits, ErrorBits

_SIZES = re.compile(r"(?<!\d)(\d{1,20})([KMGTPE]?)B")
_VIRTUAL = re.compile(r"Initial VFs: (\d+), Total VFs: (\d+), Number of VFs: (\d+)")
_SOURCES = re.compile(r"ERR_COR: ([0-9a-f]{4}) ERR_FATAL/NONFATAL: ([0-9a-f]{4})")
_VF_PLACE = re.compile(r"VF offset: (\d+), stride: (\d+)")


def _errors(field: ErrorBits) -> Callable[[Draft, str], None]:
    of_register = frozenset((UNCORRECTABLE_BITS if "uncorrect" in field else CORRECTABLE_BITS).values())

    def read(draft: Draft, text: str) -> None:
        names = set_bits(text)
        if field.startswith("correctable") and "NonFatalErr" in names:
            names |= {"AdvNonFatalErr"}
        # A damaged line of another register may have come to stand behind this one.
        draft.errors[field] = names & of_register

    return read


def _first_error(draft: Draft, text: str) -> None:
    pointer = re.search(r"First Error Pointer: ([0-9a-f]{1,2})", text)
    if pointer:
        draft.errors["first_error"] = int(pointer[1], 16)


def _header_log(draft: Draft, text: str) -> None:
    words = re.findall(r"\b[0-9a-f]{8}\b", text)
    if len(words) >= 4:
        draft.errors["header_log"] = tuple(int(word, 16) for word in words[:4])


def _root_status(draft: Draft, text: str) -> None:
    if "CERcvd" in text:
        draft.errors["root_status"] = set_bits(text) & frozenset(ROOT_ERROR_BITS)


def _error_sources(draft: Draft, text: str) -> None:
    found = _SOURCES.search(text)
    if found:
        draft.errors["error_sources"] = (int(found[1], 16), int(found[2], 16))


def _acs(field: AcsBits) -> Callable[[Draft, str], None]:
    def read(draft: Draft, text: str) -> None:
        draft.acs[field] = set_bits(text) & frozenset(ACS_BITS)

    return read


def _dpc_control(draft: Draft, text: str) -> None:
    trigger = re.search(r"Trigger:(\d)", text)
    if trigger and int(trigger[1]) < len(DPC_TRIGGERS):
        draft.dpc["trigger"] = DPC_TRIGGERS[int(trigger[1])]


def _dpc_status(draft: Draft, text: str) -> None:
    copy_flags(text, draft.dpc, triggered="Trigger")


def _sriov_control(draft: Draft, text: str) -> None:
    copy_flags(text, draft.sriov, enabled="Enable", ari_hierarchy="ARIHierarchy")


def _sriov_counts(draft: Draft, text: str) -> None:
    counts = _VIRTUAL.search(text)
    if counts:
        draft.sriov["initial"], draft.sriov["total"], draft.sriov["count"] = (int(n) for n in counts.groups())


def _sriov_place(draft: Draft, text: str) -> None:
    place = _VF_PLACE.search(text)
    if place:
        draft.virtual_functions = (int(place[1]), int(place[2]))


def resizable_bar(draft: Draft, text: str) -> None:
    """Read ``BAR 0: current size: 256MB, supported: 256MB 512MB``."""
    match = re.match(r"BAR (\d): current size: (?<!\d)(\d{1,20})([KMGTPE]?)B(?:, supported: (.*))?", text)
    if match:
        sizes = _SIZES.findall(match[4] or "")
        virtual = "Virtual Resizable BAR" in draft.registers.get("capabilities", ())[-1:]
        draft.resizable_bars.append(
            ResizableBar(
                index=int(match[1]),
                current=int(match[2]) << POWERS[match[3]],
                supported=tuple(int(number) << POWERS[unit] for number, unit in sizes),
                virtual=virtual,
            )
        )


def _cxl(draft: Draft, text: str) -> None:
    if text.startswith("CXLCap"):
        copy_flags(text, draft.cxl, cache_capable="Cache", io_capable="IO", memory_capable="Mem")
    elif text.startswith("CXLCtl"):
        copy_flags(text, draft.cxl, cache_enabled="Cache", memory_enabled="Mem")
    elif text.startswith("FBSta"):
        copy_flags(text, draft.cxl, link_cache="Cache", link_io="IO", link_memory="Mem")


RECORDS: dict[str, Callable[[Draft, str], None]] = {
    "UESta": _errors("uncorrectable_status"),
    "UEMsk": _errors("uncorrectable_mask"),
    "UESvrt": _errors("uncorrectable_severity"),
    "CESta": _errors("correctable_status"),
    "CEMsk": _errors("correctable_mask"),
    "AERCap": _first_error,
    "HeaderLog": _header_log,
    "RootSta": _root_status,
    "ErrorSrc": _error_sources,
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
"""What reads a record, by its key."""
