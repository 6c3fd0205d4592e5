"""Reads what SPDK's ``bdevperf`` prints: a job for each block device and core, and the JSON of its RPC.

Jobs of one block device are added up. MB/s and MiB/s are 2**20 bytes, latencies microseconds. Newer versions
say of each job what it did; of older ones the command above does. A block device has whatever name its
configuration gave it, and only that, where it stands in the text, says which drive it is.

Source: SPDK, ``examples/bdev/bdevperf/bdevperf.c``, and outputs of versions 18.10 to 25 in public threads.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lanewise.tools.instruments.added_rows import AddedRows, direction_of
from lanewise.tools.instruments.json_text import documents
from lanewise.tools.instruments.measurement import (
    Case,
    ImportProblemError,
    Measurement,
    refuse_too_many,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

_COMMAND = re.compile(r"\bbdevperf[ \t](?P<options>[^\n]{0,1000}?-w[ \t=]?[a-z][^\n]{0,400})")
_OPTION = re.compile(r"(?<!\S)-([qowM])[ =]?([\w.]{1,20})")
_JOB = re.compile(
    r"^[ \t\r]*+Job: (?P<name>\S{1,100}) \(Core Mask 0x[0-9A-Fa-f,]{1,80}(?:, (?P<options>[^)\n]{0,200}))?\)"
)
_FAILED = re.compile(r"^[ \t\r]*+Job: (\S{1,100}) ended in about ([\d.]{1,12}) seconds with error")
_HEAD = re.compile(r"^[ \t]*+Device Information[ \t]*+:[ \t]*+runtime\(s\)")
_CORE = re.compile(r"^[ \t\r]*+Logical core: \d{1,4}\b")
_ROW = re.compile(
    r"^[ \t\r]*+(?P<name>\S{1,100})[ \t]*+:[ \t]*+(?P<seconds>[\d.]{1,12})[ \t]++(?P<iops>[\d.]{1,16})[ \t]++"
    r"(?P<rate>[\d.]{1,14})[ \t]++[\d.]{1,14}[ \t]++[\d.]{1,14}[ \t]++(?P<mean>[\d.]{1,14})[ \t]++"
    r"(?P<least>[\d.]{1,14})[ \t]++(?P<most>[\d.]{1,14})[ \t]*+$"
)
_SHORT_ROW = re.compile(
    r"^[ \t\r]*+(?P<name>\S{1,100})[ \t]*+:[ \t]*+(?P<iops>[\d.]{1,16}) IO(?:PS|/s)[ \t]++"
    r"(?P<rate>[\d.]{1,14}) M(?:i?B)/s"
)
_SAID = {"workload": "way", "depth": "depth", "IO size": "size", "percentage": "reads"}
_KEYS = {"q": "depth", "o": "size", "w": "way", "M": "reads"}
_CONTROLLER = re.compile(r"\{[^{}]{0,2000}\"traddr\"[^{}]{0,2000}\}")
_SETTING = re.compile(r"\"(name|traddr|trtype)\"\s{0,8}:\s{0,8}\"([^\"]{1,100})\"")
_OF_RPC = ("core_mask", "iops", "job", "mibps")


@dataclass
class _Device:
    """The jobs of one block device."""

    options: dict[str, str]
    jobs: AddedRows = field(default_factory=AddedRows)


@dataclass
class _Run:
    command: dict[str, str] = field(default_factory=dict)
    devices: dict[str, _Device] = field(default_factory=dict)


def recognizes(text: str) -> bool:
    """Whether a text has a job of bdevperf with its result."""
    if "IO/s" not in text and "Core Mask" not in text and "runtime(s)" not in text:
        return False
    return any(_JOB.match(line) or _HEAD.match(line) or _CORE.match(line) for line in text.splitlines())


def parse(text: str, *, source: str | None = None) -> Measurement:
    """Read one output, or several one after another; ImportProblemError says what is wrong with it."""
    runs = [_Run()]
    said: dict[str, str] = {}
    failed: list[str] = []
    for line in text.splitlines():
        if command := _COMMAND.search(line):
            runs.append(_Run({_KEYS[key]: value for key, value in _OPTION.findall(command["options"])}))
        elif failure := _FAILED.match(line):
            failed.append(f"job '{failure[1]}' ended after {failure[2]} s with an error")
        elif job := _JOB.match(line):
            said = _said(job["options"] or "")
        elif _HEAD.match(line) and runs[-1].devices:
            runs.append(_Run(runs[-1].command))
        elif (row := _ROW.match(line) or _SHORT_ROW.match(line)) and row["name"] != "Total":
            options = {**runs[-1].command, **said}
            runs[-1].devices.setdefault(row["name"], _Device(options)).jobs.add(row.groupdict())
            refuse_too_many(runs[-1].devices)
    controllers = _controllers(text)
    cases = [
        _case(name, device, number, controllers)
        for number, run in enumerate(runs)
        for name, device in run.devices.items()
    ]
    refuse_too_many(cases)
    if not cases:
        raise ImportProblemError("no row 'DEVICE : ... IOPS ... MiB/s' below 'Job: DEVICE (Core Mask ...)'")
    return Measurement(
        tool="bdevperf", version=None, cases=tuple(cases), source=source, not_understood=tuple(failed)
    )


def recognizes_json(document: object) -> bool:
    """Whether a JSON document looks like what ``bdevperf.py perform_tests`` returns."""
    results = document.get("results") if isinstance(document, dict) else None
    return isinstance(results, list) and any(
        isinstance(each, dict) and each.keys() >= {*_OF_RPC} for each in results
    )


def parse_json(text: str, *, source: str | None = None) -> Measurement:
    """Read what the RPC returned; ImportProblemError says what is wrong with it."""
    runs: list[dict[str, _Device]] = []
    controllers = _controllers(text)
    for document in filter(recognizes_json, documents(text)[0]):
        runs.append({})
        results = document["results"]
        for each in results if isinstance(results, list) else []:
            name = str(each["job"])
            options = {
                "way": each.get("workload"),
                "depth": each.get("queue_depth"),
                "size": each.get("io_size"),
            }
            said = {key: str(value) for key, value in options.items() if value is not None}
            row = {"iops": each["iops"], "rate": each["mibps"], "mean": each.get("avg_latency_us")}
            row |= {"least": each.get("min_latency_us"), "most": each.get("max_latency_us")}
            texts = {key: None if value is None else str(value) for key, value in row.items()}
            runs[-1].setdefault(name, _Device(said)).jobs.add(texts)
            refuse_too_many(runs[-1])
    cases = [
        _case(name, device, number, controllers)
        for number, run in enumerate(runs)
        for name, device in run.items()
    ]
    refuse_too_many(cases)
    return Measurement(tool="bdevperf", version=None, cases=tuple(cases), source=source)


def _said(options: str) -> dict[str, str]:
    """Return what a job's first line says of it."""
    parts = (part.partition(": ") for part in options.split(", "))
    return {_SAID[name]: value for name, _, value in parts if name in _SAID}


