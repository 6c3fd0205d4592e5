"""What machines in order look like that once was called a fault: parts of real dumps, in their form."""

from __future__ import annotations

from lanewise.health.doctor import Finding, Severity, diagnose
from lanewise.machine import read_bytes


def found(dump: bytes | str, rule: str) -> list[Finding]:
    text = dump.encode() if isinstance(dump, str) else dump
    return [f for f in diagnose(read_bytes(text), cost=False).findings if f.rule == rule]


PORT = """\
{bdf} PCI bridge: Advanced Micro Devices, Inc. [AMD] Family 17h (Models 00h-0fh) PCIe GPP Bridge (prog-if 00 \
[Normal decode])
\tControl: I/O+ Mem+ BusMaster+ SpecCycle- MemWINV- VGASnoop- ParErr+ Stepping- SERR+ FastB2B- DisINTx+
\tBus: primary={primary}, secondary={bus}, subordinate={bus}, sec-latency=0
\tI/O behind bridge: 0000f000-00000fff [disabled]
\tMemory behind bridge: {memory}
\tPrefetchable memory behind bridge: {prefetchable}
\tCapabilities: [58] Express (v2) Root Port (Slot+), MSI 00
\t\tLnkCap:\tPort #247, Speed 8GT/s, Width x4, ASPM L1, Exit Latency L1 <64us
\t\t\tClockPM- Surprise- LLActRep+ BwNot+ ASPMOptComp+
\t\tLnkSta:\tSpeed 2.5GT/s (downgraded), Width x4 (ok)
\t\t\tTrErr- Train- SlotClk+ DLActive- BWMgmt- ABWMgmt-
\t\tSltCap:\tAttnBtn{bay} PwrCtrl{bay} MRL- AttnInd{bay} PwrInd{bay} HotPlug{hot} Surprise{bay}
\t\t\tSlot #{slot}, PowerLimit 0.000W; Interlock- NoCompl-
\t\tSltCtl:\tEnable: AttnBtn- PwrFlt- MRL- PresDet- CmdCplt- HPIrq+ LinkChg+
\t\t\tControl: AttnInd Off, PwrInd On, Power- Interlock-
\t\tSltSta:\tStatus: AttnBtn- PowerFlt- MRL- CmdCplt- PresDet{there} Interlock-
\t\t\tChanged: MRL- PresDet- LinkState{changed}
"""
BAY = {
    "primary": "80",
    "memory": "b7400000-b75fffff [size=2M]",
    "prefetchable": "0000041ec0000000-0000041ec01fffff [size=2M]",
    "bay": "+",
    "hot": "+",
    "there": "+",
    "changed": "-",
}
CLOSED = {"memory": "fff00000-000fffff [disabled]", "prefetchable": "fff00000-000fffff [disabled]"}


def port(bdf: str, bus: str, slot: int, **other: str) -> str:
    return PORT.format(**{**BAY, "bdf": bdf, "bus": bus, "slot": slot, **other})


BAYS = port("80:01.1", "83", 21) + "\n" + port("80:01.2", "84", 22)
FREE = port("a0:01.1", "a1", 0, primary="a0", bay="-", there="-")


def test_empty_bays_that_tie_presence_are_a_note_beside_a_free_slot_of_another_kind() -> None:
    both = found(f"{BAYS}\n{FREE}", "slot-no-link")
    assert [f.severity for f in both] == [Severity.INFO, Severity.INFO]
    assert "dmidecode" in both[0].fix


def test_a_free_bay_of_the_same_kind_shows_that_presence_is_right() -> None:
    free = port("80:01.3", "85", 23, there="-")
    (one,) = found(port("80:01.1", "83", 21) + "\n" + free, "slot-no-link")
    assert one.severity is Severity.WARNING


def test_a_port_that_the_firmware_left_closed_and_that_takes_no_card_later_is_a_note() -> None:
    closed = port("00:02.1", "01", 0, primary="00", bay="-", hot="-", changed="+", **CLOSED)
    (one,) = found(closed, "slot-no-link")
    assert one.severity is Severity.INFO
    assert one.fix.startswith("Nothing, if the slot is free")
    assert one.cost is not None
    assert one.cost.what == "none, if the slot is free"
    opened = port("00:02.1", "01", 0, primary="00", bay="-", hot="-", changed="+")
    (one,) = found(opened, "slot-no-link")
    assert one.severity is Severity.WARNING


