"""`nvme list`, plain, ``-v`` and ``-o json``: what drives call themselves, put on top of another source.

Only ``-v`` has addresses. Otherwise the name of a drive (``/dev/nvme0n1``) is that of its controller
(``nvme0``), which sysfs, hwloc and lshw know by address; beside `lspci` alone, drives are told from one
another only where they are all of one model. Source: nvme-cli 1.16 to 2.11, ``nvme-print-stdout.c`` and
``nvme-print-json.c``, read for the format only.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from lanewise.machine.address import Address
from lanewise.machine.kernel_event import EventKind, KernelEvent
from lanewise.machine.sources.documents import objects_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from lanewise.machine.model import Function, Machine

_RULE = re.compile(r"-{3,}")
_CONTROLLER = re.compile(r"(?:/dev/)?(nvme\d{1,5})")
_COLUMNS = {"Node": "name", "Device": "name", "Model": "model", "MN": "model"}
_COLUMNS |= {"FW Rev": "firmware", "FR": "firmware", "Address": "address", "TxPort": "transport"}
_KEYS = {"DevicePath": "name", "Controller": "name", "ModelNumber": "model"}
_KEYS |= {"Firmware": "firmware", "Address": "address", "Transport": "transport"}
_HEADING = re.compile(r"Node +(?:Generic +)?SN +Model +Namespace +Usage +Format +FW Rev *$")
_NAMES = re.compile(r"\S+(?: \S+)*")
"""Headings of one word or two, with more than a blank between them."""
_TRANSPORT = re.compile(r"(?<= )(?:pcie|tcp|rdma|fc|loop) +(?:[0-9a-f]{4,8}:[0-9a-f]{2}:|traddr=)")
"""What stands below TxPort, and how the address behind it begins."""
_WIDEST = 1000
_HEADINGS = ("Node ", "Device ", "Subsystem ")


@dataclass(frozen=True, slots=True)
class Drive:
    """One controller."""

    name: str
    """Like ``nvme0``."""
    model: str
    firmware: str | None
    address: Address | None


def take(lines: Sequence[str], text: str) -> tuple[list[Drive], set[int]]:
    """Return the drives in a text (given as lines, and whole), and which of its lines are about them."""
    found, taken = _tables(lines)
    if '"ModelNumber"' in text:
        more, also = _documents(text)
        found, taken = found + more, taken | also
    drives: dict[str, Drive] = {}
    for fields in found:
        controller = _CONTROLLER.match(fields.get("name", ""))
        if controller is None or not fields.get("model") or fields.get("transport", "pcie") != "pcie":
            # Drives across a network are no functions of this machine.
            continue
        drive = Drive(
            controller[1], fields["model"], fields.get("firmware") or None, _address(fields.get("address"))
        )
        earlier = drives.get(drive.name)
        if earlier is None or earlier.address is None:
            drives[drive.name] = drive
    return list(drives.values()), taken


def _address(text: str | None) -> Address | None:
    try:
        return Address.parse(text or "")
    except ValueError:
        return None


def _tables(lines: Sequence[str]) -> tuple[list[dict[str, str]], set[int]]:
    """Read tables: a heading, a rule that says how wide columns are, and lines until one is empty."""
    found: list[dict[str, str]] = []
    taken: set[int] = set()
    columns: list[tuple[str, int, int]] = []
    for number, line in enumerate(lines):
        heading = lines[number - 1] if number else ""
        if line.startswith("---") and heading.startswith(_HEADINGS):
            spans = [match.span() for match in _RULE.finditer(line)]
            columns = [(heading[start:end].strip(), start, end) for start, end in spans]
            taken |= {number - 1, number}
        elif _HEADING.match(line):
            columns = _columns_of(line)
            taken.add(number)
        elif not line.strip():
            # Forums turn the rule into a line of their own, and leave nothing of it.
            columns = columns if _HEADING.match(heading) else []
        elif columns:
            taken.add(number)
            moved = _moved(line, columns)
            found.append(
                {
                    _COLUMNS[name]: _cell(line, max(start + moved, 0) if start else 0, end + moved)
                    for name, start, end in columns
                    if name in _COLUMNS
                }
            )
    return found, taken


def _moved(line: str, columns: Sequence[tuple[str, int, int]]) -> int:
    """Return by how much a row stands to the right of its heading, whose first column some versions widen."""
    place = next((start for name, start, _ in columns if name == "TxPort"), None)
    transport = None if place is None else _TRANSPORT.search(line)
    return 0 if place is None or transport is None else transport.start() - place


def _columns_of(heading: str) -> list[tuple[str, int, int]]:
    """Return the columns below a heading without a rule: each as far as the next begins."""
    names = list(_NAMES.finditer(heading))
    ends = [following.start() for following in names[1:]] + [_WIDEST]
    return [(name[0], name.start(), end) for name, end in zip(names, ends, strict=True)]


def _cell(line: str, start: int, end: int) -> str:
    """Return what stands below a heading; a word that begins a little before it is not cut."""
    if 0 < start < len(line) and not line[start].isspace():
        start = line.rfind(" ", 0, start) + 1
    return line[start:end].strip()


def _documents(text: str) -> tuple[list[dict[str, str]], set[int]]:
    """Read what is in JSON, from the brace before the first key on."""
    start = text.rfind("{", 0, max(text.find('"Devices"'), 0))
    try:
        document, end = json.JSONDecoder().raw_decode(text, start)
    except (ValueError, RecursionError):
        return [], set()
    first = text.count("\n", 0, start)
    taken = set(range(first, first + text.count("\n", start, end) + 1))
    return [
        {_KEYS[key]: str(value).strip() for key, value in fields.items() if key in _KEYS}
        for fields in objects_of(document)
    ], taken


def put_on(machine: Machine, drives: Iterable[Drive]) -> Machine:
    """Say of each NVMe controller which drive it is, where that can be told, and whether any is left out."""
    drives = list(drives)
    machine = replace(machine, events=(*machine.events, *_left_out(machine, drives)))
    by_name = {
        controller[1]: function
        for function in machine
        for name in function.interfaces
        if (controller := _CONTROLLER.match(name))
    }
    functions = dict(machine.functions)
    left = []
    for drive in drives:
        known = by_name.get(drive.name) if drive.address is None else functions.get(drive.address)
        if known is None or not known.is_nvme:
            left.append(drive)
        else:
            functions[known.address] = _named(known, drive)
    nameless = [f for f in functions.values() if f.is_nvme and f.model is None and not f.virtual]
    if len({(drive.model, drive.firmware) for drive in left}) == 1 and len(left) == len(nameless):
        for function in nameless:
            functions[function.address] = replace(function, model=left[0].model, firmware=left[0].firmware)
    elif left:
        names = ", ".join(drive.name for drive in left[:4])
        note = f"which functions {names} of 'nvme list' are cannot be told; 'nvme list -v' prints addresses"
        machine = replace(machine, notes=(*machine.notes, note))
    return replace(machine, functions=functions)


def _left_out(machine: Machine, drives: list[Drive]) -> tuple[KernelEvent, ...]:
    """Return an event where a list shows fewer drives than its driver has NVMe controllers."""
    there = [f for f in machine if f.is_nvme and not f.virtual and f.driver in (None, "nvme")]
    if not drives or len(drives) >= len(there):
        return ()
    line = f"nvme list: {len(drives)} drives are listed, and there are {len(there)} NVMe controllers"
    return (KernelEvent(EventKind.FEWER_DRIVES, line),)


def _named(function: Function, drive: Drive) -> Function:
    return replace(
        function,
        model=function.model or drive.model,
        firmware=function.firmware or drive.firmware,
        interfaces=tuple(dict.fromkeys((*function.interfaces, drive.name))),
    )
