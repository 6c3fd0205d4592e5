"""Dumps without ports, as `lspci -vvv -d` or `-s` prints them: a device is judged by others of its kind."""

from __future__ import annotations

import pytest

from lanewise.errors import InputError
from lanewise.health.doctor import Severity, diagnose
from lanewise.health.predict import predict
from lanewise.machine import read_bytes
from lanewise.machine.model import Machine

CX7 = "Infiniband controller [0207]: Mellanox Technologies MT2910 Family [ConnectX-7] [15b3:1021]"
I350 = "Ethernet controller [0200]: Intel Corporation I350 Gigabit Network Connection [8086:1521] (rev 01)"
HBA = "Serial Attached SCSI controller [0107]: Broadcom / LSI SAS3516 Fusion-MPT Tri-Mode [1000:00aa]"
ADA = "VGA compatible controller [0300]: NVIDIA Corporation AD102GL [RTX 6000 Ada Generation] [10de:26b1]"
H100 = "3D controller [0302]: NVIDIA Corporation GH100 [H100 PCIe] [10de:2331] (rev a1)"
M2 = "Non-Volatile memory controller [0108]: Sandisk Corp WD Black SN850 [15b7:5011] (rev 01) (prog-if 02)"
P5510 = (
    "Non-Volatile memory controller [0108]: Intel Corporation NVMe Datacenter SSD [8086:0b60] (prog-if 02)"
)

DEVICE = """\
{bdf} {name}
\tSubsystem: Example Board [10de:0001]
\tControl: I/O- Mem+ BusMaster+ SpecCycle- MemWINV- VGASnoop- ParErr- Stepping- SERR- FastB2B- DisINTx+
\tCapabilities: [60] Express (v2) Endpoint, MSI 00
\t\tDevCap:\tMaxPayload 512 bytes, PhantFunc 0, Latency L0s unlimited, L1 unlimited
\t\tDevCtl:\tCorrErr+ NonFatalErr+ FatalErr+ UnsupReq-
\t\t\tRlxdOrd+ ExtTag+ PhantFunc- AuxPwr- NoSnoop+ FLReset-
\t\t\tMaxPayload 512 bytes, MaxReadReq 4096 bytes
\t\tLnkCap:\tPort #0, Speed {can}, ASPM not supported
\t\tLnkSta:\tSpeed {now}
"""


def text(name: str, can: str, *now: str) -> str:
    """Return a dump of devices of one kind, each with a link of its own."""
    return "\n".join(
        DEVICE.format(bdf=f"{0x21 + 0x10 * number:02x}:00.0", name=name, can=_words(can), now=_words(one))
        for number, one in enumerate(now)
    )


def devices(name: str, can: str, *now: str) -> Machine:
    return read_bytes(text(name, can, *now).encode())


def _words(mode: str) -> str:
    speed, _, width = mode.partition(" x")
    return f"{speed}GT/s, Width x{width}"


@pytest.mark.parametrize(
    ("name", "can", "now", "severity"),
    [
        (CX7, "32 x16", "8 x16", Severity.WARNING),
        (CX7, "32 x16", "32 x8", Severity.WARNING),
        (HBA, "16 x8", "16 x4", Severity.WARNING),
        (H100, "32 x16", "32 x8", Severity.WARNING),
        (P5510, "16 x4", "16 x2", Severity.WARNING),
        (ADA, "16 x16", "16 x8", Severity.INFO),
        (ADA, "16 x16", "8 x16", Severity.WARNING),
        (M2, "16 x4", "8 x4", Severity.INFO),
    ],
)
def test_one_of_two_that_has_far_less_is_told_where_slots_are_alike(
    name: str, can: str, now: str, severity: Severity
) -> None:
    found = [
        one
        for one in diagnose(devices(name, can, can, now), cost=False).findings
        if one.rule == "link-one-end"
    ]
    assert [(one.bdf, one.severity) for one in found] == [("31:00.0", severity)]
    assert "21:00.0, of its kind, runs at" in " ".join(found[0].evidence)


@pytest.mark.parametrize(
    ("name", "can", "now", "severity"),
    [
        (HBA, "8 x8", "2.5 x8", Severity.WARNING),
        (P5510, "16 x4", "2.5 x4", Severity.WARNING),
        (HBA, "8 x8", "5 x8", Severity.INFO),
        (M2, "16 x4", "2.5 x4", Severity.INFO),
    ],
)
def test_the_first_speed_there_was_is_no_slots_where_it_is_wide(
    name: str, can: str, now: str, severity: Severity
) -> None:
    found = [
        one for one in diagnose(devices(name, can, now), cost=False).findings if one.rule == "link-one-end"
    ]
    assert [one.severity for one in found] == [severity]


def test_two_that_are_both_slow_have_such_slots() -> None:
    found = diagnose(devices(CX7, "32 x16", "16 x16", "16 x16"), cost=False).findings
    assert not [one for one in found if one.severity is not Severity.INFO]


def test_ports_that_need_no_more_make_no_difference() -> None:
    found = diagnose(devices(I350, "5 x4", "5 x4", "5 x2"), cost=False).findings
    assert not [one for one in found if one.severity is not Severity.INFO]


