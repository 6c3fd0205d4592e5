"""Kernel logs of machines of many makes: short texts of our own in the form of such logs."""

from __future__ import annotations

import pytest

from lanewise.errors import InputError
from lanewise.health.doctor import Severity, diagnose
from lanewise.health.doctor.finding import Diagnosis, Finding
from lanewise.machine import read_bytes


def diagnosis(text: str) -> Diagnosis:
    return diagnose(read_bytes(text.encode()), cost=False)


def found(text: str, rule: str) -> list[Finding]:
    return [finding for finding in diagnosis(text).findings if finding.rule == rule]


# GitHub, open-power/snap issue 536: POWER stops a whole host bridge, not only one device below it.
@pytest.mark.parametrize(
    "line", ["Fenced PHB#2 detected, location: N/A", "fenced PHB#2 detected", "PHB#2 failure detected"]
)
def test_what_power_stops_is_lost_until_it_is_back(line: str) -> None:
    """The line that says that it is back has no number, and is about what was stopped last."""
    stopped = f"[   12.5] EEH: {line}\n"
    (lost,) = found(stopped, "device-lost")
    assert lost.severity is Severity.ERROR
    assert "a PCI device of domain 0002 was stopped by the host" in lost.title
    (back,) = found(f"{stopped}[   13.5] EEH: Recovery successful.\n", "device-lost")
    assert back.severity is Severity.WARNING


# Linux, drivers/pci/probe.c (pci_configure_mps): where the kernel leaves payload sizes to the firmware, and
# where a device cannot do what its port is set to.
@pytest.mark.parametrize(
    ("line", "words"),
    [
        (
            "Max Payload Size 128, but upstream 0000:02:01.0 set to 256",
            "payloads of 128 B, and 02:01.0 above",
        ),
        ("can't set Max Payload Size to 512", "does not take payloads of 512 B"),
    ],
)
def test_the_kernel_tells_of_payload_sizes_that_differ(line: str, words: str) -> None:
    text = f'[    1.25] pci 0000:03:00.0: {line}; if necessary, use "pci=pcie_bus_safe" and report a bug\n'
    (differs,) = found(text, "mps-mismatch")
    assert (differs.severity, differs.bdf) == (Severity.ERROR, "03:00.0")
    assert words in differs.title
    set_later = "[    2.5] pci 0000:03:00.0: Max Payload Size set to 128 (was 256, max 256)\n"
    bridge = "[    1.1] pci 0000:03:00.0: [8086:1533] type 00 class 0x020000\n"
    assert not found(bridge + text + set_later, "mps-mismatch")


# Linux, drivers/iommu: amd/iommu.c (iommu_print_event), intel/dmar.c (qi_check_fault).
@pytest.mark.parametrize(
    "line",
    [
        "iommu ivhd0: AMD-Vi: Event logged [IOTLB_INV_TIMEOUT device=0000:43:00.0 address=0x1000f5a10]",
        "AMD-Vi: Event logged [IOTLB_INV_TIMEOUT device=43:00.0 address=0x00000001000f5a10]",
        "DMAR: VT-d detected Invalidation Time-out Error: SID 4300",
    ],
)
def test_a_device_that_does_not_answer_the_iommu_was_not_blocked(line: str) -> None:
    (late,) = diagnosis(f"[   50.25] {line}\n").findings
    assert (late.rule, late.severity, late.bdf) == ("device-timeout", Severity.WARNING, "43:00.0")
    assert "did not answer the IOMMU in time, once" in late.title


def test_an_iommu_that_waits_for_itself_is_late() -> None:
    (late,) = found("[   50.25] AMD-Vi: Completion-Wait loop timed out\n" * 3, "device-timeout")
    assert "AMD-Vi did not answer" in late.title


# Linux, drivers/iommu/arm/arm-smmu-v3 before 6.14 (arm_smmu_evtq_thread): numbers in place of a device.
def test_an_event_record_of_an_smmu_is_a_blocked_access() -> None:
    text = """\
[    1.25] pci 0000:03:00.0: [8086:1533] type 00 class 0x020000
[    7.25] arm-smmu-v3 arm-smmu-v3.0.auto: event 0x10 received:
[    7.25] arm-smmu-v3 arm-smmu-v3.0.auto: \t0x0000030000000010
"""
    (blocked,) = found(text, "dma-fault")
    assert blocked.severity is Severity.WARNING
    assert not found(text.replace("0x10 r", "0x24 r"), "dma-fault")


