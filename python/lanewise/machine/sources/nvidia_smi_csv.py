"""`nvidia-smi --query-gpu=... --format=csv`, and the table that `nvidia-smi` prints without options.

What a column holds is said by the heading, or by the command where it was copied along; without either only
addresses and names are taken. GPUs without ``pci.bus_id`` get addresses that are made up. The table has
names, addresses, performance states and memory errors, and nothing of links. Source: `nvidia-smi
--help-query-gpu`, drivers 352 to 580.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lanewise.machine.sources import nvidia_gpu, nvidia_health
from lanewise.machine.sources.made_up import made_up_address

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lanewise.machine.assembly import Reading

_ADDRESS = r"(?:[0-9A-Fa-f]{4,8}:)[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7]"
_COMMAND = re.compile(r"--query-(?:gpu|remapped-rows)[= ][\"']?([a-z][\w.,\[\]% ]{0,2000})")
_ROW = re.compile(rf"^[^,\n|]{{0,60}},[^\n|]{{0,400}}\b{_ADDRESS}(?:,|[ \t]*$)|^{_ADDRESS},", re.MULTILINE)
_TABLE = re.compile(
    rf"^[ \t]{{0,8}}\|[^|\n]{{1,80}}\|[ \t]{{1,4}}{_ADDRESS}[ \t]+\S{{1,12}}[ \t]*\|", re.MULTILINE
)
_HEADING = re.compile(
    r"^[ \t>]{0,8}(?:[\w.]{1,60}(?: \[[^\],\n]{1,8}\])?, ?){0,60}(?:pci\.bus_id|gpu_bus_id|pcie\.link\.)",
    re.MULTILINE,
)
LOOKS_LIKE = re.compile(f"{_HEADING.pattern}|{_TABLE.pattern}|{_ROW.pattern}", re.MULTILINE)
"""A heading, a row of the table, or a row with an address."""
_OTHER_TOOL = re.compile(r"\b((?!NVIDIA)[A-Z]{2,8}-SMI) ", re.MULTILINE)
"""The tool of another maker that prints the same table: ``HL-SMI Version: ...``."""
_STATE = re.compile(r"P\d{1,2}$")
_POWER = 3
"""Place of the power in a row of the table: behind fan, temperature and performance state."""
_MAKERS = ("NVIDIA", "Tesla", "Quadro", "GeForce", "GRID", "A100", "H100")

_KEYS = {
    "index": "index",
    "name": "name",
    "gpu_name": "name",
    "pci.bus_id": "address",
    "gpu_bus_id": "address",
    "pci.device_id": "device_id",
    "pci.sub_device_id": "sub_device_id",
    "pci.baseClass": "base_class",
    "pci.subClass": "sub_class",
    "pstate": "pstate",
    "pcie.link.gen.max": "max",
    "pcie.link.gen.current": "current",
    "pcie.link.gen.gpucurrent": "gpucurrent",
    "pcie.link.gen.gpumax": "gpumax",
    "pcie.link.gen.hostmax": "hostmax",
    "pcie.link.width.max": "width.max",
    "pcie.link.width.current": "width.current",
    "clocks_event_reasons.gpu_idle": "idle",
    "clocks_throttle_reasons.gpu_idle": "idle",
    "utilization.gpu": "util",
    "gpu_recovery_action": "recovery_action",
    "ecc.mode.current": "ecc",
    "ecc.errors.uncorrected.volatile.total": "volatile total",
    "ecc.errors.uncorrected.aggregate.total": "aggregate total",
    "ecc.errors.uncorrected.volatile.dram": "volatile DRAM",
    "ecc.errors.uncorrected.volatile.sram": "volatile SRAM",
    "ecc.errors.uncorrected.aggregate.dram": "aggregate DRAM",
    "ecc.errors.uncorrected.aggregate.sram": "aggregate SRAM",
    "retired_pages.pending": "retirement_pending",
    "remapped_rows.pending": "remap_pending",
    "remapped_rows.failure": "remap_failed",
    "remapped_rows.uncorrectable": "rows",
    "fabric.state": "fabric state",
    "fabric.status": "fabric status",
    "temperature.gpu": "degrees",
    "fan.speed": "fan",
    "power.draw": "power",
    "temperature.gpu.tlimit": "degrees left",
    "power.limit": "power limit",
    "clocks_throttle_reasons.active": "reasons",
    "clocks_event_reasons.active": "reasons",
    **{
        f"clocks_{word}_reasons.hw{part}_slowdown": f"slowdown {part[1:].replace('_', ' ') or 'unknown'}"
        for word in ("event", "throttle")
        for part in ("", "_thermal", "_power_brake")
    },
}
_NUMBERED = re.compile(
    r"^[ \t]{0,8}\|[ \t]{1,4}(\d{1,3}) .{0,60}\|[ \t]{0,4}[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:", re.M
)
"""The first row of a GPU in the table: its number and its address."""
_MADE_UP = "addresses of GPUs are made up, because the query has none: add pci.bus_id to --query-gpu"


def read(lines: Sequence[str], into: Reading) -> None:
    """Read all GPUs of a text; of one that is listed again and again the last state counts."""
    text = "\n".join(lines)
    other = None if "NVIDIA-SMI" in text else _OTHER_TOOL.search(text)
    if other is not None:
        _names_of_another(lines, other[1].lower(), into)
        return
    keys: list[str] = []
    in_table: dict[str, str] = {}
    before = len(into.drafts)
    for line in lines:
        command = _COMMAND.search(line) if "--query-" in line else None
        cells = [cell.strip() for cell in line.strip(" \t>").split(",")]
        bare = [cell.partition(" [")[0] for cell in cells]
        if command is not None:
            keys = [key.strip() for key in command[1].split(",")]
        elif len(set(bare) & _KEYS.keys()) > 1 or (bare[0] in _KEYS and len(bare) == 1):
            keys = bare
        elif "|" in line:
            in_table = _table_row(line, in_table, into)
        elif len(cells) == len(keys) and len(cells) > 1:
            _gpu(_of_columns(dict(zip(keys, cells, strict=True))), into)
        elif _ROW.match(line):
            _row_without_heading(cells, into)
    into.lists_all_gpus |= _is_whole_table(lines)
    if len(into.drafts) > before:
        into.kinds.append("nvidia-smi")


def _names_of_another(lines: Sequence[str], tool: str, into: Reading) -> None:
    """Read names and addresses of a table that another maker's tool prints in the same form."""
    for line in lines:
        cells = [cell.split() for cell in line.split("|")] if _TABLE.match(line) else []
        address = nvidia_gpu.address_of(cells[2][0]) if len(cells) > 2 and cells[2] else None
        if address is not None and len(cells[1]) > 1 and cells[1][0].isdigit():
            into.draft(address).identity["device_name"] = cells[1][1]
            into.kinds.append(tool)


