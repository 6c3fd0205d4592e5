"""perftest's tables: reads what ib_write_bw, ib_read_lat and their sisters print, and writes simulated ones.

MB in the tables are 2^20 bytes, Gb 10^9 bits (``--report_gbits``), times are microseconds; a latency of write
and send tests is half a round trip, of read tests the whole. Bidirectional bandwidth is the sum of both; what
either side sent of it (``--report-both``) stays in `raw`.
Source: help texts and formats of perftest 6.06 (Debian 12), and its README.

A written output has the header of the real one, but no lines with addresses, because there are none.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, cast

from lanewise.tools.instruments.json_text import documents
from lanewise.tools.instruments.measurement import (
    Case,
    ImportProblemError,
    Latency,
    Measurement,
    refuse_too_many,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from lanewise.tools.instruments.simulated import Instrument, SimulatedRun

MEBIBYTE = 2**20
_UNITS = {"MB": float(MEBIBYTE), "MiB": float(MEBIBYTE), "Gb": 1e9 / 8}
"""Bytes in the units of bandwidths; versions from 2023 on call 2^20 bytes MiB."""
_GPU = re.compile(
    r"CUDA device (\d{1,3}): PCIe address is (?:([0-9A-Fa-f]{4,8}):)?([0-9A-Fa-f]{2}):([0-9A-Fa-f]{2})"
)
_CHATTER = re.compile(
    r"\bCUDA\b|\bcuMem|GPU buffer|BW peak won't be measured|^Using sampled CPU speed|^Completed: "
    r"|^Total run time: |^Requested mtu is higher|^Changing to active mtu"
    r"|\bib_(?:write|read|send|atomic)_(?:bw|lat)[ \t]"
)
"""What it says about its own work, and the command that began it."""
_COMMAND = re.compile(r"(?:^|[ \t/])ib_(?:write|read|send|atomic)_(?:bw|lat)[ \t]++(?:-|[\w.:-]++[ \t]*+$)")
"""What begins a run of its own: a server's words above it are not its."""
_PICKED = re.compile(r"Picking device No\. (\d{1,3})|\[pid = \d{1,9}, dev = (\d{1,3})\] device name")
_LINE = "-" * 87
_TITLE = re.compile(r"^[ \t]*+(?P<title>\S.{0,60}? (?:BW|Latency)(?: [\w ]{1,40})? Test)[ \t]*+$")
_HEADER = re.compile(r"^\s*#?bytes\s+#?iterations\s")
"""Web pages take a ``#`` before a word for the beginning of a link, and leave it out."""
_COLUMN = re.compile(r"(?:BW (?:peak|average)|[\d.]{1,8}% percentile|[^\s\[]{1,40})(?:\[[^\]]{1,20}\])?")
_SETTING = re.compile(
    r"(?:^|(?<=^\s)|(?<=\s\s)|(?<=\t))([A-Za-z#*._-]++(?: [A-Za-z#*._-]++){0,3})\s*+: (\S++)"
)
"""Two of them on a line are apart by tabs, or by the blanks that a terminal made of them."""
_PART = re.compile(r"^\s*(Local|Remote) results:\s*$")
"""Above what one side sent of a bidirectional test, with ``--report-both``."""
_ADDRESS = re.compile(r"^\s*(local|remote) address: LID (?:0x)?([0-9a-fA-F]{1,8}) QPN (\w{1,10})\b")
_GID = re.compile(r"^\s*GID: ([\d:]{7,80})\s*$")
"""Below an address, of adapters whose ports have one."""
_WAITING = re.compile(r"\s*\* Waiting for client to connect")

_TITLES = {
    "ib_write": "RDMA_Write",
    "ib_read": "RDMA_Read",
    "ib_send": "Send",
    "ib_atomic": "Atomic",
}
_BANDWIDTH_ROW = (
    " {size:<7}    {iterations:<10}       {peak:<7.2f}            {average:<7.2f}\t\t   {rate:<7.6f}"
)
_SLOW_ROW = (
    " {size:<7}    {iterations}           {peak:<7.6f}            {average:<7.6f}            {rate:<7.6f}"
)
"""With ``--report_gbits``, of averages below `_SLOW_BELOW`."""
_SLOW_BELOW = 0.1
_BANDWIDTH_HEADER = " #bytes     #iterations    BW peak[{unit}/sec]    BW average[{unit}/sec]   MsgRate[Mpps]"
_LATENCY_ROW = (
    " {size:<7} {iterations}          {t_min:<7.2f}        {t_max:<7.2f}      {t_typical:<7.2f}  \t       "
    "{t_avg:<7.2f}     \t{t_stdev:<7.2f}\t\t{p99:<7.2f} \t\t{p999:<7.2f}"
)
_LATENCY_HEADER = (
    " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]"
    "   99% percentile[usec]   99.9% percentile[usec] "
)


