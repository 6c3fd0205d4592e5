"""Kernel logs: the tree, links that the kernel finds wanting, and the errors that it reports."""

from __future__ import annotations

import pytest

from lanewise.health.doctor import Severity, diagnose
from lanewise.machine import read_bytes
from lanewise.machine.model import Kind, LinkMode

FOUND = """\
[    0.000000] Linux version 6.12.9 (build@box) #1 SMP
[    0.301101] pci_bus 0000:00: root bus resource [bus 00-ff]
[    0.301205] pci 0000:00:00.0: [8086:a700] type 00 class 0x060000 conventional PCI endpoint
[    0.301410] pci 0000:00:06.0: [8086:a74d] type 01 class 0x060400 PCIe Root Port
[    0.301422] pci 0000:00:06.0: PCI bridge to [bus 02]
[    0.301430] pci 0000:00:06.0:   bridge window [mem 0x81200000-0x812fffff]
[    0.302310] pci 0000:02:00.0: [1987:5026] type 00 class 0x010802 PCIe Endpoint
[    0.302333] pci 0000:02:00.0: BAR 0 [mem 0x81200000-0x81203fff 64bit]
[    0.302377] pci 0000:02:00.0: {link}
[    1.100500] r8169 0000:03:00.0 eth0: RTL8125B, 00:00:5e:00:53:01, XID 641, IRQ 130
"""
LIMITED = (
    "16.000 Gb/s available PCIe bandwidth, limited by 5.0 GT/s PCIe x4 link at 0000:00:06.0 "
    "(capable of 126.024 Gb/s with 32.0 GT/s PCIe x4 link)"
)
ERRORS = """\
[  812.1] pcieport 0000:00:06.0: AER: Corrected error message received from 0000:02:00.0
[  812.1] nvme 0000:02:00.0: PCIe Bus Error: severity=Corrected, type=Physical Layer, (Receiver ID)
[  812.1] nvme 0000:02:00.0:   device [1987:5026] error status/mask=000000c1/0000e000
[  812.1] nvme 0000:02:00.0:    [ 0] RxErr                  (First)
"""
FATAL = """\
[  900.5] pcieport 0000:00:06.0: PCIe Bus Error: severity=Uncorrected (Fatal), type=Transaction Layer
[  900.5] pcieport 0000:00:06.0:   device [8086:a74d] error status/mask=00040000/00100000
[  900.5] pcieport 0000:00:06.0:    [18] MalfTLP                (First)
"""
INTERNAL = """\
[  950.1] pcieport 0000:00:06.0: PCIe Bus Error: severity=Correctable, type=Transaction Layer, (Receiver ID)
[  950.1] pcieport 0000:00:06.0:   device [8086:a74d] error status/mask=00004000/0000a000
[  950.1] pcieport 0000:00:06.0:    [14] CorrIntErr
"""
TRACE = """\
           <...>-4242  [005] .....  1203.1: aer_event: 0000:02:00.0 PCIe Bus Error: severity=Corrected, \
Receiver Error, TLP Header=Not available
    kworker/5:1-97     [005] .....  1204.1: aer_event: 0000:02:00.0 PCIe Bus Error: severity=Corrected, \
Receiver Error|Bad TLP, TLP Header=Not available
    kworker/5:1-97     [005] .....  1205.1: aer_event: 0000:03:00.0 PCIe Bus Error: severity=Uncorrected, \
non-fatal, Completion Timeout, TLP Header={0x4a000001,0x1,0x100,0x0}
"""
"""As `trace_pipe` prints it."""


def log(link: str = LIMITED, more: str = "") -> bytes:
    return (FOUND.format(link=link) + more).encode()


def test_functions_kinds_and_buses() -> None:
    machine = read_bytes(log())
    assert [str(f.address) for f in machine] == ["0000:00:00.0", "0000:00:06.0", "0000:02:00.0"]
    assert machine["00:06.0"].kind is Kind.ROOT_PORT
    assert machine["02:00.0"].parent == machine["00:06.0"].address
    assert machine["02:00.0"].is_nvme
    assert machine.kinds == ("kernel log",)