def _is_whole_table(lines: Sequence[str]) -> bool:
    """Whether a text has the table of all GPUs, from its heading to the line below the last one.

    ``-i`` leaves out GPUs, and those that stay keep their numbers.
    """
    text = "\n".join(lines)
    if "NVIDIA-SMI " not in text or "Driver Version" not in text:
        return False
    numbers = [int(row[1]) for row in _NUMBERED.finditer(text)]
    last = next((row.end() for row in reversed(list(_NUMBERED.finditer(text)))), 0)
    return bool(numbers) and numbers == list(range(len(numbers))) and "\n+-" in text[last:]


def _of_columns(row: dict[str, str]) -> dict[str, str]:
    """Return what the columns of a row say; a total of errors counts, or else its parts."""
    said = {_KEYS[key]: cell for key, cell in row.items() if key in _KEYS}
    for span in ("volatile", "aggregate"):
        if said.get(f"{span} total", "").isdigit():
            said.pop(f"{span} DRAM", None)
            said.pop(f"{span} SRAM", None)
    for key, cell in row.items():
        nvidia_health.take_unreadable(key, cell, said)
    return said


def _gpu(said: dict[str, str], into: Reading) -> None:
    address = nvidia_gpu.address_of(said.get("address", ""))
    if address is None:
        if not {"max", "gpumax", "current", "width.current", "width.max"} & said.keys():
            return
        address = made_up_address(into)
        into.note(_MADE_UP)
    nvidia_gpu.take(said, address, into)


def _row_without_heading(cells: list[str], into: Reading) -> None:
    addresses = [address for cell in cells if (address := nvidia_gpu.address_of(cell)) is not None]
    names = [cell for cell in cells if cell.startswith(_MAKERS)]
    if len(addresses) == 1 and names and addresses[0] not in into.drafts:
        nvidia_gpu.take({"name": names[0]}, addresses[0], into)
        into.note("columns without a heading: only names and addresses were read; '--format=csv' prints one")


def _table_row(line: str, above: dict[str, str], into: Reading) -> dict[str, str]:
    """Read the first of the lines about a GPU, or another one: its state, and what could not be read."""
    cells = [cell.split() for cell in line.split("|")]
    if len(cells) > 2 and cells[1] and cells[2] and nvidia_gpu.address_of(cells[2][0]) is not None:
        words = cells[1]
        if not words[0].isdigit():
            return {}
        said = {"index": words[0], "name": " ".join(words[1:-1]), "address": cells[2][0]}
        if len(cells) > 3 and cells[3]:
            said |= {"volatile total": cells[3][0], "ecc": "Disabled" if cells[3][0] == "Off" else ""}
            nvidia_health.take_unreadable("", " ".join(cells[3]), said)
        _gpu(said, into)
        return said
    more = _second_row(cells) if above else {}
    if more:
        above = above | more
        _gpu(above, into)
    return {} if line.lstrip(" \t|").startswith("Processes") else above


def _second_row(cells: list[list[str]]) -> dict[str, str]:
    """Read the line below: fan, temperature, performance state and power; memory; use."""
    said: dict[str, str] = {}
    sensors = cells[1] if len(cells) > 1 else []
    state = next((word for word in sensors if _STATE.match(word)), None)
    if state is not None:
        said["pstate"] = state
    for place, word in enumerate(sensors):
        key = "fan.speed" if place == 0 else "power.draw" if place >= _POWER else ""
        nvidia_health.take_unreadable(key, word, said)
    for cell in cells[2:]:
        nvidia_health.take_unreadable("", cell[0] if cell[:1] == ["ERR!"] else " ".join(cell), said)
    return said
