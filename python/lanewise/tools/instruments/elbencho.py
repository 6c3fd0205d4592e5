"""Reads what elbencho prints: a block for each phase, and the CSV of ``--csvfile``.

Of its two columns the last counts: until the slowest thread was done. MiB/s are 2**20 bytes, MB/s 10**6. The
command, above the result or in the line ``COMMAND LINE``, says sizes, depth, threads and paths. Results of
object stores, and of several hosts together, are of no drive here. Left out: files and directories a second.

Source: breuner/elbencho 1.6 to 3.1, ``Statistics.cpp``, its documentation, and outputs in public threads.
"""

from __future__ import annotations

import csv
import re
import shlex
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lanewise.tools.instruments.measurement import (
    Case,
    ImportProblemError,
    Latency,
    Measurement,
    refuse_too_many,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_HEAD = re.compile(r"\bOPERATION[ \t]++RESULT TYPE[ \t]++FIRST DONE[ \t]++LAST DONE")
_COMMAND = re.compile(r"(?:^|[$#%] ?|COMMAND LINE: \")(?:[\w./-]{0,100}/)?elbencho\"?(?=[ \t])")
_MOST_OPTIONS = 4000
_PHASE = re.compile(r"^(?P<name>[A-Z][A-Z0-9_-]{1,20})[ \t]++Elapsed (?:time|ms)[ \t]*+:")
_LINE = re.compile(r"^[ \t]++(?P<what>[A-Za-z][\w/ %.]{1,24}?)[ \t]*+:[ \t]*+(?P<values>\S.{0,200})$")
_RATE = re.compile(r"(?:Throughput )?(?P<unit>Mi?B)/s(?: (?P<way>read|write|total))?$")
_LATENCY = re.compile(r"\b(min|avg|max)=([\d.]{1,12})(us|ms|s)?")
_SIZE = re.compile(r"(\d{1,15})([kKmMgGtT]?)(?:i?[bB])?")
_UNITS = {"MiB": 2.0**20, "MB": 1e6}
_TIMES = {"us": 1e3, "ms": 1e6, "s": 1e9}
_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}
_DEFAULT_BLOCK = 1 << 20
_NAMES_OF_SWITCHES = (
    "allelapsed cpu d deldirs delfiles direct dirstats dropcache dryrun F fileshare infloop lat lathisto "
    "latpercent live1 live1n livecsvex mkdirs norandalign nolive nosvcshare r rand read stat svcelapsed "
    "sync trunc verify w write"
)
_SWITCHES = frozenset(_NAMES_OF_SWITCHES.split())
"""Options without a value: what stands behind one is a path."""
_CSV = ("operation", "block size", "MiB/s [last]")


@dataclass
class _Phase:
    """A phase, with what was said of it."""

    name: str
    command: Mapping[str, str]
    number: int
    rates: dict[str, float] = field(default_factory=dict)
    """Bytes a second by direction: read, write."""
    operations: dict[str, float] = field(default_factory=dict)
    latency: dict[str, Latency] = field(default_factory=dict)


def recognizes(text: str) -> bool:
    """Whether a text has the head of its results, or that of its CSV."""
    return _HEAD.search(text) is not None or (
        "operation" in text and _is_csv(text.splitlines()[0] if text else "")
    )


def _is_csv(line: str) -> bool:
    return all(f",{name}," in f",{line}," for name in _CSV)


def parse(text: str, *, source: str | None = None) -> Measurement:
    """Read one output, or several one after another; ImportProblemError says what is wrong with it."""
    if _is_csv(text.splitlines()[0] if text else ""):
        return Measurement(tool="elbencho", version=None, cases=tuple(_of_csv(text)), source=source)
    phases: list[_Phase] = []
    command: dict[str, str] = {}
    runs = 1
    for line in text.splitlines():
        if found := _COMMAND.search(line):
            command, runs = _options(line[found.end() :][:_MOST_OPTIONS]), runs + 1
        elif phase := _PHASE.match(line):
            phases.append(_Phase(phase["name"], command, runs))
            refuse_too_many(phases)
        elif phases and (said := _LINE.match(line)):
            _read(phases[-1], said["what"], said["values"])
    cases = [case for phase in phases for case in _cases(phase)]
    if not cases:
        raise ImportProblemError(
            "no phase of elbencho with a line 'Throughput MiB/s'; keep what it prints last, or --csvfile"
        )
    return Measurement(tool="elbencho", version=None, cases=tuple(cases), source=source)


def _options(text: str) -> dict[str, str]:
    """Return the options of a command, and its paths as ``paths``."""
    try:
        words = shlex.split(text)
    except ValueError:
        words = text.split()
    found: dict[str, str] = {}
    paths: list[str] = []
    name = ""
    for word in words:
        if word.startswith("-") and not word.lstrip("-").isdecimal():
            name, _, value = word.partition("=")
            found[name.lstrip("-")] = value
            name = "" if value or name.lstrip("-") in _SWITCHES else name
        elif name:
            found[name.lstrip("-")], name = word, ""
        else:
            paths.append(word)
    return {**found, "paths": " ".join(paths)}