RECEIVED = (
    "AER: Corrected error received: 0000:02:00.0",
    "AER: Multiple Corrected error received: 0000:02:00.0",
    "AER: Multiple Corrected error received: id=0200",
    "AER: Multiple Correctable error message received from 0000:02:00.0",
)
"""What kernels from 3.10 to 6.17 say of a message that came."""


@pytest.mark.parametrize("message", RECEIVED)
def test_messages_of_which_nothing_more_is_said_count_at_their_sender(message: str) -> None:
    lines = f"[  812.1] pcieport 0000:00:06.0: {message}\n" * 150
    machine = read_bytes(log(more=lines))
    assert machine["02:00.0"].errors.counter("correctable.TOTAL") == 150
    (finding,) = [f for f in diagnose(machine, cost=False).findings if f.rule == "link-errors"]
    assert finding.severity is Severity.WARNING
    assert finding.title == "150 correctable errors counted at 02:00.0"
    assert "02:00.0 in the log: 150 of an unnamed kind" in finding.evidence


@pytest.mark.parametrize("severity", ["Corrected", "Correctable"])
def test_an_error_is_counted_once_whichever_of_its_lines_are_there(severity: str) -> None:
    first, second, third, _ = ERRORS.replace("=Corrected", f"={severity}").splitlines(keepends=True)
    for lines, bits in ((first + second + third, 1), (second + third, 1), (first, 0), (second, 0)):
        errors = read_bytes(log(more=lines))["02:00.0"].errors
        assert errors.counter("correctable.TOTAL") == 1
        assert errors.counter("correctable.BadTLP") == (bits or None)
        assert errors.counter("correctable.WithoutDetails") == (None if bits else 1)


def test_errors_before_the_last_boot_are_past() -> None:
    assert read_bytes(ERRORS.encode() + log())["02:00.0"].errors.counters is None


def test_a_limited_link() -> None:
    (link,) = read_bytes(log()).links
    assert link.now == LinkMode(5.0, 4)
    assert link.device.link.capability == LinkMode(32.0, 4)
    (finding,) = diagnose(read_bytes(log()), cost=False).findings
    assert (finding.rule, finding.bdf) == ("link-one-end", "02:00.0")


@pytest.mark.parametrize("whose", ["02:00.0", "03:00.0"])
def test_a_limited_path_is_said_where_the_log_lacks_the_bridges_on_it(whose: str) -> None:
    """A ring buffer that is full has lost what was found at boot: no rule knows whose link the limit is."""
    line = f"[    5.0] nvme 0000:{whose}: {LIMITED}\n"
    rest = "[    0.3] pci 0000:02:00.0: [1987:5026] type 00 class 0x010802 PCIe Endpoint\n"
    (finding,) = diagnose(read_bytes((rest + line).encode()), cost=False).findings
    assert (finding.rule, finding.bdf) == ("bandwidth-limited", whose)
    assert finding.severity is Severity.INFO
    assert finding.title == (
        f"the path from {whose} to the host carries 5GT/s x4; the device can do 32GT/s x4"
    )


def test_older_wordings() -> None:
    """The link has no word PCIe, kinds are inferred where none is stated, and hosts stand in front."""
    text = log(LIMITED.replace(" PCIe x4", " x4")).decode()
    text = (
        text.replace(" PCIe Root Port", "")
        .replace(" PCIe Endpoint", "")
        .replace(" conventional PCI endpoint", "")
    )
    text = "\n".join(f"Nov  2 10:41:26 box kernel: {line[15:]}" for line in text.splitlines())
    machine = read_bytes(text.encode())
    assert machine.role(machine["00:06.0"]) is Kind.ROOT_PORT
    assert machine.links[0].now == LinkMode(5.0, 4)


