"""Reads what iperf3 prints for people: the sums at its end, rounded as they are printed.

Of several streams the line ``[SUM]`` counts, of each test what arrived (``receiver``), and what was sent
where the other side told nothing. ``-J`` prints all digits. Bits are decimal. With ``-T`` a title stands
before every line. Tests with other titles whose lines are mixed ran at the same time: each is a part.
Source: outputs of iperf3 3.1 to 3.19.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lanewise.tools.instruments.measurement import Case, ImportProblemError, Measurement, refuse_too_many

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_TITLED = re.compile(
    r"^(?P<title>\S(?:.{0,78}\S)?):  "
    r"(?P<line>Connecting to host |Accepted connection |Reverse mode|\[[ \d]|\[SUM\])"
)
_BEGIN = re.compile(r"^(?:Connecting to host (\S{1,100}), port|Accepted connection from (\S{1,100}), port)")
_LOCAL = re.compile(
    r"^\[ *\d{1,5}\](?:\[[RT]X-[CS]\])? local (\S{1,60}) port \d{1,5} connected to (\S{1,60}) port"
)
_END = re.compile(
    r"^\[ *(SUM|\d{1,5})\](?:\[([RT])X-[CS]\])?[ \t]++[\d.]{1,12}-[\d.]{1,12}[ \t]++sec[ \t]++"
    r"[\d.]{1,12} [KMGT]?Bytes[ \t]++([\d.]{1,12}) ([KMGT]?)bits/sec\b(.{0,80}?)"
    r"(?:\b(sender|receiver))?[ \t]*+$"
)
_SUMS = "- - - -"
"""Above the sums. Those of UDP have no last word before version 3.2."""
_LOST = re.compile(r"\d ms +\d+/\d+ \(")
"""Jitter and datagrams lost: a test of UDP."""
_FACTORS = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}


@dataclass
class _Test:
    """A test whose lines are being read."""

    title: str
    receives: bool = False
    loopback: bool = False
    udp: bool = False
    sums: bool = False
    """Whether the line above its sums was read."""
    ends: list[re.Match[str]] = field(default_factory=list)
    first: int = 0
    last: int = 0
    """Numbers of its lines."""

    def is_beside(self, other: _Test) -> bool:
        """Whether two tests ran at the same time: the lines of one begin between those of the other."""
        return self.first < other.first < self.last or other.first < self.first < other.last

    def has(self, end: re.Match[str]) -> bool:
        """Whether it has a line like this one already, which is then of another test."""
        return any((each[1], each[2], each[6]) == (end[1], end[2], end[6]) for each in self.ends)


def recognizes(text: str) -> bool:
    """Whether a text has what a client or a server of iperf3 begins with, or what it ends with."""
    return any(
        _BEGIN.match(line) or _END.match(line)
        for _, line in map(_untitled, text.splitlines())
        if " port " in line or line.rstrip().endswith(("sender", "receiver"))
    )


def _untitled(line: str) -> tuple[str, str]:
    """Return the title before a line, and the line."""
    found = _TITLED.match(line)
    return (found["title"], line[found.start("line") :]) if found else ("", line)


def parse(text: str, *, source: str | None = None) -> Measurement:
    """Read one output, or several one after another; ImportProblemError says what is wrong with it."""
    done: list[_Test] = []
    latest: dict[str, _Test] = {}
    """By title."""

    def begin(title: str, number: int, *, receives: bool) -> _Test:
        done.append(_Test(title, receives=receives, first=number, last=number))
        refuse_too_many(done)
        latest[title] = done[-1]
        return done[-1]

    for number, written in enumerate(text.splitlines()):
        title, line = _untitled(written)
        test = latest.get(title) or begin(title, number, receives=False)
        if found := _BEGIN.match(line):
            begin(title, number, receives=found[2] is not None)
        elif line.startswith("Reverse mode"):
            test.receives = not test.receives
        elif local := _LOCAL.match(line):
            test.loopback = local[1] == local[2]
        elif "Lost/Total Datagrams" in line:
            test.udp = True
        elif line.startswith(_SUMS):
            test.sums = True
        elif (end := _END.match(line)) and (end[6] or (test.sums and _LOST.search(end[5]))):
            if test.has(end):
                test = begin(title, number, receives=test.receives)
            test.udp = test.udp or _LOST.search(end[5]) is not None
            test.ends.append(end)
            test.last = number
    told = [test for test in done if test.ends]
    cases = [case for number, test in enumerate(told, 1) for case in _cases(test, number, told)]
    if not cases:
        raise ImportProblemError("iperf3 has printed no sums ('sender', 'receiver'); is the output complete?")
    return Measurement(tool="iperf3", version=None, cases=tuple(cases), source=source, raw={"rounded": True})


def _cases(test: _Test, number: int, others: Sequence[_Test]) -> Iterator[Case]:
    """Yield a case for each direction: the sum over streams, of what arrived if that is told."""
    beside = [at for at, other in enumerate(others, 1) if other.title and test.is_beside(other)]
    document = min([number, *beside])
    part = {"clone": True, "document": document} if beside else {}
    ends = test.ends
    for way in dict.fromkeys(end[2] for end in ends):
        mine = [end for end in ends if end[2] == way]
        for who in ("receiver", "sender"):
            told = [end for end in mine if (end[6] or "sender") == who]
            sums = [end for end in told if end[1] == "SUM"] or told
            rate = sum(float(end[3]) * _FACTORS[end[4]] for end in sums) / 8
            if rate:
                break
        else:
            continue
        direction = {"T": "send", "R": "receive"}.get(way or "", "receive" if test.receives else "send")
        streams = len([end for end in told if end[1] != "SUM"])
        name = f"{'UDP' if test.udp else 'TCP'} {direction}"
        yield Case(
            name=f"{test.title}: {name}" if test.title and not part else name,
            direction=direction,
            workers=streams or None,
            bandwidth_bytes_per_s=rate,
            raw={"loopback": test.loopback, **({"title": test.title} if test.title else {}), **part},
        )
