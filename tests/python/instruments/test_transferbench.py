"""Outputs of TransferBench: lines of transfers, as table and CSV, and the matrices of its presets."""

# ruff: noqa: E501

from __future__ import annotations

import pytest

from lanewise.health.judge.detect import parse_measurement
from lanewise.tools.instruments.measurement import ImportProblemError, Measurement, case_called

CONFIGURED = """TransferBench v1.62.00
Test 1:
 Executor: DMA 00 |   24.110 GB/s |    4.198 ms |    104857600 bytes |  24.257 GB/s (sum)
     Transfer 00  |   24.257 GB/s |    4.323 ms |    104857600 bytes | C0 -> D000:001 -> G0
 Aggregate (CPU)  |   24.057 GB/s |    4.400 ms |    104857600 bytes | Overhead: 0.072 ms
Test 2:
 Executor: GPU 00 |   36.885 GB/s |    0.028 ms |      1048576 bytes | 37.857  GB/s (sum)
     Transfer 00  |   37.857 GB/s |    0.028 ms |      1048576 bytes | G0 -> GPU00:004 -> G1
 Executor: GPU 01 |   45.471 GB/s |    0.046 ms |      2097152 bytes | 46.304  GB/s (sum)
     Transfer 01  |   46.304 GB/s |    0.045 ms |      2097152 bytes | G1 -> GPU01:008 -> C0
 Aggregate (CPU)  |   18.741 GB/s |    0.168 ms |      3145728 bytes | Overhead: 0.122 ms
Test 3:
     Transfer 00  |  900.000 GB/s |    0.180 ms |    104857600 bytes | N -> G000:032 -> G0
 Aggregate (CPU)  |  900.000 GB/s |    0.180 ms |    104857600 bytes | Overhead: 0.122 ms
Test 4:
     Transfer 00  |   20.000 GB/s |    0.180 ms |    104857600 bytes | C0 -> C000:004 -> C1
 Aggregate (CPU)  |   20.000 GB/s |    0.180 ms |    104857600 bytes | Overhead: 0.122 ms
Test 5:
     Transfer 00  |   20.000 GB/s |    0.180 ms |    104857600 bytes | G0 -> G001:004 -> C1
 Aggregate (CPU)  |   20.000 GB/s |    0.180 ms |    104857600 bytes | Overhead: 0.122 ms
"""

TOPOLOGY = """
        | gfx90a | gfx90a |
        | GPU 00 | GPU 01 | PCIe Bus ID  | #CUs | Closest NUMA | DMA engines
--------+--------+--------+--------------+------+-------------+------------
 GPU 00 |    -   | XGMI-1 | 0000:0c:00.0 |  104 | 0            |0,1
 GPU 01 | XGMI-1 |    -   | 0000:22:00.0 |  104 | 0            |0,1
"""

PEERS = """Bytes Per Direction 67108864
Unidirectional copy peak bandwidth GB/s [Local read / Remote write] (GPU-Executor: GFX)
 SRC+EXE\\DST    CPU 00       GPU 00    GPU 01
  CPU 00  ->     92.21        25.11     25.16
  CPU 00 min     92.21        24.11     24.16

  GPU 00  ->     26.47       900.28     47.39
  GPU 01  ->     26.59        47.41    900.51
                           CPU->CPU  CPU->GPU  GPU->CPU  GPU->GPU
Averages (During UniDir):     92.21     25.14     26.53     47.40

Bidirectional copy peak bandwidth GB/s [Local read / Remote write] (GPU-Executor: GFX)
     SRC\\DST    CPU 00       GPU 00    GPU 01
  CPU 00  ->       N/A        24.81     24.81
  CPU 00 <-        N/A        25.10     25.03
  CPU 00 <->       N/A        49.91     49.84

  GPU 00  ->     25.02          N/A     44.69
  GPU 00 <-      24.71          N/A     44.61
  GPU 00 <->     49.73          N/A     89.30
"""


def rates(measurement: Measurement) -> dict[str, float]:
    return {case.name: round((case.bandwidth_bytes_per_s or 0) / 1e9, 3) for case in measurement.cases}


