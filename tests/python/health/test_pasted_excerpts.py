"""Excerpts of logs that people paste: what the lines around one another say, and what to do then."""

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


# Linux, drivers/pci/pci.c (__pcie_print_link_status): what drivers of adapters say when they start.
_IN_FULL = "63.008 Gb/s available PCIe bandwidth (8.0 GT/s PCIe x8 link)"


@pytest.mark.parametrize(
    "line",
    [
        f"[    3.25] mlx5_core 0000:63:00.0: {_IN_FULL}",
        f"[    3.25] pci 0000:63:00.0: {_IN_FULL}",
        f"1701:[    3.25] mlx5_core 0000:63:00.0: {_IN_FULL}",
    ],
)
def test_a_driver_that_has_all_of_its_link_says_so(line: str) -> None:
    """A path that carries what a device can do has the link of the device on it."""
    machine = read_bytes(f"{line}\n".encode())
    (function,) = machine
    assert str(function.link.status) == str(function.link.capability) == "8GT/s x8"
    assert diagnose(machine, cost=False).examined


def test_numbers_before_lines_hide_no_times() -> None:
    """As `grep -n`, `cat -n` and editors print a log."""
    message = "pcieport 0000:00:1b.0: PCIe Bus Error: severity=Corrected, type=Physical Layer, (Receiver ID)"
    numbered = "".join(f"{17 + at}:[ {at}0.250000] {message}\n" for at in (1, 2, 3))
    (errors,) = found(numbered, "link-errors")
    assert errors.severity is Severity.WARNING


# Linux before 4.21, drivers/iommu/amd_iommu.c (iommu_print_event): one message in two records.
@pytest.mark.parametrize("kind", ["IO_PAGE_FAULT", "INVALID_DEVICE_REQUEST", "ILLEGAL_DEV_TABLE_ENTRY"])
def test_an_event_of_amds_iommu_in_two_records_is_one(kind: str) -> None:
    text = f"""\
kernel: [  221.562629] AMD-Vi: Event logged [
kernel: [  221.565929] {kind} device=05:00.0 domain=0x0012 address=0x00000000ff6101b0 flags=0x0070]
"""
    (blocked,) = found(text, "dma-fault")
    assert (blocked.bdf, blocked.severity) == ("05:00.0", Severity.WARNING)


def test_the_display_of_a_processor_that_was_blocked_is_a_note() -> None:
    """Where only the log is there, Intel's IOMMU and the address tell which device it is."""
    line = "[    0.36] DMAR: [DMA Read NO_PASID] Request device [{}] fault addr 0x7cd80000\n"
    (display,) = found(line.format("00:02.0"), "dma-fault")
    assert display.severity is Severity.INFO
    (other,) = found(line.format("03:00.0"), "dma-fault")
    assert other.severity is Severity.WARNING


_NO_BAR = """\
[83260.06] NVRM: This PCI I/O region assigned to your NVIDIA device is invalid:
               NVRM: BAR1 is 0M @ 0x0 (PCI:0000:14:00.0)
[83260.07] nvidia: probe of 0000:14:00.0 failed with error -1
[83260.08] nvidia 0000:1b:00.0: vgaarb: changed VGA decodes: olddecodes=none,decodes=none:owns=none
"""


def test_a_line_that_goes_on_is_about_the_device_in_the_next_one() -> None:
    """It is not about the only other device of that driver."""
    (lost,) = found(_NO_BAR, "device-lost")
    assert lost.bdf == "14:00.0"


def test_a_gpu_without_addresses_needs_room_and_no_other_card() -> None:
    (lost,) = found(_NO_BAR, "device-lost")
    assert "above 4 GB" in lost.fix
    assert "64-bit MMIO" in lost.fix


def test_a_device_that_did_not_start_is_first_a_matter_of_its_driver() -> None:
    start = "[   13.6] mlx5_core: probe of 0000:03:00.0 failed with error -22\n"
    (failed,) = found(start, "device-lost")
    assert failed.fix.startswith("Read what its driver says before that")
    down = "[   15.6] mlx5_core 0000:03:00.0: device's health compromised - reached miss count\n"
    (lost,) = found(start + down, "device-lost")
    assert lost.fix.startswith("Look at power")


def test_power_saving_of_a_drive_is_switched_off_with_that_of_its_link() -> None:
    """As the kernel advises where a controller is down."""
    down = "[ 4920.5] nvme nvme0: controller is down; will reset: CSTS=0xffffffff, PCI_STATUS=0x10\n"
    again = "[ 4921.5] nvme nvme0: 4/0/0 default/read/poll queues\n"
    (lost,) = found(down, "device-lost")
    assert "nvme_core.default_ps_max_latency_us=0" in lost.fix
    (back,) = found(down + again, "device-lost")
    assert back.cost is not None
    assert (back.severity, back.cost.what) == (Severity.WARNING, "what ran on it at that time failed")