# Boards without firmware that lists buses: Raspberry Pi, Rockchip, Jetson, NXP, MediaTek, Qualcomm.
@pytest.mark.parametrize(
    ("driver", "name", "message"),
    [
        ("brcm-pcie", "fd500000.pcie", "link down"),
        ("rockchip-dw-pcie", "a40000000.pcie", "Phy link never came up"),
        ("rk-pcie", "fe150000.pcie", "PCIe Link Fail, LTSSM is 0x3, hw_retries=0"),
        ("rockchip-pcie", "f8000000.pcie", "PCIe link training gen1 timeout!"),
        ("tegra-pcie-dw", "14100000.pcie", "link is down"),
        ("mtk-pcie-gen3", "11230000.pcie", "PCIe link down, current LTSSM state: detect.quiet (0x0)"),
        ("qcom-pcie", "1c00000.pci", "Phy link never came up"),
        ("spacemit-pcie", "81000000.pcie", "spacemit-pcie: link is down after host_init"),
    ],
)
def test_a_host_controller_that_found_nothing_says_so(driver: str, name: str, message: str) -> None:
    down = f"[    5.25] {driver} {name}: {message}\n"
    (nothing,) = found(down, "link-lost")
    assert (nothing.severity, nothing.bdf) == (Severity.INFO, name)
    tried_again = f"{down}[    6.25] {driver} {name}: PCIe Gen.2 x1 link up\n"
    board = "[    7.25] pci 0000:00:00.0: [1d87:3588] type 01 class 0x060400\n"
    assert not found(tried_again + board, "link-lost")
    assert not found(f"[    8.25] r8169 0000:01:00.0 eth0: Link is Down\n{board}", "link-lost")


@pytest.mark.parametrize(
    ("speaker", "retried", "message"),
    [
        ("tegra-pcie 1003000.pcie", "link {} down, retrying", "link {} down, ignoring"),
        ("tegra-pcie 10003000.pcie-controller", "probing port {}, using 1 lanes", "link {} down, ignoring"),
        ("mt7621-pci 1e140000.pcie", "pcie{} enabled", "pcie{} no card, disable it (RST & CLK)"),
    ],
)
def test_a_controller_of_several_ports_names_those_that_found_nothing(
    speaker: str, retried: str, message: str
) -> None:
    lines = [message.format(0), retried.format(1), message.format(2)]
    text = "".join(f"[    7.{number}25] {speaker}: {line}\n" for number, line in enumerate(lines))
    name = speaker.split()[1]
    assert [f.bdf for f in found(text, "link-lost")] == [f"{name} port 0", f"{name} port 2"]


BOARD = """\
[    0.25] {before}
[    0.26] {driver} {name}: PCI host bridge to bus 0002:20
[    0.27] pci 0002:20:00.0: [1d87:3588] type 01 class 0x060400
[    0.28] pci 0002:21:00.0: [10ec:8125] type 00 class 0x020000
[    0.29] pci 0002:20:00.0: PCI bridge to [bus 21]
[    0.30] {after}
"""


@pytest.mark.parametrize(
    ("driver", "name", "before", "after", "runs"),
    [
        ("rk-pcie", "fe170000.pcie", "PCIe Gen.2 x1 link up", "", "5GT/s x1"),
        ("brcm-pcie", "fd500000.pcie", "", "link up, 5.0 GT/s PCIe x1 (!SSC)", "5GT/s x1"),
        ("tegra194-pcie", "14160000.pcie", "Link up", "", "? x?"),
    ],
)
def test_a_host_controller_says_how_its_root_port_runs(
    driver: str, name: str, before: str, after: str, runs: str
) -> None:
    lines = (
        f"{driver} {name}: {message}" if message else "random: crng init done" for message in (before, after)
    )
    text = BOARD.format(driver=driver, name=name, before=next(lines), after=next(lines))
    (link,) = read_bytes(text.encode()).links
    assert str(link.now) == runs


