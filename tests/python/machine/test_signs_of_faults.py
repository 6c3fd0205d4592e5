"""What dumps show of devices, slots and bridges that fail: every kind of source says the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from lanewise.machine import read, read_bytes
from lanewise.machine.model import Function, Window

DEAD = "91:00.0 3D controller [0302]: NVIDIA Corporation GH100 [H100 SXM5 80GB] [10de:2330] (rev ff)"
ROWS = "\n".join(f"{16 * row:02x}: " + " ".join(["ff"] * 16) for row in range(16))

PORT = """\
5d:02.0 PCI bridge [0604]: Intel Corporation Sky Lake-E PCI Express Root Port C [8086:2032] (rev 04)
\tControl: I/O+ Mem+ BusMaster+ SpecCycle- MemWINV- VGASnoop- ParErr+ Stepping- SERR+ FastB2B- DisINTx+
\tBus: primary=5d, secondary=5f, subordinate=5f, sec-latency=0
\tI/O behind bridge: [disabled] [16-bit]
\tMemory behind bridge: e1200000-e13fffff [size=2M] [32-bit]
\tPrefetchable memory behind bridge: 00000000fff00000-00000000000fffff [disabled] [64-bit]
\tCapabilities: [90] Express (v2) Root Port (Slot+), MSI 00
\t\tLnkCap:\tPort #9, Speed 8GT/s, Width x4, ASPM L1, Exit Latency L1 <16us
\t\tLnkSta:\tSpeed 2.5GT/s (downgraded), Width x0 (downgraded)
\t\t\tTrErr- Train+ SlotClk+ DLActive- BWMgmt- ABWMgmt-
\t\tSltCap:\tAttnBtn- PwrCtrl+ MRL- AttnInd+ PwrInd+ HotPlug+ Surprise-
\t\t\tSlot #7, PowerLimit 25W; Interlock- NoCompl-
\t\tSltCtl:\tEnable: AttnBtn- PwrFlt- MRL- PresDet- CmdCplt- HPIrq- LinkChg-
\t\t\tControl: AttnInd Blink, PwrInd On, Power- Interlock-
\t\tSltSta:\tStatus: AttnBtn- PowerFlt+ MRL- CmdCplt- PresDet+ Interlock-
\t\t\tChanged: MRL- PresDet- LinkState+
\t\tLnkCtl2: Target Link Speed: 2.5GT/s, EnterCompliance- SpeedDis+
"""


@pytest.mark.parametrize(
    ("text", "signs"),
    [
        (f"{DEAD}\n", ("(rev ff)",)),
        (
            f"{DEAD} (prog-if ff)\n\t!!! Unknown header type 7f\n\tKernel driver in use: nvidia\n",
            ("(rev ff)", "!!! Unknown header type 7f"),
        ),
        (
            "91:00.0 3D controller: NVIDIA Corporation GH100 (rev a1)\n\t!!! Unknown header type 7f\n"
            "\tInterrupt: pin ? routed to IRQ 17\n\tRegion 0: Memory at 81500000 (32-bit, non-prefetchable) "
            "[size=16K]\n\tKernel driver in use: nvidia\n",
            ("!!! Unknown header type 7f",),
        ),
        (f"91:00.0 0302: 10de:2330 (rev a1)\n{ROWS}\n", ("configuration space: all ones",)),
        (
            "91:00.0 3D controller: NVIDIA Corporation GH100 (rev a1)\n\tCapabilities: [78] Express (v2) "
            "Endpoint, MSI 00\n\t\tLnkSta:\tSpeed unknown, Width x63, TrErr+ Train+ SlotClk+ DLActive+\n",
            ("LnkSta: Speed unknown, Width x63",),
        ),
        ("91:00.0 3D controller: NVIDIA Corporation GH100 (rev a1)\n\tCapabilities: <access denied>\n", ()),
    ],
)
def test_a_device_that_does_not_answer(text: str, signs: tuple[str, ...]) -> None:
    assert read_bytes(text.encode())["91:00.0"].registers.no_answer == signs


def sysfs(folder: Path, **files: str | bytes) -> Function:
    """Make a sysfs with one function of a few files and read it."""
    place = folder / "bus/pci/devices/0000:91:00.0"
    place.mkdir(parents=True)
    for name, content in {"vendor": "0x10de\n", "device": "0x2330\n", **files}.items():
        (place / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return read(folder)["91:00.0"]


HEADER = bytes.fromhex("de10302306041000a100020300000000") + bytes(36) + b"\x60" + bytes(11)


def test_ones_in_sysfs(tmp_path: Path) -> None:
    assert sysfs(tmp_path / "a", config=b"\xff" * 4096).registers.no_answer
    from_40 = sysfs(tmp_path / "b", config=HEADER + b"\xff" * 4032)
    assert from_40.registers.no_answer == ("configuration space: all ones from 0x40 on",)
    assert from_40.registers.express is None
    assert sysfs(tmp_path / "c", vendor="0xffff\n").registers.no_answer == ("vendor: 0xffff",)
    assert sysfs(tmp_path / "d", current_link_width="63\n").registers.no_answer
    assert sysfs(tmp_path / "e", config=HEADER + bytes(4032)).registers.no_answer == ()


def test_what_a_port_says_of_its_slot_and_link() -> None:
    port = read_bytes(PORT.encode())["5d:02.0"]
    slot, link = port.registers.slot, port.link
    assert slot is not None
    assert (slot.presence, slot.presence_changed, slot.link_changed) == (True, False, True)
    assert (slot.power_fault, slot.attention, slot.power_off) == (True, "blink", False)
    assert (link.training, link.data_link_active, link.autonomous_speed_disabled) == (True, False, True)
    assert (link.said_of_speed, link.said_of_width) == ("downgraded", "downgraded")
    assert port.registers.windows == (
        Window(0xE1200000, 0xE13FFFFF),
        Window(prefetchable=True),
    )
    assert [window.size for window in port.registers.windows] == [2 << 20, 0]


def test_windows_from_bytes() -> None:
    """A bridge with a window of 1 MiB and one of 256 GiB, as `lspci -x` shows it."""
    rows = (
        "5d:02.0 PCI bridge: Intel Corporation Sky Lake-E PCI Express Root Port C (rev 04)\n"
        "00: 86 80 32 20 47 05 10 00 04 00 04 06 08 00 81 00\n"
        "10: 04 00 00 e1 00 00 00 00 5d 5f 5f 00 f0 00 00 00\n"
        "20: 10 e1 10 e1 01 00 f1 ff 40 00 00 00 7f 00 00 00\n"
        "30: 00 00 00 00 40 00 00 00 00 00 00 00 0b 01 02 00\n"
    )
    windows = read_bytes(rows.encode())["5d:02.0"].registers.windows
    assert windows is not None
    assert [window.size for window in windows] == [1 << 20, 256 << 30]


def test_regions_without_an_address() -> None:
    text = (
        "3b:00.0 3D controller: NVIDIA Corporation GH100 (rev a1)\n"
        "\tControl: I/O- Mem- BusMaster- SpecCycle-\n"
        "\tRegion 0: Memory at <unassigned> (64-bit, prefetchable) [disabled] [size=16M]\n"
        "\tRegion 2: Memory at <ignored> (64-bit, prefetchable) [disabled]\n"
        "\tRegion 4: Memory at 00000000 (32-bit, non-prefetchable) [disabled] [size=4K]\n"
    )
    bars = read_bytes(text.encode())["3b:00.0"].registers.bars
    assert bars is not None
    assert [(bar.index, bar.unassigned, bar.ignored, bar.assigned) for bar in bars] == [
        (0, True, False, False),
        (2, False, True, False),
        (4, False, False, False),
    ]


def test_the_type_of_an_iommu_group(tmp_path: Path) -> None:
    (tmp_path / "kernel/iommu_groups/12").mkdir(parents=True)
    (tmp_path / "kernel/iommu_groups/12/type").write_text("DMA-FQ\n")
    device = tmp_path / "devices/pci0000:3a/0000:91:00.0"
    device.mkdir(parents=True)
    (device / "vendor").write_text("0x10de\n")
    (device / "iommu_group").symlink_to("../../../kernel/iommu_groups/12")
    (tmp_path / "bus/pci/devices").mkdir(parents=True)
    (tmp_path / "bus/pci/devices/0000:91:00.0").symlink_to("../../../devices/pci0000:3a/0000:91:00.0")
    function = read(tmp_path)["91:00.0"]
    assert (function.iommu_group, function.iommu_type) == (12, "DMA-FQ")
