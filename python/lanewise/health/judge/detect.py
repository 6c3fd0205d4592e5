"""Finds out which tool wrote an output, and reads it."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import TYPE_CHECKING

from lanewise.broken_json import said_of_broken_json
from lanewise.errors import InputError
from lanewise.health.judge.unread import said_of_unread
from lanewise.health.judge.wrapped import forms
from lanewise.inputs import read_input
from lanewise.scenario_text import said_of_a_scenario
from lanewise.tools.instruments.json_text import documents
from lanewise.tools.instruments.measurement import ImportProblemError, Measurement

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from lanewise.tools.instruments.measurement import Case

_SUMMARY_OF_FIO = re.compile(r"^[ \t]*+(?:READ|WRITE): (?:bw|io)=", re.MULTILINE)
"""What fio prints of all jobs together, which does not say enough."""
_TERSE_OF_FIO = re.compile(r"^2;[^;\n]{1,200};\d{1,9};\d{1,9};\d{1,15};\d", re.MULTILINE)
"""A version of the format that has other fields."""
_JOBS_OF_FIO = re.compile(r"^[ \t]*\[[^\]\n]{1,100}\][ \t]*$", re.MULTILINE)
_OPTION_OF_FIO = re.compile(r"^[ \t]*(?:rw|readwrite|ioengine|iodepth|blocksize|bs)[ \t]*=", re.MULTILINE)
_ERROR_OF_FIO = re.compile(
    r"^(?:fio: pid=\d{1,9}, err=|\w{1,20}: verify failed at file ).{0,160}", re.MULTILINE
)
_BEGINNING_OF_FIO = re.compile(r"^[^\n:]{1,100}: \(g=\d{1,6}\): rw=|^Jobs: \d{1,6} \(f=\d", re.MULTILINE)
_OF_DBENCH = re.compile(r"^= Dbench Summary =$", re.MULTILINE)
_ERROR_OF_IPERF3 = re.compile(r"^iperf3: error - .{1,160}", re.MULTILINE)
_FAILED_NCCL = re.compile(r"^.{0,200}?(Test (?:NCCL|CUDA) failure .{1,160})", re.MULTILINE)
"""What nccl-tests and RCCL tests print in place of their table."""
_ROUNDED = 0.01
MOST_BYTES = 16 << 20
_ACCEPTED = (
    "Lanewise reads outputs of fio (text, terse or JSON), CrystalDiskMark, DISKSPD (text or XML), SPDK's "
    "perf and bdevperf, Vdbench, elbencho, gdsio, IOmeter (CSV), iperf3 (text or JSON), perftest, "
    "ucx_perftest, OSU, nccl-tests and RCCL tests (text or JSON), nvbandwidth (text or JSON), CUDA's "
    "bandwidthTest and p2pBandwidthLatencyTest, rocm_bandwidth_test, TransferBench, and SmartFlow (CSV)"
)


def read_measurement(path: str | Path) -> Measurement:
    """Read an output file, or standard input for ``-``; ImportProblemError when no known tool wrote it."""
    data, name = read_input(path, MOST_BYTES), str(path)
    if len(data) > MOST_BYTES:
        raise ImportProblemError(
            f"'{name}' is larger than {MOST_BYTES >> 20} MiB; no benchmark prints that much"
        )
    from lanewise.machine.sources import mail

    # A mail in UTF-16 is none: its head is ASCII.
    pieces = mail.parts(data) or [data]
    return parse_measurement("\n\n".join(_texts(pieces, name)), source=name)


def _texts(pieces: list[bytes], name: str) -> Iterator[str]:
    """Decode the parts of a mail that are text; raise ImportProblemError for one that is all there is."""
    for piece in pieces:
        if len(pieces) == 1 or b"\0" not in piece[:4096]:
            yield decoded(piece, name)


def decoded(data: bytes, name: str) -> str:
    """Turn bytes into text: UTF-8, UTF-16 with a mark, Latin-1; ImportProblemError for what is no text."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", errors="replace")
    if b"\0" in data[:4096]:
        raise ImportProblemError(f"'{name}' is binary, no benchmark's output; {_ACCEPTED}")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def parse_measurement(text: str, *, source: str | None = None) -> Measurement:
    """Read an output whose tool is not known; ImportProblemError also when it states what cannot be."""
    measurement = _parsed(text, source)
    for case in measurement.cases:
        rate = case.bandwidth_bytes_per_s
        if rate is not None and not 0 <= rate < math.inf:
            raise ImportProblemError(f"'{source or '-'}': {case.name} states {rate:g} bytes a second")
    return measurement


