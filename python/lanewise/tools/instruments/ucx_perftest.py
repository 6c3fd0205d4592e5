"""Reads the results of ``ucx_perftest``: the line ``Final:`` of each test, and what its head says.

MB are 2**20 bytes; the last of a group of columns (``overall``) is over the whole test. Where the head does
not say how long a message is, bandwidth over the rate of messages does, if that is large. Tests of latency
print a bandwidth that is none. The adapter is that of ``UCX_NET_DEVICES``. That memory is a GPU's is said
(``Send memory: cuda``), but not of which.

Source: UCX, ``src/tools/perf/perftest_run.c``, and outputs of versions 1.8 to 1.19 in public threads.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from lanewise.tools.instruments.measurement import (
    Case,
    ImportProblemError,
    Latency,
    Measurement,
    refuse_too_many,
)

_KIND = re.compile(r"\| +(overhead|latency) \(usec\) +\| +bandwidth \(MB/s\) +\| +message rate \(msg/s\) +\|")
_STATED = re.compile(r"\| (Test|Send memory|Recv memory|Message size|API): +(\S.{0,90}?) *\|")
_NAMED = re.compile(r"^=+ (\w{2,40}) =+$|\bucx_perftest\b.{0,400}?[ \t]-t[ \t]*(\w{2,40})")
_DEVICE = re.compile(r"\bUCX_NET_DEVICES=([\w.-]{1,40})")
_LOOPBACK = re.compile(
    r"Accepted connection from 127\.|\bucx_perftest\b[^\n]{0,400}[ \t]localhost\b", re.MULTILINE
)
_NUMBER = r"[\d.]{1,14}[ \t]++"
_FINAL = re.compile(
    r"\bFinal:[ \t]++(?P<count>\d{1,12})[ \t]++(?P<median>[\d.]{1,14})[ \t]++(?P<mean>[\d.]{1,14})[ \t]++"
    rf"{_NUMBER}{_NUMBER}(?P<rate>[\d.]{{1,14}})[ \t]++\d{{1,14}}[ \t]++(?P<messages>\d{{1,14}})"
)
_MANY = 100_000
"""Messages a second from which their rate, a whole number, tells their size."""
_OF_GPUS = ("cuda", "rocm", "ze-")


@dataclass
class _Head:
    """What stands above the line of a test."""

    kind: str = "overhead"
    name: str = ""
    stated: dict[str, str] = field(default_factory=dict)
    device: str | None = None


def recognizes(text: str) -> bool:
    """Whether a text has the head of a test and its result."""
    return _KIND.search(text) is not None


def parse(text: str, *, source: str | None = None) -> Measurement:
    """Read one output, or several one after another; ImportProblemError says what is wrong with it."""
    cases: list[Case] = []
    head = _Head()
    loopback = _LOOPBACK.search(text) is not None
    for line in text.splitlines():
        if device := _DEVICE.search(line):
            head.device = device[1]
        if kind := _KIND.search(line):
            head = _Head(kind[1], head.name, head.stated, head.device)
        elif named := _NAMED.search(line):
            head.name = named[1] or named[2]
        elif stated := _STATED.search(line):
            head.stated = {**({} if stated[1] == "API" else head.stated), stated[1]: stated[2]}
        elif final := _FINAL.search(line):
            cases.append(_case(head, final, loopback=loopback))
            refuse_too_many(cases)
    if not cases:
        raise ImportProblemError("no line 'Final:' below the head of ucx_perftest; is the output complete?")
    return Measurement(tool="ucx_perftest", version=None, cases=tuple(cases), source=source)


def _case(head: _Head, final: re.Match[str], *, loopback: bool) -> Case:
    rate, messages = float(final["rate"]) * 2**20, int(final["messages"])
    stated = head.stated.get("Message size", "")
    size = int(stated) if stated.isdecimal() else None
    if size is None and rate and messages >= _MANY:
        size = round(rate / messages)
    test = head.name or head.stated.get("Test", "") or "test"
    is_latency = head.kind == "latency"
    memory = [head.stated.get(name, "") for name in ("Send memory", "Recv memory")]
    return Case(
        name=f"{test} {size} B" if size else test,
        direction="ping-pong" if is_latency else "read" if "get" in test else "send",
        target=head.device,
        block_bytes=size,
        bandwidth_bytes_per_s=None if is_latency else rate,
        operations_per_s=float(messages) or None,
        operations=int(final["count"]),
        latency=Latency(
            mean_ns=1e3 * float(final["mean"]), percentiles_ns={50.0: 1e3 * float(final["median"])}
        )
        if is_latency
        else None,
        raw={
            "stated": dict(head.stated),
            **({"loopback": True} if loopback else {}),
            **({"gpu": ""} if any(each.startswith(_OF_GPUS) for each in memory) else {}),
        },
    )