@pytest.mark.parametrize(
    "message",
    ["Couldn't initialize interrupts: -22", "RAM did not enable within timeout (12000 ms)"],
)
def test_an_edge_tpu_that_does_not_start_is_told(message: str) -> None:
    (failed,) = found(f"[   16.25] apex 0000:08:00.0: {message}\n", "device-lost")
    assert (failed.bdf, failed.severity) == ("08:00.0", Severity.ERROR)


# A dock is a Thunderbolt device behind its cable; a log that begins when it is plugged in has no tree.
def test_a_dock_behind_its_cable_is_not_held_back() -> None:
    text = """\
[131072.7486] pci 0000:05:00.0: [8086:15ef] type 01 class 0x060400
[131072.7496] pci 0000:05:00.0: 8.000 Gb/s available PCIe bandwidth, limited by 2.5 GT/s PCIe x4 link \
at 0000:03:01.0 (capable of 31.504 Gb/s with 8.0 GT/s PCIe x4 link)
"""
    assert not found(text, "bandwidth-limited")
    assert found(text.replace("8086:15ef", "1b21:2824"), "bandwidth-limited")


def test_the_bridge_in_a_gpu_is_no_part_of_a_processor() -> None:
    """AMD's number is that of its processors; what a log is too short for is what is behind the bridge."""
    text = """\
[    0.4997] pci 0000:01:00.0: [1022:1470] type 01 class 0x060400
[    0.4998] pci 0000:01:00.0: 7.876 Gb/s available PCIe bandwidth, limited by 8.0 GT/s PCIe x1 link \
at 0000:00:00.0 (capable of 126.016 Gb/s with 8.0 GT/s PCIe x16 link)
"""
    (limited,) = found(text, "bandwidth-limited")
    assert (limited.bdf, limited.severity) == ("01:00.0", Severity.WARNING)


@pytest.mark.parametrize(("sign", "said"), [("+", "2, 1 with ReqRedir+"), ("-", "2, none with ReqRedir+")])
def test_access_control_of_no_port_is_refused_by_its_name(sign: str, said: str) -> None:
    """NCCL's documentation asks for `lspci -vvv | grep ACSCtl`, which leaves out whose lines these are."""
    line = "\t\tACSCtl:\tSrcValid- TransBlk- ReqRedir{} CmpltRedir{} UpstreamFwd- EgressCtrl- DirectTrans-\n"
    with pytest.raises(InputError, match="access control") as refused:
        read_bytes((line.format("-", "-") + line.format(sign, sign)).encode())
    assert said in str(refused.value)


_TREE = """\
# lspci -t
-[0000:00]-+-00.0
           +-01.1-[01]--+-00.0
           |            \\-00.1
           \\-03.1-[02]----00.0

# lspci -vvv -s 0000:01:00.0  (of a GPU)
\t\tLnkCap:\tPort #0, Speed 16GT/s, Width x16, ASPM L0s L1, Exit Latency L0s <512ns, L1 <4us
\t\tLnkSta:\tSpeed 2.5GT/s (downgraded), Width x16
# lspci -vvv -s 0000:00:01.1  (above it)
\t\tLnkCap:\tPort #0, Speed 16GT/s, Width x16, ASPM L1, Exit Latency L1 <64us
\t\tLnkSta:\tSpeed 2.5GT/s, Width x16
# lspci -vvv -s 0000:02:00.0  (of another)
\t\tLnkCap:\tPort #0, Speed 16GT/s, Width x16, ASPM L0s L1, Exit Latency L0s <512ns, L1 <4us
\t\tLnkSta:\tSpeed 16GT/s, Width x4 (downgraded)
# lspci -vvv -s 0000:00:03.1  (above it)
\t\tLnkCap:\tPort #0, Speed 16GT/s, Width x16, ASPM L1, Exit Latency L1 <64us
\t\tLnkSta:\tSpeed 16GT/s, Width x4
"""


def test_links_below_a_tree_are_those_of_its_devices() -> None:
    """A command with a comment names a device, and the tree above says which port it is at."""
    machine = read_bytes(_TREE.encode())
    assert [(link.device.address.short, str(link.now)) for link in machine.links] == [
        ("01:00.0", "2.5GT/s x16"),
        ("02:00.0", "16GT/s x4"),
    ]
    (narrow,) = found(_TREE, "link-width")
    assert (narrow.bdf, narrow.severity) == ("02:00.0", Severity.WARNING)
    assert not any("no device is named" in note for note in machine.notes)


def test_a_nameless_device_with_all_of_its_lanes_may_be_an_idle_gpu() -> None:
    (slow,) = found(_TREE, "link-speed")
    assert (slow.bdf, slow.severity) == ("01:00.0", Severity.INFO)
    assert "idle" in slow.title


@pytest.mark.parametrize("driver", ["xe 0000:03:00.0: [drm]", "i915 0000:03:00.0: [drm]"])
def test_a_gpu_whose_memory_found_no_room_is_a_note(driver: str) -> None:
    text = (
        f"[   10.25] {driver} Failed to resize BAR2 to 8192M (-ENOSPC). Consider enabling 'Resizable BAR'\n"
    )
    (less,) = found(text, "device-reduced")
    assert (less.bdf, less.severity) == ("03:00.0", Severity.INFO)
    assert "decoding above 4 GB" in less.fix