def _parsed(text: str, source: str | None) -> Measurement:
    from lanewise.tools.instruments import (
        crystaldiskmark,
        cuda_samples,
        diskspd,
        elbencho,
        fio,
        fio_terse,
        fio_text,
        gdsio,
        iometer,
        iperf3,
        iperf3_text,
        nccl_tests,
        nvbandwidth,
        osu,
        perftest,
        rocm_bandwidth,
        smartflow,
        spdk_bdevperf,
        spdk_perf,
        transferbench,
        ucx_perftest,
        vdbench,
    )

    of_documents = (
        (fio.recognizes, fio.parse),
        (iperf3.recognizes, iperf3.parse),
        (perftest.recognizes_json, perftest.parse_json),
        (nccl_tests.recognizes_json, nccl_tests.parse_json),
        (spdk_bdevperf.recognizes_json, spdk_bdevperf.parse_json),
    )
    readers = (
        (nvbandwidth.recognizes, nvbandwidth.parse),
        (cuda_samples.recognizes, cuda_samples.parse),
        (transferbench.recognizes, transferbench.parse),
        (rocm_bandwidth.recognizes, rocm_bandwidth.parse),
        (perftest.recognizes, perftest.parse),
        (perftest.recognizes_unquoted, perftest.parse_unquoted),
        (osu.recognizes, osu.parse),
        (nccl_tests.recognizes, nccl_tests.parse),
        (fio_text.recognizes, fio_text.parse),
        (fio_terse.recognizes, fio_terse.parse),
        (gdsio.recognizes, gdsio.parse),
        (iperf3_text.recognizes, iperf3_text.parse),
        (spdk_perf.recognizes, spdk_perf.parse),
        (spdk_bdevperf.recognizes, spdk_bdevperf.parse),
        (ucx_perftest.recognizes, ucx_perftest.parse),
        (crystaldiskmark.recognizes, crystaldiskmark.parse),
        (diskspd.recognizes, diskspd.parse),
        (elbencho.recognizes, elbencho.parse),
        (vdbench.recognizes, vdbench.parse),
        (iometer.recognizes, iometer.parse),
        (smartflow.recognizes, smartflow.parse),
    )
    if diskspd.recognizes_xml(text):
        # Its tags are no web page's.
        return _read_with(diskspd.parse_xml, text, source)
    problem: ImportProblemError | None = None
    for form in forms(text):
        found = documents(form)[0]
        parsers = [parse for knows, parse in of_documents if any(knows(document) for document in found)]
        parsers += [parse for recognizes, parse in readers if recognizes(form)]
        try:
            if parsers:
                return _read_all(parsers, form, source)
        except ImportProblemError as error:
            problem = problem or error
    if problem is not None:
        raise problem
    if broken := said_of_broken_json(text):
        raise ImportProblemError(f"'{source or '-'}' is JSON that is incomplete or damaged: {broken}")
    if (scenario := said_of_a_scenario(text, source or "-")) is not None:
        raise ImportProblemError(scenario)
    if said := _said_of_fio(text, source or "-") or _said_of_parts(text, source or "-"):
        raise ImportProblemError(said)
    from lanewise.machine.sources.wrapping import HEADER

    name = source or "-"
    has_device = HEADER.search(text) is not None
    if not has_device and (unread := said_of_unread(text)):
        raise ImportProblemError(f"'{name}' is {unread}; {_ACCEPTED}")
    if has_device or _is_of_a_machine(text):
        raise ImportProblemError(
            f"'{name}' is a dump of a machine, not a result: 'lanewise doctor {name}' examines it; what was "
            f"measured on it is judged with 'lanewise import RESULT --machine {name}'"
        )
    start = next((line.strip()[:60] for line in text.splitlines() if line.strip()), None)
    if start is None:
        raise ImportProblemError(f"'{source or '-'}' is empty; {_ACCEPTED}")
    raise ImportProblemError(
        f"'{source or '-'}' is not an output of a benchmark that is known: it begins with '{start}'; "
        f"{_ACCEPTED}"
    )