def test_what_is_behind_a_sleeping_bridge_is_not_dead() -> None:
    dead = (
        "02:00.0 PCI bridge: Intel Corporation JHL7540 Thunderbolt 3 Bridge [Titan Ridge 4C 2018] (rev ff) "
        "(prog-if ff)\n\t!!! Unknown header type 7f\n"
    )
    far = (
        "06:00.0 USB controller: Intel Corporation JHL7540 Thunderbolt 3 USB Controller (rev ff) "
        "(prog-if ff)\n\t!!! Unknown header type 7f\n"
    )
    above = (
        port("00:1b.0", "02", 20, primary="00").replace("subordinate=02", "subordinate=6c")
        + "\tCapabilities: [a0] Power Management version 3\n"
        "\t\tStatus: D3 NoSoftRst- PME-Enable+ DSel=0 DScale=0 PME-\n"
    ).replace("DLActive-", "DLActive+")
    asleep = found(f"{above}\n{dead}\n{far}", "device-dead")
    assert {f.severity for f in asleep} == {Severity.INFO}
    assert "sleeps" in asleep[0].title
    awake = found(f"{above}\n{dead}\n{far}".replace("Status: D3", "Status: D0"), "device-dead")
    assert {f.severity for f in awake} == {Severity.ERROR}


BEHIND = """\
00:0{n}.0 PCI bridge: Loongson Technology LLC PCI Express x4 Root Port (prog-if 00 [Normal decode])
\tControl: I/O+ Mem+ BusMaster+ SpecCycle- MemWINV- VGASnoop- ParErr- Stepping- SERR- FastB2B- DisINTx+
\tBus: primary=00, secondary=0{n}, subordinate=0{n}, sec-latency=0
\tMemory behind bridge: 30{n}00000-30{n}fffff [size=1M] [32-bit]
\tPrefetchable memory behind bridge: e8{n}00000000-e8{n}0fffffff [size=256M] [64-bit]
\tCapabilities: [70] Express (v2) Root Port (Slot-), IntMsgNum 0

0{n}:00.0 Non-Volatile memory controller: Silicon Motion, Inc. SM2269XT (DRAM-less) NVMe SSD Controller \
(prog-if 02 [NVM Express])
\tControl: I/O- Mem+ BusMaster+ SpecCycle- MemWINV- VGASnoop- ParErr- Stepping- SERR- FastB2B- DisINTx+
\tRegion 0: Memory at {high}30{n}00000 (64-bit, non-prefetchable) [size=16K]
\tRegion 2: Memory at e8{n}00000000 (64-bit, prefetchable) [size=16K]
\tCapabilities: [70] Express (v2) Endpoint, IntMsgNum 0
\tKernel driver in use: nvme
"""


def test_a_host_bridge_that_translates_is_no_conflict() -> None:
    both = "\n".join(BEHIND.format(n=n, high="e00") for n in (5, 8))
    assert not found(both, "address-conflict")
    one = BEHIND.format(n=5, high="e00") + "\n" + BEHIND.format(n=8, high="")
    assert [f.severity for f in found(one, "address-conflict")] == [Severity.ERROR]


def test_a_device_with_a_driver_is_in_use_whatever_its_likes_have() -> None:
    text = "\n".join(BEHIND.format(n=n, high="") for n in range(1, 6))
    others = text.replace("Kernel driver in use: nvme", "Kernel driver in use: libnvm helper", 4)
    (one,) = found(others, "driver-missing")
    assert one.severity is Severity.INFO
    assert one.bdf == "05:00.0"
    assert "bind" not in one.fix
    (none,) = found(others.replace("\tKernel driver in use: nvme\n", ""), "driver-missing")
    assert none.severity is Severity.WARNING


LOG = """\
[    6.410623] pci 0000:01:00.0: [{ids}] type 00 class 0x020000 PCIe Endpoint
[    6.445928] pci 0000:01:00.0: {have} Gb/s available PCIe bandwidth, limited by {now} link at 0000:00:1c.2 \
(capable of {able})
[    6.463150] pci 0000:01:00.1: [{ids}] type 00 class 0x020000 PCIe Endpoint
[    7.100000] pci 0000:00:1c.2: [8086:8d14] type 01 class 0x060400 PCIe Root Port
[    7.200000] pci 0000:00:1c.2: PCI bridge to [bus 01]
"""
ON_ONE_LANE = {"have": "4.000", "now": "5.0 GT/s PCIe x1", "able": "16.000 Gb/s with 5.0 GT/s PCIe x4 link"}
ON_TWO_LANES = {"have": "15.752", "now": "8.0 GT/s PCIe x2", "able": "63.008 Gb/s with 8.0 GT/s PCIe x8 link"}


def loud(text: str) -> list[str]:
    findings = diagnose(read_bytes(text.encode()), cost=False).findings
    return [f.rule for f in findings if f.severity is not Severity.INFO]


def test_a_path_that_carries_all_that_the_ports_of_an_adapter_can_send_is_a_note() -> None:
    assert loud(LOG.format(ids="8086:1521", **ON_ONE_LANE)) == []
    assert loud(LOG.format(ids="15b3:1015", **ON_TWO_LANES)) != []


