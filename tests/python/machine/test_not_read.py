"""Outputs that tell nothing of a link say what does, in place of a list of all that is read."""

from __future__ import annotations

import pytest

from lanewise.errors import InputError
from lanewise.machine import read_bytes


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("# setpci -s 03:00.0 CAP_EXP+12.w\n1041\n", "'sudo lspci -vvv'"),
        ('{"errors":[{"error_count":660,"sqid":0,"status_field":8194}]}\n', "a drive's media"),
        ('{\n  "critical_warning" : 0,\n  "temperature" : 315\n}\n', "a drive's media"),
        (
            "Error Log Entries for device:nvme0n1 entries:1\n.................\n Entry[ 0]\n",
            "a drive's media",
        ),
        ("# Port counters: Lid 7 port 1 (CapMask: 0x5A00)\nSymbolErrorCounter:......0\n", "InfiniBand"),
        ("CPU-Z TXT Report\n-----\n\nBinaries\nCPU-Z version\t\t1.98.0.x64\n", "HWiNFO"),
        ("Bus Interface        PCIe x16 4.0 @ x8 1.1\n", "HWiNFO"),
        ("No Memory errors.\n\nNo PCIe AER errors.\n\nNo MCE errors.\n", "no error of PCI Express"),
        ("CLI Version = 007.1\nController = 0\nPCI Address = 00:01:00:00\n", "'sudo lspci -vvv'"),
        (
            "Name: esx\n  Address       Description        Parent        Passthrough\n",
            "'esxcli hardware pci list'",
        ),
        ("Problem class   : fault.io.pciex.device-interr\n", "illumos"),
        ("[CUDA Bandwidth Test] - Starting...\n Device 0: GPU\n", "'lanewise import'"),
        ("[P2P (Peer-to-Peer) GPU Bandwidth Latency Test]\nDevice: 0, GPU\n", "'lanewise import'"),
        ("GPU 0: NVIDIA A100 (UUID: GPU-1)\n\t Link 0: 25 GB/s\n\t Link 1: <inactive>\n", "NVLink"),
        ("GPU 0: NVIDIA A100 (UUID: GPU-1)\nGPU 1: NVIDIA A100 (UUID: GPU-2)\n", "'nvidia-smi -q'"),
        ("CrystalDiskMark 8.0.4 x64 (C) 2007-2021 hiyohiyo\n", "'lanewise import'"),
        ("          RocmBandwidthTest Version: 2.6.0\n", "'lanewise import'"),
        ("TransferBench v1.50\n", "'lanewise import'"),
        ("Command Line: diskspd.exe -b1M -d10 t.dat\n", "'lanewise import'"),
        ("Hardware event. This is not a software error.\nMCE 0\nCPU 0 BANK 6 TSC 4e5a7d3c52\n", "'dmesg'"),
    ],
)
def test_a_hint_in_place_of_a_list(text: str, words: str) -> None:
    with pytest.raises(InputError) as refused:
        read_bytes(text.encode())
    assert words in str(refused.value)
    assert "accepted are" not in str(refused.value)
