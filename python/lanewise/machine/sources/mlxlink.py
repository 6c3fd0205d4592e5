"""`mlxlink --port_type PCIE`: the link of a network adapter with its slot, and its errors.

What it prints names no device; the command does, by address, or by a name that ``mst status`` explains, or a
line that a script puts above each device, with its address alone. With ``--json`` the words are the same. Of
what is in an adapter only its own link with the slot is read (depth, index and node 0). What is enabled is
what the adapter can do. CRC errors of packets are those that other tools call BadDLLP and BadTLP; errors that
stand for changes of the link's state (RX, TX, ``dl down``), and the eye, are left out. Source: outputs in
threads; mstflint, ``mlxlink_commander.cpp``, read for the wording only.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lanewise.machine.address import Address
from lanewise.machine.registers import BY_MLXLINK, LinkMode
from lanewise.machine.sources.numbers import line_rate, natural
from lanewise.machine.sources.wrapping import FUNCTION

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lanewise.machine.assembly import Reading

LOOKS_LIKE = re.compile(
    r"^[ \t>]{0,40}\"?(?:PCIe Operational \(Enabled\) Info|Link Width Active \(Enabled\)[ \t\"]{0,40}:)",
    re.MULTILINE,
)
_COMMAND = re.compile(r"\b(?:mlx|mst)link\b[^\n|]{0,80}?(?:-d|--device) ?(?:/dev/mst/)?([\w:.]{4,40})")
_NAME = re.compile(
    rf"/dev/mst/([\w.]{{1,40}})[ \t](?:[ \t]{{0,60}}({FUNCTION})\b(?:[ \t]{{1,60}}(mlx\d_\w{{1,16}}))?)?"
)
"""A device of ``mst status``; with ``-v`` its address and its name for RDMA are beside it."""
_PLACE = re.compile(rf"domain:bus:dev\.fn=({FUNCTION})\b")
_HEADING = re.compile(
    rf"[ \t>]{{0,8}}[=#*-]{{0,40}}[ \t]{{0,4}}(?:\w{{2,12}}:? )?({FUNCTION})\b[ \t:=#*-]{{0,48}}$"
)
"""A line of a script with nothing but a device in it."""
_FIELD = re.compile(r"[ \t>]{0,40}\"?([A-Z][\w ,()]{2,40}?)\"?[ \t]{0,60}: \"?(\w[^\n\"]{0,60})")
_SPEEDS = re.compile(r"([\d.]{1,4})G-Gen \d(?: \(([\d.]{1,4})G-Gen \d\))?")
_WIDTHS = re.compile(r"(\d{1,2})X(?: \((\d{1,2})X\))?")
_COUNTERS = {"CRC Error dllp": "correctable.BadDLLP", "CRC Error tlp": "correctable.BadTLP"}
_OWN = "0, 0, 0"


def read(lines: Sequence[str], into: Reading) -> set[int]:
    """Read all adapters whose addresses the text has; return the indices of lines that were read."""
    names: dict[str, set[Address]] = {}
    device: Address | None = None
    called, own, taken = "", True, set()
    fields: dict[Address, dict[str, str]] = {}
    for number, line in enumerate(lines):
        if (name := _NAME.search(line)) is not None and "mlxlink" not in line:
            called = name[1]
            for known in filter(None, (name[1], name[3]) if name[2] else ()):
                names.setdefault(known, set()).add(Address.parse(name[2]))
        elif (place := _PLACE.search(line)) is not None:
            names.setdefault(called, set()).add(Address.parse(place[1]))
        elif (command := _COMMAND.search(line)) is not None:
            device, own = _named(command[1], names), True
        elif (heading := _HEADING.match(line)) is not None:
            device, own = Address.parse(heading[1]), True
        elif (field := _FIELD.match(line)) is not None and device is not None:
            if field[1] == "Depth, pcie index, node":
                own = field[2].strip() == _OWN
            if own:
                fields.setdefault(device, {})[field[1]] = field[2].strip()
        else:
            continue
        taken.add(number)
    found = [address for address, said in fields.items() if _put(address, said, into)]
    if found:
        into.kinds.append("mlxlink")
    return taken if found else set()


def _named(name: str, names: dict[str, set[Address]]) -> Address | None:
    """Return the device that a command names; None where its name may be of several, or is not known."""
    addresses = names.get(name, set())
    return next(iter(addresses)) if len(addresses) == 1 else Address.find(name)


def _put(address: Address, said: dict[str, str], into: Reading) -> bool:
    speeds = _SPEEDS.match(said.get("Link Speed Active (Enabled)", ""))
    widths = _WIDTHS.match(said.get("Link Width Active (Enabled)", ""))
    if speeds is None or widths is None:
        return False
    draft = into.draft(address)
    draft.link["status"] = LinkMode(line_rate(speeds[1]), natural(widths[1]))
    if speeds[2] and widths[2]:
        draft.link["capability"] = LinkMode(line_rate(speeds[2]), natural(widths[2]))
    draft.registers["express"] = True
    counted = {_COUNTERS[name]: natural(value) for name, value in said.items() if name in _COUNTERS}
    counters = tuple((name, count) for name, count in counted.items() if count)
    if counters:
        total = sum(count for _, count in counters)
        draft.errors["counters"] = (*counters, ("correctable.TOTAL", total), (BY_MLXLINK, total))
    return True
