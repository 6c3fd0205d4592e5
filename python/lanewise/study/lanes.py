"""How many lanes a rig takes up at its hosts and switches: what a processor or a switch has to provide.

A port counts with the width that it is built with, whatever its link came up with: a drive of four lanes in a
slot of 16 takes up 16. Ports with nothing at their other end do not count, and neither do those of devices.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lanewise.documents import Explain

LANES = {
    "lanes": "lanes of the hosts' slots and of the switches' ports that something is attached to",
    "host_lanes": "those of hosts alone",
    "switch_lanes": "those of switches alone, towards the host and away from it",
}
"""Numbers of a rig, and what they are."""

_NUMBER = re.compile(r"\[\d+\]")
_WIDTH = re.compile(r"\bx(\d+)\b")


def lanes_of(explained: Explain) -> dict[str, float]:
    """Return the numbers of `LANES`, of a rig as `explain` has it."""
    built = {
        each["path"]: each["value"] for each in explained["parameters"] if each["path"].endswith(".link")
    }
    attached = {link["upper"] for link in explained["links"]}
    # A port that several hosts see is one port.
    ports = {function["name"]: function["kind"] for function in explained["functions"]}
    found = {"host_lanes": 0.0, "switch_lanes": 0.0}
    for port, kind in ports.items():
        if kind == "root port" and port in attached:
            found["host_lanes"] += _width(port, "slots", built)
        elif kind == "upstream port" or (kind == "downstream port" and port in attached):
            found["switch_lanes"] += _width(port, "ports", built)
    return {"lanes": found["host_lanes"] + found["switch_lanes"], **found}


def _width(port: str, among: str, built: dict[str, str]) -> int:
    """Return the width of a port, whose own value stands before that of all devices of its name."""
    device, _, name = port.rpartition(".")
    own, common = (f"{each}.{among}.{name}.link" for each in (device, _NUMBER.sub("", device)))
    found = _WIDTH.search(built.get(own) or built[common])
    assert found is not None, f"a port has a width: {port}"
    return int(found[1])
