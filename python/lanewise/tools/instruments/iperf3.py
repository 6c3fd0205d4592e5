"""Reads what `iperf3 -J` prints: TCP or UDP tests, with their streams.

Counted is the payload that arrived (``sum_received``); of a test that was cut off, what was sent. Bit rates
are decimal bits per second. Intervals are left out. Source: iperf3's own output, 3.1 to 3.16; older versions
have the same ``start`` and ``end``.
"""

from __future__ import annotations

import json
from typing import TypeGuard

from lanewise.tools.instruments.json_text import documents
from lanewise.tools.instruments.measurement import Case, ImportProblemError, Latency, Measurement


def recognizes(document: object) -> bool:
    """Whether a JSON document looks like that of iperf3."""
    if not isinstance(document, dict):
        return False
    start = document.get("start", document.get("data") if document.get("event") == "start" else None)
    return isinstance(start, dict) and ("test_start" in start or "iperf" in str(start.get("version", "")))


def parse(text: str, *, source: str | None = None) -> Measurement:
    """Read the output of a client or of a server; ImportProblemError says what is wrong with it.

    A server appends a document for each test, and ``--json-stream`` writes one for each event.
    """
    found, around = documents(text)
    tests = [document for document in _joined(found) if recognizes(document)]
    if not tests:
        raise ImportProblemError(_no_document(text))
    cases: list[Case] = []
    for document in tests:
        if document.get("error") and not document.get("end"):
            if len(tests) > 1:
                around.append(f"a test failed: {document['error']}")
                continue
            raise ImportProblemError(f"iperf3 failed: {document['error']}")
        cases += _cases(_table(_table(document, "start"), "test_start"), _table(document, "end"))
    start, end = _table(tests[0], "start"), tests[0].get("end")
    busy = end.get("cpu_utilization_percent") if _is_table(end) else None
    return Measurement(
        tool="iperf3",
        version=str(start.get("version", "")).removeprefix("iperf ").strip() or None,
        cases=tuple(cases),
        host=_host(start),
        source=source,
        not_understood=tuple(around),
        raw={"start": start, "cpu_utilization_percent": busy},
    )


def _joined(found: list[dict[str, object]]) -> list[dict[str, object]]:
    """Put the events of ``--json-stream`` together: what they hold is what one document has."""
    tests: list[dict[str, object]] = []
    for document in found:
        event, data = document.get("event"), document.get("data")
        if not isinstance(event, str) or "data" not in document:
            tests.append(document)
        elif event == "start":
            tests.append({"start": data})
        elif tests and event in ("end", "error"):
            tests[-1].setdefault(event, data)
    return tests


def _no_document(text: str) -> str:
    """Say why there is no output of iperf3 in a text."""
    try:
        json.JSONDecoder().raw_decode(text, max(0, text.find("{")))
    except json.JSONDecodeError as error:
        return f"line {error.lineno}: not JSON ({error.msg}); run iperf3 with -J and keep its whole output"
    except ValueError as error:
        return f"not JSON: {error}"
    except RecursionError:
        pass
    return "not an output of iperf3 -J: there is no 'start' with 'test_start'"


def _cases(test: dict[str, object], end: dict[str, object]) -> list[Case]:
    protocol = str(test.get("protocol", "TCP"))
    direction = "receive" if test.get("reverse") else "send"
    sums = [(direction, _sum(end, ""))]
    if "sum_sent_bidir_reverse" in end or "sum_received_bidir_reverse" in end:
        sums.append(("receive" if direction == "send" else "send", _sum(end, "_bidir_reverse")))
    cases = []
    for which, total in sums:
        if total is None:
            raise ImportProblemError("'end' has neither 'sum_received' nor 'sum_sent' nor 'sum'")
        cases.append(
            Case(
                name=f"{protocol} {which}",
                direction=which,
                target=None,
                block_bytes=_whole(test.get("blksize")),
                workers=_whole(test.get("num_streams")),
                bandwidth_bytes_per_s=_number(total, "bits_per_second") / 8,
                latency=_round_trip(end) if which == "send" else None,
                raw={"sum": total, "sum_sent": end.get("sum_sent")},
            )
        )
    return cases


def _sum(end: dict[str, object], suffix: str) -> dict[str, object] | None:
    """Return what arrived; what was sent when the other side told nothing (a test cut off)."""
    for key in (f"sum_received{suffix}", f"sum{suffix}", f"sum_sent{suffix}"):
        total = end.get(key)
        if isinstance(total, dict) and total.get("bits_per_second"):
            return total
    rest = (end.get(key) for key in (f"sum_sent{suffix}", f"sum{suffix}"))
    return next((total for total in rest if _is_table(total)), None)


def _round_trip(end: dict[str, object]) -> Latency | None:
    """Round trips as TCP saw them, which iperf3 gives in microseconds; only the sender sees any."""
    streams = end.get("streams")
    sides = [
        stream.get("sender") for stream in (streams if isinstance(streams, list) else []) if _is_table(stream)
    ]
    senders = [side for side in sides if _is_table(side) and side.get("sender", True)]
    means, lows, highs = (
        [value for sender in senders if isinstance(value := sender.get(key), int | float)]
        for key in ("mean_rtt", "min_rtt", "max_rtt")
    )
    if not means or not any(means):
        return None
    return Latency(
        mean_ns=1e3 * sum(means) / len(means),
        min_ns=1e3 * min(lows) if lows else None,
        max_ns=1e3 * max(highs) if highs else None,
    )


def _host(start: dict[str, object]) -> str | None:
    words = str(start.get("system_info", "")).split()
    return words[1] if len(words) > 1 else None


def _table(document: dict[str, object], key: str) -> dict[str, object]:
    value = document.get(key)
    if not isinstance(value, dict):
        raise ImportProblemError(
            f"'{key}' of the iperf3 output is {type(value).__name__}, expected an object"
        )
    return value


def _is_table(value: object) -> TypeGuard[dict[str, object]]:
    return isinstance(value, dict)


def _number(table: dict[str, object], key: str) -> float:
    value = table.get(key)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ImportProblemError(f"'{key}' of the iperf3 output is {value!r}, expected a number")
    return float(value)


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None