class TestTransfers:
    def test_each_is_a_case_with_its_gpus_and_its_way(self) -> None:
        result = parse_measurement(CONFIGURED)
        assert (result.tool, result.version) == ("TransferBench", "1.62.00")
        copied = case_called(result, "test 1: C0 -> D000:001 -> G0")
        assert (copied.direction, copied.target, copied.block_bytes) == ("write", "GPU 0", 104857600)
        assert copied.bandwidth_bytes_per_s == 24.257e9
        assert copied.latency is not None
        assert copied.latency.mean_ns == pytest.approx(4.323e6)
        back = case_called(result, "test 2: G1 -> GPU01:008 -> C0")
        assert (back.direction, back.target, back.raw["at once"]) == ("read", "GPU 1", 2)

    def test_what_crosses_no_link_of_a_gpu_is_said(self) -> None:
        result = parse_measurement(CONFIGURED)
        assert result.not_understood == ("test 4: C0 -> C000:004 -> C1: within the memory of the host",)
        assert case_called(result, "test 3: N -> G000:032 -> G0").target == "GPU 0 -> GPU 0"
        assert case_called(result, "test 5: G0 -> G001:004 -> C1").raw["by way of"] == "GPU 1"

    @pytest.mark.parametrize("border", ["│", ",", "|"])
    def test_borders_of_newer_versions_and_csv(self, border: str) -> None:
        text = (
            CONFIGURED.replace("|", border)
            .replace("D000:001", "D0:1")
            .replace("Transfer 00 ", "Transfer 0  ")
        )
        assert rates(parse_measurement(text))["test 1: C0 -> D0:1 -> G0"] == 24.257

    def test_memory_that_is_not_coherent_is_of_the_host(self) -> None:
        (case,) = parse_measurement(
            " Transfer 0       │ 14.351 GB/s │ 74.822 ms │ 1073741824 bytes │ D0 -> D0:1 -> G0\n"
        ).cases
        assert (case.direction, case.target) == ("write", "GPU 0")

    def test_network_adapters_are_left(self) -> None:
        text = CONFIGURED.replace("C0 -> D000:001 -> G0", "R0G0 -> I0.1:001 -> R1G0")
        assert "over a network adapter" in parse_measurement(text).not_understood[0]

    def test_csv_of_older_versions(self) -> None:
        text = """Test#,Transfer#,NumBytes,Src,Exe,Dst,CUs,BW(GB/s),Time(ms),ExeToSrcLinkType,ExeToDstLinkType,SrcAddr,DstAddr
1,0,67108864,C0,G0,G0,4,25.500,2.631,PCIE-1,,0x7f,0x7e
1,ALL,67108864,ALL,ALL,ALL,ALL,25.100,2.673,ALL,ALL,ALL,ALL
2,0,67108864,G0,G0,C0,4,12.500,5.368,,PCIE-1,0x7f,0x7e
2,1,67108864,G1,G1,C0,4,12.400,5.412,,PCIE-1,0x7f,0x7e
"""
        result = parse_measurement(text)
        assert rates(result) == {
            "test 1: C0 -> G0 -> G0": 25.5,
            "test 2: G0 -> G0 -> C0": 12.5,
            "test 2: G1 -> G1 -> C0": 12.4,
        }
        assert [case.raw["at once"] for case in result.cases] == [1, 2, 2]


class TestPresets:
    def test_peers_one_way_and_both(self) -> None:
        result = parse_measurement("TransferBench v1.50\n" + PEERS)
        assert rates(result) == {
            "p2p CPU 0 -> GPU 0": 25.11,
            "p2p CPU 0 -> GPU 1": 25.16,
            "p2p GPU 0 -> CPU 0": 26.47,
            "p2p GPU 0 -> GPU 1": 47.39,
            "p2p GPU 1 -> CPU 0": 26.59,
            "p2p GPU 1 -> GPU 0": 47.41,
            "p2p both ways CPU 0 <-> GPU 0": 49.91,
            "p2p both ways CPU 0 <-> GPU 1": 49.84,
            "p2p both ways GPU 0 <-> GPU 1": 89.3,
        }
        assert {case.block_bytes for case in result.cases} == {67108864}
        assert case_called(result, "p2p both ways CPU 0 <-> GPU 1").direction == "both"

    def test_as_csv(self) -> None:
        text = (
            PEERS.replace("->   ", "->,  ")
            .replace("  25.16", ",25.16,")
            .replace("DST    CPU 00   ", "DST,  CPU 00,")
        )
        assert rates(parse_measurement(text))["p2p CPU 0 -> GPU 1"] == 25.16

    def test_the_topology_says_addresses_and_links(self) -> None:
        result = parse_measurement(TOPOLOGY + PEERS)
        assert case_called(result, "p2p CPU 0 -> GPU 1").target == "0000:22:00.0"
        assert case_called(result, "p2p GPU 0 -> GPU 1").raw["own link"] == "XGMI"

    def test_all_to_all_is_at_once(self) -> None:
        text = """Summary: [268435456 bytes per Transfer] [GFX:8] [1 Read(s) 1 Write(s)]
SRC\\DST  GPU 00     GPU 01        STotal      Actual
GPU 00      N/A     50.732        50.732      50.785
GPU 01   51.083        N/A        51.083      51.981

RTotal   51.083     50.732       101.815      50.785     51.981
"""
        result = parse_measurement(text)
        assert rates(result) == {"a2a GPU 0 -> GPU 1": 50.732, "a2a GPU 1 -> GPU 0": 51.083}
        assert result.cases[0].block_bytes == 268435456
        assert result.cases[0].raw["at once"] == 2

    def test_of_a_scaling_the_best_counts(self) -> None:
        text = """GPU-GFX Scaling benchmark:
==========================
- Copying 67108864 bytes from GPU 0 to other devices
- All numbers reported as GB/sec

NumCUs   CPU00        GPU00        GPU01
   1     14.11        20.30        20.25
   2     14.02        38.94        33.26
 Best    14.11(  1)   38.94(  2)   33.26(  2)
"""
        result = parse_measurement(text)
        assert rates(result) == {"scaling GPU 0 -> CPU 0": 14.11, "scaling GPU 0 -> GPU 1": 33.26}
        assert [case.raw["compute units"] for case in result.cases] == [1, 2]

    def test_other_presets_are_not_read(self) -> None:
        with pytest.raises(ImportProblemError, match="other presets are not read"):
            parse_measurement(
                "TransferBench v1.62.00\nBytes to write: 64 from GPU 0 using 4 CUs\n   GPU 1  \n  49.40  1 4\n"
            )