@pytest.mark.parametrize("requester", ["0", "ffff"])
def test_intels_iommu_may_not_know_who_was_late(requester: str) -> None:
    text = f"[    3.25] DMAR: VT-d detected Invalidation Time-out Error: SID {requester}\n"
    (late,) = found(text, "device-timeout")
    assert late.title.startswith("a device did not answer the IOMMU")


# Linux 3.13 to 4.17, ixgbe_main.c (ixgbe_check_minimum_link), which counts what all ports of the card need.
IXGBE = """\
[    3.60] ixgbe 0000:07:00.0: PCI Express bandwidth of 4GT/s available
[    3.61] ixgbe 0000:07:00.0: (Speed:5.0GT/s, Width: x1, Encoding Loss:20%)
[    3.62] ixgbe 0000:07:00.0: This is not sufficient for optimal performance of this card.
"""


def test_ixgbe_says_that_its_link_is_too_thin() -> None:
    (thin,) = found(IXGBE, "device-reduced")
    assert thin.severity is Severity.INFO
    assert "its link may be too slow for its ports" in thin.title
    assert not found("".join(IXGBE.splitlines(keepends=True)[:2]), "device-reduced")


# A page of Red Hat's knowledge base about AER: copied from a browser, records of a log stand on one line.
TOGETHER = [
    "kernel: pcieport 0000:00:1b.2: AER: Uncorrectable (Fatal) error message received from 0000:03:04.0",
    "kernel: pcieport 0000:03:04.0: PCIe Bus Error: severity=Uncorrectable (Fatal), type=Transaction Layer",
    "kernel: pcieport 0000:03:04.0: device [111d:8063] error status/mask=00000020/00000000",
    "kernel: pcieport 0000:03:04.0: AER: device recovery failed",
]


@pytest.mark.parametrize(
    "before",
    [
        "{}",
        "[  12.00000{n}] {bare}",
        "Feb  5 15:41:3{n} h {}",
        "Feb  5 15:41:33 h kernel: [ 1.00000{n}] {bare}",
    ],
)
def test_records_of_a_log_on_one_line_are_read_one_by_one(before: str) -> None:
    records = [
        before.format(line, n=n, bare=line.removeprefix("kernel: ")) for n, line in enumerate(TOGETHER)
    ]
    rules = {(f.rule, f.bdf, f.severity) for f in diagnosis(" ".join(records) + "\n").findings}
    assert rules == {
        ("device-lost", "03:04.0", Severity.ERROR),
        ("uncorrectable-errors", "03:04.0", Severity.ERROR),
    }
    assert rules == {(f.rule, f.bdf, f.severity) for f in diagnosis("\n".join(records) + "\n").findings}


# The same, of an older kernel: bits that a log tells of together count as those of a register.
def test_bad_packets_and_a_rollover_in_a_log_are_a_warning() -> None:
    text = """\
[    9.25] hpsa 0000:04:00.0: PCIe Bus Error: severity=Corrected, type=Physical Layer, id=0400(Transmitter ID)
[    9.25] hpsa 0000:04:00.0:   device [103c:323a] error status/mask={}/00000000
"""
    (severe,) = found(text.format("00000140"), "link-errors")
    assert severe.severity is Severity.WARNING
    (one,) = found(text.format("00000100"), "link-errors")
    assert one.severity is Severity.INFO


