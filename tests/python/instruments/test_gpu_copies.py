"""Outputs of nvbandwidth and of the CUDA samples become measurements with exact units."""

from __future__ import annotations

import json

import pytest

from lanewise.tools.instruments import cuda_samples, nvbandwidth
from lanewise.tools.instruments.measurement import ImportProblemError, case_called

NVBANDWIDTH_TEXT = """\
nvbandwidth Version: v0.8
Built from Git version: v0.8

CUDA Runtime Version: 12080
CUDA Driver Version: 12080
Driver Version: 570.00

rig7
Device 0: Example GPU (00000000:21:00)
Device 1: Example GPU (00000001:a1:00)

Running host_to_device_memcpy_ce.
memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)
           0         1
 0     25.10     25.20

SUM host_to_device_memcpy_ce 50.30

Running device_to_device_memcpy_write_ce.
memcpy CE GPU(row) <- GPU(column) bandwidth (GB/s)
           0         1
 0       N/A     22.50
 1     22.60       N/A

Running device_to_host_bidirectional_memcpy_ce.
memcpy CE CPU(row) <-> GPU(column) bandwidth (GB/s)
           0         1
 0     18.00     18.10

Running host_device_latency_sm.
memory latency SM CPU(row) <-> GPU(column) (ns)
           0         1
 0    812.50    813.00

Running multinode_device_to_device_memcpy_read_ce.
WAIVED: not a multinode system
"""

BANDWIDTH_TEST = """\
[CUDA Bandwidth Test] - Starting...
Running on...

 Device 2: Example GPU
 Quick Mode

 Host to Device Bandwidth, 1 Device(s)
 PINNED Memory Transfers
   Transfer Size (Bytes)\tBandwidth(GB/s)
   32000000\t\t\t12.3

 Device to Host Bandwidth, 1 Device(s)
 PINNED Memory Transfers
   Transfer Size (Bytes)\tBandwidth(GB/s)
   32000000\t\t\t13.2

Result = PASS
"""

PEER_TEST = """\
[P2P (Peer-to-Peer) GPU Bandwidth Latency Test]
Device: 0, Example GPU, pciBusID: 3b, pciDeviceID: 0, pciDomainID:0
Device: 1, Example GPU, pciBusID: d8, pciDeviceID: 0, pciDomainID:0

P2P Connectivity Matrix
     D\\D     0     1
     0       1     1
     1       1     1
Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)
   D\\D     0      1
     0 640.00  12.50
     1  12.60 641.00
Bidirectional P2P=Enabled Bandwidth Matrix (GB/s)
   D\\D     0      1
     0 640.00  24.50
     1  24.60 641.00
P2P=Enabled Latency (P2P Writes) Matrix (us)
   GPU     0      1
     0   1.50   1.25
     1   1.26   1.50

   CPU     0      1
     0   1.60   1.30
     1   1.30   1.60
"""


def test_each_number_of_a_matrix_is_a_case_with_the_address_of_its_gpu() -> None:
    result = nvbandwidth.parse(NVBANDWIDTH_TEXT, source="x")
    assert result.version == "v0.8"
    copy = case_called(result, "host_to_device_memcpy_ce GPU1")
    assert (copy.direction, copy.target, copy.bandwidth_bytes_per_s) == ("write", "0001:a1:00.0", 25.2e9)
    peer = case_called(result, "device_to_device_memcpy_write_ce GPU0 GPU1")
    assert peer.target == "0000:21:00.0 -> 0001:a1:00.0"
    assert len([case for case in result.cases if "device_to_device" in case.name]) == 2, "no diagonal"
    assert case_called(result, "device_to_host_bidirectional_memcpy_ce GPU0").direction == "both"
    latency = case_called(result, "host_device_latency_sm GPU0")
    assert latency.bandwidth_bytes_per_s is None
    assert latency.latency is not None
    assert latency.latency.mean_ns == 812.5
    assert result.not_understood == ("line 36: WAIVED: not a multinode system",)


def test_json_says_the_same_as_text() -> None:
    document = {
        "nvbandwidth": {
            "version": "v0.8",
            "GPU Device list": [
                "0: Example GPU (00000000:21:00): (rig7)",
                "1: Example GPU (00000001:a1:00): (rig7)",
            ],
            "testcases": [
                {
                    "name": "host_to_device_memcpy_ce",
                    "status": "Passed",
                    "bandwidth_description": "memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)",
                    "bandwidth_matrix": [["25.1", "25.2"]],
                    "sum": 50.3,
                },
                {"name": "multinode_device_to_device_memcpy_read_ce", "status": "Waived"},
            ],
        }
    }
    result = nvbandwidth.parse(json.dumps(document))
    text = nvbandwidth.parse(NVBANDWIDTH_TEXT)
    name = "host_to_device_memcpy_ce GPU1"
    assert case_called(result, name) == case_called(text, name)
    assert result.not_understood == ("multinode_device_to_device_memcpy_read_ce: Waived",)


