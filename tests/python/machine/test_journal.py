"""Journals in JSON: the kernel's lines, with how urgent each was."""

from __future__ import annotations

import json

import pytest

from lanewise.health.doctor import Severity, diagnose
from lanewise.health.doctor.finding import Finding
from lanewise.machine import read_bytes

SAID = (
    ("pci 0000:03:00.0: [8086:10fb] type 00 class 0x020000 PCIe Endpoint", "6"),
    ("ixgbe 0000:03:00.0: firmware hung, reset failed", "3"),
    ("bnxt_en 0000:04:00.0: firmware hung, mailbox timeout", "6"),
)


def entry(message: object, priority: str, **more: object) -> dict[str, object]:
    return {
        "__CURSOR": "s=6c2d8b0a7a5f4f1e8f4c9d5a3b1c2d3e;i=1a2b3;b=0f1e2d3c4b5a69788796a5b4c3d2e1f0;m=123456",
        "__REALTIME_TIMESTAMP": "1672531200000000",
        "__MONOTONIC_TIMESTAMP": "1193046",
        "_BOOT_ID": "0f1e2d3c4b5a69788796a5b4c3d2e1f0",
        "_TRANSPORT": "kernel",
        "PRIORITY": priority,
        "SYSLOG_FACILITY": "0",
        "SYSLOG_IDENTIFIER": "kernel",
        "_MACHINE_ID": "0123456789abcdef0123456789abcdef" * 8,
        "_HOSTNAME": "node1",
        "MESSAGE": message,
    } | more


def told(text: str) -> list[Finding]:
    return [f for f in diagnose(read_bytes(text.encode()), cost=False).findings if f.rule == "driver-error"]


@pytest.mark.parametrize("indent", [None, 8])
def test_messages_count_by_their_priority(indent: int | None) -> None:
    text = "".join(f"{json.dumps(entry(*said), indent=indent)}\n" for said in SAID)
    (found,) = told(text)
    assert (found.bdf, found.severity) == ("03:00.0", Severity.WARNING)
    assert found.evidence[0] == SAID[1][0]


def test_messages_of_bytes_are_read_and_those_of_programs_are_not() -> None:
    found, error = SAID[:2]
    number = [*error[0].encode(), 0xFF]
    text = f"{json.dumps(entry(*found))}\n{json.dumps(entry(number, '3'))}\n"
    assert [one.bdf for one in told(text)] == ["03:00.0"]
    program = entry(error[0], "3", _TRANSPORT="stdout", SYSLOG_IDENTIFIER="installer")
    assert told(f"{json.dumps(entry(*found))}\n{json.dumps(program)}\n") == []