def test_a_gigabit_adapter_that_only_its_driver_names_is_known() -> None:
    line = "[   12.0] pci 0000:04:00.0: 8.000 Gb/s available PCIe bandwidth, limited by 5 GT/s x{n} link at "
    line += "0000:00:01.4 (capable of 64.000 Gb/s with 5 GT/s x16 link)\n"
    named = "".join(
        f"[   18.1] igb 0000:04:00.{n}: Intel(R) Gigabit Ethernet Network Connection\n" for n in (0, 1)
    )
    assert loud(line.format(n=2)) != []
    assert loud(line.format(n=2) + named) == []


DOCK = """\
[    0.500000] pci 0000:00:07.0: [8086:7ec4] type 01 class 0x060400 PCIe Root Port
[    0.500001] pci 0000:00:07.0: PCI bridge to [bus 20-49]
[    0.600000] pci 0000:20:00.0: [8086:{dock}] type 01 class 0x060400 PCIe Switch Upstream Port
[    0.600001] pci 0000:20:00.0: PCI bridge to [bus 21-49]
[  202.963206] pcieport 0000:20:00.0: Unable to change power state from D3cold to D0, device inaccessible
"""


def test_a_thunderbolt_dock_that_went_is_a_note() -> None:
    assert loud(DOCK.format(dock="0b26")) == []
    assert loud(DOCK.format(dock="2030").replace("7ec4", "2030")) == ["device-lost"]


BERT = """\
[    0.1] pci 0000:16:00.0: [10de:2330] type 00 class 0x030200 PCIe Endpoint
[    1.1] BERT: Error records from previous boot:
[    1.2] [Hardware Error]: event severity: fatal
[    1.3] [Hardware Error]:  Error 0, type: fatal
[    1.4] [Hardware Error]:   section_type: PCIe error
[    1.5] [Hardware Error]:   device_id: 0000:16:00.0
[    1.6] [Hardware Error]:   aer_uncor_status: 0x00000020, aer_uncor_mask: 0x00000000
"""


def test_what_the_firmware_kept_of_the_boot_before_says_so() -> None:
    (one,) = found(BERT, "uncorrectable-errors")
    assert any("boot before" in line for line in one.evidence)
    now = BERT.replace(
        "BERT: Error records from previous boot:",
        "{1}[Hardware Error]: Hardware error from APEI Generic Hardware Error Source: 1",
    )
    (one,) = found(now, "uncorrectable-errors")
    assert not any("boot before" in line for line in one.evidence)


def test_registers_of_ones_in_a_log_are_a_lost_adapter() -> None:
    lines = (
        "[15342.1] tg3 0000:04:00.1 eno2: transmit timed out, resetting\n"
        "[15342.2] tg3 0000:04:00.1 eno2: 0x00000000: 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff\n"
    )
    pci = "[    1.0] pci 0000:04:00.1: [14e4:1657] type 00 class 0x020000 PCIe Endpoint\n"
    assert [f.severity for f in found(pci + lines, "device-lost")] == [Severity.ERROR]
    assert not found(pci + lines.splitlines()[0] + "\n", "device-lost")


def test_a_read_that_timed_out_at_a_host_bridge_is_a_note() -> None:
    bridge = (
        "00:00.0 {kind}: Loongson Technology LLC Device 7a59\n"
        "\tCapabilities: [70] Express (v2) Endpoint, IntMsgNum 0\n"
        "\t\tDevSta:\tCorrErr+ NonFatalErr+ FatalErr- UnsupReq- AuxPwr+ TransPend-\n"
        "\tCapabilities: [100 v1] Advanced Error Reporting\n"
        "\t\tUESta:\tDLP- SDES- TLP- FCP- CmpltTO+ CmpltAbrt- UnxCmplt- RxOF- MalfTLP-\n"
    )
    (one,) = found(bridge.format(kind="Host bridge"), "uncorrectable-errors")
    assert one.severity is Severity.INFO
    (one,) = found(bridge.format(kind="Non-Volatile memory controller"), "uncorrectable-errors")
    assert one.severity is Severity.WARNING


def test_an_end_that_contradicts_itself_about_speeds_is_a_note() -> None:
    text = BEHIND.format(n=5, high="")
    for able, severity in (("2.5GT/s", Severity.INFO), ("2.5-8GT/s", Severity.WARNING)):
        registers = (
            "\t\tLnkCap:\tPort #0, Speed 16GT/s, Width x4, ASPM not supported\n"
            "\t\tLnkSta:\tSpeed 8GT/s, Width x4\n"
            f"\t\tLnkCap2: Supported Link Speeds: {able}, Crosslink- Retimer+ 2Retimers+ DRS-\n"
            "\t\tLnkCtl2: Target Link Speed: 8GT/s, EnterCompliance+ SpeedDis-\n"
        )
        port_line = "Express (v2) Root Port (Slot-), IntMsgNum 0\n"
        (one,) = found(text.replace(port_line, port_line + registers), "link-test-mode")
        assert one.severity is severity
