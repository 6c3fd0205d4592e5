"""Reads what AMD's TransferBench prints: transfers of a configuration, and the matrices of its presets.

A transfer goes from memories to memories and is done by a processor, a GPU's kernel, a DMA engine or a
network adapter. Letters say of which kind memory is (``C0``, ``G1``); GPUs are numbered, and the table of the
topology has their addresses. GB/s are decimal. Read are the lines ``Transfer``, as table or CSV, and the
presets ``p2p``, ``a2a`` and ``scaling`` (of which the best number counts). Left out: what stays within a
host's memory or goes over a network adapter, sums over an executor, and all other presets.

Source: ROCm/TransferBench 1.0 to 1.67, ``TransferBench.cpp``, ``Utilities.hpp`` and its documentation.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from lanewise.tools.instruments.measurement import (
    Case,
    ImportProblemError,
    Latency,
    Measurement,
    refuse_too_many,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_VERSION = re.compile(r"^[ \t]*+TransferBench v(\d[\w.-]{0,20})", re.MULTILINE)
_SIGN = re.compile(
    r"^[ \t]*+TransferBench v\d|^[ \t]*+SRC(?:\+EXE)?\\{1,2}(?:EXE\+)?DST(?:\+EXE)?[ ,]"
    r"|^[ \t]*+Transfer[ \t]++\d{1,5}: \S{1,80} -> \["
    r"|^[^\n]{0,4}[ \t]*+Transfer[ \t]++\d{1,5}[ \t]*+\\?[|,│][ \t]*+[\d.]{1,12} GB/s"
    r"|^GPU-GFX (?:Scaling|All-To-All) benchmark:|^Test#,Transfer#,NumBytes,",
    re.MULTILINE,
)
_BORDERS = str.maketrans(dict.fromkeys("|│,", " "))
_TRANSFER = re.compile(
    r"^[ \t]*+Transfer[ \t]++(?P<number>\d{1,5})[ \t]++(?P<rate>[\d.]{1,12}) GB/s[ \t]++"
    r"(?P<time>[\d.]{1,14}) ms"
    r"[ \t]++(?P<bytes>\d{1,16}) bytes[ \t]++(?P<source>\S{1,80}) -> (?P<by>\S{1,40}) -> (?P<to>\S{1,80})"
)
_OLD_TRANSFER = re.compile(
    r"^[ \t]*+Transfer[ \t]++(?P<number>\d{1,5}): (?P<source>\S{1,80}) -> \[(?P<by>[^\]\n]{1,40})\] -> "
    r"(?P<to>\S{1,80})[ \t]++(?P<rate>[\d.]{1,12}) GB/s[ \t]++(?P<time>[\d.]{1,14}) ms"
)
"""As early versions have it; the size stands in the line of the test."""
_TEST = re.compile(r"^[ \t]*+Test (\d{1,6}):(?: \[(\d{1,16}) bytes\])?")
_SUM = re.compile(r"^[ \t]*+Aggregate (?:\(CPU\)|Bandwidth \(CPU timed\))")
_HOLDER = re.compile(r"(?:R(?P<rank>\d{1,4}))?(?P<letter>[A-Z])[A-Z]{0,2}(?P<index>\d{1,4})")
_OF_HOSTS = "CBDKHP"
"""Memory of a host: pinned, coherent and not, uncached, pageable, next to a GPU."""
_OF_GPUS = "GFM"
"""Memory of a GPU: ordinary, fine-grained, managed."""
_TOPOLOGY = re.compile(
    r"^[ \t]*+GPU[ \t]++(?P<number>\d{1,3})[ \t]++(?P<links>(?:(?:-|N/A|[A-Z?]{2,4}-\d)[ \t]++){0,64})"
    r"(?P<address>[0-9a-fA-F]{4}:[0-9a-fA-F]{2}:[01][0-9a-fA-F]\.[0-7])\b"
)
_OWN_LINKS = ("XGMI",)
"""Links between GPUs that are not PCI Express."""
_NAMED = re.compile(
    r"^[ \t]*+GPU[ \t]++\d{1,3}[ \t]++(?:\|[ \t]*+)?((?:AMD|NVIDIA|Tesla)[ \t].{1,80}?)[ \t]*+$"
)
_PEERS = re.compile(
    r"^[ \t]*+(Uni|Bi)directional copy peak bandwidth GB/s.{0,60}?(?:Executor: (\w{1,8}))?\)?[ \t]*+$"
)
_COLUMNS = re.compile(r"^[ \t]*+SRC(?:\+EXE)?\\{1,2}(?:EXE\+)?DST(?:\+EXE)?[ \t]")
_DEVICE = re.compile(r"\b(CPU|GPU) ?(\d{1,3})\b")
_ROW = re.compile(r"^[ \t]*+(CPU|GPU)[ \t]++(\d{1,3})[ \t]++(?:(<->|->|<-)[ \t]++)?([\d.NA/ \t]{3,4000})$")
_ALL_TO_ALL = re.compile(r"\[(\d{1,16}) bytes per Transfer\]|^- Copying (\d{1,16}) bytes between")
_PER_DIRECTION = re.compile(r"^[ \t]*+Bytes Per Direction[ \t]++(\d{1,16})")
_SCALING = re.compile(r"^- Copying (\d{1,16}) bytes from GPU (\d{1,3}) to other devices")
_ROW_OF_SCALING = re.compile(r"^[ \t]*+(\d{1,4})((?:[ \t]++[\d.]{1,9}){1,64})[ \t]*+$")
_RATE = 7
"""Column of the bandwidth in the CSV."""
_HEAD_OF_CSV = "Test#,Transfer#,NumBytes,Src,Exe,Dst,CUs,BW(GB/s),Time(ms)"


@dataclass(frozen=True)
class _Place:
    """Where memory is, or what copies: host or GPU, and which."""

    kind: str
    index: int

    def __str__(self) -> str:
        return f"{self.kind} {self.index}"


@dataclass
class _Matrix:
    """The matrix that is being read."""

    way: str
    """``uni``, ``bi``, or ``a2a``."""
    executor: str = ""
    columns: Sequence[_Place] = ()
    size: int | None = None
    reads: bool = False
    """Whether the destination copies."""


@dataclass
class _Scaling:
    size: int
    source: _Place
    columns: Sequence[_Place] = ()
    best: dict[_Place, tuple[float, int]] = field(default_factory=dict)
    """Bandwidth of each device, and of how many compute units it is."""


def recognizes(text: str) -> bool:
    """Whether a text looks like an output of TransferBench."""
    return _SIGN.search(text) is not None


def parse(text: str, *, source: str | None = None) -> Measurement:
    """Read one output, or several one after another; ImportProblemError says what is wrong with it."""
    reader = _Reader()
    for line in text.splitlines():
        reader.read(line)
        refuse_too_many(reader.cases)
    cases = reader.done()
    if not cases:
        if reader.left:
            raise ImportProblemError(f"no transfer to or from a GPU: {reader.left[0]}")
        raise ImportProblemError(
            "no transfer of TransferBench found: expected lines 'Transfer N | ... GB/s', or the matrices of "
            "its presets p2p, a2a or scaling; other presets are not read"
        )
    version = _VERSION.search(text)
    return Measurement(
        tool="TransferBench",
        version=version[1] if version else None,
        cases=tuple(cases),
        source=source,
        not_understood=tuple(dict.fromkeys(reader.left)),
        raw={
            "devices": {place.index: address for place, address in reader.addresses.items()},
            "device names": sorted(reader.names),
        },
    )


class _Reader:
    """What was read up to a line."""

    def __init__(self) -> None:
        self.cases: list[Case] = []
        self.left: list[str] = []
        self.addresses: dict[_Place, str] = {}
        self.links: dict[tuple[_Place, _Place], str] = {}
        """Kind of the link between two GPUs, as the table of the topology has it."""
        self.names: set[str] = set()
        self._test = "1"
        self._size_of_test = 0
        self._waiting: list[re.Match[str]] = []
        """Transfers of the test that is being read: how many there are says whether one is alone."""
        self._matrix: _Matrix | None = None
        self._scaling: _Scaling | None = None
        self._csv: dict[str, list[list[str]]] | None = None
        self._size: int | None = None

    def read(self, written: str) -> None:
        if written.startswith(_HEAD_OF_CSV):
            self._csv = {}
        elif self._csv is not None and (cells := written.split(","))[0].isdecimal() and len(cells) > _RATE:
            self._csv.setdefault(cells[0], []).append(cells)
        # Sources of pages have a backslash before a border.
        line = written.replace("\\|", "|").translate(_BORDERS)
        if found := _TRANSFER.match(line) or _OLD_TRANSFER.match(line):
            self._waiting.append(found)
        elif test := _TEST.match(line):
            self._end_test()
            self._test = test[1]
            self._size_of_test = int(test[2] or 0)
        elif _SUM.match(line):
            self._end_test()
            self._test = str(int(self._test) + 1)
        elif not self._describes(written, line):
            self._of_a_preset(written, line)

    def _describes(self, written: str, line: str) -> bool:
        """Read what describes the machine or the run; False for any other line."""
        if topology := _TOPOLOGY.match(line):
            gpu = _Place("GPU", int(topology["number"]))
            self.addresses[gpu] = topology["address"].lower()
            for index, link in enumerate(topology["links"].split()):
                self.links[gpu, _Place("GPU", index)] = link.partition("-")[0]
        elif named := _NAMED.match(written):
            self.names.add(named[1])
        elif size := _PER_DIRECTION.match(line) or _ALL_TO_ALL.search(written):
            self._size = int(next(group for group in size.groups() if group))
        else:
            return False
        return True

    def _of_a_preset(self, written: str, line: str) -> None:
        """Read heads and rows of matrices."""
        if peers := _PEERS.match(line):
            self._matrix = _Matrix(peers[1].lower(), peers[2] or "", size=self._size)
        elif scaling := _SCALING.match(written):
            self._scaling = _Scaling(int(scaling[1]), _Place("GPU", int(scaling[2])))
        elif self._scaling is not None and line.lstrip().startswith("NumCUs"):
            self._scaling.columns = _devices(line)
        elif self._scaling is not None and (row := _ROW_OF_SCALING.match(line)):
            self._scale(self._scaling, int(row[1]), row[2].split())
        elif _COLUMNS.match(line):
            self._columns(_devices(line), reads="EXE+DST" in line or "DST+EXE" in line)
        elif self._matrix is not None and (row := _ROW.match(line)):
            self._row(self._matrix, _Place(row[1], int(row[2])), row[3], row[4].split())

    def done(self) -> list[Case]:
        """Return the cases, when all lines were read."""
        self._end_test()
        if self._scaling is not None:
            self.cases += self._of_scaling(self._scaling)
        for test, rows in (self._csv or {}).items():
            self.cases += self._of_csv(test, rows)
        return self.cases

    def _end_test(self) -> None:
        for found in self._waiting:
            size = int(found.groupdict().get("bytes") or self._size_of_test) or None
            time = float(found["time"])
            name = f"test {self._test}: {found['source']} -> {found['by']} -> {found['to']}"
            case = self._case(
                name,
                (found["source"], found["by"].partition(":")[0].replace(" ", ""), found["to"]),
                float(found["rate"]),
                size=size,
                at_once=len(self._waiting),
                raw={"test": f"test {self._test}", "transfer": int(found["number"])},
            )
            if case is not None:
                latency = Latency(mean_ns=1e6 * time) if time else None
                self.cases.append(replace(case, latency=latency))
        self._waiting = []

    def _case(
        self,
        name: str,
        way: tuple[str, str, str],
        rate: float,
        *,
        size: int | None,
        at_once: int,
        raw: Mapping[str, object],
    ) -> Case | None:
        """Return the case of one transfer; None, and a sentence on it, of one that crosses no GPU's link."""
        places = [_places(text, executor=at == 1) for at, text in enumerate(way)]
        if None in places:
            self.left.append(
                f"{name}: over a network adapter, on another machine, or in memory that is not known"
            )
            return None
        source, by, to = (tuple(each or ()) for each in places)
        if len(source) > 1 or len(to) > 1:
            self.left.append(f"{name}: several memories at once")
            return None
        path: list[_Place] = []
        for place in (*source, *by, *to):
            if not path or path[-1] != place:
                path.append(place)
        if not any(place.kind == "GPU" for place in path):
            self.left.append(f"{name}: within the memory of the host")
            return None
        raw = {**raw, "executor": way[1], "at once": at_once}
        return self._of_path(name, path, rate, size, raw, reads=by == to)

    def _of_path(
        self,
        name: str,
        path: Sequence[_Place],
        rate: float,
        size: int | None,
        raw: Mapping[str, object],
        *,
        reads: bool = False,
    ) -> Case:
        """Return the case of a copy; with `reads`, what it goes to fetches it, and of GPUs stands first."""
        first, last = path[0], path[-1]
        gpus = [place for place in path if place.kind == "GPU"]
        if len(path) == 1:
            gpus *= 2
        to_gpu = first.kind == "CPU" or (last.kind == "GPU" and first != last)
        if reads and len(gpus) == len(path) == 2 and first != last:
            gpus.reverse()
            to_gpu = False
        link = self.links.get((first, last), "")
        return Case(
            name=name,
            direction="write" if to_gpu else "read",
            target=" -> ".join(self.addresses.get(gpu, str(gpu)) for gpu in gpus),
            block_bytes=size,
            queue_depth=1,
            bandwidth_bytes_per_s=1e9 * rate,
            raw={
                **raw,
                **({"by way of": str(path[1])} if len(path) > 2 else {}),
                **({"own link": link} if link in _OWN_LINKS else {}),
            },
        )

    def _columns(self, columns: Sequence[_Place], *, reads: bool) -> None:
        if self._matrix is None or self._matrix.columns:
            self._matrix = _Matrix("a2a", size=self._size)
        self._matrix.columns = columns
        self._matrix.reads = reads

    def _row(self, matrix: _Matrix, row: _Place, arrow: str | None, words: Sequence[str]) -> None:
        columns = matrix.columns
        wanted = {"uni": "->", "bi": "<->", "a2a": None}[matrix.way]
        if arrow != wanted or len(words) < len(columns):
            return
        for column, word in zip(columns, words, strict=False):
            known = word.replace(".", "", 1).isdecimal()
            if not known or row == column or "GPU" not in (row.kind, column.kind):
                continue
            if matrix.way == "bi" and columns.index(column) < columns.index(row):
                continue
            self.cases.append(self._of_matrix(matrix, row, column, float(word)))

    def _of_matrix(self, matrix: _Matrix, row: _Place, column: _Place, rate: float) -> Case:
        both = matrix.way == "bi"
        name = {"uni": "p2p", "bi": "p2p both ways", "a2a": "a2a"}[matrix.way]
        arrow = "<->" if both else "->"
        at_once = len(matrix.columns) * (len(matrix.columns) - 1) if matrix.way == "a2a" else 1
        raw = {"test": name, "executor": matrix.executor, "at once": at_once}
        called = f"{name} {row} {arrow} {column}"
        case = self._of_path(called, (row, column), rate, matrix.size, raw, reads=matrix.reads)
        return replace(case, direction="both") if both else case

    def _scale(self, scaling: _Scaling, units: int, words: Sequence[str]) -> None:
        for column, word in zip(scaling.columns, words, strict=False):
            if float(word) > scaling.best.get(column, (0.0, 0))[0]:
                scaling.best[column] = (float(word), units)

    def _of_scaling(self, scaling: _Scaling) -> Iterator[Case]:
        for column, (rate, units) in scaling.best.items():
            if column == scaling.source:
                continue
            name = f"scaling {scaling.source} -> {column}"
            raw = {"test": "scaling", "executor": "GFX", "at once": 1, "compute units": units}
            yield self._of_path(name, (scaling.source, column), rate, scaling.size, raw)

    def _of_csv(self, test: str, rows: Sequence[Sequence[str]]) -> Iterator[Case]:
        """Return the transfers of a test in the CSV of the presets sweep, without the line of their sum."""
        own = [row for row in rows if row[1].strip().isdecimal()]
        for _, number, size, source, by, to, _, rate, *_ in own:
            name = f"test {test}: {source.strip()} -> {by.strip()} -> {to.strip()}"
            case = self._case(
                name,
                (source.strip(), by.strip(), to.strip()),
                float(rate),
                size=int(size),
                at_once=len(own),
                raw={"test": f"test {test}", "transfer": int(number)},
            )
            if case is not None:
                yield case


def _places(text: str, *, executor: bool) -> list[_Place] | None:
    """Read ``G0``, ``C0C1``, ``GPU00``, ``D000`` (an engine, or memory of the host); ``N`` is no memory."""
    if text == "N":
        return []
    found = list(_HOLDER.finditer(text.partition(".")[0]))
    if not found or any(match["rank"] for match in found):
        return None
    places = []
    for match in found:
        letter = match["letter"]
        of_gpu = letter in "GD" if executor else letter in _OF_GPUS
        if not of_gpu and letter not in ("C" if executor else _OF_HOSTS):
            return None
        places.append(_Place("GPU" if of_gpu else "CPU", int(match["index"])))
    return places


def _devices(line: str) -> tuple[_Place, ...]:
    return tuple(_Place(kind, int(index)) for kind, index in _DEVICE.findall(line))
