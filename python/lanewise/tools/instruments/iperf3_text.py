"""Reads what iperf3 prints for people: the sums at its end, rounded as they are printed.

Of several streams the line ``[SUM]`` counts, of each test what arrived (``receiver``), and what was sent
where the other side told nothing. ``-J`` prints all digits. Bits are decimal.
Source: outputs of iperf3 3.1 to 3.16.
"""

from __future__ import annotations

import re

from lanewise.tools.instruments.measurement import Case, ImportProblemError, Measurement, refuse_too_many

_BEGIN = re.compile(r"^(?:Connecting to host (\S{1,100}), port|Accepted connection from (\S{1,100}), port)")
_LOCAL = re.compile(
    r"^\[ *\d{1,5}\](?:\[[RT]X-[CS]\])? local (\S{1,60}) port \d{1,5} connected to (\S{1,60}) port"
)
_END = re.compile(
    r"^\[ *(SUM|\d{1,5})\](?:\[([RT])X-[CS]\])?[ \t]++[\d.]{1,12}-[\d.]{1,12}[ \t]++sec[ \t]++"
    r"[\d.]{1,12} [KMGT]?Bytes[ \t]++([\d.]{1,12}) ([KMGT]?)bits/sec\b.{0,80}?\b(sender|receiver)[ \t]*+$"
)
_FACTORS = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}


def recognizes(text: str) -> bool:
    """Whether a text has what a client or a server of iperf3 begins with, or what it ends with."""
    return any(
        _BEGIN.match(line) or _END.match(line)
        for line in text.splitlines()
        if " port " in line or line.rstrip().endswith(("sender", "receiver"))
    )


def parse(text: str, *, source: str | None = None) -> Measurement:
    """Read one output, or several one after another; ImportProblemError says what is wrong with it."""
    cases: list[Case] = []
    ends: list[re.Match[str]] = []
    state = {"receives": False, "loopback": False, "udp": False}

    def close() -> None:
        cases.extend(_cases(ends, **state))
        refuse_too_many(cases)
        ends.clear()

    for line in text.splitlines():
        if begin := _BEGIN.match(line):
            close()
            state = {"receives": begin[2] is not None, "loopback": False, "udp": False}
        elif line.startswith("Reverse mode"):
            state["receives"] = not state["receives"]
        elif local := _LOCAL.match(line):
            state["loopback"] = local[1] == local[2]
        elif "Lost/Total Datagrams" in line:
            state["udp"] = True
        elif end := _END.match(line):
            ends.append(end)
    close()
    if not cases:
        raise ImportProblemError("iperf3 has printed no sums ('sender', 'receiver'); is the output complete?")
    return Measurement(tool="iperf3", version=None, cases=tuple(cases), source=source, raw={"rounded": True})


def _cases(ends: list[re.Match[str]], *, receives: bool, loopback: bool, udp: bool) -> list[Case]:
    """Return a case for each direction: the sum over streams, of what arrived if that is told."""
    cases = []
    for way in dict.fromkeys(end[2] for end in ends):
        mine = [end for end in ends if end[2] == way]
        for who in ("receiver", "sender"):
            told = [end for end in mine if end[5] == who]
            sums = [end for end in told if end[1] == "SUM"] or told
            rate = sum(float(end[3]) * _FACTORS[end[4]] for end in sums) / 8
            if rate:
                break
        else:
            continue
        direction = {"T": "send", "R": "receive"}.get(way or "", "receive" if receives else "send")
        streams = len([end for end in told if end[1] != "SUM"])
        name = f"{'UDP' if udp else 'TCP'} {direction}"
        cases.append(
            Case(
                name=name,
                direction=direction,
                workers=streams or None,
                bandwidth_bytes_per_s=rate,
                raw={"loopback": loopback},
            )
        )
    return cases
