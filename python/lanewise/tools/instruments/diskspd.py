"""Reads what Microsoft's DISKSPD prints, as text or XML (``-Rxml``): reads and writes of each file.

Rates are bytes over the time of the test, latencies milliseconds. Of several files each has the sum of its
threads, if all of them are listed, and otherwise all files have the sum together. Percentiles are over all
files. Left out: the use of processors, and what happened in intervals.

Source: microsoft/diskspd, ``ResultParser.cpp`` and ``XmlResultParser.cpp``, and outputs of 2.0.17 to 2.2.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING
from xml.parsers import expat

from lanewise.tools.instruments.measurement import (
    Case,
    ImportProblemError,
    Latency,
    Measurement,
    refuse_too_many,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_COMMAND = "Command Line: "
_PATH = re.compile(r"^[ \t]*+path: '(.{1,400})'")
_BLOCK = re.compile(r"^[ \t]*+block size: (\d{1,12})([KMGT]i?)?B?\b")
_AT_ONCE = re.compile(r"^[ \t]*+number of outstanding I/O operations(?: per thread)?: (\d{1,6})")
_THREADS = re.compile(r"^[ \t]*+threads per file: (\d{1,6})")
_RESULTS = re.compile(r"^[ \t]*+Results for timespan (\d{1,6})")
_TIME = re.compile(r"^[ \t]*+actual test time:[ \t]*+([\d.]{1,12})s")
_COUNT = re.compile(r"^[ \t]*+thread count:[ \t]*+(\d{1,6})")
_TABLE = re.compile(r"^[ \t]*+(Total|Read|Write) IO[ \t]*+$")
_THREAD = re.compile(
    r"^[ \t]*+\d{1,6} \|(?P<cells>[^|]{1,30}(?:\|[^|]{1,30}){2,8})\| "
    r"(?P<file>.{1,400}) \([\d.]{1,14}[KMGT]?i?B\)[ \t]*+$"
)
_TOTAL = re.compile(r"^[ \t]*+total:(?P<cells>[^|\n]{1,30}(?:\|[^|\n]{1,30}){2,9})$")
_PERCENTILE = re.compile(
    r"^[ \t]*+(?P<at>min|max|\d{1,2}(?:st|nd|rd|th)|\d-nines)[ \t]*+"
    r"\|(?P<read>[^|]{1,24})\|(?P<write>[^|]{1,24})\|"
)
_POWERS = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4}
_SIGN = re.compile(
    r"^[ \t]*+number of outstanding I/O operations(?: per thread)?: \d|^[ \t]*+Results for timespan \d",
    re.MULTILINE,
)
_XML = ("<Results>", "<TimeSpan>", "<TestTimeSeconds>", "<Path>", "<ReadBytes>")
_MOST_DEPTH = 32
_MOST_TEXT = 4096


@dataclass
class _File:
    """What was asked of a file."""

    path: str
    block: int | None = None
    at_once: int | None = None
    """Of each thread."""
    threads: int | None = None
    random: bool = False
    cached: bool = False


@dataclass
class _Done:
    """What was done in one direction."""

    size: int = 0
    """Bytes."""
    operations: int = 0


@dataclass
class _Span:
    """One timespan of a test."""

    files: list[_File] = field(default_factory=list)
    seconds: float = 0.0
    done: dict[tuple[str, str], _Done] = field(default_factory=dict)
    """By direction and file."""
    total: dict[str, _Done] = field(default_factory=dict)
    """By direction, as it is printed."""
    mean_ms: dict[str, float] = field(default_factory=dict)
    percentiles_ms: dict[str, dict[str, float]] = field(default_factory=dict)
    """By direction, and by what they are called."""


def recognizes(text: str) -> bool:
    """Whether a text has what DISKSPD prints before or above its results."""
    return "I/O" in text and _SIGN.search(text) is not None


def recognizes_xml(text: str) -> bool:
    """Whether a text has its XML."""
    return all(element in text for element in _XML)


def parse(text: str, *, source: str | None = None) -> Measurement:
    """Read one output, or several one after another; ImportProblemError says what is wrong with it."""
    spans: list[_Span] = []
    asked: list[_File] = []
    direction, command = "", None
    for line in text.splitlines():
        if line.lstrip().startswith(_COMMAND):
            command = line.strip().removeprefix(_COMMAND)[:_MOST_TEXT]
        elif line.strip() == "Input parameters:":
            asked, direction = [], ""
        elif path := _PATH.match(line):
            asked.append(_File(path[1]))
        elif _RESULTS.match(line) or (_TIME.match(line) and (not spans or spans[-1].seconds)):
            spans.append(_Span(asked))
            refuse_too_many(spans)
            spans[-1].seconds = _seconds(line)
        elif asked and not spans:
            _ask(asked[-1], line)
        elif not spans:
            continue
        elif _TIME.match(line):
            spans[-1].seconds = _seconds(line)
        elif (count := _COUNT.match(line)) and len(spans[-1].files) == 1:
            spans[-1].files = [replace(spans[-1].files[0], threads=int(count[1]))]
        elif table := _TABLE.match(line):
            direction = table[1].lower()
        elif direction in ("read", "write"):
            _count(spans[-1], direction, line)
    cases = _of_spans(spans)
    if not cases:
        raise ImportProblemError(
            "no table 'Read IO' or 'Write IO' with bytes; is the output of DISKSPD complete?"
        )
    refuse_too_many(cases)
    return Measurement(tool="DISKSPD", version=None, cases=tuple(cases), source=source, command=command)


def _ask(file: _File, line: str) -> None:
    if block := _BLOCK.match(line):
        file.block = int(block[1]) * 1024 ** _POWERS[(block[2] or "")[:1]]
    elif at_once := _AT_ONCE.match(line):
        file.at_once = int(at_once[1])
    elif threads := _THREADS.match(line):
        file.threads = int(threads[1])
    elif "using random I/O" in line:
        file.random = True
    elif "using software cache" in line:
        file.cached = True


def _seconds(line: str) -> float:
    found = _TIME.match(line)
    return float(found[1]) if found else 0.0


def _count(span: _Span, direction: str, line: str) -> None:
    """Read a line of the tables of one direction, or of the percentiles below."""
    if row := _THREAD.match(line):
        cells = row["cells"].split("|")
        done = span.done.setdefault((direction, row["file"]), _Done())
        done.size += int(cells[0])
        done.operations += int(cells[1])
    elif total := _TOTAL.match(line):
        cells = [cell.strip() for cell in total["cells"].split("|")]
        span.total[direction] = _Done(int(cells[0]), int(cells[1]))
        if len(cells) > _LATENCY and float(cells[_LATENCY]):
            span.mean_ms[direction] = float(cells[_LATENCY])
    elif percentile := _PERCENTILE.match(line):
        for way in ("read", "write"):
            if (cell := percentile[way].strip()) != "N/A":
                span.percentiles_ms.setdefault(way, {})[percentile["at"]] = float(cell)


_LATENCY = 4
"""Column of the mean latency, which is there only if it was measured."""


def _of_spans(spans: Sequence[_Span]) -> list[Case]:
    several = len(spans) > 1
    return [case for number, span in enumerate(spans, 1) for case in _cases(span, number, several=several)]


def _cases(span: _Span, number: int, *, several: bool) -> Iterator[Case]:
    files = {file.path: file for file in span.files}
    for direction in ("read", "write"):
        total = span.total.get(direction)
        of_files = {path: done for (way, path), done in span.done.items() if way == direction and done.size}
        if total is not None and not total.size:
            continue
        listed = total is None or sum(done.size for done in of_files.values()) == total.size
        parts = of_files if len(files) > 1 and listed else {}
        if not parts and total is not None:
            parts = {", ".join(files) or ", ".join(of_files): total}
        for path, done in (parts or of_files).items():
            asked = files.get(path) or next(iter(files.values()), None)
            count = 1 if path in files else max(1, len(files))
            yield _case(span, direction, (path, done), asked, count, number if several else None)


def _case(
    span: _Span, direction: str, what: tuple[str, _Done], asked: _File | None, files: int, number: int | None
) -> Case:
    path, done = what
    threads = (asked.threads or 1) * files if asked else None
    depth = (asked.at_once or 1) * (threads or 1) if asked else None
    return Case(
        name=f"{direction} {path}",
        direction=direction,
        target=path,
        block_bytes=asked.block if asked else None,
        queue_depth=depth,
        workers=threads,
        bandwidth_bytes_per_s=done.size / span.seconds if span.seconds else None,
        operations_per_s=done.operations / span.seconds if span.seconds else None,
        operations=done.operations,
        latency=_latency(span, direction),
        raw={
            "random": bool(asked and asked.random),
            **({"buffered": True} if asked and asked.cached else {}),
            **({"document": number} if number is not None else {}),
        },
    )


def _latency(span: _Span, direction: str) -> Latency | None:
    told = span.percentiles_ms.get(direction, {})
    mean = span.mean_ms.get(direction)
    if mean is None and not told:
        return None
    percentiles = {_percent(name): 1e6 * value for name, value in told.items() if name not in ("min", "max")}

    def ns(value: float | None) -> float | None:
        return None if value is None else 1e6 * value

    return Latency(
        mean_ns=ns(mean), min_ns=ns(told.get("min")), max_ns=ns(told.get("max")), percentiles_ns=percentiles
    )


def _percent(name: str) -> float:
    """Read ``25th`` and ``3-nines``."""
    if name.endswith("-nines"):
        return float("99." + "9" * max(1, int(name[0]) - 2))
    return float(re.sub(r"\D", "", name))


def parse_xml(text: str, *, source: str | None = None) -> Measurement:
    """Read its XML, or several one after another; ImportProblemError says what is wrong with it."""
    spans: list[_Span] = []
    version = host = None
    for begin in re.finditer(r"<Results>", text):
        end = text.find("</Results>", begin.start())
        document = _Document()
        document.read(text[begin.start() : end + len("</Results>") if end >= 0 else len(text)])
        spans += document.spans
        refuse_too_many(spans)
        version, host = version or document.version, host or document.host
    cases = _of_spans(spans)
    if not cases:
        raise ImportProblemError("the XML of DISKSPD has no 'TimeSpan' in which anything was read or written")
    refuse_too_many(cases)
    return Measurement(tool="DISKSPD", version=version, cases=tuple(cases), source=source, host=host)


class _Document:
    """Elements of one document as they come."""

    def __init__(self) -> None:
        self.spans: list[_Span] = []
        self.version: str | None = None
        self.host: str | None = None
        self._profile: list[list[_File]] = []
        """Files of each timespan, as they are asked for."""
        self._path: list[str] = []
        self._text = ""
        self._target: dict[str, str] = {}
        self._bucket: dict[str, str] = {}

    def read(self, text: str) -> None:
        parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._add
        parser.EntityDeclHandler = _refuse
        try:
            parser.Parse(text, True)
        except expat.ExpatError as error:
            raise ImportProblemError(f"the XML of DISKSPD is incomplete or damaged: {error}") from error

    def _start(self, name: str, _: Mapping[str, str]) -> None:
        self._path.append(name)
        if len(self._path) > _MOST_DEPTH:
            raise ImportProblemError(f"the XML is nested deeper than {_MOST_DEPTH} levels")
        self._text = ""
        where = self._path[1:]
        if where == ["Profile", "TimeSpans", "TimeSpan"]:
            self._profile.append([])
        elif where == ["TimeSpan"]:
            number = len(self.spans)
            self.spans.append(_Span(self._profile[number] if number < len(self._profile) else []))
        elif name == "Target":
            self._target = {}
        elif name == "Bucket":
            self._bucket = {}

    def _add(self, text: str) -> None:
        if len(self._text) < _MOST_TEXT:
            self._text += text

    def _end(self, name: str) -> None:
        where, text = self._path[1:], self._text.strip()
        self._path.pop()
        self._text = ""
        match where:
            case ["System", "ComputerName"]:
                self.host = text or None
            case ["System", "Tool", "Version"]:
                self.version = text or None
            case ["Profile", "TimeSpans", "TimeSpan", "Targets", "Target"]:
                self._profile[-1].append(_asked_in_xml(self._target))
            case [*_, "Target", _]:
                self._target[name] = text
            case ["TimeSpan", "TestTimeSeconds"]:
                self.spans[-1].seconds = float(text)
            case ["TimeSpan", "Thread", "Target"]:
                self._count()
            case ["TimeSpan", "Latency", "Bucket", _]:
                self._bucket[name] = text
            case ["TimeSpan", "Latency", "Bucket"]:
                self._percentile()
            case ["TimeSpan", "Latency", "AverageReadMilliseconds" | "AverageWriteMilliseconds"]:
                self.spans[-1].mean_ms["read" if "Read" in name else "write"] = float(text)
            case _:
                pass

    def _count(self) -> None:
        for direction in ("read", "write"):
            word = direction.capitalize()
            done = self.spans[-1].done.setdefault((direction, self._target.get("Path", "")), _Done())
            done.size += int(self._target.get(f"{word}Bytes", 0))
            done.operations += int(self._target.get(f"{word}Count", 0))

    def _percentile(self) -> None:
        at = float(self._bucket.get("Percentile", -1))
        name = {0.0: "min", 100.0: "max"}.get(at)
        if name is None and at not in _KEPT:
            return
        for direction in ("read", "write"):
            if text := self._bucket.get(f"{direction.capitalize()}Milliseconds"):
                told = self.spans[-1].percentiles_ms.setdefault(direction, {})
                told[name or _KEPT[at]] = float(text)


_KEPT = {50.0: "50th", 90.0: "90th", 99.0: "99th", 99.9: "3-nines", 99.99: "4-nines"}
"""Of a percentile for each hundredth, those that are of use."""


def _asked_in_xml(target: Mapping[str, str]) -> _File:
    def number(name: str) -> int | None:
        text = target.get(name, "")
        return int(text) if text.isdecimal() else None

    return _File(
        target.get("Path", ""),
        number("BlockSize"),
        number("RequestCount"),
        number("ThreadsPerFile"),
        "Random" in target or target.get("RandomAccess") == "true",
        target.get("DisableOSCache", "true") == "false",
    )


def _refuse(*_: object) -> None:
    raise ImportProblemError("the XML defines entities, which DISKSPD never does; it was not read")
