"""IOmeter's result file: reads the CSV of IOmeter 2004.07.30 to 1.1, writes one as 2004.07.30 does.

"MBps" of 2004.07.30 are 2^20 bytes (later versions say "MiBps (Binary)" and add decimal ones); response times
are in milliseconds. A row is the whole test (``ALL``), a manager, a worker or a disk; each row is a case.
Source: the columns that IOmeter's SaveResults writes, by version.

A written file has the row of the whole test, and below each manager its workers with their disks; where these
are too many to be told apart, a row for each workload in the place of a worker.
"""

from __future__ import annotations

import csv
import io
import re
import tomllib
from typing import TYPE_CHECKING

from lanewise.tools.instruments.measurement import Case, ImportProblemError, Latency, Measurement
from lanewise.tools.instruments.simulated import stated_ns, stated_size

if TYPE_CHECKING:
    from _csv import Writer
    from collections.abc import Iterator, Mapping

    from lanewise.tools.instruments.simulated import SimulatedRun

MEBIBYTE = 2**20
VERSION = "2004.07.30"

COLUMNS = (
    *("'Target Type", "Target Name", "Access Specification Name", "# Managers", "# Workers", "# Disks"),
    *("IOps", "Read IOps", "Write IOps", "MBps", "Read MBps", "Write MBps"),
    *("Transactions per Second", "Connections per Second", "Average Response Time"),
    *("Average Read Response Time", "Average Write Response Time", "Average Transaction Time"),
    *("Average Connection Time", "Maximum Response Time", "Maximum Read Response Time"),
    *("Maximum Write Response Time", "Maximum Transaction Time", "Maximum Connection Time"),
    *("Errors", "Read Errors", "Write Errors", "Bytes Read", "Bytes Written", "Read I/Os", "Write I/Os"),
    *("Connections", "Transactions per Connection", "Total Raw Read Response Time"),
    *("Total Raw Write Response Time", "Total Raw Transaction Time", "Total Raw Connection Time"),
    *("Maximum Raw Read Response Time", "Maximum Raw Write Response Time"),
    *("Maximum Raw Transaction Time", "Maximum Raw Connection Time", "Total Raw Run Time"),
    *("Starting Sector", "Maximum Size", "Queue Depth", "% CPU Utilization", "% User Time"),
    *("% Privileged Time", "% DPC Time", "% Interrupt Time", "Processor Speed", "Interrupts per Second"),
    *("CPU Effectiveness", "Packets/Second", "Packet Errors", "Segments Retransmitted/Second"),
)

_METRIC_OF = {
    "IOps": "Total I/Os per Second",
    "Read IOps": "Read I/Os per Second",
    "Write IOps": "Write I/Os per Second",
    "MBps": "Total MBs per Second",
    "Read MBps": "Read MBs per Second",
    "Write MBps": "Write MBs per Second",
    "Transactions per Second": "Transactions per Second",
    "Average Response Time": "Average I/O Response Time (ms)",
    "Average Read Response Time": "Avg. Read Response Time (ms)",
    "Average Write Response Time": "Avg. Write Response Time (ms)",
    "Average Transaction Time": "Avg. Transaction Time (ms)",
    "Maximum Response Time": "Maximum I/O Response Time (ms)",
    "Maximum Read Response Time": "Max. Read Response Time (ms)",
    "Maximum Write Response Time": "Max. Write Response Time (ms)",
    "Maximum Transaction Time": "Max. Transaction Time (ms)",
    "Errors": "Total Error Count",
    "Read Errors": "Read Error Count",
    "Write Errors": "Write Error Count",
    "% CPU Utilization": "% CPU Utilization (total)",
    "% User Time": "% User Time",
    "% Privileged Time": "% Privileged Time",
    "% DPC Time": "% DPC Time",
    "% Interrupt Time": "% Interrupt Time",
    "Interrupts per Second": "Interrupts per Second",
    "CPU Effectiveness": "CPU Effectiveness",
}
"""What each column is called on IOmeter's results display, which is what the instrument calls it."""

_COUNTS = ("Errors", "Read Errors", "Write Errors")


def recognizes(text: str) -> bool:
    """Whether a text looks like a result file of IOmeter."""
    return "'Target Type,Target Name,Access Specification Name" in text


def parse(text: str, *, source: str | None = None) -> Measurement:
    """Read a result file; ImportProblemError says what is wrong with it."""
    version, columns, specification = None, [], {}
    cases: list[Case] = []
    sizes: dict[str, int | None] = {}
    lines = list(csv.reader(io.StringIO(text)))
    for number, row in enumerate(lines, start=1):
        if not row:
            continue
        before = lines[number - 2] if number > 1 else []
        match row[0].strip():
            case "'Target Type":
                columns = ["'Target Type", *row[1:]]
            case head if head.startswith("'"):
                continue
            case _ if before and before[0] == "'Version":
                version = row[0].strip()
            case _ if before and before[0] == "'Access specification name":
                specification = {"name": row[0]}
            case _ if before and before[0] == "'size" and specification:
                sizes[specification["name"]] = _one_size(lines, number - 1)
            case kind if columns and kind in ("ALL", "MANAGER", "PROCESSOR", "WORKER", "DISK"):
                if kind != "PROCESSOR":
                    cases.append(_case(columns, row, sizes, number))
    if not cases:
        raise ImportProblemError('no results under a line "\'Target Type,..."; is the file complete?')
    simulated = "Lanewise" in (version or "")
    return Measurement(
        tool="iometer", version=version, cases=tuple(cases), source=source, simulated=simulated
    )