# Linux, drivers/pci/pcie/aer.c: an excerpt of a mail begins with the second line of a record.
def test_bits_tell_that_an_error_was_not_corrected() -> None:
    bits = "[ 6265.31] pcieport 0000:a9:10.0:   device [1000:c030] error status/mask={}/00180000\n"
    (malformed,) = found(bits.format("00040000"), "uncorrectable-errors")
    assert (malformed.bdf, malformed.severity) == ("a9:10.0", Severity.WARNING)
    assert not found(bits.format("00100000"), "uncorrectable-errors")
    (bad,) = found(bits.format("00000040"), "link-errors")
    assert bad.severity is Severity.INFO


def test_a_drive_that_its_driver_starts_again_after_an_error_works_again() -> None:
    """The port above says that the recovery went well, and the log does not say which port that is."""
    text = """\
[ 6265.34] nvme nvme1: frozen state error detected, reset controller
[ 6265.63] nvme nvme1: restart after slot reset
[ 6265.71] pcieport 0000:a9:10.0: AER: device recovery successful
"""
    (lost,) = found(text, "device-lost")
    assert (lost.bdf, lost.severity) == ("nvme1", Severity.WARNING)
    failed = f"{text}[ 6297.71] nvme nvme1: Removing after probe failure status: -19\n"
    assert found(failed, "device-lost")[0].severity is Severity.ERROR


# UEFI 2.10, N.2.7 (PCI Express Error Section): the registers of AER may be missing.
def test_an_error_that_firmware_reports_without_its_bits_is_told() -> None:
    text = """\
[ 2484.37] {359}[Hardware Error]: Hardware error from APEI Generic Hardware Error Source: 512
[ 2484.37] {359}[Hardware Error]: event severity: corrected
[ 2484.37] {359}[Hardware Error]:  Error 0, type: corrected
[ 2484.37] {359}[Hardware Error]:   section_type: PCIe error
[ 2484.37] {359}[Hardware Error]:   port_type: 4, root port
[ 2484.37] {359}[Hardware Error]:   device_id: 0000:20:03.1
"""
    (told,) = found(text, "link-errors")
    assert (told.bdf, told.severity) == ("20:03.1", Severity.INFO)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "Link Speed Active (Enabled)     : 8.0G-Gen 3\nLink Width Active (Enabled)     : 8X (16X)\n",
            "mlxlink",
        ),
        ("Error Information Log Entries for device:nvme0 entries:64\n.......\n Entry[ 0]\n", "media"),
    ],
)
def test_outputs_of_more_tools_are_refused_by_their_names(text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        read_bytes(text.encode())


# GitHub, magic-blue-smoke/Dual-Edge-TPU-Adapter issue 78: the numbers are hexadecimal, the place one byte.
@pytest.mark.parametrize(
    ("event", "rule", "severity"),
    [
        ("PCI PERR", "uncorrectable-errors", Severity.WARNING),
        ("PCI SERR", "uncorrectable-errors", Severity.ERROR),
        ("Bus Correctable Error", "link-errors", Severity.INFO),
    ],
)
def test_supermicros_events_are_errors_of_the_device_at_that_bus(
    event: str, rule: str, severity: Severity
) -> None:
    (told,) = found(f"[CI-0004] , {event} @Bus85 (DevFn1A) - Assertion\n", rule)
    assert (told.bdf, told.severity) == ("85:03.2", severity)


@pytest.mark.parametrize(
    "message",
    [
        "Unable to change power state from D3cold to D0, device inaccessible",
        "not ready 65535ms after resume; giving up",
    ],
)
def test_a_device_that_does_not_wake_is_to_be_kept_awake(message: str) -> None:
    text = f"[586739.35] vfio-pci 0000:01:00.0: {message}\n"
    (asleep,) = found(text, "device-lost")
    assert "/sys/bus/pci/devices/0000:01:00.0/d3cold_allowed" in asleep.fix
    fell = "[586700.35] NVRM: Xid (PCI:0000:01:00): 79, pid=0, GPU has fallen off the bus.\n"
    part = text.replace("00.0", "00.3")
    assert not any("d3cold_allowed" in each.fix for each in found(fell + part, "device-lost"))


def test_a_gpu_that_ends_its_start_for_want_of_room_needs_room() -> None:
    """NVIDIA's driver of R595 gives up where it cannot resize a BAR (kernel-open/nvidia/nv-pci.c)."""
    text = """\
[  101.11] NVRM: Fatal Error while attempting to resize PCIe BARs.
[  101.12] nvidia 0000:2f:00.0: probe with driver nvidia failed with error -1
"""
    (failed,) = found(text, "device-lost")
    assert (failed.bdf, "above 4 GB" in failed.fix) == ("2f:00.0", True)
    assert "lacks addresses" in failed.title
