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
        ("Hardware event. This is not a software error.\nMCE 0\nCPU 0 BANK 6 TSC 4e5a7d3c52\n", "'dmesg'"),
    ],
)
def test_a_hint_in_place_of_a_list(text: str, words: str) -> None:
    with pytest.raises(InputError) as refused:
        read_bytes(text.encode())
    assert words in str(refused.value)
    assert "accepted are" not in str(refused.value)
