"""Our decode of configuration space against the installed `lspci`, field by field.

Every hexadecimal dump goes through `lspci -F` and our reader of text, and through our decoder; both must say
the same. A field that only one of them knows is listed below with the reason.
"""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any

import pytest
from machine_dumps import DUMPS, corpus_files

from lanewise.machine import config_space, read
from lanewise.machine.assembly import Reading
from lanewise.machine.draft import Draft
from lanewise.machine.extended_capabilities import CORRECTABLE_BITS, UNCORRECTABLE_BITS
from lanewise.machine.sources import lspci

if TYPE_CHECKING:
    from pathlib import Path

    from lanewise.machine.address import Address
    from lanewise.machine.model import Function

HEX_DUMPS = [DUMPS / "qemu.xxxx", DUMPS / "qemu.vvvxxxx", *corpus_files("lspci-xxxx")]

ONLY_WE_KNOW = {
    "capabilities",  # names are for people and differ
    "header_log",  # older versions do not print it
    "first_error",
    "fourteen_bit_tags",  # Device 3 is read by 3.10 and later
    "fourteen_bit_tags_completer",
    "fourteen_bit_tags_requester",
    "flit_mode",  # 3.11 and later
    "flit_mode_supported",
    "root_status",
    "slot_power_limit_w",  # of endpoints: not printed by 3.9
    "resizable_bars",  # 3.9 leaves out capabilities of 256-byte dumps and of virtual functions
    "atomics_routing",
    "atomics_enabled",
    "equalization",  # 16 GT/s and up: 3.10 and later
    "l1_substates_enabled",
    "l1_2_common_mode_s",
    "l1_2_power_on_s",
    "supported_gt_s",  # not printed for functions beside the first of an endpoint
    "cache_capable",  # CXL structures of revision 0 are not taken apart
    "io_capable",
    "memory_capable",
    "cache_enabled",
    "memory_enabled",
}
"""What the installed version may leave out; where it prints them they are compared."""

KNOWN_ERRORS = {name for bit, name in UNCORRECTABLE_BITS.items() if bit <= 21} | {
    name for bit, name in CORRECTABLE_BITS.items() if bit <= 13
}
"""Bits that every version since 3.1 prints; newer ones came with 3.10."""


class TestAgainstLspci:
    @pytest.mark.parametrize("path", HEX_DUMPS, ids=lambda path: path.name)
    def test_says_what_lspci_says(self, path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        tool = shutil.which("lspci", path="/usr/bin:/usr/sbin:/sbin:/bin")
        if tool is None:
            pytest.skip("lspci is not installed")
        spaces = bytes_of(path, monkeypatch)
        clean = tmp_path / "clean.xxxx"
        clean.write_text("\n".join(dump(address, data) for address, data in spaces.items()))
        printed = subprocess.run(
            [tool, "-F", clean, "-n", "-D", "-vvv"], capture_output=True, text=True, check=False, timeout=60
        )
        text = Reading()
        lspci.read(printed.stdout.split("\n"), text)
        said = text.machine("lspci")
        ours = Reading()
        for address, data in spaces.items():
            draft = Draft(address)
            config_space.decode(data, draft)
            ours.add(draft)
        decoded = ours.machine("hex")
        assert len(said) == len(decoded) == len(spaces)
        differences = [line for function in decoded for line in compare(function, said[function.address])]
        assert differences == []


def bytes_of(path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[Address, bytes]:
    """Collect configuration space as the reader hands it to the decoder."""
    found: dict[Address, bytes] = {}
    decode = config_space.decode

    def spy(data: bytes, into: Draft) -> None:
        found[into.address] = data
        decode(data, into)

    with monkeypatch.context() as patch:
        patch.setattr(config_space, "decode", spy)
        read(path)
    return found


def dump(address: Address, data: bytes) -> str:
    """Write a function as `lspci -F` reads it."""
    rows = (f"{at:02x}: {data[at : at + 16].hex(' ')}" for at in range(0, len(data), 16))
    return "\n".join([f"{address} Device", *rows, ""])


def compare(ours: Function, theirs: Function) -> list[str]:
    """Return where two readings of a function differ."""
    at = str(ours.address)
    found = [
        f"{at} {name}: {mine} against {other}"
        for name, mine, other in (
            ("kind", ours.kind, theirs.kind),
            ("class", (ours.identity.class_code or 0) >> 8, (theirs.identity.class_code or 0) >> 8),
            ("vendor", ours.identity.vendor_id, theirs.identity.vendor_id),
            ("device", ours.identity.device_id, theirs.identity.device_id),
            ("buses", ours.buses, theirs.buses),
            ("children", ours.children, theirs.children),
        )
        if mine != other
    ]
    return found + differences(at, ours.registers, theirs.registers)


def differences(at: str, ours: Any, theirs: Any) -> list[str]:
    """Compare two groups of registers field by field."""
    found: list[str] = []
    for name in names(ours):
        mine, other = getattr(ours, name), getattr(theirs, name)
        place = f"{at} {name}"
        if name == "capabilities" or name.startswith("said_of"):
            continue
        if name == "bars":
            found += bars(place, mine, other)
        elif names(mine) and names(other):
            found += differences(place, mine, other)
        elif mine == other or (name in ONLY_WE_KNOW and not other):
            continue
        elif name.startswith(("uncorrectable", "correctable")) and mine is not None and other is not None:
            # Newer bits than the installed version knows.
            if other - mine or (mine - other) & KNOWN_ERRORS:
                found.append(f"{place}: {sorted(mine)} against {sorted(other)}")
        elif name == "equalization":
            if mine[:1] != other[:1]:
                found.append(f"{place}: {mine} against {other}")
        else:
            found.append(f"{place}: {mine} against {other}")
    return found


def names(record: object) -> tuple[str, ...]:
    """Name the fields of a data class or a named tuple; none of anything else."""
    if is_dataclass(record):
        return tuple(field.name for field in fields(record))
    return getattr(record, "_fields", ())


def bars(place: str, mine: Any, other: Any) -> list[str]:
    """Compare addresses, widths and kinds of regions that both show; a dump has no sizes."""
    ours = {bar.index: bar for bar in mine or ()}
    return [
        f"{place}: {ours.get(bar.index)} against {bar}"
        for bar in other or ()
        if bar.index < 6
        and bar.address
        and (
            bar.index not in ours
            or (
                ours[bar.index].address,
                ours[bar.index].io,
                ours[bar.index].bits64,
                ours[bar.index].prefetchable,
            )
            != (bar.address, bar.io, bar.bits64, bar.prefetchable)
        )
    ]
