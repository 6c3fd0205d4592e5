"""A slot that firmware holds at a lower speed than those of its likes."""

from __future__ import annotations

import pytest

from lanewise.health.doctor import Severity, diagnose
from lanewise.health.doctor.finding import Finding
from lanewise.machine import read_bytes

PORT = """\
{bus}:01.0 PCI bridge [0604]: Intel Corporation Device [8086:352a] (rev 30)
\tBus: primary={bus}, secondary={low}, subordinate={low}, sec-latency=0
\tCapabilities: [40] Express (v2) Root Port (Slot+), MSI 00
\t\tLnkCap:\tPort #25, Speed {port}GT/s, Width x16, ASPM not supported
\t\tLnkSta:\tSpeed {now}GT/s, Width x16
\t\t\tTrErr- Train- SlotClk+ DLActive+ BWMgmt- ABWMgmt-
\tKernel driver in use: pcieport
"""
SWITCH = """\
{low}:00.0 PCI bridge [0604]: Broadcom / LSI PEX890xx PCIe Gen 5 Switch [1000:c030] (rev b0)
\tBus: primary={low}, secondary={low}, subordinate={low}, sec-latency=0
\tCapabilities: [68] Express (v2) Upstream Port, MSI 00
\t\tLnkCap:\tPort #0, Speed 32GT/s, Width x16, ASPM not supported
\t\tLnkSta:\tSpeed {now}GT/s, Width x16
\tKernel driver in use: pcieport
"""


def odd(text: str) -> list[Finding]:
    found = diagnose(read_bytes(text.encode()), cost=False).findings
    return [f for f in found if f.rule == "odd-one-out" and f.severity is Severity.WARNING]


def switches(count: int, capped: int | None) -> str:
    text = ""
    for number in range(count):
        speed = 16 if number == capped else 32
        place = {"bus": f"{0x10 + 2 * number:02x}", "low": f"{0x11 + 2 * number:02x}"}
        text += (PORT + SWITCH).format(**place, port=speed, now=speed)
    return text


def test_one_root_port_of_eight_that_lead_to_equal_switches() -> None:
    assert odd(switches(8, None)) == []
    (found,) = odd(switches(8, 3))
    assert (found.bdf, "16GT/s" in found.title) == ("17:00.0", True)
    assert odd(switches(3, 1)) == []


CSV = "index, name, pci.bus_id, pcie.link.gen.current, pcie.link.gen.max, pcie.link.width.current, pstate\n"


def table(*most: int, now: int = 1, name: str = "NVIDIA H100 PCIe") -> str:
    rows = (
        f"{n}, {name}, 00000000:{0x10 + n:02X}:00.0, {min(now, one)}, {one}, 16, P8\n"
        for n, one in enumerate(most)
    )
    return CSV + "".join(rows)


@pytest.mark.parametrize(
    ("text", "places"),
    [
        (table(5, 5, 5, 5, 5, 5, 3, 5), ["16:00.0"]),
        (table(5, 5, 5, 5, 5, 5, 5, 5), []),
        (table(5, 5, 3), []),
        (table(5, 5, 5, 5, 3, 3, 3, 3), []),
    ],
)
def test_one_idle_gpu_of_eight_whose_slot_can_do_less(text: str, places: list[str]) -> None:
    assert [f.bdf for f in odd(text)] == places


def query(number: int, host: int) -> str:
    return f"""\
GPU 00000000:{0x10 + number:02X}:00.0
    Product Name                          : NVIDIA H100 PCIe
    Performance State                     : P8
    PCI
        Bus                               : 0x{0x10 + number:02X}
        Device Id                         : 0x233110DE
        Bus Id                            : 00000000:{0x10 + number:02X}:00.0
        GPU Link Info
            PCIe Generation
                Max                       : {host}
                Current                   : 1
                Device Current            : 1
                Device Max                : 5
                Host Max                  : {host}
            Link Width
                Max                       : 16x
                Current                   : 16x
"""


def test_one_host_side_of_eight_is_at_most_second_generation() -> None:
    head = "\n==============NVSMI LOG==============\n\nDriver Version : 570.86.15\nAttached GPUs : 8\n"
    assert odd(head + "".join(query(number, 5) for number in range(8))) == []
    (found,) = odd(head + "".join(query(number, 2 if number == 5 else 5) for number in range(8)))
    assert (found.bdf, "5GT/s; 7 of 8" in found.title) == ("15:00.0", True)
