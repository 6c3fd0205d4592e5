"""fio's JSON: reads what ``fio --output-format=json`` (or ``json+``) prints, and writes simulated jobs so.

``bw`` is in KiB/s, ``bw_bytes`` in B/s, latencies in nanoseconds (in microseconds before fio 3); ``clat``
counts from submission to completion, ``lat`` from the start of the I/O. Of a mixed job, each direction is a
case.
Source: fio's HOWTO ("JSON output") and outputs of fio 3.33.

A written output has zeros for what a simulation does not know, such as context switches, and leaves out the
distributions over latency ranges.
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from lanewise.tools.instruments.json_text import documents
from lanewise.tools.instruments.measurement import Case, ImportProblemError, Latency, Measurement
from lanewise.tools.instruments.simulated import SimulatedRun, stated_size

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping


DIRECTIONS = ("read", "write", "trim")
_REPORTED = (*DIRECTIONS, "mixed")
"""With ``unified_rw_reporting`` fio adds all directions up."""
_ALL = "All clients"
"""What fio calls the sum over all servers."""
_RATES = ("io_bytes", "io_kbytes", "bw_bytes", "bw", "iops", "runtime", "total_ios")
_LATENCIES = ("slat_ns", "clat_ns", "lat_ns")
_BATCHES = ("0", "4", "8", "16", "32", "64", ">=64")
_FIO_SIZES = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}
_OF_JOB = re.compile(
    r"(?P<job>.+?)\.(?P<place>(?:read|write|latency_[num]s|iodepth_level)\..+|usr_cpu|sys_cpu)",
    re.DOTALL,
)
SYNCHRONOUS = frozenset({"sync", "psync", "vsync", "pvsync", "pvsync2", "mmap", "splice", "ftruncate"})
"""Engines that wait for each I/O, whatever `iodepth` says."""
_DEFAULT_ENGINE = "psync"
_JOB_OPTIONS = ("rw", "bs", "iodepth", "numjobs", "ioengine", "direct", "rwmixread", "size", "runtime")


def recognizes(document: object) -> bool:
    """Whether a JSON document looks like fio's, of a run of its own or of a client with its servers."""
    return (
        isinstance(document, dict)
        and "fio version" in document
        and ("jobs" in document or "client_stats" in document)
    )


def parse(text: str, *, source: str | None = None) -> Measurement:
    """Read one output; ImportProblemError says what is wrong with it.

    Lines around the JSON are messages of fio and are kept as not understood. Of several documents with the
    same jobs the last one counts, because with ``--status-interval`` each holds what the one before did.
    """
    found, around = documents(text)
    runs = {_jobs_of(document): document for document in found if recognizes(document)}
    if not runs:
        raise ImportProblemError(_nodocument_of(text))
    outputs = list(runs.values())
    cases = [
        replace(case, raw={**case.raw, "document": number}) if len(outputs) > 1 else case
        for number, document in enumerate(outputs, 1)
        for case in _cases_of(document)
    ]
    if not cases:
        raise ImportProblemError("no job of this fio output has done any I/O")
    version = str(outputs[0]["fio version"])
    return Measurement(
        tool="fio",
        version=version.removeprefix("fio-"),
        cases=of_servers(cases),
        source=source,
        simulated="lanewise" in version,
        not_understood=(*_failed(outputs), *around),
        raw={
            "global options": _global_options(outputs[0]),
            "disk_util": outputs[0].get("disk_util", []),
            "timestamp": outputs[0].get("timestamp"),
        },
    )


def _failed(outputs: Iterable[Mapping[str, object]]) -> Iterator[str]:
    """Say which jobs ended with an error."""
    jobs = {str(job.get("jobname")): job.get("error") for each in outputs for job in _all_jobs(each)}
    for name, error in jobs.items():
        if isinstance(error, int) and error:
            yield said_of_failure(name, error)


def said_of_failure(name: str, error: int, words: str | None = None) -> str:
    """Say what the numbers of a job are that ended with an error (of the operating system)."""
    words = words or os.strerror(error)
    return f"job '{name}' ended with error {error} ({words}): what it reports is of the time before"