def recognizes(text: str) -> bool:
    """Whether a text looks like perftest's."""
    return any(_HEADER.match(line) for line in text.splitlines())


def parse(text: str, *, source: str | None = None) -> Measurement:
    """Read one output, or several one after another; ImportProblemError says what is wrong with it."""
    cases: list[Case] = []
    left: list[str] = []
    block = _Block()
    said_before: dict[str, str] = {}
    gpus: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if match := _TITLE.match(line):
            block, said_before = _Block(title=match["title"], said=said_before), {}
        elif _HEADER.match(line):
            block.columns = _columns(line)
        elif block.columns and re.match(r"\s*\d+\s+\d+\s", line):
            case = _case(block, line, number)
            if not block.part or not _put_beside(cases, case, block.part):
                cases.append(case)
            refuse_too_many(cases)
        elif part := _PART.match(line):
            block.part, block.columns = f"{part[1].lower()} results", []
        elif _says_before(line, said_before, gpus) or _says_an_end(line, block.ends):
            continue
        elif ":" in line and not block.columns:
            block.settings |= {name.strip(): value for name, value in _SETTING.findall(line)}
        elif line.strip(" \t-*`") and not _CHATTER.search(line):
            left.append(f"line {number}: {line.strip()}")
    if not cases:
        raise ImportProblemError(
            "no row of numbers under a line '#bytes #iterations ...'; is the output of the client complete?"
        )
    return Measurement(
        tool="perftest",
        version=None,
        cases=tuple(cases),
        source=source,
        simulated="Lanewise" in text,
        not_understood=tuple(left),
    )


def _says_before(line: str, said: dict[str, str], gpus: dict[str, str]) -> bool:
    """Keep what stands above a title: its side, and the GPU whose memory is used; False for other lines."""
    if _COMMAND.search(line):
        said.clear()
    elif gpu := _GPU.search(line):
        gpus[gpu[1]] = f"{(gpu[2] or '0000')[-4:]}:{gpu[3]}:{gpu[4]}.0".lower()
    elif picked := _PICKED.search(line):
        said["gpu"] = gpus.get(picked[1] or picked[2], "")
    elif _WAITING.match(line):
        said["side"] = "server"
    else:
        return False
    return True


def _says_an_end(line: str, ends: list[tuple[str, str]]) -> bool:
    """Keep which side has which queue pair and address, as LID or GID; False for other lines."""
    if address := _ADDRESS.match(line):
        lid, queue_pair = int(address[2], 16), f"QPN {address[3]}"
        ends += [(address[1], queue_pair), (address[1], "" if lid == 0 else f"LID {lid}")]
    elif (gid := _GID.match(line)) and ends:
        ends.append((ends[-1][0], gid[1]))
    else:
        return False
    return True


@dataclass
class _Block:
    """What stands above the rows of one test."""

    title: str = ""
    said: Mapping[str, str] = field(default_factory=dict)
    """What stands above its title: its side, and the GPU whose memory is used (empty if it is not told)."""
    settings: dict[str, str] = field(default_factory=dict)
    columns: list[str] = field(default_factory=list)
    part: str = ""
    """Which side's part of a bidirectional bandwidth the rows are."""
    ends: list[tuple[str, str]] = field(default_factory=list)
    """Side with its queue pair and its address; ports of Ethernet have no LID."""

    @property
    def is_one_port(self) -> bool:
        """Whether both sides are one port: they have an address in common, and no number of a queue pair."""
        local, remote = ({at for side, at in self.ends if side == end and at} for end in ("local", "remote"))
        common = local & remote
        return bool(common) and not any(each.startswith("QPN") for each in common)


def _put_beside(cases: list[Case], part: Case, name: str) -> bool:
    """Keep one side's part of a bandwidth with the sum of both; False where that is not there."""
    for index in reversed(range(len(cases))):
        whole = cases[index]
        if whole.name == part.name:
            cases[index] = replace(whole, raw={**whole.raw, name: part.raw["row"]})
            return True
    return False


def recognizes_json(document: object) -> bool:
    """Whether a JSON document looks like that of ``--out_json``."""
    return (
        isinstance(document, dict)
        and isinstance(document.get("results"), dict)
        and isinstance(document.get("test_info"), dict)
        and ("MsgSize" in document["results"] or "BW_average" in document["results"])
    )


_UNQUOTED = re.compile(r"^[ \t]*(?:test_info|results): ?\{[ \t]*$", re.MULTILINE)
"""What ``--out_json`` wrote before it quoted its keys."""
_KEY = re.compile(
    r"^[ \t]*+([A-Za-z_][\w%.()-]{0,40}(?: [\w%.()-]{1,40}){0,6})[ \t]*+:([^\n]{0,200})$", re.MULTILINE
)
_PLAIN = re.compile(r"-?\d+(?:\.\d+)?$|[\[{\"]|true$|false$|null$")
"""A value that is JSON as it stands, or begins to be."""


