"""GPUs that NVIDIA's driver says it does not drive, in two lines or three."""

from __future__ import annotations

import pytest

from lanewise.health.doctor import Severity, diagnose
from lanewise.machine import read_bytes

# GitHub, NVIDIA/aicr issue 1858: an H100 that faults when its driver starts, which calls it not supported.
CUT = """\
| Good node (8) | `01, 02, 03, 08, 09, `**`0A`**`, 0B, 0C` |
|---|---|
| Bad node (7) | `01, 02, 03, 08, 09, 0B, 0C` |

Host `dmesg`:
```
NVRM: The NVIDIA GPU 000a:00:00.0 (PCI ID: 10de:2330) installed in this system
      is not supported by the NVIDIA 580.126.09 driver release.
NVRM: The NVIDIA probe routine failed for 1 device(s).
```
"""
OPEN = """\
[   12.1] NVRM: The NVIDIA GPU 0000:65:00.0 (PCI ID: 10de:1b06)
[   12.1] NVRM: installed in this system is not supported by open
[   12.1] NVRM: nvidia.ko because it does not include the required GPU
[   12.1] NVRM: System Processor (GSP).
[   12.4] NVRM: The NVIDIA GPU 0000:b3:00.0
               NVRM: (PCI ID: 10de:26b5) installed in this system has
               NVRM: fallen off the bus and is not responding to commands.
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (CUT, {"000a:00:00.0": ("driver-error", Severity.WARNING)}),
        (
            OPEN,
            {
                "65:00.0": ("driver-error", Severity.WARNING),
                "b3:00.0": ("device-lost", Severity.ERROR),
            },
        ),
    ],
)
def test_the_line_before_says_which(text: str, expected: dict[str, tuple[str, Severity]]) -> None:
    findings = diagnose(read_bytes(text.encode()), cost=False).findings
    assert {finding.bdf: (finding.rule, finding.severity) for finding in findings} == expected
    assert any("not supported by" in finding.title for finding in findings)
