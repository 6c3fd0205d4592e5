"""Links between GPUs as tools print them: one that is lost, and forms that are meant so."""

from __future__ import annotations

import pytest

from lanewise.health.doctor import diagnose
from lanewise.machine import read_bytes


def matrix(count: int, **pairs: str) -> bytes:
    """Print `nvidia-smi topo -m` of GPUs with 18 NVLinks each; ``p01="SYS"`` changes a pair."""
    head = "\t" + "\t".join(f"GPU{n}" for n in range(count)) + "\tCPU Affinity\tNUMA Affinity\n"
    rows = []
    for one in range(count):
        cells = []
        for other in range(count):
            low, high = sorted((one, other))
            cells.append(" X " if one == other else pairs.get(f"p{low}{high}", pairs.get("rest", "NV18")))
        rows.append(f"GPU{one}\t" + "\t".join(cells) + "\t0-63\t0\n")
    return (head + "".join(rows)).encode()


def said(data: bytes) -> list[str]:
    findings = diagnose(read_bytes(data), cost=False).findings
    return [f.title for f in findings if f.rule == "gpu-links-fewer"]


@pytest.mark.parametrize("path", ["NV12", "SYS", "NODE"])
def test_a_pair_that_lost_links(path: str) -> None:
    (title,) = said(matrix(8, p25=path))
    assert title == "GPU2 and GPU5: fewer NVLink links to the other GPUs than the rest"


@pytest.mark.parametrize(
    "data",
    [
        matrix(8),
        matrix(2, p01="NV4"),
        matrix(5, rest="SYS", p01="NV4", p23="NV4"),
        matrix(8, rest="SYS"),
        matrix(4, p01="NV2", p23="NV2", p02="NV1", p13="NV1", p03="SYS", p12="SYS"),
    ],
)
def test_forms_that_are_meant_so(data: bytes) -> None:
    assert said(data) == []


def test_memory_errors_that_amd_smi_counts() -> None:
    text = (
        "GPU: 0\n    BUS:\n        BDF: 0000:0C:00.0\n        MAX_PCIE_WIDTH: 16\n"
        "        MAX_PCIE_SPEED: 32 GT/s\n    PCIE:\n        WIDTH: 16\n        SPEED: 32 GT/s\n"
        "    ECC:\n        TOTAL_CORRECTABLE_COUNT: 4\n        TOTAL_UNCORRECTABLE_COUNT: {}\n"
    )
    for count, wanted in ((0, []), (2, ["warning"])):
        findings = diagnose(read_bytes(text.format(count).encode()), cost=False).findings
        assert [f.severity.value for f in findings if f.rule == "gpu-health"] == wanted
