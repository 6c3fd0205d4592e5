"""What FreeBSD machines show that are in order: cut from public dumps of `pciconf -lvbc`."""

from __future__ import annotations

from lanewise.health.doctor import Severity, diagnose
from lanewise.health.doctor.finding import Finding
from lanewise.machine import read_bytes


def found(text: str, rule: str) -> list[Finding]:
    return [f for f in diagnose(read_bytes(text.encode()), cost=False).findings if f.rule == rule]


# GitHub, bsdhw/PCIconf: two sockets of Haswell, an AMD 790, an Atom C3000 and a Navi among 8,686 machines.
SOCKETS = """\
none61@pci0:255:30:3:\tclass=0x088000 card=0x2fc08086 chip=0x2fc08086 rev=0x02 hdr=0x00
    device     = 'Xeon E7 v3/Xeon E5 v3/Core i7 Power Control Unit'
    bar   [10] = type Memory, range 20, base 0x20, size 32, disabled
none126@pci0:127:30:3:\tclass=0x088000 card=0x2fc08086 chip=0x2fc08086 rev=0x02 hdr=0x00
    device     = 'Xeon E7 v3/Xeon E5 v3/Core i7 Power Control Unit'
    bar   [10] = type Memory, range 20, base 0x20, size 32, disabled
"""
HOST_BRIDGE = """\
hostb0@pci0:0:0:0:\tclass=0x060000 rev=0x00 hdr=0x00 vendor=0x1002 device=0x5957
    device     = 'RX780/RX790 Host Bridge'
    bar   [1c] = type Memory, range 64, base 0xe0000000, size 536870912, enabled
ohci0@pci0:0:18:0:\tclass=0x0c0310 rev=0x00 hdr=0x00 vendor=0x1002 device=0x4397
    device     = 'SB7x0/SB8x0/SB9x0 USB OHCI0 Controller'
    bar   [10] = type Memory, range 32, base 0xfe7fe000, size 4096, enabled
"""


def test_memory_that_is_not_decoded_is_in_nobodys_way() -> None:
    assert not found(SOCKETS, "address-conflict")
    assert found(SOCKETS.replace("disabled", "enabled"), "address-conflict")


def test_what_a_host_bridge_covers_is_behind_it() -> None:
    assert not found(HOST_BRIDGE, "address-conflict")
    assert found(HOST_BRIDGE.replace("0x060000", "0x020000"), "address-conflict")


PORT = """\
pcib8@pci0:0:15:0:\tclass=0x060400 rev=0x11 hdr=0x01 vendor=0x8086 device=0x19a9
    device     = 'Atom Processor C3000 Series PCI Express Root Port'
    cap 10[40] = PCI-Express 2 root port max data 1024(256) ARI disabled
                 max read 128
                 link x0(x1) speed 0.0(8.0)
"""


def test_a_port_with_nothing_at_it_sends_nothing_that_is_too_large() -> None:
    assert not found(PORT, "mps-mismatch")
    assert not found(PORT.replace("x0(x1) speed 0.0(8.0)", "x0(x0)"), "mps-mismatch")
    assert found(PORT.replace("x0(x1) speed 0.0", "x1(x1) speed 8.0"), "mps-mismatch")


NAVI = """\
pcib9@pci0:3:0:0:\tclass=0x060400 rev=0xc1 hdr=0x01 vendor=0x1002 device=0x1478
    device     = 'Navi 10 XL Upstream Port of PCI Express Switch'
    cap 10[58] = PCI-Express 2 upstream port max data 256(512) RO NS
                 max read 512
                 link x16(x16) speed 2.5(16.0) ASPM disabled(L1) ClockPM disabled
"""


def test_the_switch_in_a_gpu_sleeps_as_the_gpu_does() -> None:
    assert not found(NAVI, "link-one-end")
    (narrow,) = found(NAVI.replace("x16(x16)", "x4(x16)"), "link-one-end")
    assert (narrow.severity, "on x4 of x16 lanes" in narrow.headline) == (Severity.WARNING, True)
    assert found(NAVI.replace("0x1478", "0x8747").replace("Navi 10 XL", "PEX"), "link-one-end")


def nic(bus: int, device: int, *, mps: int = 256, mrrs: int = 512) -> str:
    return f"""\
re{bus}@pci0:{bus}:0:0:\tclass=0x020000 rev=0x15 hdr=0x00 vendor=0x10ec device=0x{device:04x}
    device     = 'RTL8111/8168/8411 PCI Express Gigabit Ethernet Controller'
    cap 10[70] = PCI-Express 2 endpoint max data {mps}({256}) RO
                 max read {mrrs}
                 link x1(x1) speed 2.5(2.5) ASPM disabled(L0s/L1) ClockPM disabled
"""


def test_sizes_of_packets_are_odd_where_a_device_can_use_them() -> None:
    """A port of 1 Gb/s fills itself with reads of 512 B, and with payloads of 128 B."""
    three = [nic(1, 0x8168, mrrs=4096), nic(2, 0x8168, mrrs=4096)]
    for odd in (nic(3, 0x8168), nic(3, 0x8168, mrrs=4096, mps=128)):
        (told,) = found("".join([*three, odd]), "odd-one-out")
        assert told.severity is Severity.INFO
    unknown = (
        "".join([*three, nic(3, 0x8168, mrrs=128)]).replace("Gigabit Ethernet", "").replace("8168", "1234")
    )
    (starved,) = found(unknown, "odd-one-out")
    assert starved.severity is Severity.WARNING


HTI = """\
ix0@pci0:5:0:0:\tclass=0x020000 rev=0x01 hdr=0x00 vendor=0x8086 device=0x10fb
    cap 10[a0] = PCI-Express 2 endpoint max data 256(512) FLR RO NS
none117@pci0:6:0:1:\tclass=0x0b4000 rev=0x00 hdr=0x00 vendor=0x19a2 device=0x0800
    device     = 'ServerView iRMC HTI'
"""
QUICK_ASSIST = """\
none6@pci0:1:0:0:\tclass=0x0b4000 rev=0x11 hdr=0x00 vendor=0x8086 device=0x19e2
    device     = 'Atom Processor C3000 Series QuickAssist Technology'
    cap 10[74] = PCI-Express 2 endpoint max data 128(16384) FLR RO NS
                 link x16(x16) speed 5.0(5.0) ASPM disabled(L0s/L1)
"""


def test_a_management_controller_is_no_accelerator_and_few_miss_one_in_a_processor() -> None:
    assert not found(HTI, "driver-missing")
    (noted,) = found(QUICK_ASSIST + HTI, "driver-missing")
    assert noted.severity is Severity.INFO
    (missed,) = found(QUICK_ASSIST.replace("0x19e2", "0x0435") + HTI, "driver-missing")
    assert missed.severity is Severity.WARNING


ASM1806 = """\
pcib4@pci0:17:0:0:\tclass=0x060400 rev=0x01 hdr=0x01 vendor=0x1b21 device=0x1806
    device     = 'ASM1806 4-Port PCIe x2 Gen2 Packet Switch'
    cap 10[80] = PCI-Express 2 upstream port max data 256(512) RO NS ARI disabled
                 max read 128
                 link x2(x8) speed 5.0(5.0) ASPM disabled(L0s/L1) ClockPM disabled
"""


def test_a_switch_of_two_lanes_that_claims_eight_lacks_none() -> None:
    assert not found(ASM1806, "link-one-end")
    assert found(ASM1806.replace("0x1806", "0x1812"), "link-one-end")
