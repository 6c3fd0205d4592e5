"""A few lines of a kernel log, as people copy them: each is read, and what it says of a device is found."""

from __future__ import annotations

import pytest

from lanewise.errors import InputError
from lanewise.health.doctor import Severity, diagnose
from lanewise.machine import read_bytes

PSP = """\
[Mon Dec 18 08:34:36 2023] amdgpu 0000:c7:00.0: amdgpu: Will use PSP to load VCN firmware
[Mon Dec 18 08:34:36 2023] [drm:psp_hw_start [amdgpu]] *ERROR* PSP create ring failed!
"""
EEH = """\
<3>[    2.001923] EEH: Frozen PE#fd on PHB#1 detected
<4>[    2.002752] EEH: This PCI device has failed 1 times in the last hour
<4>[    2.002793] EEH: of node=0001:04:00.0
"""
THIN = "i40e 0000:04:00.0: PCI-Express bandwidth available for this device may be insufficient for optimal"
THIN_CARD = "ixgbe 0000:04:00.0: PCI-Express bandwidth available for this card is not sufficient for optimal"
HANDED_OVER = (
    "cpu0:2098206)ALERT: ApeiHEST: 327: Fatal error from 0000:5e:00.0(PCI Express Endpoint), VID:144d, "
    "DID:a80a DevSts: 0xd, AERUeSts: 0x2000."
)
BLAMED = "MCA: 191: UC Excp G5 B6 Sbb80000000000e0b A0 M10100000 P0/0 I/O error reported by PCI 0000:10:02.0."
LOST = "node kernel: NVRM: Assertion failed: GPU lost from the bus [NV_ERR_GPU_IS_LOST] (0x0000000F) returned"
ENABLING = "Feb 17 08:01:00 node kernel: nvidia 0000:47:00.0: enabling device (0000 -> 0003)\n"
RESET_FAILED = """\
amdgpu 0000:08:00.0: amdgpu: ring gfx_0.0.0 timeout, signaled seq=1, emitted seq=2
amdgpu 0000:08:00.0: amdgpu: Ring gfx_0.0.0 reset failed
amdgpu 0000:08:00.0: amdgpu: GPU reset begin!
"""


@pytest.mark.parametrize(
    ("text", "bdf", "severity", "words"),
    [
        ("[ 57.2] ahci 0000:01:00.0: AHCI controller unavailable!", "01:00.0", "error", "out of reach"),
        (PSP, "c7:00.0", "error", "could not be started"),
        ("xe 0000:83:00.0: [drm] GT0: Engine reset: engine_class=ccs, ...", "83:00.0", "info", "an engine"),
        (f"Feb 17 08:02:35 {LOST}", "a GPU", "error", "fell off the bus"),
        (f"{ENABLING}Feb 17 08:02:35 {LOST}", "47:00.0", "error", "fell off the bus"),
        (EEH, "0001:04:00.0", "error", "stopped by the host"),
        (f"{EEH}<6>[    9.1] EEH: Recovery successful.\n", "0001:04:00.0", "warning", "again"),
        (THIN, "04:00.0", "info", "too slow"),
        (THIN_CARD, "04:00.0", "info", "too slow"),
        (HANDED_OVER, "5e:00.0", "error", "FCP"),
        (BLAMED, "10:02.0", "error", "does not name"),
        (RESET_FAILED, "08:00.0", "warning", "reset of it or of a part of it failed"),
        (RESET_FAILED.replace("failed", "tried"), "08:00.0", "warning", "does not tell that its reset ended"),
        ("bnxt_en 0000:c4:00.0 p1: Error (timeout: 5) msg {0x23 0x1}", "c4:00.0", "warning", "the firmware"),
    ],
)
def test_a_few_lines_tell_of_their_device(text: str, bdf: str, severity: str, words: str) -> None:
    (found,) = [f for f in diagnose(read_bytes(text.encode()), cost=False).findings if f.bdf == bdf]
    assert found.severity is Severity[severity.upper()]
    assert words in found.title


@pytest.mark.parametrize(
    "text",
    [
        "mlx5_core 0000:81:00.0: firmware version: 22.31.1014",
        "<6>[    3.1] mlx5_core 0000:81:00.0: firmware version: 22.31.1014",
        "Feb 17 08:01:00 node kernel: igb 0000:81:00.0 eth0: igb: eth0 NIC Link is Up 1000 Mbps Full Duplex",
        "2025-03-14T10:54:53.114Z cpu58:40848027)WARNING: nmlx5_core: 0000:81:00.0: QueryPort passed",
    ],
)
def test_a_line_without_a_fault_names_its_device(text: str) -> None:
    machine = read_bytes(text.encode())
    assert [address.short for address in machine.functions] == ["81:00.0"]
    assert machine.kinds == ("kernel log",)
    assert not diagnose(machine, cost=False).findings


@pytest.mark.parametrize(
    "text",
    [
        "read: IOPS=9876, BW=38.6MiB/s (40.4MB/s)(2315MiB/60001msec)\n  slat (nsec): min=1520, max=88311\n",
        '{"device": "0000:81:00.0", "state": "ok"}',
        'kind = "scenario"\ndevice = "0000:81:00.0"\n',
        "the card at 0000:81:00.0 does nothing, says a colleague\n",
        "<a>0000:81:00.0</a>",
    ],
)
def test_other_texts_with_an_address_are_no_log(text: str) -> None:
    with pytest.raises(InputError) as refusal:
        read_bytes(text.encode())
    assert "kernel log in which" not in str(refusal.value)


def test_a_log_without_an_address_is_called_one() -> None:
    with pytest.raises(InputError, match="is a kernel log in which no line names a PCI device"):
        read_bytes(b"[    1.0] usb 1-1: new high-speed USB device number 2 using ehci\n")


DRIVE = "{}:00.0 Non-Volatile memory controller [0108]: Samsung Electronics Co Ltd PM9A1 [144d:a80a]\n"
RULE = "-" * 16 + " " + "-" * 20 + " " + "-" * 40


@pytest.mark.parametrize(("listed", "told"), [(1, True), (2, False)])
def test_a_list_with_fewer_drives_than_controllers_is_a_note(listed: int, told: bool) -> None:
    heading = f"{'Node':16} {'SN':20} {'Model':40}\n{RULE}\n"
    rows = "".join(f"{f'/dev/nvme{n}n1':16} {f'S{n}':20} {'PM9A1':40}\n" for n in range(listed))
    text = f"{DRIVE.format('01')}{DRIVE.format('02')}\nFW Rev\n\n{heading}{rows}"
    found = [f for f in diagnose(read_bytes(text.encode()), cost=False).findings if "nvme list" in f.title]
    assert [f.severity for f in found] == ([Severity.INFO] if told else [])