def recognizes_unquoted(text: str) -> bool:
    """Whether a text has what ``--out_json`` wrote without quotation marks."""
    return _UNQUOTED.search(text) is not None and ("BW_average" in text or "MsgSize" in text)


def parse_unquoted(text: str, *, source: str | None = None) -> Measurement:
    """Read it as if it had them."""

    def quoted(line: re.Match[str]) -> str:
        value = line[2].strip().removesuffix(",").rstrip()
        whole = value if _PLAIN.match(value) else json.dumps(value)
        return f'"{line[1]}": {whole}{"" if value.endswith("{") else ","}'

    whole = _KEY.sub(quoted, text)
    return parse_json(re.sub(r",(\s{0,40}\})", r"\1", whole), source=source)


def parse_json(text: str, *, source: str | None = None) -> Measurement:
    """Read what ``--out_json`` wrote: one size, with the settings of the table's head."""
    found, around = documents(text)
    cases = [_json_case(document) for document in found if recognizes_json(document)]
    return Measurement(
        tool="perftest", version=None, cases=tuple(cases), source=source, not_understood=tuple(around)
    )


def _json_case(document: Mapping[str, object]) -> Case:
    info, results = (cast("dict[str, object]", document[key]) for key in ("test_info", "results"))
    title = str(info.get("test", info.get("Test", ""))).replace("_", " ").strip()
    numbers = {key: float(value) for key, value in results.items() if isinstance(value, (int, float))}
    size = int(numbers.get("MsgSize", 0)) or None
    rate = 1e6 * numbers["MsgRate"] if numbers.get("MsgRate") else None
    settings = {str(key).replace("_", " "): value for key, value in info.items()}
    qps = str(settings.get("Number of qps", ""))
    return Case(
        name=f"{title} {size} B".strip(),
        direction=_direction(title),
        target=str(settings["Device"]) if "Device" in settings else None,
        block_bytes=size,
        workers=int(qps) if qps.isdigit() else None,
        bandwidth_bytes_per_s=_json_bandwidth(numbers, rate, size),
        operations_per_s=rate,
        operations=int(numbers["n_iterations"]) if "n_iterations" in numbers else None,
        latency=_latency({key.replace("percentile_", ""): value for key, value in numbers.items()}),
        raw={"test": title, "settings": settings, "row": dict(results)},
    )


def _json_bandwidth(numbers: Mapping[str, float], rate: float | None, size: int | None) -> float | None:
    """Return the bandwidth, whose unit is that of the table and is not said: rate times size tells which."""
    average = numbers.get("BW_average")
    if average is None:
        return None
    if not rate or not size:
        return average * 1e9 / 8
    return average * min(_UNITS.values(), key=lambda unit: abs(average * unit - rate * size))


def _columns(header: str) -> list[str]:
    """Split the header into names, some of which have a blank in them; on a web page nothing else tells."""
    columns: list[str] = _COLUMN.findall(header)
    return [f"#{name}" if name in ("bytes", "iterations") else name for name in columns]


def _case(block: _Block, line: str, number: int) -> Case:
    values, columns, settings = line.split(), block.columns, block.settings
    if len(values) < min(len(columns), 4):
        raise ImportProblemError(f"line {number}: {len(values)} numbers under {len(columns)} columns")
    row: dict[str, float] = {}
    for name, value in zip(columns, values, strict=False):
        try:
            row[name] = float(value)
        except ValueError as error:
            raise ImportProblemError(f"line {number}: '{value}' is no number, below '{name}'") from error
    size = int(row["#bytes"])
    return Case(
        name=f"{block.title} {size} B".strip(),
        direction=_direction(block.title.replace("Bidirectional ", "") if block.part else block.title),
        target=settings.get("Device"),
        block_bytes=size,
        queue_depth=int(settings["TX depth"]) if settings.get("TX depth", "").isdigit() else None,
        workers=int(settings["Number of qps"]) if settings.get("Number of qps", "").isdigit() else None,
        bandwidth_bytes_per_s=_bandwidth(row),
        operations_per_s=1e6 * row["MsgRate[Mpps]"] if "MsgRate[Mpps]" in row else None,
        operations=int(row["#iterations"]),
        latency=_latency(row),
        raw={
            "test": block.title,
            "settings": dict(settings),
            "row": row,
            **block.said,
            **({"one port": True} if block.is_one_port else {}),
        },
    )