def test_a_time_of_day_is_a_stamp() -> None:
    text = "01:46:35 DMAR: VT-d detected Invalidation Time-out Error: SID 0\n"
    (late,) = found(text, "device-timeout")
    assert late.evidence[0].startswith("DMAR")
    assert "-e a device" not in late.fix


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("smartctl 7.4 2023-08-01 r5530 [x86_64-linux-6.8]\nModel Number: X\n", "media, not of its link"),
        ("=== Hops between two GPUs ===\n       GPU0  GPU1\nGPU0   0     3\nGPU1   3     0\n", "--showbus"),
        ("n1:1:1 [0] NCCL INFO + PCI[24.0] - GPU/81000 (0)\n", "NCCL_TOPO_DUMP_FILE"),
        ("   1 | 05/01/2023 | 10:00:00 | Critical Interrupt #0x18 | Bus Fatal Error | Asserted\n", "racadm"),
        ("[  615.318125361,7] PHB#0044:00:00.0 Link up at x8 width\n" * 3, "a log of OPAL"),
        ("coreboot-4.19 Mon Jan  1 bootblock starting\n", "a log of coreboot"),
        ("OS Name\tMicrosoft Windows 11 Pro\nVersion\t10.0\n", "a report of Windows"),
        ('{"fio version": "fio-3.33", "jobs": []}', "'lanewise import' judges it"),
        (
            "seq: (groupid=0, jobs=1): err= 0: pid=7\n  read: IOPS=1, BW=1KiB/s\n",
            "'lanewise import' judges it",
        ),
        (
            " #bytes     #iterations    BW peak[Gb/sec]\n 65536      5000           97.1\n",
            "'lanewise import'",
        ),
    ],
)
def test_what_is_not_read_is_refused_by_its_name(text: str, says: str) -> None:
    with pytest.raises(InputError, match=says):
        read_bytes(text.encode())


# GitHub, truenas/middleware 14839: slots in one block of Markdown, devices right below it.
def test_slots_end_with_their_block() -> None:
    text = """\
```
Handle 0x0049, DMI type 9, 17 bytes
System Slot Information
        Designation: CPU1 Slot3
        Type: x8 PCI Express 3 x8
        Current Usage: In Use
        Bus Address: 0000:18:00.0
```
18:00.0 Ethernet controller: Intel Corporation Ethernet 10G 2P X520 Adapter (rev 01)
"""
    machine = read_bytes(text.encode())
    assert [f.address.short for f in machine] == ["18:00.0"]
    assert [slot.name for slot in machine.slots] == ["CPU1 Slot3"]


# Dell, knowledge base article 000225721: PCI1318 of the Lifecycle Log, whose numbers are decimal.
@pytest.mark.parametrize(
    ("what", "severity", "rule"),
    [
        ("A fatal error", Severity.ERROR, "uncorrectable-errors"),
        ("A bus uncorrectable error", Severity.ERROR, "uncorrectable-errors"),
        ("A bus correctable error", Severity.INFO, "link-errors"),
    ],
)
def test_messages_of_idrac_are_errors_of_the_device_at_that_bus(
    what: str, severity: Severity, rule: str
) -> None:
    text = (
        f"MessageID = PCI1318\nMessage = {what} was detected on a component at bus 59 device 0 function 1.\n"
    )
    (finding,) = found(text, rule)
    assert finding.severity is severity
    assert "3b:00.1" in finding.title
    assert "kernel" not in "".join(finding.evidence)


def test_a_link_that_firmware_could_not_train_is_lost() -> None:
    """The message is on two lines where a console is narrow; the bus is decimal."""
    text = (
        "UEFI0067: A PCIe link training failure is observed in Bus:174 Dev:3 F:0\n"
        "          and the link is disabled.\n"
    )
    (finding,) = found(text, "link-lost")
    assert finding.severity is Severity.WARNING
    assert "ae:03.0" in finding.title


def test_ilo_says_which_errors_it_were() -> None:
    (finding,) = found(
        "[PCI Bus]: Uncorrectable PCI Express Error Detected. PCIe Errors (Segment 0x1, Bus 0x61, "
        "Device 0x1F, Function 0x2). Uncorrectable Error Status: 0x40000\n",
        "uncorrectable-errors",
    )
    assert finding.severity is Severity.ERROR
    assert "0001:61:1f.2: malformed packet (MalfTLP)" in finding.title


def test_records_that_ipmitool_explains_name_their_device() -> None:
    """The numbers are hexadecimal; a record of a slot names no device."""
    text = (
        " 1 | 06/11/2019 | 01:33:41 | Critical Interrupt #0x18 | PCI SERR |PCI bus:3b device:1f function:2 | "
        "Asserted\n"
        " 2 | 06/11/2019 | 01:33:42 | Critical Interrupt #0x18 | PCI SERR |Slot 4 | Asserted\n"
    )
    (finding,) = found(text, "uncorrectable-errors")
    assert (finding.severity, finding.bdf) == (Severity.ERROR, "3b:1f.2")
    (milder,) = found(text.replace("SERR", "PERR"), "uncorrectable-errors")
    assert milder.severity is Severity.WARNING