def _one_size(lines: list[list[str]], start: int) -> int | None:
    """Return the size of an access specification that has only one."""
    found = set()
    for row in lines[start:]:
        if not row or row[0].startswith("'"):
            break
        found.add(row[0].strip())
    size = found.pop() if len(found) == 1 else ""
    return int(size) if size.isdigit() else None


def _case(columns: list[str], row: list[str], sizes: Mapping[str, int | None], number: int) -> Case:
    values = dict(zip(columns, row, strict=False))

    def value(*names: str) -> float | None:
        text = next((values[name] for name in names if values.get(name, "").strip()), "")
        try:
            return float(text) if text else None
        except ValueError as error:
            raise ImportProblemError(f"line {number}: {names[0]} is '{text}', not a number") from error

    def milliseconds(name: str) -> float | None:
        found = value(name)
        return None if found is None else found * 1e6

    mebibytes = value("MBps", "MiBps (Binary)", "MBps (Binary)")
    reads, writes = value("Read IOps") or 0.0, value("Write IOps") or 0.0
    workers, queue = value("# Workers"), value("Queue Depth")
    return Case(
        name=" ".join(part for part in (row[0], row[1].strip(), row[2].strip()) if part),
        direction="both" if reads and writes else "read" if reads else "write",
        target=row[1].strip() or None,
        block_bytes=sizes.get(row[2].strip()) or sizes.get(row[2]),
        queue_depth=int(queue) if queue and queue > 0 else None,
        workers=int(workers) if workers else None,
        bandwidth_bytes_per_s=None if mebibytes is None else mebibytes * MEBIBYTE,
        operations_per_s=value("IOps"),
        latency=Latency(
            mean_ns=milliseconds("Average Response Time"), max_ns=milliseconds("Maximum Response Time")
        ),
        raw={name: text for name, text in values.items() if text}
        | ({"read percent": 100 * reads / (reads + writes)} if reads and writes else {}),
    )


def write(run: SimulatedRun) -> str:
    """Return the IOmeter workloads of a run as one result file."""
    instruments = run.instruments("iometer")
    metrics = {name: value for instrument in instruments for name, value in instrument.metrics.items()}
    workloads = [
        path.split(".")[1] for path in run.parameters if re.fullmatch(r"workload\.[^.]+\.access", path)
    ]
    out = io.StringIO()
    rows = csv.writer(out, lineterminator="\n")
    rows.writerow(["'Test Type", "Test Description"])
    rows.writerow(["0", run.result.title])
    rows.writerow(["'Version"])
    rows.writerow([f"{VERSION} simulated by Lanewise {run.version}"])
    rows.writerow(["'Time Stamp"])
    rows.writerow(["1970-01-01 00:00:00:000"])
    rows.writerow(["'Access specifications"])
    for workload in workloads:
        rows.writerow(["'Access specification name", "default assignment"])
        rows.writerow([workload, "0"])
        rows.writerow(["'size", "% of size", "% reads", "% random", "delay", "burst", "align", "reply"])
        rows.writerows(_access_lines(run.options_of(workload).get("access", "")))
    rows.writerow(["'End access specifications"])
    rows.writerow(["'Results"])
    rows.writerow(COLUMNS)
    several = len(workloads) > 1
    whole = _row("ALL", "All", "" if several else workloads[0], run, workloads, metrics, "")
    _write_row(rows, whole | _network(run))
    below = list(_below(run, workloads, metrics))
    if several and not below:
        below = [_row("WORKER", name, name, run, [name], metrics, f"{name}: ") for name in workloads]
    for known in below:
        _write_row(rows, known)
    rows.writerow(["'Time Stamp"])
    rows.writerow(["1970-01-01 00:00:00:000"])
    return out.getvalue()


def _access_lines(text: str) -> Iterator[list[str]]:
    """Yield the lines of an access specification as `explain` has it; delays are in milliseconds there."""
    try:
        lines = tomllib.loads(f"access = {text}")["access"]
    except tomllib.TOMLDecodeError:
        return
    for line in lines:
        sizes = (stated_size(line.get(name, "0 B")) for name in ("alignment", "reply"))
        delay = stated_ns(line.get("delay", "0 ns"))
        mix = (line["percent"], line["read"], line["random"], f"{delay / 1e6:g}", line.get("burst", 1))
        yield [str(stated_size(line["size"])), *map(str, mix), *map(str, sizes)]


