"""Tables of nccl-tests and RCCL tests in the forms that their versions print, and simulated ones."""

# ruff: noqa: E501

from __future__ import annotations

import json
from pathlib import Path
from typing import ClassVar

import pytest

from lanewise import api
from lanewise.health.judge.detect import parse_measurement
from lanewise.tools.instruments import nccl_tests
from lanewise.tools.instruments.measurement import ImportProblemError
from lanewise.tools.instruments.native import write_as

SCENARIOS = Path(__file__).parents[3] / "scenarios"

RCCL = """\
# nThread 1 nGpus 2 minBytes 1048576 maxBytes 2097152 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1
#
rccl-tests: Version develop:2a18737
# Using devices
#   Rank  0 Pid   1501 on      rocm0 device  0 [0000:03:00.0] AMD Instinct MI100
#   Rank  1 Pid   1501 on      rocm0 device  1 [0000:43:00.0] AMD Instinct MI100
RCCL version 2.18.3+hip6.0 HEAD:2f6d59e
#
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
     1048576        262144     float    none       0    151.9    6.90    6.90      0    149.8    7.00    7.00    N/A
     2097152        524288     float    none       0    295.7    7.09    7.09      3    313.8    6.68    6.68    N/A
# Errors with asterisks indicate errors that have exceeded the maximum threshold.
# Out of bounds values : 3 FAILED
# Avg bus bandwidth    : 6.9675
#
# Collective test concluded: broadcast_perf
"""

OLD = """\
#                                                 out-of-place                       in-place
#       size         count    type   time   algbw   busbw  error     time   algbw   busbw  error
#        (B)    (elements)           (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
       32768          4096   float    13.39    2.45    1.22  0e+00    11.85    2.77    1.38  0e+00
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 1.3
"""

PER_ITERATION = """\
# nccl-tests version 2.19.0 nccl-headers=23007 nccl-library=23007
# Collective test starting: all_gather_perf
#  Rank  0 Group  0 Pid   4349 on        device  0 [0000:01:00] NVIDIA A100 80GB PCIe
#  Rank  1 Group  0 Pid   4350 on      other device  0 [0000:23:00] NVIDIA A100 80GB PCIe
#       size         count      type   redop    root     time   algbw   busbw  #wrong    i_min    i_max    i_p99    i_cv%     time   algbw   busbw  #wrong    i_min    i_max    i_p99    i_cv%           timestamp
     1048576        131072     float    none      -1    99.00   10.59    5.30       0    98.00   101.00  101.00     1.00    98.00   10.70    5.35       0    97.00    99.00    99.00     1.00 2026-01-01 00:00:00
# Collective test concluded: all_gather_perf
"""


def test_rccl() -> None:
    measurement = nccl_tests.parse(RCCL)
    first, second = measurement.cases
    assert (first.name, first.bandwidth_bytes_per_s, first.workers) == ("broadcast 1048576 B", 6.9e9, 2)
    assert (first.raw["redop"], first.raw["wrong"], second.raw["wrong"]) == ("none", 0, 3)
    assert first.raw["in place"] == {"time": 149.8, "algbw": 7.0, "busbw": 7.0}
    assert (measurement.version, measurement.not_understood) == ("develop", ())
    assert measurement.raw["devices"] == ["0000:03:00.0", "0000:43:00.0"]
    assert measurement.raw["library"] == "RCCL version 2.18.3+hip6.0"
    assert (measurement.raw["average busbw"], measurement.raw["out of bounds"]) == ([6.9675], [3])


def test_heads_without_a_reduction() -> None:
    (case,) = nccl_tests.parse(OLD).cases
    assert (case.name, case.raw["algbw"], case.raw["busbw"]) == ("collective 32768 B", 2.45, 1.22)
    assert (case.raw["redop"], case.raw["wrong"]) == (None, 0)


def test_times_of_every_iteration_and_two_hosts() -> None:
    measurement = nccl_tests.parse(PER_ITERATION)
    (case,) = measurement.cases
    assert (case.name, case.raw["busbw"], measurement.version) == ("all_gather 1048576 B", 5.3, "2.19.0")
    assert case.raw["in place"] == {"time": 98.0, "algbw": 10.7, "busbw": 5.35, "wrong": 0.0}
    assert measurement.raw["hosts"] == ["", "other"]


def test_in_place_only() -> None:
    head = "#       size         count      type   redop    root     time   algbw   busbw  #wrong\n"
    row = "     1048576        262144     float     sum      -1    151.9    6.90   12.08      0\n"
    (case,) = nccl_tests.parse(head + row).cases
    assert (case.raw["busbw"], "in place" in case.raw) == (12.08, False)


@pytest.mark.parametrize("before", ["0: ", "[1,0]<stdout>:", "[0] ", "[0]"])
def test_lines_behind_a_rank(before: str) -> None:
    ranked = "\n".join(before + line for line in RCCL.splitlines())
    assert nccl_tests.parse(ranked).cases == nccl_tests.parse(RCCL).cases


def test_each_of_several_tests_has_its_name() -> None:
    names = [case.name for case in nccl_tests.parse(RCCL + PER_ITERATION + RCCL).cases]
    both = ["broadcast 1048576 B", "broadcast 2097152 B"]
    assert names == [*both, "all_gather 1048576 B", *both]


