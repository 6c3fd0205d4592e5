"""FreeBSD's `pciconf -lvbc`, new and old wording."""

from __future__ import annotations

import pytest

from lanewise.health.doctor import diagnose
from lanewise.machine import read_bytes
from lanewise.machine.model import Kind, LinkMode

NEW = b"""\
pcib2@pci0:0:3:0:\tclass=0x060400 rev=0x08 hdr=0x01 vendor=0x8086 device=0x2f08 subvendor=0x15d9
    vendor     = 'Intel Corporation'
    device     = 'Xeon E7 v3/Xeon E5 v3/Core i7 PCI Express Root Port 3'
    class      = bridge
    subclass   = PCI-PCI
    cap 01[80] = powerspec 3  supports D0 D3  current D0
    cap 10[90] = PCI-Express 2 root port max data 256(256) ARI disabled
                 max read 128
                 link x4(x16) speed 5.0(8.0) ASPM disabled(L1)
                 slot 3 power limit 75000 mW
    ecap 0019[250] = PCIe Sec 1 lane errors 0x5
mlx5_core0@pci0:134:0:1:\tclass=0x020000 rev=0x00 hdr=0x00 vendor=0x15b3 device=0x1015 subvendor=0x15b3
    vendor     = 'Mellanox Technologies'
    device     = 'MT27710 Family [ConnectX-4 Lx]'
    class      = network
    subclass   = ethernet
    bar   [10] = type Prefetchable Memory, range 64, base 0xc8000000, size 33554432, enabled
    cap 10[60] = PCI-Express 2 endpoint max data 256(512) FLR NS
                 max read 512
                 link x4(x8) speed 5.0(8.0) ASPM disabled(L0s/L1)
    ecap 0001[100] = AER 2 0 fatal 0 non-fatal 1 corrected
none3@pci0:134:0:0:\tclass=0x020000 rev=0x00 hdr=0x00 vendor=0x15b3 device=0x1015 subvendor=0x15b3
    cap 10[60] = PCI-Express 2 endpoint max data 256(512) FLR NS
                 max read 512
                 link x4(x8) speed 5.0(8.0) ASPM disabled(L0s/L1)
"""
OLD = b"""\
em0@pci0:2:0:0:\tclass=0x020000 card=0xa01f8086 chip=0x10d38086 rev=0x00 hdr=0x00
    class      = network
    cap 10[e0] = PCI-Express 1 endpoint max data 128(256) link x1(x1)
                 speed 2.5(2.5) ASPM disabled(L0s/L1)
pcib3@pci0:0:21:0:\tclass=0x060400 card=0x00001002 chip=0x43a01002 rev=0x00 hdr=0x01
    cap 10[58] = PCI-Express 2 root port max data 128(128) link x16(x4)
                 speed undef(2.5) ASPM disabled(L0s/L1)
"""


def test_functions_with_addresses_in_decimal() -> None:
    machine = read_bytes(NEW)
    assert [f.address.short for f in machine] == ["00:03.0", "86:00.0", "86:00.1"]
    port, nic = machine["00:03.0"], machine["86:00.1"]
    assert port.kind is Kind.ROOT_PORT
    assert (nic.identity.vendor_id, nic.identity.device_id, nic.identity.class_code) == (
        0x15B3,
        0x1015,
        0x020000,
    )
    assert (nic.driver, machine["86:00.0"].driver) == ("mlx5_core", None)


def test_registers() -> None:
    machine = read_bytes(NEW)
    nic = machine["86:00.1"]
    assert (nic.link.status, nic.link.capability) == (LinkMode(5.0, 4), LinkMode(8.0, 8))
    assert (nic.transfers.mps, nic.transfers.mps_supported, nic.transfers.mrrs) == (256, 512, 512)
    assert (nic.transfers.relaxed_ordering, nic.link.aspm_enabled) == (False, ())
    assert machine["00:03.0"].link.lane_errors == (0, 2)
    assert nic.registers.bars is not None
    assert (nic.registers.bars[0].size, nic.registers.bars[0].bits64) == (32 << 20, True)


def test_the_device_is_below_itself_and_its_port_is_unknown() -> None:
    findings = diagnose(read_bytes(NEW), cost=False).findings
    assert {(f.rule, f.bdf) for f in findings} == {("link-one-end", "86:00.0"), ("driver-missing", "86:00.0")}


def test_older_versions() -> None:
    machine = read_bytes(OLD)
    nic = machine["02:00.0"]
    assert (nic.identity.vendor_id, nic.identity.device_id) == (0x8086, 0x10D3)
    assert nic.link.status == LinkMode(2.5, 1)
    assert nic.transfers.relaxed_ordering is None
    assert machine["00:15.0"].link.status == LinkMode(None, 16)