LOG = """\
[    0.000000] Linux version 6.8.0-60-generic (buildd@lcy02-amd64-054) #63-Ubuntu SMP PREEMPT_DYNAMIC
[    0.412233] iommu: Default domain type: {domain}
[    0.412240] iommu: DMA domain TLB invalidation policy: lazy mode
[    1.203344] mlx5_core 0000:41:00.0: firmware version: 28.39.1002
"""


@pytest.mark.parametrize(("domain", "found"), [("Translated", True), ("Passthrough", False)])
def test_translated_gpus_need_no_ports_in_the_dump(domain: str, found: bool) -> None:
    gpus = text(ADA, "16 x16", *["16 x16"] * 4)
    machine = read_bytes(f"{LOG.format(domain=domain)}\n{gpus}".encode())
    rules = {one.rule: one.severity for one in diagnose(machine, cost=False).findings}
    assert rules.get("iommu-translated") is (Severity.WARNING if found else None)


def test_two_that_ask_for_different_sizes_are_a_note() -> None:
    gpus = text(H100, "32 x16", "32 x16", "32 x16")
    head, bdf, tail = gpus.partition("31:00.0")
    gpus = head + bdf + tail.replace("MaxReadReq 4096", "MaxReadReq 512")
    (found,) = [
        one for one in diagnose(read_bytes(gpus.encode()), cost=False).findings if one.rule == "odd-one-out"
    ]
    assert (found.bdf, found.severity) == ("31:00.0", Severity.INFO)
    assert "512 B" in found.title


ONE_PORT = DEVICE.replace("{bdf}", "b1:00.1").format(name=CX7, can="32GT/s, Width x16", now="{now}")
SLOW = ONE_PORT.replace("{now}", "16GT/s (downgraded), Width x8 (downgraded)")
VIRTUAL = """\
b1:00.2 Ethernet controller [0200]: Mellanox Technologies ConnectX Family mlx5Gen Virtual Function [15b3:101e]
\tCapabilities: [60] Express (v2) Endpoint, MSI 00
\t\tDevCtl:\tCorrErr- NonFatalErr- FatalErr- UnsupReq-
\t\t\tMaxPayload 128 bytes, MaxReadReq 128 bytes
\t\tLnkCap:\tPort #0, Speed 32GT/s, Width x16, ASPM not supported
\t\tLnkSta:\tSpeed unknown (downgraded), Width x0 (downgraded)
"""
TREE = """
  +-[0000:b0]-+-00.0  Intel Corporation Ice Lake Memory Map/VT-d
  |           \\-04.0-[b1-b2]--+-00.0  Mellanox Technologies MT2910 Family [ConnectX-7]
  |                           \\-00.1  Mellanox Technologies MT2910 Family [ConnectX-7]
"""


@pytest.mark.parametrize("text", [SLOW, SLOW + VIRTUAL, SLOW + TREE], ids=["alone", "virtual", "tree"])
def test_a_second_port_stands_for_its_link_where_the_first_tells_nothing(text: str) -> None:
    found = diagnose(read_bytes(text.encode()), cost=False)
    (finding,) = (finding for finding in found.findings if finding.rule == "link-one-end")
    assert finding.bdf == "b1:00.1"
    assert "runs at 16GT/s x8 and could do 32GT/s x16" in finding.title
    assert not found.examined
    assert "'sudo lspci -vvv' of all devices, without '-s', shows them" in found.notes[-1]


def test_a_second_port_that_runs_in_full_is_a_link_that_is_seen() -> None:
    found = diagnose(read_bytes(ONE_PORT.replace("{now}", "32GT/s, Width x16").encode()), cost=False)
    assert found.examined
    assert found.readable[0] == ("links", 1, 1)


def test_of_two_ports_the_first_stands_for_the_link() -> None:
    both = SLOW.replace("b1:00.1", "b1:00.0") + "\n" + SLOW
    found = diagnose(read_bytes(both.encode()), cost=False).findings
    assert [finding.bdf for finding in found if finding.rule == "link-one-end"] == ["b1:00.0"]


def test_a_prediction_is_of_the_port_whose_registers_are_there() -> None:
    rows = predict(read_bytes((SLOW + TREE).encode()), together=False).rows
    assert {(row.bdf, row.link) for row in rows} == {("b1:00.1", "gen4 x8")}


def test_of_a_device_without_a_link_the_port_with_a_class_is_named() -> None:
    text = "b1:00.1 " + CX7 + TREE
    with pytest.raises(InputError, match="whose link is known"):
        predict(read_bytes(text.encode()), together=False)


# A mail to linux-kernel, September 2023 (snd-rpl-pci-acp6x): a GPU's sound without the GPU, two words joined.
@pytest.mark.parametrize("words", ["Audio device [0403]", "Audiodevice"])
def test_sound_of_a_gpu_sleeps_with_it_where_the_gpu_is_not_in_the_dump(words: str) -> None:
    sound = text(f"{words}: NVIDIA Corporation Device [10de:10fa] (rev a1)", "8 x16", "2.5 x16")
    beside = sound.replace(":00.0", ":00.1")
    (first,) = diagnose(read_bytes(sound.encode()), cost=False).findings
    assert (first.rule, first.severity) == ("link-one-end", Severity.WARNING)
    assert not diagnose(read_bytes(beside.encode()), cost=False).findings
    (lanes,) = diagnose(read_bytes(beside.replace("Width x16\n", "Width x4\n").encode()), cost=False).findings
    assert lanes.title.startswith("21:00.1")
    assert "runs on x4 of x16 lanes" in lanes.title