def _nodocument_of(text: str) -> str:
    """Say why there is no output of fio in a text."""
    before, brace, _ = text.partition("{")
    if not brace:
        return "no JSON in it; run fio with --output-format=json"
    try:
        json.JSONDecoder().raw_decode(text, len(before))
    except json.JSONDecodeError as error:
        return f"line {error.lineno}: not JSON ({error.msg}); is the output complete?"
    except ValueError as error:
        return f"not JSON: {error}"
    except RecursionError:
        pass
    return "not an output of fio: it has no 'fio version' or no 'jobs'"


def _jobs_of(document: Mapping[str, object]) -> tuple[str, ...]:
    return tuple(f"{job.get('hostname', '')}/{job.get('jobname')}" for job in _all_jobs(document))


def _all_jobs(document: Mapping[str, object]) -> list[dict[str, object]]:
    """Return the jobs of a run; of a client those of each server, which older versions do not name."""
    clients = _entries(document.get("client_stats"))
    if any(job.get("jobname") == _ALL for job in clients):
        clients = [{"hostname": f"server {number}", **job} for number, job in enumerate(clients, 1)]
    return _entries(document.get("jobs")) or clients


def _global_options(document: Mapping[str, object]) -> dict[str, object]:
    options = document.get("global options") or {}
    if isinstance(options, list):
        options = next(iter(_entries(options)), {})
    return options if isinstance(options, dict) else {}


def _cases_of(document: Mapping[str, object]) -> Iterator[Case]:
    options = _global_options(document)
    for job in _all_jobs(document):
        yield from _cases(job, options)


def of_servers(cases: list[Case]) -> tuple[Case, ...]:
    """Return the cases of servers without what a client adds up; that alone is of no one machine's drive."""
    own = [case for case in cases if case.name.rpartition(" ")[0] != _ALL]
    return tuple(
        own or [replace(case, raw={**case.raw, "elsewhere": "all servers together"}) for case in cases]
    )


def _entries(value: object) -> list[dict[str, object]]:
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def _cases(job: dict[str, object], global_options: Mapping[str, object]) -> Iterator[Case]:
    own = job.get("job options")
    options = {**global_options, **(own if isinstance(own, dict) else {})}
    # Clones that are reported together are one entry, others one each.
    together = str(options.get("group_reporting", "0")) != "0"
    numjobs = _whole(options.get("numjobs", 1)) if together else 1
    iodepth = (
        outstanding(options.get("ioengine", _DEFAULT_ENGINE), options.get("iodepth", 1)) if options else None
    )
    for direction in _REPORTED:
        numbers = job.get(direction)
        if not isinstance(numbers, dict) or not numbers.get("total_ios", numbers.get("io_bytes", 0)):
            continue
        yield Case(
            name=f"{job.get('jobname', '?')} {direction}",
            direction="both" if direction == "mixed" else direction,
            target=str(options["filename"]).replace("\\:", ":") if "filename" in options else None,
            block_bytes=_block_bytes(options, direction) if options else None,
            queue_depth=iodepth * numjobs if iodepth and numjobs else None,
            workers=numjobs,
            bandwidth_bytes_per_s=_bandwidth(numbers),
            operations_per_s=_float(numbers.get("iops")),
            operations=_whole(numbers.get("total_ios")),
            latency=_latency(numbers),
            raw={"job options": options, direction: numbers, "error": job.get("error")}
            | {name: job[name] for name in ("usr_cpu", "sys_cpu", "groupid", "hostname") if name in job},
        )


def outstanding(engine: object, depth: object) -> int | None:
    """Return how many I/Os a clone has under way: synchronous engines have one."""
    return 1 if engine in SYNCHRONOUS else _whole(depth)


def _bandwidth(numbers: Mapping[str, object]) -> float | None:
    if "bw_bytes" in numbers:
        return _float(numbers["bw_bytes"])
    kibibytes = _float(numbers.get("bw"))
    return None if kibibytes is None else kibibytes * 1024


def _block_bytes(options: Mapping[str, object], direction: str) -> int | None:
    """Read bs, which may be one size or one for reads, writes and trims each; None for a mix of sizes."""
    if {"bsrange", "bssplit"} & options.keys():
        return None
    sizes = str(options.get("bs", options.get("blocksize", "4k"))).lower().split(",")
    text = sizes[min(_REPORTED.index(direction) % len(DIRECTIONS), len(sizes) - 1)] or sizes[0]
    match = re.fullmatch(r"(\d{1,15})([kmgt]?)(?:i?b)?", text)
    return int(match[1]) * _FIO_SIZES[match[2]] if match else None


