"""`npu-smi info`: accelerators of Huawei, and whether the tool calls them healthy."""

from __future__ import annotations

import pytest

from lanewise.health.doctor import Severity, diagnose
from lanewise.machine import read_bytes

TABLE = """\
+---------------------------+---------------+----------------------------------------------------+
| NPU   Name                | Health        | Power(W)    Temp(C)           Hugepages-Usage(page)|
| Chip  Phy-ID              | Bus-Id        | AICore(%)   Memory-Usage(MB)  HBM-Usage(MB)        |
+===========================+===============+====================================================+
| 0     Ascend910           | OK            | 163.6       30                0    / 0             |
| 0     0                   | 0000:9D:00.0  | 0           0    / 0          3180 / 65536         |
+------------------------------------------------------------------------------------------------+
| 1     310P3               | {health:<13} | -           30                0    / 0             |
| 0     1                   | 0000:9F:00.0  | 0           0    / 0          2896 / 65536         |
+===========================+===============+====================================================+
| NPU     Chip              | Process id    | Process name             | Process memory(MB)      |
| 0       0                 | 2114          | python                   | 3180                    |
"""


def test_chips_have_addresses_and_names() -> None:
    machine = read_bytes(TABLE.format(health="OK").encode())
    assert machine.kinds == ("npu-smi",)
    assert [(chip.address.short, chip.identity.device_name) for chip in machine] == [
        ("9d:00.0", "Ascend910"),
        ("9f:00.0", "Ascend 310P3"),
    ]
    assert {chip.identity.vendor_id for chip in machine} == {0x19E5}
    assert not diagnose(machine, cost=False).findings


@pytest.mark.parametrize(
    ("health", "severity"),
    [("Warning", Severity.WARNING), ("Alarm", Severity.WARNING), ("Critical", Severity.ERROR)],
)
def test_a_chip_that_is_not_healthy(health: str, severity: Severity) -> None:
    (finding,) = diagnose(read_bytes(TABLE.format(health=health).encode()), cost=False).findings
    assert (finding.rule, finding.bdf, finding.severity) == ("device-health", "9f:00.0", severity)
    assert finding.title.startswith("npu-smi says")
    assert "npu-smi info -t health" in finding.fix