def _controllers(text: str) -> dict[str, dict[str, str]]:
    """Return the NVMe controllers of a configuration that stands in the text, by name."""
    blocks = (dict(_SETTING.findall(found[0])) for found in _CONTROLLER.finditer(text))
    return {block["name"]: block for block in blocks if "name" in block}


def _case(name: str, device: _Device, number: int, controllers: Mapping[str, Mapping[str, str]]) -> Case:
    way, depth, size = (device.options.get(key, "") for key in ("way", "depth", "size"))
    controller = controllers.get(re.sub(r"n\d+(?:p\d+)?$", "", name), {})
    local = controller.get("trtype", "").lower() == "pcie"
    direction = direction_of(way)
    reads = device.options.get("reads") if direction == "both" else None
    return Case(
        name=f"{way or 'I/O'} {name}",
        direction=direction,
        target=controller["traddr"] if local else name,
        block_bytes=int(size) if size.isdecimal() else device.jobs.io_bytes,
        queue_depth=int(depth) * device.jobs.count if depth.isdecimal() else None,
        workers=device.jobs.count,
        bandwidth_bytes_per_s=device.jobs.bytes_per_s,
        operations_per_s=device.jobs.iops,
        latency=device.jobs.latency,
        raw={
            "random": "rand" in way,
            **({"read percent": reads} if reads else {}),
            "options": dict(device.options),
            "document": number,
            **({"fabrics": True} if controller and not local else {}),
            **_memory(name),
        },
    )


def _memory(name: str) -> dict[str, str]:
    """Say that a block device is memory, by what SPDK calls such ones."""
    return {"in memory": name} if re.match(r"(?i)(?:malloc|null)\d{0,3}$", name) else {}
