"""What drivers say of devices that they could not start, or that do less than they could."""

from __future__ import annotations

import pytest

from lanewise.health.doctor import Severity, diagnose
from lanewise.health.doctor.finding import Finding
from lanewise.machine import read_bytes

FOUND = """\
[    0.622628] pci 0000:04:00.0: [1000:0072] type 00 class 0x010700 PCIe Endpoint
[    0.622700] pci 0000:02:00.0: [8086:1572] type 00 class 0x020000 PCIe Endpoint
[    0.622800] pci 0000:40:03.1: [1022:1483] type 01 class 0x060400 PCIe Root Port
[    0.622810] pci 0000:40:03.1: PCI bridge to [bus 43]
[    0.622820] pci 0000:43:00.0: [15b3:1015] type 00 class 0x020000 PCIe Endpoint
[    0.622830] pci 0000:65:00.0: [1002:738c] type 00 class 0x038000 PCIe Endpoint
[    0.622840] pci 0000:66:00.0: [1002:67df] type 00 class 0x030000 PCIe Endpoint
[    1.922160] mpt3sas 0000:04:00.0: can't disable ASPM; OS doesn't have ASPM control
"""


def findings(*lines: str) -> list[Finding]:
    text = FOUND + "".join(f"[    2.{number:06}] {line}\n" for number, line in enumerate(lines))
    return list(diagnose(read_bytes(text.encode()), cost=False).findings)


def about(rule: str, *lines: str) -> tuple[str, Severity, str]:
    (found,) = [f for f in findings(*lines) if f.rule == rule]
    return found.bdf, found.severity, f"{found.title} {found.fix}"


NO_REGION = (
    "mpt3sas 0000:04:00.0: BAR 1: can't reserve [mem 0x805c0000-0x805c3fff 64bit]",
    "mpt2sas_cm0: pci_request_selected_regions: failed",
    "mpt2sas_cm0: failure at drivers/scsi/mpt3sas/mpt3sas_scsih.c:12319/_scsih_probe()!",
)


@pytest.mark.parametrize(
    "lines",
    [
        NO_REGION,
        NO_REGION[1:],
        NO_REGION[:1],
        ("mpt3sas 0000:04:00.0: probe with driver mpt3sas failed with error -12",),
    ],
)
def test_a_controller_whose_addresses_are_taken_is_not_to_be_reseated(lines: tuple[str, ...]) -> None:
    bdf, severity, words = about("device-lost", *lines)
    assert (bdf, severity) == ("04:00.0", Severity.ERROR)
    assert "/proc/iomem" in words
    assert "eseat" not in words


def test_other_reasons_keep_their_remedy_and_other_drivers_may_lack_a_range() -> None:
    words = about("device-lost", "mpt3sas 0000:04:00.0: probe with driver mpt3sas failed with error -5")[2]
    assert "reseat the device" in words
    assert "above 4 GB" not in words
    assert findings("i801_smbus 0000:00:1f.4: BAR 4: can't reserve [io  0xefa0-0xefbf]") == findings()


@pytest.mark.parametrize(
    ("line", "bdf"),
    [
        (
            "mlx5_core 0000:43:00.0: mlx5_health_try_recover:331:(pid 812): health recovery flow aborted, "
            "PCI reads still not working",
            "43:00.0",
        ),
        ("pci 0000:23:00.0: No bus number available for hot-added bridge", "23:00.0"),
        ("xhci_hcd 0000:c5:00.4: xHCI host controller not responding, assume dead", "c5:00.4"),
    ],
)
def test_what_its_driver_gives_up(line: str, bdf: str) -> None:
    assert about("device-lost", line)[:2] == (bdf, Severity.ERROR)


def test_an_adapter_whose_driver_finds_the_first_speed() -> None:
    line = "i40e 0000:02:00.0: PCI-Express: Speed {}GT/s Width x4"
    bdf, severity, words = about("device-reduced", line.format("2.5"))
    assert (bdf, severity, "2.5 GT/s" in words) == ("02:00.0", Severity.WARNING, True)
    assert findings(line.format("8.0")) == findings()


LIMIT = (
    "mlx5_core 0000:43:00.0: 16.000 Gb/s available PCIe bandwidth, limited by {} GT/s PCIe x{} link at "
    "0000:40:03.1 (capable of 63.008 Gb/s with 8.0 GT/s PCIe x{} link)"
)


@pytest.mark.parametrize(("speed", "lanes", "loud"), [("2.5", 8, True), ("5.0", 8, False), ("2.5", 4, False)])
def test_an_adapter_with_all_lanes_at_the_first_speed(speed: str, lanes: int, loud: bool) -> None:
    found = findings(LIMIT.format(speed, lanes, lanes))
    said = ("bandwidth-limited", "link-one-end")
    assert [f.bdf for f in found if f.rule in said and f.severity is Severity.WARNING] == (
        ["43:00.0"] if loud else []
    )


@pytest.mark.parametrize(
    ("numbers", "bdf", "severity"),
    [("1002:738c", "65:00.0", Severity.WARNING), ("1002:67df", "66:00.0", Severity.INFO)],
)
def test_a_gpu_that_rocm_leaves_out(numbers: str, bdf: str, severity: Severity) -> None:
    line = f"kfd kfd: amdgpu: skipped device {numbers}, PCI rejects atomics 730<0"
    assert about("device-reduced", line)[:2] == (bdf, severity)


SHUT = "pcieport 0000:40:03.1: DPC: containment event, status:0x1f01 source:0x0000"
GONE = (
    "pcieport 0000:40:03.1: pciehp: Slot(4): Link Down",
    "pcieport 0000:40:03.1: pciehp: Slot(4): Card not present",
)


@pytest.mark.parametrize(
    ("times", "pulled", "severity"),
    [
        (1, False, Severity.INFO),
        (2, False, Severity.INFO),
        (3, False, Severity.WARNING),
        (3, True, Severity.INFO),
    ],
)
def test_a_link_that_goes_down_again_and_again_is_no_matter_of_the_past(
    times: int, pulled: bool, severity: Severity
) -> None:
    """A card that somebody takes out is said to be not present."""
    slot = "pcieport 0000:40:03.1: pciehp: Slot(4): "
    down = [f"{slot}Link Down", *([f"{slot}Card not present"] if pulled else [])]
    _, found, text = about("link-lost", *[*down, f"{slot}Card present", f"{slot}Link Up"] * times)
    assert found is severity
    assert (f"went down {times} times by itself" in text) == (severity is Severity.WARNING)


def test_a_log_alone_does_not_show_that_a_device_is_there() -> None:
    rule, severity, text = about("link-lost", *GONE)
    assert (rule, severity) == ("40:03.1", Severity.WARNING)
    assert "its card left the slot" in text
    _, severity, text = about("dpc-triggered", SHUT, *GONE)
    assert severity is Severity.ERROR
    assert "took its link down" in text
