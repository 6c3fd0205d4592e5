"""Finds out which tool wrote an output, and reads it."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import TYPE_CHECKING

from lanewise.instruments.measurement import ImportProblemError

if TYPE_CHECKING:
    from collections.abc import Callable

    from lanewise.instruments.measurement import Measurement

_FOR_PEOPLE = (
    (re.compile(r"^(?:Connecting to host |Server listening on )", re.MULTILINE), "iperf3", "-J"),
    (
        re.compile(r"^\S{1,200}: \(g=\d{1,6}\): rw=|^[ \t]*+(?:READ|WRITE): bw=|^\d;fio-\d", re.MULTILINE),
        "fio",
        "--output-format=json",
    ),
)
"""Lines in outputs whose exact numbers another option of the tool gives."""
MOST_BYTES = 16 << 20
_ACCEPTED = (
    "fio --output-format=json, iperf3 -J, nvbandwidth with or without -j, CUDA's bandwidthTest and "
    "p2pBandwidthLatencyTest, rocm_bandwidth_test, perftest, OSU, IOmeter's CSV, SmartFlow's CSV"
)


def read_measurement(path: str | Path) -> Measurement:
    """Read an output file, or standard input for ``-``; ImportProblemError when no known tool wrote it."""
    if str(path) == "-":
        import sys

        data, name = sys.stdin.buffer.read(MOST_BYTES + 1), "-"
    else:
        with Path(path).open("rb") as file:
            data = file.read(MOST_BYTES + 1)
        name = str(path)
    if len(data) > MOST_BYTES:
        raise ImportProblemError(
            f"'{name}' is larger than {MOST_BYTES >> 20} MiB; no benchmark prints that much"
        )
    return parse_measurement(decoded(data, name), source=name)


def decoded(data: bytes, name: str) -> str:
    """Turn bytes into text: UTF-8, UTF-16 with a mark, Latin-1; ImportProblemError for what is no text."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", errors="replace")
    if b"\0" in data[:4096]:
        raise ImportProblemError(f"'{name}' is binary, no benchmark's output; there are {_ACCEPTED}")
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
    from lanewise.instruments import (
        cuda_samples,
        fio,
        iometer,
        iperf3,
        nvbandwidth,
        osu,
        perftest,
        rocm_bandwidth,
        smartflow,
    )
    from lanewise.instruments.json_text import documents

    of_documents = (
        (fio.recognizes, fio.parse),
        (iperf3.recognizes, iperf3.parse),
        (perftest.recognizes_json, perftest.parse_json),
    )
    for document in documents(text)[0]:
        for knows, parse in of_documents:
            if knows(document):
                return _read_with(parse, text, source)
    readers = (
        (nvbandwidth.recognizes, nvbandwidth.parse),
        (cuda_samples.recognizes, cuda_samples.parse),
        (rocm_bandwidth.recognizes, rocm_bandwidth.parse),
        (perftest.recognizes, perftest.parse),
        (osu.recognizes, osu.parse),
        (iometer.recognizes, iometer.parse),
        (smartflow.recognizes, smartflow.parse),
    )
    for recognizes, parse in readers:
        if recognizes(text):
            return _read_with(parse, text, source)
    for beginning, tool, option in _FOR_PEOPLE:
        if beginning.search(text):
            raise ImportProblemError(
                f"'{source or '-'}' is what {tool} prints for people, rounded to a few digits; "
                f"run {tool} with {option} and import that"
            )
    if broken := _broken_json(text):
        raise ImportProblemError(f"'{source or '-'}' is JSON that breaks off or is damaged: {broken}")
    start = next((line.strip()[:60] for line in text.splitlines() if line.strip()), "nothing")
    raise ImportProblemError(
        f"'{source or '-'}' is no output of a benchmark that is known: it begins with '{start}'; there are "
        f"{_ACCEPTED}"
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


def _broken_json(text: str) -> str:
    """Say where text that is meant as JSON stops being it; empty for anything else."""
    if not re.match(r'\s*\{\s*"', text):
        return ""
    try:
        json.loads(text)
    except ValueError as error:
        return str(error)
    except RecursionError:
        return "it is nested deeper than any tool's"
    return ""
