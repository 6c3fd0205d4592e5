"""What `dcgm-exporter` tells Prometheus of GPUs."""

from __future__ import annotations

import pytest

from lanewise.health.doctor import Severity, diagnose
from lanewise.machine import read_bytes

LABELS = 'UUID="GPU-{gpu}",{place}device="nvidia{gpu}",modelName="NVIDIA H100 80GB HBM3",Hostname="n1"'


def metrics(name: str, *values: int | str, placed: bool = True) -> str:
    """Write a metric of several GPUs; a value may have labels of its own before it."""
    lines = [f"# HELP DCGM_FI_DEV_{name} Of a GPU.", f"# TYPE DCGM_FI_DEV_{name} gauge"]
    for gpu, value in enumerate(values):
        place = f'pci_bus_id="00000000:{0x0F + gpu:02X}:00.0",' if placed else ""
        more, _, number = str(value).rpartition(" ")
        labels = f'gpu="{gpu}",{LABELS.format(gpu=gpu, place=place)}{more}'
        lines.append(f"DCGM_FI_DEV_{name}{{{labels}}} {number}")
    return "\n".join(lines) + "\n"


def found(text: str) -> list[tuple[str, str, Severity]]:
    findings = diagnose(read_bytes(text.encode()), cost=False).findings
    return [(finding.rule, finding.bdf, finding.severity) for finding in findings]


def test_gpus_without_a_fault() -> None:
    text = metrics("PCIE_REPLAY_COUNTER", 0, 4) + metrics("XID_ERRORS", 0, 0) + metrics("GPU_TEMP", 30, 31)
    machine = read_bytes(text.encode())
    assert machine.kinds == ("dcgm-exporter",)
    assert [(gpu.address.short, gpu.interfaces) for gpu in machine] == [
        ("0f:00.0", ("GPU0",)),
        ("10:00.0", ("GPU1",)),
    ]
    assert all(severity is Severity.INFO for _, _, severity in found(text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (metrics("PCIE_REPLAY_COUNTER", 0, 41234), ("link-errors", "10:00.0", Severity.WARNING)),
        (
            metrics("XID_ERRORS", 0, ',err_code="79",err_msg="GPU has fallen off the bus" 79'),
            ("device-lost", "10:00.0", Severity.ERROR),
        ),
        (metrics("XID_ERRORS", 95, 0), ("gpu-error", "0f:00.0", Severity.ERROR)),
        (metrics("ROW_REMAP_FAILURE", 1, 0), ("gpu-health", "0f:00.0", Severity.ERROR)),
        (metrics("XID_ERRORS", 0, 79, placed=False), ("device-lost", "GPU1", Severity.ERROR)),
    ],
)
def test_a_gpu_with_one(text: str, expected: tuple[str, str, Severity]) -> None:
    assert found(text) == [expected]


def test_links() -> None:
    text = metrics("PCIE_LINK_GEN", 5, 5) + metrics("PCIE_LINK_WIDTH", 16, 8)
    text += metrics("PCIE_MAX_LINK_GEN", 5, 5) + metrics("PCIE_MAX_LINK_WIDTH", 16, 16)
    assert [str(gpu.link.status) for gpu in read_bytes(text.encode())] == ["32GT/s x16", "32GT/s x8"]
    assert {bdf for _, bdf, _ in found(text)} == {"10:00.0"}