def test_a_row_that_is_cut_off() -> None:
    cut = RCCL.replace("    151.9    6.90    6.90      0    149.8    7.00    7.00    N/A", "    151.9")
    with pytest.raises(ImportProblemError, match="line 12: 6 words under 13 columns"):
        nccl_tests.parse(cut)


def test_a_simulated_table_is_read_back() -> None:
    scenario = SCENARIOS / "collective.toml"
    overrides = [
        ("workload.ring.size", "64 KiB"),
        ("workload.ring.max_size", "256 KiB"),
        ("workload.ring.operation", "all-gather"),
    ]
    result = api.run(scenario, overrides=overrides)
    text = write_as("nccl-tests", result, api.explain(scenario, overrides=overrides))
    assert "       65536          4096     float    none      -1" in text
    measurement = nccl_tests.parse(text)
    assert measurement.simulated
    assert not measurement.not_understood
    sizes = [case.block_bytes for case in measurement.cases]
    assert sizes == [65536, 131072, 262144]
    metrics = {metric["name"]: metric["value"] for metric in result.document["instruments"][0]["metrics"]}
    for case in measurement.cases:
        assert case.name == f"all_gather {case.block_bytes} B"
        assert case.raw["busbw"] == pytest.approx(metrics[f"{case.block_bytes} B busbw (GB/s)"], abs=0.005)
        assert case.raw["algbw"] == pytest.approx(4 / 3 * float(str(case.raw["busbw"])), abs=0.01)


def test_each_of_several_outputs_has_its_own_ranks() -> None:
    unended = RCCL.replace("# Collective test concluded: broadcast_perf\n", "")
    for text in (RCCL + RCCL, unended + RCCL, PER_ITERATION + PER_ITERATION):
        measurement = nccl_tests.parse(text)
        assert {case.workers for case in measurement.cases} == {2}
        assert len(measurement.raw["devices"]) == 2


class TestJson:
    DOCUMENT: ClassVar[dict[str, object]] = {
        "version": 3,
        "args": ["./build/all_reduce_perf", "-g", "2", "-J", "out.json"],
        "env": ["SECRET=1"],
        "nccl_version": 22605,
        "config": {
            "ngpus": 2,
            "devices": [
                {
                    "rank": 0,
                    "hostname": "n1",
                    "device": 0,
                    "device_hex": "0000:1b:00",
                    "device_info": "GPU A",
                },
                {
                    "rank": 1,
                    "hostname": "n1",
                    "device": 1,
                    "device_hex": "0000:43:00",
                    "device_info": "GPU A",
                },
            ],
        },
        "results": [
            {
                "size": 1048576,
                "type": "float",
                "redop": "sum",
                "out_of_place": {"time": 50.0, "alg_bw": 20.0, "bus_bw": 21.5, "nwrong": 0},
                "in_place": {"time": 49.0, "alg_bw": 21.4, "bus_bw": 21.9, "nwrong": 0},
            },
            {
                "size": 2097152,
                "out_of_place": None,
                "in_place": {"time": 90.0, "alg_bw": 23.0, "bus_bw": 23.1},
            },
        ],
    }

    def test_of_nccl_tests(self) -> None:
        result = parse_measurement(json.dumps(self.DOCUMENT))
        first, second = result.cases
        assert (first.name, first.workers, first.bandwidth_bytes_per_s) == ("all_reduce 1048576 B", 2, 21.5e9)
        assert first.raw["in place"] == {"time": 49.0, "algbw": 21.4, "busbw": 21.9, "wrong": 0}
        assert second.bandwidth_bytes_per_s == 23.1e9
        assert result.raw["library"] == "NCCL version 2.26.5"
        assert result.raw["devices"] == ["0000:1b:00.0", "0000:43:00.0"]
        assert "SECRET" not in json.dumps(result.document())

    def test_of_rccl_tests_an_object_for_each_size_and_place(self) -> None:
        rows = [
            {"name": "AllReduce", "size": size, "type": "float", "redop": "sum", "inPlace": place, "gpus": 4}
            | {"time": 19.0 + place, "algBw": 0.05, "busBw": 0.08 + place, "#wrong": "0"}
            for size in (1024, 2048)
            for place in (0, 1)
        ]
        for text in ("\n".join(map(json.dumps, rows)), json.dumps(rows)):
            found = parse_measurement(text).cases
            assert [case.name for case in found] == ["all_reduce 1024 B", "all_reduce 2048 B"]
            assert (found[0].workers, found[0].bandwidth_bytes_per_s) == (4, 0.08e9)
            assert found[0].raw["in place"] == {"time": 20.0, "algbw": 0.05, "busbw": 1.08, "wrong": 0}

    def test_several_nodes_are_several_hosts(self) -> None:
        row = {
            "name": "allgather",
            "size": 8,
            "inPlace": 1,
            "time": 1.0,
            "algBw": 1.0,
            "busBw": 1.0,
            "nodes": 2,
        }
        assert len(parse_measurement(json.dumps(row)).listed("hosts")) == 2
