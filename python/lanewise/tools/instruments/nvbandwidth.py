"""Reads what nvbandwidth prints, with and without `-j`: matrices of copy bandwidth between host and GPUs.

A test case is a matrix with CPUs or GPUs as rows and GPUs as columns; each number is a case here, called like
the test with its row and column. GB/s are decimal. Bandwidth counts payload in one direction, and for the
bidirectional tests of host and device only the copy that is measured, not the one that disturbs it. Source:
nvbandwidth 0.4 to 0.8, `output.cpp`, `json_output.cpp` and its README.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING

from lanewise.tools.instruments.measurement import (
    Case,
    ImportProblemError,
    Latency,
    Measurement,
    bounded,
    refuse_too_many,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_RUNNING = re.compile(r"^Running (?:benchmark )?(?P<name>\w+)\.$")
_VERSION = "nvbandwidth Version:"
"""What a run begins with."""
_VERSION_OF = re.compile(
    r"^(?P<what>CUDA Runtime Version|CUDA Driver Version|Driver Version): (?P<version>\S{1,40})\s*$"
)
_WAIVED = ("Waived:", "WAIVED:")
_SUM = re.compile(r"^SUM (?P<name>\w+) ")
"""Below the matrices of a test, with its name again."""
_MOST_BELOW = 1024
"""Lines of a matrix: one for each GPU."""
_QUOTE = "> \t"
_FAILED = re.compile(
    r"CUDA_ERROR_|cudaError|NVML_ERROR|^(?:ERROR|Error|ASSERT)\b|^Invalid value when checking"
)
_OBJECT = re.compile(r'\{\s*+"')
_DOCUMENT = re.compile(r'\{\s*+"nvbandwidth"')
"""What begins its JSON, behind other text."""
_TITLE = re.compile(r"\((?P<unit>GB/s|ns)\)\s*$")
_HOST_AND_GPU = re.compile(r"^memcpy (?P<engine>CE|SM) CPU\(row\) (?P<way><->|->|<-) GPU\(column\)")
_DEVICE = re.compile(
    r"^Device (?P<index>\d{1,4}): (?P<name>\S.{0,100}?)"
    r"(?: \((?P<address>[0-9a-fA-F]{8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2})\).*)?$"
)


def recognizes(text: str) -> bool:
    """Whether an output looks like that of nvbandwidth, as text or JSON."""
    return "nvbandwidth" in text[:4096] or bool(
        re.search(r"^[> \t]*Running (?:benchmark )?\w{1,60}_(?:ce|sm)\.[ \t]*$", text, re.MULTILINE)
    )


def parse(text: str, *, source: str | None = None) -> Measurement:
    """Read one output; ImportProblemError says what is wrong with it."""
    brace = text.find("{")
    if brace >= 0 and (_DOCUMENT if text[:brace].strip() else _OBJECT).match(text, brace):
        return _parse_json(text[brace:], source)
    return _parse_text(text, source)


def _parse_json(text: str, source: str | None) -> Measurement:
    try:
        root = json.JSONDecoder().raw_decode(text)[0]
    except ValueError as error:
        raise ImportProblemError(f"not JSON: {error}") from error
    document = root.get("nvbandwidth") if isinstance(root, dict) else None
    if not isinstance(document, dict):
        raise ImportProblemError("not an output of nvbandwidth -j: there is no 'nvbandwidth' object")
    listed = [f"Device {line}" for line in document.get("GPU Device list") or [] if isinstance(line, str)]
    devices, names = _devices(listed), tuple(_names(listed))
    cases: list[Case] = []
    unread: list[str] = []
    for test in document.get("testcases") or []:
        name, matrix = str(test.get("name")), test.get("bandwidth_matrix")
        if not isinstance(matrix, list):
            unread.append(f"{name}: {test.get('status', 'no matrix')}")
            continue
        description = str(test.get("bandwidth_description", ""))
        rows = [[_value(cell) for cell in row or []] for row in matrix]
        found = bounded(_matrix_cases(name, description, rows, devices))
        cases += (replace(case, raw={**case.raw, "device": names}) if names else case for case in found)
        refuse_too_many(cases)
    if not cases:
        reason = f": {document['error']}" if document.get("error") else ""
        raise ImportProblemError(f"the nvbandwidth output has no results{reason}")
    return Measurement(
        tool="nvbandwidth",
        version=_text(document.get("version")),
        cases=tuple(cases),
        source=source,
        not_understood=tuple(unread),
        raw={key: value for key, value in document.items() if key != "testcases"}
        | {
            "devices": devices,
            "device names": list(names),
        },
    )


def _parse_text(text: str, source: str | None) -> Measurement:
    lines = [line.lstrip(_QUOTE) for line in text.splitlines()]
    version = next((line.split(":", 1)[1].strip() for line in lines if line.startswith(_VERSION)), None)
    starts = [0, *(number for number, line in enumerate(lines) if number and line.startswith(_VERSION))]
    cases: list[Case] = []
    unread: list[str] = []
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        cases += _run(lines[start:end], start, unread)
        refuse_too_many(cases)
    waived = sum(line.strip() in _WAIVED for line in lines)
    if waived:
        unread.append(f"{waived} test{'s were' if waived > 1 else ' was'} waived")
    if not cases:
        error = next((line.strip()[:160] for line in lines if _FAILED.search(line)), None)
        raise ImportProblemError(
            f"nvbandwidth failed: {error}"
            if error
            else "no matrix of nvbandwidth found: expected 'Running TEST.' and a table of GB/s"
        )
    return Measurement(
        tool="nvbandwidth",
        version=version,
        cases=tuple(cases),
        source=source,
        not_understood=tuple(unread),
        raw=_stated(lines) | {"devices": _devices(lines), "device names": _names(lines)},
    )


def _stated(lines: list[str]) -> dict[str, object]:
    """Return the versions of driver and runtime that an output states, by the names of its JSON."""
    found = (_VERSION_OF.match(line) for line in lines)
    return {match["what"]: match["version"] for match in found if match}


def _run(lines: list[str], before: int, unread: list[str]) -> Iterator[Case]:
    """Yield the cases of one run, which has GPUs of its own; `before` are the lines above it."""
    devices, names = _devices(lines), tuple(_names(lines))
    name: str | None = None

    def below(number: int) -> list[str]:
        return lines[number + 1 : number + _MOST_BELOW]

    for number, line in enumerate(lines):
        if running := _RUNNING.match(line.strip()):
            name = running["name"]
        elif _TITLE.search(line) and (test := name or _named_by_title(line) or _named_below(below(number))):
            matrix = list(_rows(below(number)))
            for case in bounded(_matrix_cases(test, line.strip(), matrix, devices)):
                yield replace(case, raw={**case.raw, "device": names}) if names else case
        elif _FAILED.search(line) or (line.startswith(("Waived", "WAIVED")) and line.strip() not in _WAIVED):
            unread.append(f"line {before + number + 1}: {line.strip()[:120]}")


def _named_below(lines: list[str]) -> str | None:
    """Return the name of a test whose first line is not there, when its last one is."""
    below = next((line for line in lines if line.startswith(("SUM ", "Running "))), "")
    found = _SUM.match(below)
    return found["name"] if found else None


def _named_by_title(title: str) -> str | None:
    """Return the name of a test between host and GPU by what its arrow says; None for any other."""
    found = _HOST_AND_GPU.match(title.strip())
    if found is None:
        return None
    way = {"->": "host_to_device", "<-": "device_to_host", "<->": "host_and_device_bidirectional"}[
        found["way"]
    ]
    return f"{way}_memcpy_{found['engine'].lower()}"


def _rows(lines: list[str]) -> Iterator[list[float | None]]:
    """Rows of a matrix below its title: a line of column numbers, then a row number with as many cells."""
    columns = lines[0].split() if lines else []
    for line in lines[1:]:
        words = line.split()
        if len(words) != len(columns) + 1 or not columns:
            return
        yield [_value(word) for word in words[1:]]


def _matrix_cases(
    name: str, description: str, matrix: list[list[float | None]], devices: dict[int, str]
) -> Iterator[Case]:
    unit = _TITLE.search(description)
    from_host = "CPU" in description or "host" in name
    within = re.search(r"\b(Read1|Read2|Write1|Write2|Total)\b", description)
    for row, cells in enumerate(matrix):
        for column, value in enumerate(cells):
            if value is None or (value == 0 and row == column and not from_host):
                continue
            here = f"{name} {within[0]}" if within else name
            place = f"GPU{column}" if from_host or "local" in description else f"GPU{row} GPU{column}"
            label = devices.get(column, f"GPU {column}")
            latency = Latency(mean_ns=value) if unit and unit["unit"] == "ns" else None
            yield Case(
                name=f"{here} {place}",
                direction=_direction(name),
                target=label
                if from_host or "local" in description
                else f"{devices.get(row, f'GPU {row}')} -> {label}",
                block_bytes=None,
                bandwidth_bytes_per_s=None if latency else 1e9 * value,
                latency=latency,
                raw={"test": name, "description": description, "row": row, "column": column},
            )


def _direction(name: str) -> str | None:
    """As the host sees it: what goes to a device is written, what comes from it is read."""
    name = name.removeprefix("multinode_")
    if "bidirectional" in name:
        return "both"
    if name.startswith(("host_to", "one_to_all_write", "device_to_device_memcpy_write", "all_to_one_write")):
        return "write"
    return "read" if "latency" not in name else "ping-pong"


def _devices(lines: Iterable[str]) -> dict[int, str]:
    """Address of each GPU by its number, without the two digits of domain too many."""
    found = (_DEVICE.match(line.strip()) for line in lines)
    return {int(match["index"]): f"{match['address'][4:]}.0" for match in found if match and match["address"]}


def _names(lines: Iterable[str]) -> list[str]:
    """Return what it calls the GPUs."""
    found = (_DEVICE.match(line.strip()) for line in lines)
    return sorted({match["name"] for match in found if match})


def _value(cell: object) -> float | None:
    if not isinstance(cell, str | int | float):
        return None
    try:
        return float(cell)
    except ValueError:
        return None


def _text(value: object) -> str | None:
    return None if value is None else str(value).lstrip("v")
