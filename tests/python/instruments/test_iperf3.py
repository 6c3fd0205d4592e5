"""Outputs of `iperf3 -J` become measurements in bytes per second of what arrived."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
from typing import Any

import pytest

from lanewise.health.judge.detect import parse_measurement
from lanewise.tools.instruments import iperf3
from lanewise.tools.instruments.measurement import ImportProblemError


def output(**end: Any) -> str:
    start = {
        "version": "iperf 3.16",
        "system_info": "Linux rig7 6.8.0 x86_64",
        "test_start": {"protocol": "TCP", "num_streams": 4, "blksize": 131072, "reverse": 0},
    }
    sums = {
        "streams": [{"sender": {"mean_rtt": 140, "min_rtt": 100, "max_rtt": 200}}],
        "sum_sent": {"bits_per_second": 9.5e9, "bytes": 11_875_000_000, "retransmits": 3},
        "sum_received": {"bits_per_second": 9.4e9},
    }
    return json.dumps({"start": start, "intervals": [], "end": sums | end})


def test_what_arrived_counts() -> None:
    result = iperf3.parse(output(), source="x.json")
    (case,) = result.cases
    assert (result.version, result.host, result.source) == ("3.16", "rig7", "x.json")
    assert (case.direction, case.workers, case.block_bytes) == ("send", 4, 131072)
    assert case.bandwidth_bytes_per_s == 9.4e9 / 8
    assert case.latency is not None
    assert (case.latency.mean_ns, case.latency.min_ns, case.latency.max_ns) == (140e3, 100e3, 200e3)


def test_a_test_cut_off_counts_what_was_sent() -> None:
    (case,) = iperf3.parse(output(sum_received={"bits_per_second": 0})).cases
    assert case.bandwidth_bytes_per_s == 9.5e9 / 8


def test_both_directions_of_a_bidirectional_test_are_cases() -> None:
    result = iperf3.parse(output(sum_received_bidir_reverse={"bits_per_second": 4e9}))
    assert [case.direction for case in result.cases] == ["send", "receive"]
    assert result.cases[1].bandwidth_bytes_per_s == 0.5e9


@pytest.mark.parametrize(
    "text",
    ["", "iperf 3.12\n[  5] 9.4 Gbits/sec", "[]", '{"start": 1}', '{"start": {"test_start": {}}}',
     '{"start": {"version": "iperf 3.1", "test_start": {}}, "end": {}}',
     '{"start": {"version": "iperf 3.1"}, "end": {}, "error": "unable to connect"}'],
)  # fmt: skip
def test_other_texts_are_refused_with_a_reason(text: str) -> None:
    with pytest.raises(ImportProblemError):
        iperf3.parse(text)


@pytest.mark.skipif(shutil.which("iperf3") is None, reason="iperf3 is not installed")
def test_the_real_tool_is_understood() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    with subprocess.Popen(
        ["iperf3", "-s", "-1", "-p", port, "--forceflush"], stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout is not None
        server.stdout.readline()
        server.stdout.readline()
        client = ["iperf3", "-c", "127.0.0.1", "-p", port, "-n", "1M", "-J"]
        done = subprocess.run(client, capture_output=True, text=True, check=True)
        server.terminate()
    (case,) = iperf3.parse(done.stdout).cases
    assert case.bandwidth_bytes_per_s is not None
    assert case.bandwidth_bytes_per_s > 0


def titled(title: str, rate: float, *, streams: int = 2, port: int = 5101) -> list[str]:
    part = rate / streams
    ends = [
        f"[  {5 + 2 * number}]   0.00-20.00  sec  1.63 GBytes  {part} Gbits/sec  776             {who}"
        for number in range(streams)
        for who in ("sender", "receiver")
    ]
    sums = [
        f"[SUM]   0.00-20.00  sec  2.80 GBytes  {rate} Gbits/sec                  {who}"
        for who in ("sender", "receiver")
    ]
    lines = [f"Connecting to host 10.0.0.2, port {port}", *ends, *sums, "iperf Done."]
    return [f"{title}:  {line}" for line in lines]


class TestTitles:
    def test_they_stand_before_every_line(self) -> None:
        found = parse_measurement("\n".join(titled("Client on 10.0.0.3", 9.5))).cases
        assert [(case.name, case.bandwidth_bytes_per_s, case.workers) for case in found] == [
            ("Client on 10.0.0.3: TCP send", 9.5e9 / 8, 2)
        ]

    def test_tests_one_after_another_are_judged_alone(self) -> None:
        found = parse_measurement("\n".join([*titled("a", 9.5), "", *titled("b", 8.5)])).cases
        assert [case.name for case in found] == ["a: TCP send", "b: TCP send"]
        assert not any("clone" in case.raw for case in found)

    def test_tests_whose_lines_are_mixed_are_parts_of_one(self) -> None:
        mixed = [
            line
            for pair in zip(titled("a", 21.8), titled("b", 21.1, port=5102), strict=True)
            for line in pair
        ]
        found = parse_measurement("\n".join(mixed)).cases
        assert [(case.name, case.raw["clone"], case.raw["document"]) for case in found] == [
            ("TCP send", True, 1)
        ] * 2

    def test_a_server_says_the_title_of_its_client(self) -> None:
        text = "s1:  [SUM]   0.00-5.00   sec  1.79 MBytes  3.00 Mbits/sec  0.048 ms  0/29292 (0%)  receiver\n"
        assert [case.name for case in parse_measurement(text).cases] == ["s1: UDP send"]


def test_sums_of_several_tests_are_not_added_up() -> None:
    line = "[SUM]   0.00-5.00   sec  1.79 MBytes  3.00 Mbits/sec  0.048 ms  0/29292 (0%)  receiver\n"
    found = parse_measurement(3 * line).cases
    assert [case.bandwidth_bytes_per_s for case in found] == [3e6 / 8] * 3


def test_sums_of_udp_before_version_3_2_have_no_last_word() -> None:
    text = """\
Connecting to host 10.0.0.10, port 6666
[  4] local 10.0.0.9 port 42142 connected to 10.0.0.10 port 6666
[ ID] Interval           Transfer     Bandwidth       Total Datagrams
[  4]   0.00-1.00   sec   112 MBytes   937 Mbits/sec  14270
- - - - - - - - - - - - - - - - - - - - - - - - -
[ ID] Interval           Transfer     Bandwidth       Jitter    Lost/Total Datagrams
[  4]   0.00-10.00  sec  1.09 GBytes   935 Mbits/sec  0.015 ms  0/142700 (0%)
[  4] Sent 142700 datagrams
"""
    (case,) = parse_measurement(text).cases
    assert (case.name, case.direction, case.bandwidth_bytes_per_s) == ("UDP send", "send", 935e6 / 8)
