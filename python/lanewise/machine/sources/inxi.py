"""`inxi` with ``-x`` and more: devices with their address, numbers, driver and link.

A device is a record of ``key: value`` pairs that starts at ``Device-1:`` (``Card-1:`` before 3.0,
``Hardware-1:`` of RAID) and is wrapped at the width of the terminal. ``pcie: gen: 3 speed: 8 GT/s lanes: 4``
is how the link runs, and with ``-a`` follows ``link-max:`` with what differs from it: where a text has that
anywhere, devices without it can do no more than they do. Leaves out drives, which have no address, and USB.
Source: inxi 2.3 to 3.3.38, manual (``-a``, ``-xx``) and outputs of real machines.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lanewise.machine.address import Address
from lanewise.machine.function import Kind
from lanewise.machine.registers import LinkMode
from lanewise.machine.sources.numbers import line_rate, natural

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lanewise.machine.assembly import Reading

_FUNCTION = r"(?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[01][0-9a-f]\.[0-7]"
LOOKS_LIKE = re.compile(rf"\bbus-ID: {_FUNCTION}\s{{1,80}}chip-ID: [0-9a-f]{{4}}:[0-9a-f]{{4}}")
"""The address of a device, with its numbers on the same line or the next."""
_START = re.compile(
    r"^[ \t>|]{0,16}(?:[A-Z][A-Za-z]{2,14}:[ \t]{0,12})?(?:Device|Card|Hardware)(?:-\d{1,2}:?)?:?[ \t]"
)
_END = re.compile(
    r"^[ \t>|]{0,16}(?:[A-Z][A-Za-z]{2,14}:(?:[ \t]|$)"
    r"|(?:IF|ID|IP|Display|Screen|Monitor|API|Server|Sound|Report|Local|Message|Type|Resolution|OpenGL|GLX)"
    r"[-\w ]{0,24}:)"
)
_SECTION = re.compile(r"^(?:[>|] ?)?([A-Z][a-z]{3,14}):(?:[ \t]|$)")
_NETWORK = 0x028000
"""What a device of that section is, where ``-xxx`` did not print its class."""
_ADDRESS = re.compile(rf"\bbus-ID: ({_FUNCTION})(?=\s|$)")
_CHIP = re.compile(r"\bchip-ID: ([0-9a-f]{4}):([0-9a-f]{4})\b")
_CLASS = re.compile(r"\bclass-ID: ([0-9a-f]{4})\b")
_DRIVER = re.compile(r"\bdriver: (\S{1,40})")
_MOST_LINES = 24
"""Lines of one device."""


def read(lines: Sequence[str], into: Reading) -> None:
    """Read all devices with an address."""
    tells_most = any("link-max:" in line for line in lines)
    before = len(into.drafts)
    for section, record in _records(lines):
        address, chip = _ADDRESS.search(record), _CHIP.search(record)
        if address is None or chip is None:
            continue
        draft = into.draft(Address.parse(address[1]))
        draft.identity["vendor_id"], draft.identity["device_id"] = int(chip[1], 16), int(chip[2], 16)
        number, driver = _CLASS.search(record), _DRIVER.search(record)
        if number is not None:
            draft.identity["class_code"] = int(number[1], 16) << 8
            if "pcie: " in record and not number[1].startswith("06"):
                draft.kind = Kind.ENDPOINT
        elif section == "Network":
            draft.identity["class_code"] = _NETWORK
        if driver is not None:
            draft.function["driver"] = None if driver[1] == "N/A" else driver[1]
            draft.function["driver_known"] = True
        now, most = _modes(record)
        if now != LinkMode():
            draft.link["status"] = now
        if most != LinkMode():
            draft.link["capability"] = LinkMode(most.gt_s or now.gt_s, most.width or now.width)
        elif tells_most and now.known:
            draft.link["capability"] = now
        if "capability" in draft.link:
            draft.registers["express"] = True
    if len(into.drafts) > before:
        into.kinds.append("inxi")


def _records(lines: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Join the lines of each device, and say in which section it is."""
    record: list[str] = []
    section = ""
    for line in lines:
        heading = _SECTION.match(line)
        if (heading or _START.match(line) or _END.match(line) or not line.strip()) and record:
            yield section, " ".join(record)
            record = []
        section = heading[1] if heading else section
        if _START.match(line):
            record = [line.strip(" \t>|")]
        elif record and len(record) < _MOST_LINES:
            record.append(line.strip(" \t>|"))
    if record:
        yield section, " ".join(record)


def _modes(record: str) -> tuple[LinkMode, LinkMode]:
    """Return how the link runs and what is said of its most; words follow ``pcie:`` until another key."""
    _, found, rest = record.partition("pcie: ")
    said: list[dict[str, str]] = [{}, {}]
    at, words = 0, rest.split()
    for number, word in enumerate(words if found else []):
        if word == "link-max:":
            at = 1
        elif word in ("gen:", "speed:", "lanes:"):
            said[at].setdefault(word, words[number + 1] if number + 1 < len(words) else "")
        elif word.endswith(":"):
            break
    now, most = (LinkMode(line_rate(one.get("speed:")), _lanes(one.get("lanes:"))) for one in said)
    return now, most


def _lanes(text: str | None) -> int | None:
    """Return a number of lanes; 63 is how the kernel says that there is no link."""
    lanes = natural(text)
    return lanes if lanes and lanes <= 32 else None