def _is_of_a_machine(text: str) -> bool:
    """Whether devices of a machine are in a text, in whatever form."""
    from lanewise.machine.reading import read_bytes

    try:
        return bool(read_bytes(text.encode()).functions)
    except InputError:
        return False


def _said_of_fio(text: str, name: str) -> str:
    """Say what of fio is no result of jobs; empty for anything else."""
    if _SUMMARY_OF_FIO.search(text):
        return (
            f"'{name}' is a summary of fio without its jobs; keep the whole output, best that of fio with "
            "--output-format=json"
        )
    if _TERSE_OF_FIO.search(text):
        return (
            f"'{name}' is version 2 of fio's terse format; versions 3 to 5 are read, and best is fio with "
            "--output-format=json"
        )
    if _JOBS_OF_FIO.search(text) and _OPTION_OF_FIO.search(text):
        return (
            f"'{name}' is a job file of fio, not a result: 'lanewise run SCENARIO --fio {name}' "
            "simulates it; "
            "of a real run, give what fio printed"
        )
    return ""


def _said_of_parts(text: str, name: str) -> str:
    """Say what of a tool that is read has no result in it: an error, a beginning, a summary; else empty."""
    if error := _ERROR_OF_FIO.search(text):
        return f"'{name}' is an error of fio without any job's result: {error[0].strip()}"
    if error := _ERROR_OF_IPERF3.search(text):
        return f"'{name}' has no result, as iperf3 failed: {error[0].strip()}"
    if error := _FAILED_NCCL.search(text):
        return f"'{name}' has no result, as nccl-tests failed: {error[1].strip()}"
    if _BEGINNING_OF_FIO.search(text):
        return (
            f"'{name}' is the beginning of an output of fio, before its results; keep it to its end, best "
            "that of fio with --output-format=json"
        )
    if _OF_DBENCH.search(text):
        return f"'{name}' is dbench's summary; give what fio printed above it"
    return ""


def _read_all(parsers: list[Callable[..., Measurement]], text: str, source: str | None) -> Measurement:
    """Read a text with each tool that has printed some of it; ImportProblemError when none can be read."""
    read: list[Measurement] = []
    failed: list[ImportProblemError] = []
    for parse in parsers:
        try:
            read.append(_read_with(parse, text, source))
        except ImportProblemError as error:
            failed.append(error)
    if not read:
        raise failed[0]
    if len(read) == 1:
        return replace(read[0], not_understood=(*read[0].not_understood, *map(str, failed)))
    read = _each_once(read)
    if len(read) == 1:
        return replace(read[0], not_understood=(*read[0].not_understood, *map(str, failed)))
    cases = [replace(case, raw={**case.raw, "tool": each.tool}) for each in read for case in each.cases]
    names = {name for each in read for name in each.listed("device names")}
    return Measurement(
        tool=" and ".join(dict.fromkeys(each.tool for each in read)),
        version=None,
        cases=tuple(cases),
        source=source,
        simulated=all(each.simulated for each in read),
        # What one tool's reader left is what another's has read.
        not_understood=tuple(map(str, failed)),
        raw={"device names": sorted(names), **{each.tool: dict(each.raw) for each in read}},
    )


def _each_once(read: list[Measurement]) -> list[Measurement]:
    """Leave out what a tool said of a case before in another of its formats.

    fio prints several formats of one run one after the other (``--output-format=normal,terse``).
    """
    kept: list[Measurement] = []
    for each in read:
        before = [case for one in kept if one.tool == each.tool for case in one.cases]
        cases = tuple(case for case in each.cases if not any(_is_again(case, one) for one in before))
        if cases or not before:
            kept.append(replace(each, cases=cases))
    return kept


def _is_again(case: Case, before: Case) -> bool:
    """Whether two cases are one result: formats round its rate in different ways."""
    ours, theirs = case.bandwidth_bytes_per_s or 0.0, before.bandwidth_bytes_per_s or 0.0
    return (case.name, case.direction) == (before.name, before.direction) and math.isclose(
        ours, theirs, rel_tol=_ROUNDED
    )


def _read_with(parse: Callable[..., Measurement], text: str, source: str | None) -> Measurement:
    """Read with a tool's own reader, for which values of another kind than the tool writes are damage."""
    try:
        return parse(text, source=source)
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        tool = parse.__module__.rpartition(".")[2]
        raise ImportProblemError(
            f"'{source or '-'}' looks like an output of {tool} and damaged: {type(error).__name__}, {error}"
        ) from error