def test_bandwidth_test_is_read_as_the_host_sees_it() -> None:
    result = cuda_samples.parse(BANDWIDTH_TEST)
    down = case_called(result, "Host to Device 32000000 B")
    assert (down.direction, down.target, down.block_bytes) == ("write", "GPU 2", 32_000_000)
    assert down.bandwidth_bytes_per_s == pytest.approx(12.3e9)
    assert down.raw["memory"] == "pinned"
    assert case_called(result, "Device to Host 32000000 B").direction == "read"


def test_old_tables_in_mb_per_s_are_binary() -> None:
    result = cuda_samples.parse(BANDWIDTH_TEST.replace("GB/s", "MB/s").replace("12.3", "6000.0"))
    assert result.cases[0].bandwidth_bytes_per_s == 6000 * 2**20


def test_peer_matrices_leave_the_diagonal_out_and_know_addresses() -> None:
    result = cuda_samples.parse(PEER_TEST)
    one_way = case_called(result, "unidirectional P2P=Enabled GPU0 GPU1")
    assert one_way.target == "0000:3b:00.0 -> 0000:d8:00.0"
    assert one_way.bandwidth_bytes_per_s == pytest.approx(12.5e9)
    assert case_called(result, "bidirectional P2P=Enabled GPU1 GPU0").direction == "both"
    latency = case_called(result, "latency P2P=Enabled GPU0 GPU1").latency
    assert latency is not None
    assert latency.mean_ns == pytest.approx(1250)
    assert len(result.cases) == 6


def test_a_bare_matrix_is_read_as_people_paste_it() -> None:
    text = (
        " Dst\N{RIGHTWARDS ARROW}   GPU0   GPU1\nGPU0:    \N{EM DASH}     53.9\nGPU1:  53.8     \N{EM DASH}\n"
    )
    assert cuda_samples.recognizes(text)
    result = cuda_samples.parse(text)
    assert [case.bandwidth_bytes_per_s for case in result.cases] == pytest.approx([53.9e9, 53.8e9])


def test_rows_of_other_matrices_are_none_of_a_bare_matrix() -> None:
    """A page with `nvidia-smi topo -m` above the matrix: its last column is a NUMA node, and no bandwidth."""
    text = """\
        GPU0  GPU1  CPU Affinity  NUMA Affinity
GPU0     X    PIX   0-31            0
GPU1    PIX    X    0-31            0

 Dst\N{RIGHTWARDS ARROW}   GPU0   GPU1
GPU0:    \N{EM DASH}     53.9
GPU1:  53.8     \N{EM DASH}

GPU0: 400 W
"""
    result = cuda_samples.parse(text)
    assert [case.name for case in result.cases] == ["unidirectional GPU0 GPU1", "unidirectional GPU1 GPU0"]


@pytest.mark.parametrize(
    ("heading", "way"),
    [
        ("### Bidirectional P2P=Enabled Bandwidth Matrix (ACS off, all links Gen5 x16)", "both"),
        ("**Bidirectional P2P=Enabled Matrix (GB/s)**", "both"),
        ("Unidirectional P2P=Enabled Bandwidth Matrix", "write"),
        ("## Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)", "write"),
    ],
)
def test_headings_of_pages_are_those_of_the_tool(heading: str, way: str) -> None:
    matrix = "  D\\D     0      1\n    0    \N{EM DASH}    102\n    1   104    \N{EM DASH}\n"
    result = cuda_samples.parse(f"{heading}\n\n```\n{matrix}```\n")
    assert [(case.direction, case.bandwidth_bytes_per_s) for case in result.cases] == [
        (way, 102e9),
        (way, 104e9),
    ]


def test_a_matrix_in_another_unit_is_not_taken_for_gigabytes() -> None:
    text = "Unidirectional P2P=Enabled Bandwidth Matrix (Gb/s)\n D\\D 0 1\n 0 - 210\n 1 210 -\n"
    with pytest.raises(ImportProblemError):
        cuda_samples.parse(text)


@pytest.mark.parametrize("module", [nvbandwidth, cuda_samples])
@pytest.mark.parametrize(
    "text", ["", "{", "{}", "[1]", "hello\n" * 9, '{"nvbandwidth": {"error": "no driver"}}']
)
def test_other_texts_are_refused_with_a_reason(module: object, text: str) -> None:
    with pytest.raises(ImportProblemError):
        module.parse(text)  # type: ignore[attr-defined]