# Mails to linux-pci and sparclinux in 2025, pasted without their heads: quoted-printable breaks long lines.
@pytest.mark.parametrize("head", ["", "Content-Transfer-Encoding: quoted-printable\n\n"])
def test_soft_line_breaks_of_mails_are_taken_out(head: str) -> None:
    lines = "".join(
        f"[76621.8709{number}] [    T140] pcieport 0000:0{number}:00.0: Unable to change power stat=\n"
        "e from D3cold to D0, device inaccessible\n"
        for number in range(1, 2 if head else 4)
    )
    finding, *_ = found(head + lines, "device-lost")
    assert finding.severity is Severity.ERROR
    assert finding.title.startswith("01:00.0 did not come back")


# A mail to linux-kernel about a dock at a USB4 port of AMD's: a log of what came with the cable, and no tree.
def test_devices_behind_a_tunnel_are_no_faults_where_a_log_has_no_tree() -> None:
    """Nothing says that the drive is behind the dock, except that the same port limits both."""
    dock = "[  461.018893] pci 0000:a2:00.0: [8086:15c0] type 01 class 0x060400 PCIe Switch Upstream Port\n"
    drive = "[  461.021846] pci 0000:a4:00.0: [144d:a809] type 00 class 0x010802 PCIe Endpoint\n"
    limit = (
        "[  461.022] pci 0000:{bdf}: 2.000 Gb/s available PCIe bandwidth, limited by 2.5 GT/s PCIe x1 link "
        "at 0000:00:01.2 (capable of 31.504 Gb/s with 8.0 GT/s PCIe x4 link)\n"
    )
    for_drive = limit.format(bdf="a4:00.0")
    (alone,) = found(drive + for_drive, "bandwidth-limited")
    assert alone.severity is Severity.WARNING
    both = diagnosis(dock + limit.format(bdf="a2:00.0") + drive + for_drive)
    assert {finding.severity for finding in both.findings} <= {Severity.INFO}


def test_lines_that_a_serial_console_cut_name_their_errors() -> None:
    text = """\
[  233.352248] pcieport 0000:40:01.0: AER: Multiple Uncorrected (Non-Fatal) err0
[  233.361088] igb 0000:41:00.0: PCIe Bus Error: severity=Uncorrected (Non-Fata)
[  233.368183] igb 0000:41:00.0:   device [8086:1521] error status/mask=00000400
[  233.376846] igb 0000:41:00.0:    [14] CmpltTO                (First)
[  233.384779] igb 0000:41:00.1: PCIe Bus Error: severity=Uncorrected (Fatal), )
[  233.392629] igb 0000:41:00.1:   device [8086:1521] error status/mask=00000000
[  233.404736] igb 0000:41:00.1:    [ 4] DLP                    (First)
"""
    errors = {finding.bdf: finding for finding in found(text, "uncorrectable-errors")}
    assert "(CmpltTO)" in errors["41:00.0"].title
    assert errors["41:00.0"].evidence[0].endswith("0 fatal, 1 non-fatal errors")
    assert "(DLP)" in errors["41:00.1"].title
    assert errors["41:00.1"].severity is Severity.ERROR


@pytest.mark.parametrize(
    "broken",
    [
        "Unable to change power state from D3hot to D0,\n> device inaccessible",
        "can't change power state from D3cold to D0 (config\n> space inaccessible)",
    ],
)
def test_a_device_that_did_not_wake_is_lost_where_a_mail_broke_the_line(broken: str) -> None:
    text = f"> pcieport 0000:14:02.0: {broken}\n> pcieport 0000:13:00.0: PME# disabled\n"
    (lost,) = found(text, "device-lost")
    assert (lost.bdf, lost.severity) == ("14:02.0", Severity.ERROR)
    slept = "pcieport 0000:14:02.0: power state changed from D3hot to D0\n"
    assert not found(f"{slept}pcieport 0000:13:00.0: PME# disabled\n", "device-lost")