def _read(phase: _Phase, what: str, values: str) -> None:
    """Read a line of a phase: a number until the first thread was done, and one until the last."""
    default = "read" if "READ" in phase.name else "write"
    if rate := _RATE.match(what):
        if rate["way"] != "total":
            phase.rates[rate["way"] or default] = _last(values) * _UNITS[rate["unit"]]
    elif what.startswith("IOPS"):
        way = what.removeprefix("IOPS").strip() or default
        phase.operations[way] = _last(values)
    elif what.startswith(("IO lat", "IO latency", "IO rd lat", "IO wr lat")):
        way = "read" if " rd" in what else "write" if " wr" in what else default
        times = {key: float(value) * _TIMES[unit or "us"] for key, value, unit in _LATENCY.findall(values)}
        if "avg" in times:
            phase.latency[way] = Latency(
                mean_ns=times["avg"], min_ns=times.get("min"), max_ns=times.get("max")
            )


def _last(values: str) -> float:
    try:
        return float(values.rsplit(maxsplit=1)[-1])
    except ValueError as error:
        raise ImportProblemError(f"'{values[:60]}' are no numbers of elbencho") from error


def _cases(phase: _Phase) -> Iterator[Case]:
    said = phase.command
    threads = _whole(said.get("t", said.get("threads", "1")))
    depth = _whole(said.get("iodepth", "1"))
    size = _size(said.get("b", said.get("block", ""))) or (_DEFAULT_BLOCK if said else None)
    for way, rate in phase.rates.items():
        yield _case(
            f"{phase.name} {said.get('paths', '')}".strip()
            if len(phase.rates) == 1
            else f"{phase.name} {way}",
            way,
            rate,
            phase.operations.get(way),
            phase.latency.get(way),
            asked=(size, threads if said else None, depth if said else None),
            raw={
                "document": phase.number,
                "random": "rand" in said,
                **({"buffered": True} if said and "direct" not in said else {}),
                **_elsewhere(said),
            },
            target=said.get("paths") or None,
        )


def _case(
    name: str,
    way: str,
    rate: float,
    operations: float | None,
    latency: Latency | None,
    *,
    asked: tuple[int | None, int | None, int | None],
    raw: Mapping[str, object],
    target: str | None,
) -> Case:
    size, threads, depth = asked
    return Case(
        name=name,
        direction=way,
        target=target,
        block_bytes=size,
        queue_depth=threads * depth if threads and depth else None,
        workers=threads,
        bandwidth_bytes_per_s=rate,
        operations_per_s=operations,
        latency=latency,
        raw=raw,
    )


def _elsewhere(said: Mapping[str, str]) -> dict[str, str]:
    """Say that a result is of no drive here."""
    if any(name.startswith("s3") for name in said):
        return {"elsewhere": "an object store"}
    hosts = said.get("hosts", "")
    return {"elsewhere": "several hosts together"} if re.search(r"[,\[]", hosts) else {}


def _of_csv(text: str) -> Iterator[Case]:
    """Yield the rows of a file of ``--csvfile``."""
    rows = csv.DictReader(text.splitlines())
    for number, row in enumerate(rows, start=1):
        name = str(row.get("operation", ""))
        default = "read" if "READ" in name else "write"
        for way, before in ((default, ""), ("read", "rwmix read ")):
            rate = _float(row.get(f"{before}MiB/s [last]"))
            if not rate:
                continue
            mean = _float(row.get(f"{before}IO lat us [avg]"))
            hosts = _whole(str(row.get("hosts", "")))
            threads, depth = (_whole(str(row.get(key, ""))) for key in ("threads", "IO depth"))
            yield _case(
                f"{name} {way}" if before or _float(row.get("rwmix read MiB/s [last]")) else name,
                way,
                rate * 2**20,
                _float(row.get(f"{before}IOPS [last]")),
                Latency(mean_ns=1e3 * mean) if mean else None,
                asked=(_whole(str(row.get("block size", ""))) or None, threads, max(1, depth or 1)),
                raw={
                    "document": number,
                    "random": row.get("random") == "1",
                    **({"buffered": True} if row.get("direct IO") == "0" else {}),
                    **({"elsewhere": "several hosts together"} if hosts and hosts > 1 else {}),
                },
                target=None,
            )


def _float(text: object) -> float | None:
    try:
        return float(str(text)) if text else None
    except ValueError:
        return None


def _whole(text: str) -> int | None:
    return int(text) if text.isdecimal() else None


def _size(text: str) -> int | None:
    found = _SIZE.fullmatch(text)
    return int(found[1]) * 1024 ** _POWERS[found[2].lower()] if found else None