def _direction(title: str) -> str:
    if "Latency" in title and "Read" not in title:
        return "ping-pong"
    if "Bidirectional" in title:
        return "both"
    return "read" if "Read" in title else "write" if "Write" in title else "send"


def _bandwidth(row: Mapping[str, float]) -> float | None:
    average = {unit: row[f"BW average[{unit}/sec]"] for unit in _UNITS if f"BW average[{unit}/sec]" in row}
    return next((value * _UNITS[unit] for unit, value in average.items()), None)


def _latency(row: Mapping[str, float]) -> Latency | None:
    if "t_avg[usec]" not in row and "t_typical[usec]" not in row:
        return None
    percentiles = {
        50.0: row.get("t_typical[usec]"),
        99.0: row.get("99% percentile[usec]"),
        99.9: row.get("99.9% percentile[usec]"),
    }

    def ns(name: str) -> float | None:
        return 1e3 * row[name] if name in row else None

    return Latency(
        mean_ns=ns("t_avg[usec]"),
        stddev_ns=ns("t_stdev[usec]"),
        min_ns=ns("t_min[usec]"),
        max_ns=ns("t_max[usec]"),
        percentiles_ns={key: 1e3 * value for key, value in percentiles.items() if value is not None},
    )


def write(*runs: SimulatedRun) -> str:
    """Return the perftest workloads of runs as their clients would print them, a line for each run."""
    of_workloads: dict[str, list[Instrument]] = {}
    for run in runs:
        for instrument in run.instruments("perftest"):
            of_workloads.setdefault(instrument.name, []).append(instrument)
    outputs = (_output(instruments, runs[0]) for instruments in of_workloads.values())
    return "\n".join(line for output in outputs for line in output) + "\n"


def _output(instruments: list[Instrument], run: SimulatedRun) -> Iterator[str]:
    is_latency = _is_latency(instruments[0])
    # Its default depends on the size.
    moderated = len(instruments) == 1 and not is_latency
    moderation = instruments[0].option("completion_moderation") if moderated else ""
    yield from _head(instruments[0], run, moderation)
    unit = "Gb" if instruments[0].option("report_gbits") == "true" else "MB"
    yield _LATENCY_HEADER if is_latency else _BANDWIDTH_HEADER.format(unit=unit)
    for instrument in instruments:
        if is_latency:
            yield _latency_row(instrument.metrics)
        elif "BW average (MiB/s)" in instrument.metrics:  # without it, nothing was measured
            yield _bandwidth_row(instrument.metrics, unit)
    yield _LINE


def _is_latency(instrument: Instrument) -> bool:
    return instrument.option("tool").endswith("_lat")


def _head(instrument: Instrument, run: SimulatedRun, moderation: str) -> Iterator[str]:
    is_latency = _is_latency(instrument)
    kind = _TITLES.get(instrument.option("tool").rpartition("_")[0], "RDMA_Write")
    both = "Bidirectional " if instrument.option("bidirectional") == "true" and not is_latency else ""
    yield f" Simulated by Lanewise {run.version}: {run.result.title}, workload {instrument.name}"
    yield _LINE
    yield f"                    {kind} {'Latency' if is_latency else f'{both}BW'} Test"
    yield f" Dual-port       : OFF\t\tDevice         : {instrument.option('network', instrument.name)}"
    yield f" Number of qps   : {instrument.option('queue_pairs', '1')}\t\tTransport type : IB"
    yield " Connection type : RC\t\tUsing SRQ      : OFF"
    yield f" TX depth        : {'1' if is_latency else instrument.option('tx_depth', '128')}"
    if moderation.isdigit():
        yield f" CQ Moderation   : {moderation}"
    yield _LINE


def _latency_row(metrics: Mapping[str, float]) -> str:
    names = ("t_min", "t_max", "t_typical", "t_avg", "t_stdev")
    return _LATENCY_ROW.format(
        size=round(metrics["bytes (B)"]),
        iterations=round(metrics["iterations"]),
        p99=metrics.get("99 % percentile (us)", 0.0),
        p999=metrics.get("99.9 % percentile (us)", 0.0),
        **{name: metrics.get(f"{name} (us)", 0.0) for name in names},
    )


def _bandwidth_row(metrics: Mapping[str, float], unit: str) -> str:
    scale = MEBIBYTE / _UNITS[unit]
    average = metrics["BW average (MiB/s)"] * scale
    row = _SLOW_ROW if unit == "Gb" and average < _SLOW_BELOW else _BANDWIDTH_ROW
    return row.format(
        size=round(metrics["bytes (B)"]),
        iterations=round(metrics["iterations"]),
        peak=metrics.get("BW peak (MiB/s)", 0.0) * scale,
        average=average,
        rate=metrics.get("MsgRate (Mpps)", 0.0),
    )