def test_reported_errors_are_counted_by_their_bits_without_masked_ones() -> None:
    machine = read_bytes(log(more=ERRORS * 120))
    errors = machine["02:00.0"].errors
    assert {
        bit: errors.counter(f"correctable.{bit}") for bit in ("RxErr", "BadTLP", "BadDLLP", "Timeout")
    } == {
        "RxErr": 120,
        "BadTLP": 120,
        "BadDLLP": 120,
        "Timeout": None,
    }
    assert ("link-errors", Severity.WARNING) in [
        (f.rule, f.severity) for f in diagnose(machine, cost=False).findings
    ]


def test_errors_of_ports_that_run_cxl_are_errors_of_that_severity() -> None:
    """Kernels from 6.18 say CXL where such a port reports an internal error, which is none of its link."""
    machine = read_bytes(log(more=(FATAL + INTERNAL).replace("PCIe Bus", "CXL Bus")))
    errors = machine["00:06.0"].errors
    assert (errors.counter("fatal.TOTAL"), errors.counter("nonfatal.TOTAL")) == (1, None)
    assert errors.counter("correctable.CorrIntErr") == 1
    assert "link-errors" not in {one.rule for one in diagnose(machine, cost=False).findings}


def test_errors_of_trace_events_count_where_no_driver_tells_of_them() -> None:
    machine = read_bytes(TRACE.encode())
    assert machine.kinds == ("kernel log",)
    errors = machine["02:00.0"].errors
    assert [errors.counter(f"correctable.{name}") for name in ("TOTAL", "RxErr", "BadTLP")] == [2, 2, 1]
    assert machine["03:00.0"].errors.counter("nonfatal.CmpltTO") == 1
    both = read_bytes(log(more=ERRORS + TRACE))
    assert both["02:00.0"].errors.counter("correctable.TOTAL") == 1


def test_a_fatal_error_is_the_first_thing_said() -> None:
    finding = diagnose(read_bytes(log(more=ERRORS + FATAL)), cost=False).findings[0]
    assert (finding.rule, finding.severity, finding.bdf) == (
        "uncorrectable-errors",
        Severity.ERROR,
        "00:06.0",
    )
    assert "MalfTLP" in finding.title
    assert any("in the log: 1 fatal" in line for line in finding.evidence)


def test_errors_beside_lspci() -> None:
    """People paste both, and of a list only a part: errors of a port that it lacks are not lost."""
    text = (
        "02:00.0 Non-Volatile memory controller: Phison Electronics Corporation PS5026\n"
        "\tCapabilities: [80] Express (v2) Endpoint, MSI 00\n"
        "\t\tLnkSta:\tSpeed 32GT/s, Width x4\n\n"
    )
    machine = read_bytes((text + ERRORS + FATAL).encode())
    assert [f.address.short for f in machine] == ["00:06.0", "02:00.0"]
    assert machine["02:00.0"].errors.counter("correctable.TOTAL") == 1
    assert machine.kinds == ("lspci text", "kernel log")


def test_an_adapter_that_says_its_link_is_whole() -> None:
    machine = read_bytes(log("63.008 Gb/s available PCIe bandwidth (8.0 GT/s PCIe x8 link)"))
    assert machine["02:00.0"].link.capability == LinkMode(8.0, 8)
    assert not diagnose(machine, cost=False).findings


def test_lines_of_drivers_that_look_like_lspci() -> None:
    odd = "[    1.2] example: 0000:02:00.0 LnkCtl2: 0x0044 -> 0x0063 (Target=Gen3)\n"
    machine = read_bytes(log(more=odd))
    assert machine.kinds == ("kernel log",)
    assert len(machine) == 3


def test_payload_sizes_and_no_read_sizes_that_drivers_change() -> None:
    sizes = "[    0.4] pci 0000:02:00.0: Max Payload Size set to  256/ 512 (was  128), Max Read Rq  128\n"
    transfers = read_bytes(log(more=sizes))["02:00.0"].transfers
    assert (transfers.mps, transfers.mps_supported, transfers.mrrs) == (256, 512, None)
