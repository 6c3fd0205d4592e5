"""What a device can use of its link at most: the wires behind an adapter, the media of a drive.

No link is worth more to a device than this: an adapter of four gigabit ports moves half a gigabyte a second
on two lanes as on four. Known for adapters by their names (`adapters`) and for drives that are in the catalog
(`drives`), whose published rates are taken; of all others no source does, and their link is the limit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from lanewise.machine.adapters import all_ports_gb_per_s, network_functions, port_of
from lanewise.machine.drives import drive_part
from lanewise.machine.explained import explained, gb_per_s, whole_bytes
from lanewise.machine.known_parts import DRIVES
from lanewise.machine.parts import part_of
from lanewise.quantity import stated_in

if TYPE_CHECKING:
    from lanewise.documents import ExplainedParameter
    from lanewise.machine.function import Function
    from lanewise.machine.model import Machine
    from lanewise.scenario.tables import Scenario


class Own(NamedTuple):
    """What a device can use, in 10⁹ bytes of payload a second at most."""

    reads: float
    """Of what it reads from memory: what an adapter sends, what is written to a drive."""
    writes: float
    """Of what it writes to memory."""
    whose: str
    """Whose rate it is, like ``4 ports of I350``."""

    def of(self, direction: str) -> float:
        """Return the rate in a direction: read, write, or both together."""
        return {"read": self.reads, "write": self.writes}.get(direction, self.reads + self.writes)


def own_rate(machine: Machine, function: Function) -> Own | None:
    """Return what a device can use, all functions of an adapter together; None where no source tells."""
    if function.is_nic:
        return _wires(machine, function)
    part = drive_part(function)
    rates = None if part is None else _media(part)
    return None if rates is None else Own(rates[1], rates[0], f"media of {part}")


def _wires(machine: Machine, function: Function) -> Own | None:
    ports = [port_of(machine, other) for other in network_functions(machine, function)]
    known = [port for port in ports if port is not None]
    if not known or len(known) < len(ports):
        return None
    total = all_ports_gb_per_s(known)
    count = f"{len(known)} port{'' if len(known) == 1 else 's'}"
    return Own(total, total, f"{count} of {known[0].adapter}")


class MessageRate(NamedTuple):
    """How many RDMA messages an adapter sends or takes at most."""

    per_s: float
    source: str


def message_rate(function: Function) -> MessageRate | None:
    """Return the published rate of an adapter's messages; None where its part has none or assumes one."""
    part = part_of(function) if function.is_nic else None
    return None if part is None else _messages(part)


def send_buffer(function: Function) -> int | None:
    """Return the bytes that an adapter's port can have on their way from memory; None without a part."""
    part = part_of(function) if function.is_nic else None
    return None if part is None else _send_buffer(part)


def largest_read(function: Function) -> int | None:
    """Return the bytes of the largest read that a device makes by itself; None where no part says it."""
    part = part_of(function) if function.is_gpu or function.is_nic else None
    return None if part is None else _largest_read(part)


def _alone(part: str) -> Scenario:
    """Return a scenario of one device, to ask the core for the values of its part."""
    return {
        "host": {"machine": {"slots": {"slot": "gen5 x16"}}},
        "endpoint": {"device": {"attach": "machine.slot", "part": part}},
    }


def _send_buffer(part: str) -> int | None:
    buffer = explained(_alone(part)).get("device.rdma.send_buffer")
    # What does not come from the catalog is the default of any port.
    if buffer is None or not buffer["place"].startswith("catalog/"):
        return None
    return whole_bytes(buffer["value"])


def _largest_read(part: str) -> int | None:
    said = explained(_alone(part))
    units = [said.get(f"device.{key}read_unit") for key in ("", "copy_engine.", "kernel.")]
    known = [whole_bytes(unit["value"]) for unit in units if unit and unit["place"].startswith("catalog/")]
    return max((one for one in known if one is not None), default=None)


def _messages(part: str) -> MessageRate | None:
    interval = explained(_alone(part)).get("device.rdma.message_interval")
    if interval is None or interval["provenance"] == "assumed":
        return None
    interval_s = stated_in("s", interval["value"])
    return MessageRate(1 / interval_s, part) if interval_s else None


def said_of_rates(part: str) -> str:
    """Say how much of what a prediction takes from a part somebody has published; the rest the part assumes.

    Of a drive that is its two rates, of a GPU the packets of its copy engines, of an adapter its send buffer
    and its messages. Nothing is said of a part that has none of them, such as a storage adapter's.
    """
    assumed = {value["provenance"] == "assumed" for value in rates_of_any(part)}
    if not assumed:
        return ""
    if assumed == {True, False}:
        return "partly as published, partly as its part assumes"
    return "as published" if assumed == {False} else "as its part assumes"


def rates_of_any(part: str) -> list[ExplainedParameter]:
    """Return what a prediction takes from a part: see `said_of_rates`."""
    if part in DRIVES:
        return [rate for rate in _rates(part) if rate is not None]
    said = explained(_alone(part))
    used = [said.get(f"device.{key}") for key in _USED]
    # Messages that a part assumes are not used: `message_rate`.
    messages = said.get("device.rdma.message_interval")
    if messages is not None and messages["provenance"] != "assumed":
        used.append(messages)
    return [value for value in used if value is not None and value["place"].startswith("catalog/")]


_USED = ("copy_engine.write_unit", "copy_engine.read_unit", "rdma.send_buffer")


def _media(part: str) -> tuple[float, float] | None:
    """Return the published rates of a drive in GB/s: read from it, and written to it."""
    rates = [gb_per_s(rate["value"]) if rate else None for rate in _rates(part)]
    return None if rates[0] is None or rates[1] is None else (rates[0], rates[1])


def _rates(drive: str) -> list[ExplainedParameter | None]:
    """Return the rate at which a drive is read, and that at which it is written."""
    said = explained(_alone(drive))
    return [said.get(f"device.nvme.{way}_rate") for way in ("read", "write")]