def _latency(numbers: Mapping[str, object]) -> Latency | None:
    """Take clat with its percentiles; without it lat, which includes submission."""
    for name, scale in (("clat_ns", 1.0), ("clat", 1e3), ("lat_ns", 1.0), ("lat", 1e3)):
        found = numbers.get(name)
        if not isinstance(found, dict) or not found.get("N", 1):
            continue
        percentiles = found.get("percentile") or {}
        return Latency(
            mean_ns=_scaled(found.get("mean"), scale),
            stddev_ns=_scaled(found.get("stddev"), scale),
            min_ns=_scaled(found.get("min"), scale),
            max_ns=_scaled(found.get("max"), scale),
            percentiles_ns={float(key): float(value) * scale for key, value in percentiles.items()},
        )
    return None


def _float(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None


def _scaled(value: object, scale: float) -> float | None:
    number = _float(value)
    return None if number is None else number * scale


def _whole(value: object) -> int | None:
    if not isinstance(value, str | int | float):
        return None
    try:
        return int(value)
    except (OverflowError, ValueError):
        return None


def write(run: SimulatedRun) -> str:
    """Return the fio jobs of a run as ``fio --output-format=json`` would."""
    groups: dict[str, int] = {}

    def heading(name: str, _: int) -> Heading:
        # Clones are of one group.
        return Heading(name, groups.setdefault(name, len(groups)), _job_options(run.options_of(name)))

    return document_of(run.version, {}, entries_of(run, heading))


@dataclass(frozen=True)
class Heading:
    """What an entry of `jobs` says before its results."""

    name: str
    group: int
    options: Mapping[str, str]


def document_of(version: str, options: Mapping[str, str], jobs: Iterable[Mapping[str, object]]) -> str:
    """Return fio's whole output, with the options that all jobs have."""
    document = {
        "fio version": f"fio-3.33-lanewise-{version}",
        "timestamp": 0,
        "timestamp_ms": 0,
        "time": "Thu Jan  1 00:00:00 1970",
        "global options": dict(options),
        "jobs": list(jobs),
        "disk_util": [],
    }
    return json.dumps(document, indent=2) + "\n"


def entries_of(run: SimulatedRun, heading: Callable[[str, int], Heading]) -> Iterator[dict[str, object]]:
    """Return the entries of `jobs`; `heading` is asked with the name of a workload and the entry's number."""
    of_jobs: dict[str, dict[str, float]] = {}
    for instrument in run.instruments("fio"):
        for name, value in instrument.metrics.items():
            match = _OF_JOB.fullmatch(name)
            if match:
                of_jobs.setdefault(match["job"], {})[match["place"]] = value
    for number, (job, numbers) in enumerate(of_jobs.items()):
        # Clones that are reported one by one have their number in brackets.
        head = heading(job.partition("[")[0], number)
        yield {
            "jobname": head.name,
            "groupid": head.group,
            "error": 0,
            "eta": 0,
            "elapsed": max(1, round(run.measured_s)),
            "job options": dict(head.options),
            **{direction: _direction(numbers, direction) for direction in DIRECTIONS},
            "sync": {"total_ios": 0, "lat_ns": _no_latency()},
            "job_runtime": round(1e3 * run.measured_s),
            "usr_cpu": numbers.get("usr_cpu", 0.0),
            "sys_cpu": numbers.get("sys_cpu", 0.0),
            "ctx": 0,
            "majf": 0,
            "minf": 0,
            "iodepth_level": _shares(numbers, "iodepth_level"),
            "iodepth_submit": _one_by_one(numbers),
            "iodepth_complete": _one_by_one(numbers),
            "latency_ns": _shares(numbers, "latency_ns"),
            "latency_us": _shares(numbers, "latency_us"),
            "latency_ms": _shares(numbers, "latency_ms"),
            "latency_depth": _whole(head.options.get("iodepth", "1")) or 1,
            "latency_target": 0,
            "latency_percentile": 100.0,
            "latency_window": 0,
        }


def _job_options(written: Mapping[str, str]) -> dict[str, str]:
    """Return the job's options as a job file has them: sizes in bytes, truth as 0 and 1."""
    options: dict[str, str] = {}
    for name in _JOB_OPTIONS:
        text = written.get(name, "")
        if not text or text in ("none", "auto"):
            continue
        if name == "bs":
            options |= _block_options(text, written.get("bs_write", "auto"))
            continue
        options[name] = _bytes(text) if name == "size" else {"true": "1", "false": "0"}.get(text, text)
    if written.get("group_reporting") == "true":
        options["group_reporting"] = "1"
    if targets := written.get("filename", ""):
        names = targets.removeprefix("[").removesuffix("]").split(",")
        options["filename"] = ":".join(name.strip() for name in names)
    return options


def _block_options(reads: str, writes: str) -> dict[str, str]:
    """Return `bs`, `bsrange` or `bssplit` for sizes as a scenario has them."""
    texts = [reads] if writes == "auto" else [reads, writes]
    if any("%" in text for text in texts):
        return {"bssplit": ",".join(_split(text) for text in texts)}
    if any(" to " in text for text in texts):
        ranges = [text if " to " in text else f"{text} to {text}" for text in texts]
        return {"bsrange": ",".join("-".join(map(_bytes, each.split(" to "))) for each in ranges)}
    return {"bs": ",".join(map(_bytes, texts))}


def _split(text: str) -> str:
    if "%" not in text:
        return f"{_bytes(text)}/100"
    parts = [part.split() for part in text.split(",")]
    return ":".join(f"{_bytes(' '.join(size))}/{share}" for *size, share, _ in parts)


def _bytes(text: str) -> str:
    return str(stated_size(text))


def _direction(numbers: Mapping[str, float], direction: str) -> dict[str, object]:
    start = f"{direction}."
    own = {name.removeprefix(start): value for name, value in numbers.items() if name.startswith(start)}
    whole = {"io_bytes", "io_kbytes", "bw_bytes", "bw", "runtime", "total_ios"}
    rates = {name: round(own.get(name, 0.0)) if name in whole else own.get(name, 0.0) for name in _RATES}
    bandwidth, iops = own.get("bw", 0.0), own.get("iops", 0.0)
    samples = 1 if own.get("total_ios") else 0
    return {
        **rates,
        "short_ios": 0,
        "drop_ios": 0,
        **{name: _latency_table(own, name) for name in _LATENCIES},
        # One sample: the whole window, in which throughput does not drift.
        **{name: round(bandwidth) for name in ("bw_min", "bw_max")},
        "bw_agg": 100.0 if samples else 0.0,
        "bw_mean": bandwidth,
        "bw_dev": 0.0,
        "bw_samples": samples,
        **{name: round(iops) for name in ("iops_min", "iops_max")},
        "iops_mean": iops,
        "iops_stddev": 0.0,
        "iops_samples": samples,
    }


def _shares(numbers: Mapping[str, float], table: str) -> dict[str, float]:
    """Return the percentage of I/Os in each range of latency or depth."""
    start = f"{table}."
    return {name.removeprefix(start): value for name, value in numbers.items() if name.startswith(start)}


def _one_by_one(numbers: Mapping[str, float]) -> dict[str, float]:
    """Return how many I/Os a call submits or takes back: one, which fio counts as up to four."""
    some = any(numbers.get(f"{direction}.total_ios") for direction in DIRECTIONS)
    return {size: 100.0 if some and size == "4" else 0.0 for size in _BATCHES}


def _latency_table(own: Mapping[str, float], name: str) -> dict[str, object]:
    table: dict[str, object] = _no_latency()
    for key in ("min", "max", "N"):
        table[key] = round(own.get(f"{name}.{key}", 0.0))
    for key in ("mean", "stddev"):
        table[key] = own.get(f"{name}.{key}", 0.0)
    start = f"{name}.percentile."
    percentiles = {
        key.removeprefix(start): round(value) for key, value in own.items() if key.startswith(start)
    }
    return {**table, "percentile": percentiles} if percentiles else table


def _no_latency() -> dict[str, object]:
    return {"min": 0, "max": 0, "mean": 0.0, "stddev": 0.0, "N": 0}