def test_without_capabilities_it_says_how_to_get_them() -> None:
    lines = [line for line in NEW.splitlines() if b"cap" not in line]
    machine = read_bytes(b"\n".join(line for line in lines if b"@pci" in line))
    assert any("pciconf -lvbBc" in note for note in machine.notes)
    assert not diagnose(machine, cost=False).examined


@pytest.mark.parametrize(("fatal", "found"), [(0, []), (2, [("02:00.0", "warning")])])
def test_fatal_errors_that_are_latched_are_told(fatal: int, found: list[tuple[str, str]]) -> None:
    text = (
        "ix0@pci0:2:0:0:\tclass=0x020000 rev=0x01 hdr=0x00 vendor=0x8086 device=0x1528 subvendor=0x8086 "
        "subdevice=0x0001\n"
        "    cap 10[a0] = PCI-Express 2 endpoint max data 256(512) FLR\n"
        "                 max read 512\n"
        "                 link x8(x8) speed 5.0(5.0) ASPM disabled(L0s/L1)\n"
        f"    ecap 0001[100] = AER 1 {fatal} fatal 1 non-fatal 1 corrected\n"
    )
    told = [f for f in diagnose(read_bytes(text.encode())).findings if f.rule == "uncorrectable-errors"]
    assert [(f.bdf, f.severity.value) for f in told] == found
    assert all("AER 2 fatal" in f.evidence[0] for f in told)


TREE = b"""\
pcib1@pci0:0:1:0:\tclass=0x060400 rev=0x05 hdr=0x01 vendor=0x8086 device=0x1901 subvendor=0x1043
    bus range  = 1-1
    window[1c] = type I/O Port, range 16, addr 0xf000-0xfff, disabled
    window[20] = type Memory, range 32, addr 0xfe600000-0xfe6fffff, enabled
    window[24] = type Prefetchable Memory, range 64, addr 0xfff00000-0xfffff, disabled
    cap 10[a0] = PCI-Express 2 root port max data 256(256) ARI disabled
                 max read 128
                 link x1(x4) speed 8.0(8.0) ASPM disabled(L0s/L1)
nvme0@pci0:1:0:0:\tclass=0x010802 rev=0x00 hdr=0x00 vendor=0x144d device=0xa808 subvendor=0x144d
    bar   [10] = type Memory, range 64, base 0xfe600000, size 16384, enabled
    cap 10[70] = PCI-Express 2 endpoint max data 256(256) FLR RO NS
                 max read 512
                 link x1(x4) speed 8.0(8.0) ASPM disabled(L1) ClockPM disabled
"""


def test_buses_behind_bridges_make_a_tree() -> None:
    """With -B; the wording is that of print_bus_range and print_window."""
    machine = read_bytes(TREE)
    (link,) = machine.links
    assert (link.upper.address.short, link.device.address.short) == ("00:01.0", "01:00.0")
    assert not machine.notes
    (narrow,) = (f for f in diagnose(machine, cost=False).findings if f.rule == "link-width")
    assert "x1" in narrow.headline
    alone = read_bytes(b"".join(line for line in TREE.splitlines(keepends=True) if b"bus range" not in line))
    assert not alone.links
    assert any("pciconf -lvbBc" in note for note in alone.notes)


def test_errors_have_names_where_pciconf_was_asked_for_them() -> None:
    """With -e; one stands in each line. What bus scans leave in Status and Device Status is none."""
    asked = (
        b"nvme0@pci0:4:0:0:\tclass=0x010802 rev=0x00 hdr=0x00 vendor=0x144d device=0xa80a subvendor=0x144d\n"
        b"    cap 10[70] = PCI-Express 2 endpoint max data 256(512) FLR RO NS\n"
        b"                 link x4(x4) speed 16.0(16.0) ASPM disabled(L1)\n"
        b"    ecap 0001[100] = AER 2 1 fatal 1 non-fatal 2 corrected\n"
        b"  PCI errors = Received Master-Abort\n"
        b"PCI-e errors = Correctable Error Detected\n"
        b"                 Fatal Error Detected\n"
        b"         Fatal = Surprise Link Down Error\n"
        b"     Non-fatal = Completion Timeout\n"
        b"                 Unexpected Completion\n"
        b"     Corrected = Receiver Error\n"
        b"                 REPLAY_NUM Rollover\n"
    )
    machine = read_bytes(asked)
    (drive,) = machine
    assert drive.errors.uncorrectable_status == {"SDES", "CmpltTO", "UnxCmplt"}
    assert drive.errors.uncorrectable_severity == {"SDES"}
    assert drive.errors.correctable_status == {"RxErr", "Rollover"}
    assert drive.errors.counters is None
    titles = [f.title for f in diagnose(machine, cost=False).findings if f.rule == "uncorrectable-errors"]
    assert len(titles) == 1
    assert "link down by surprise (SDES)" in titles[0]