def _disks(options: Mapping[str, str], parameters: Mapping[str, str]) -> int:
    """Return how many disks a workload has for targets."""
    names = options.get("targets", "").strip("[]").split(",")
    return sum(int(parameters.get(f"{name.strip()}.count", "1")) for name in names if name.strip())


def _row(
    kind: str,
    name: str,
    specification: str,
    run: SimulatedRun,
    workloads: list[str],
    metrics: Mapping[str, float],
    prefix: str,
) -> dict[str, str]:
    """Return what is known of a row of results."""
    options = [run.options_of(workload) for workload in workloads]
    managers = [int(each.get("managers", "1")) for each in options]
    workers = sum(
        count * int(each.get("workers", "1")) for count, each in zip(managers, options, strict=True)
    )
    depths = {each.get("outstanding", "1") for each in options}
    window = run.measured_s
    known: dict[str, str] = {
        "'Target Type": kind,
        "Target Name": name,
        "Access Specification Name": specification,
        "# Managers": str(max(managers)) if kind == "ALL" else "",
        "# Workers": str(workers),
        "# Disks": str(sum(_disks(each, run.parameters) for each in options)),
        "Connections per Second": "0",
        "Average Connection Time": "0",
        "Maximum Connection Time": "0",
        "Queue Depth": depths.pop() if len(depths) == 1 else "-1",
    }
    for column, metric in _METRIC_OF.items():
        value = metrics.get(f"{prefix}{metric}")
        if value is not None:
            known[column] = f"{value:.0f}" if column in _COUNTS else f"{value:.6f}"
    for column, metric, scale in (
        ("Bytes Read", "Read MBs per Second", MEBIBYTE * window),
        ("Bytes Written", "Write MBs per Second", MEBIBYTE * window),
        ("Read I/Os", "Read I/Os per Second", window),
        ("Write I/Os", "Write I/Os per Second", window),
    ):
        known[column] = f"{metrics.get(prefix + metric, 0.0) * scale:.0f}"
    return known


def _below(run: SimulatedRun, workloads: list[str], metrics: Mapping[str, float]) -> Iterator[dict[str, str]]:
    """Yield the rows of each manager, its workers and their disks, as IOmeter orders them."""
    disks = _disks_of_workers(workloads, metrics)
    for manager in range(1, len(disks) + 1):
        start = f"manager {manager}: "
        if f"{start}Total I/Os per Second" not in metrics:
            return
        specification = workloads[0] if len(workloads) == 1 else ""
        known = _row("MANAGER", f"Manager {manager}", specification, run, workloads, metrics, start)
        workers = {of for of in disks if _manager_of(run, *of) == manager}
        counts = {"# Workers": str(len(workers)), "# Disks": str(sum(len(disks[of]) for of in workers))}
        yield {**known, "# Managers": "", **counts}
        for number, (workload, worker) in enumerate(sorted(workers, key=list(disks).index), start=1):
            name = f"{workload} worker {worker}"
            known = _row("WORKER", f"Worker {number}", workload, run, [workload], metrics, f"{name}: ")
            yield {**known, "# Workers": "", "# Disks": str(len(disks[workload, worker]))}
            for disk in disks[workload, worker]:
                known = _row("DISK", disk, workload, run, [workload], metrics, f"{name} {disk}: ")
                yield {**known, "# Workers": "", "# Disks": ""}


def _disks_of_workers(workloads: list[str], metrics: Mapping[str, float]) -> dict[tuple[str, int], list[str]]:
    """Return the disks of each worker, who is named by workload and number."""
    names = "|".join(map(re.escape, workloads))
    of_worker = re.compile(
        rf"(?P<workload>{names}) worker (?P<number>\d{{1,9}})(?: (?P<disk>.{{1,80}}))?: Total I/Os per Second"
    )
    found: dict[tuple[str, int], list[str]] = {}
    for match in filter(None, map(of_worker.fullmatch, metrics)):
        disks = found.setdefault((match["workload"], int(match["number"])), [])
        if match["disk"]:
            disks.append(match["disk"])
    return found


def _manager_of(run: SimulatedRun, workload: str, worker: int) -> int:
    return 1 + (worker - 1) // int(run.options_of(workload).get("workers", "1"))


def _network(run: SimulatedRun) -> dict[str, str]:
    """Return the network group, which is about the host: each frame that it bridges comes in and goes out.

    No line in the model damages a frame, and nothing bridged is a segment of the host's own.
    """
    if run.has_any_of("transactions", "perftest", "osu", "fio"):
        return {}
    bridged = float(run.result.flows.filter(direction="frames")["operations_per_s"].sum())
    return {
        "Packets/Second": f"{2 * bridged:.6f}",
        "Packet Errors": "0",
        "Segments Retransmitted/Second": "0.000000",
    }


def _write_row(rows: Writer, known: Mapping[str, str]) -> None:
    """Write a row; what IOmeter would know and a simulation does not is empty."""
    rows.writerow([known.get(column, "") for column in COLUMNS])
