"""Errors that firmware handles first: blocks of APEI in a kernel log, beside a dump and alone."""

from __future__ import annotations

import pytest

from lanewise.machine import read_bytes

GPU = """\
04:00.0 3D controller [0302]: NVIDIA Corporation GP100GL [10de:15f8] (rev a1)
\tCapabilities: [78] Express (v2) Endpoint, MSI 00
\t\tLnkCap:\tPort #0, Speed 8GT/s, Width x16, ASPM not supported
\t\tLnkSta:\tSpeed 8GT/s (ok), Width x16 (ok)
"""


def block(
    severity: str,
    *status: str,
    number: str = "{1}",
    front: str = "[86112.3] ",
    section: str = "PCIe error",
    kind: str | None = None,
) -> str:
    """Write a block as kernels of 4.x to 6.x print it; all but the last lines are of a Dell server."""
    lines = (
        "Hardware error from APEI Generic Hardware Error Source: 5",
        f"event severity: {severity}",
        f" Error 0, type: {kind or severity}",
        f"  section_type: {section}",
        "  port_type: 0, PCIe end point",
        "  version: 3.0",
        "  command: 0x0546, status: 0x4010",
        "  device_id: 0000:04:00.0",
        "  slot: 0",
        "  secondary_bus: 0x00",
        "  vendor_id: 0x10de, device_id: 0x15f8",
        "  class_code: 030200",
        *(f"  {line}" for line in status),
    )
    return "".join(f"{front}{number}[Hardware Error]: {line}\n" for line in lines)


def counts(log: str) -> dict[str, int]:
    return dict(read_bytes((GPU + log).encode())["04:00.0"].errors.counters or ())


UNCORRECTED = ("aer_uncor_status: 0x00004000, aer_uncor_mask: 0x00100000",)
CORRECTED = ("aer_cor_status: 0x000010c1, aer_cor_mask: 0x00002001",)


@pytest.mark.parametrize(
    ("log", "counted"),
    [
        (block("recoverable", *UNCORRECTED), {"nonfatal.TOTAL": 1, "nonfatal.CmpltTO": 1}),
        (block("fatal", *UNCORRECTED), {"fatal.TOTAL": 1, "fatal.CmpltTO": 1}),
        (
            block("recoverable", *UNCORRECTED, "aer_uncor_severity: 0x00466030"),
            {"fatal.TOTAL": 1, "fatal.CmpltTO": 1},
        ),
        (
            block("corrected", *CORRECTED),
            {
                "correctable.TOTAL": 1,
                "correctable.BadTLP": 1,
                "correctable.BadDLLP": 1,
                "correctable.Timeout": 1,
            },
        ),
        (block("info", *CORRECTED), {}),
        (block("recoverable", *UNCORRECTED, section="memory error"), {}),
        (block("recoverable"), {"nonfatal.TOTAL": 1}),
        (
            block("fatal", *UNCORRECTED, number="", front="<6>[    1.1] BERT: "),
            {"fatal.TOTAL": 1, "fatal.CmpltTO": 1},
        ),
        (
            block("recoverable", *UNCORRECTED) + block("recoverable", *UNCORRECTED, number="{2}", front=""),
            {"nonfatal.TOTAL": 2, "nonfatal.CmpltTO": 2},
        ),
        (
            "[9.1] nvidia 0000:04:00.0: AER: aer_status: 0x00002001, aer_mask: 0x00000000\n",
            {"correctable.TOTAL": 1, "correctable.RxErr": 1, "correctable.AdvNonFatalErr": 1},
        ),
        (
            "[9.1] nvidia 0000:04:00.0: aer_status: 0x00004000, aer_mask: 0x00000000\n"
            "[9.2] nvidia 0000:04:00.0: aer_uncor_severity: 0x000ef030\n",
            {"fatal.TOTAL": 1, "fatal.CmpltTO": 1},
        ),
        (
            block("recoverable", *UNCORRECTED)
            + "[9.1] nvidia 0000:04:00.0: AER: aer_status: 0x00004000, aer_mask: 0x00000000\n"
            + "[9.2] nvidia 0000:04:00.0: AER: aer_uncor_severity: 0x00000000\n",
            {"nonfatal.TOTAL": 1, "nonfatal.CmpltTO": 1},
        ),
    ],
)
def test_what_is_counted(log: str, counted: dict[str, int]) -> None:
    assert counts(log) == counted


def test_a_block_alone_is_a_log() -> None:
    machine = read_bytes(block("recoverable", *UNCORRECTED).encode())
    assert [function.address.short for function in machine] == ["04:00.0"]
    assert machine["04:00.0"].errors.counter("nonfatal.CmpltTO") == 1


def test_a_block_without_registers_leaves_the_name_to_the_line_beside_it() -> None:
    beside = "[86112.3] nvme 0000:04:00.0: aer_status: 0x00000001, aer_mask: 0x00000000\n"
    beside += "[86112.3] nvme 0000:04:00.0:    [ 0] RxErr                  (First)\n"
    log = (block("corrected") + beside) * 250
    assert counts(log) == {"correctable.TOTAL": 250, "correctable.RxErr": 250}
