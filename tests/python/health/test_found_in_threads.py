"""Forms that dumps have in public threads and repositories: cut to what matters, each with its source."""

from __future__ import annotations

import pytest

from lanewise.cli.doctor_output import Output
from lanewise.health.doctor import Severity, diagnose
from lanewise.health.doctor.finding import Diagnosis, Finding
from lanewise.health.predict import predict
from lanewise.machine import read_bytes
from lanewise.machine.address import Address
from lanewise.machine.model import Kind
from lanewise.machine.sources.files import InputError
from lanewise.machine.sources.wrapping import joined_log


def diagnosis(text: str) -> Diagnosis:
    return diagnose(read_bytes(text.encode()), cost=False)


def found(text: str, rule: str) -> list[Finding]:
    return [finding for finding in diagnosis(text).findings if finding.rule == rule]


# GitHub, a script `lspci-lanes` in a list of scripts for virtual machines: `grep` kept no capability.
LANES = """\
01:00.0 VGA compatible controller [0300]: NVIDIA Corporation TU106 [GeForce RTX 2070] [10de:1f02] (rev a1)
                LnkCap: Port #0, Speed 8GT/s, Width x16, ASPM L0s L1, Exit Latency L0s <1us, L1 <4us
                LnkSta: Speed 8GT/s, Width x16
        Kernel driver in use: vfio-pci
        Kernel modules: nouveau
        IOMMU Group: 13
        Supports RESET: YES
17:00.0 PCI bridge [0604]: AMD/ATI Navi 10 XL Upstream Port of PCI Express Switch [1002:1478] (rev ca)
                LnkCap: Port #2, Speed 16GT/s, Width x16, ASPM L1, Exit Latency L1 <64us
                LnkSta: Speed 16GT/s, Width x4 (downgraded)
        Kernel driver in use: pcieport
        IOMMU Group: 24
        Supports RESET: YES
"""


def test_what_scripts_add_is_no_part_of_a_drivers_name() -> None:
    assert [f.driver for f in read_bytes(LANES.encode())] == ["vfio-pci", "pcieport"]


def test_what_has_a_link_and_is_no_bridge_is_at_its_end() -> None:
    """The capability that says so was not kept; registers of a link have only what is at one."""
    machine = read_bytes(LANES.encode())
    assert [machine.role(f) for f in machine] == [Kind.ENDPOINT, None]
    assert {row.bdf for row in predict(machine).rows} == {"01:00.0"}


# GitHub, gammaman88/proxmox-amd-5700u-gpu-passthrough, dmesg.txt: graphics inside a processor.
APU = """\
[    0.3] pci 0000:00:08.1: [1022:1635] type 01 class 0x060400
[    0.3] pci 0000:05:00.0: [1002:164c] type 00 class 0x030000
[    0.3] pci 0000:05:00.0: 126.016 Gb/s available PCIe bandwidth, limited by 8.0 GT/s PCIe x16 link at \
0000:00:08.1 (capable of 252.048 Gb/s with 16.0 GT/s PCIe x16 link)
[    0.3] pci 0000:00:08.1: PCI bridge to [bus 05]
"""


def test_a_link_inside_a_chip_lacks_nothing_in_a_log_either() -> None:
    assert not diagnosis(APU).findings
    assert found(APU.replace("1022:1635", "1022:1483"), "link-one-end")


# GitHub, ellyq/coreboot issue 4: a GPU of a laptop that sleeps, of which its switch was pasted.
SWITCH = """\
01:00.0 PCI bridge [0604]: Advanced Micro Devices, Inc. [AMD/ATI] Navi 10 XL Upstream Port of PCI Express \
Switch [1002:1478] (rev 11) (prog-if 00 [Normal decode])
\t!!! Unknown header type 7f
\tKernel driver in use: pcieport
"""


def test_a_gpus_switch_may_be_switched_off_with_it() -> None:
    (dead,) = found(SWITCH, "device-dead")
    assert dead.severity is Severity.WARNING
    assert "switched off to save power" in dead.title
    (other,) = found(SWITCH.replace("1002:1478", "10b5:8747"), "device-dead")
    assert other.severity is Severity.ERROR


# GitHub, jarkko-hautakorpi/asus_X670-P_WIFI_Bifurcation_problems: `nvidia-smi` of two GPUs.
def test_a_function_is_counted_once_among_the_links() -> None:
    text = """\
| NVIDIA-SMI 580.126.09             Driver Version: 580.126.09     CUDA Version: 13.0     |
|   0  NVIDIA GeForce RTX 4090        Off |   00000000:01:00.0 Off |                  Off |
|  0%   30C    P8             29W /  400W |    1583MiB /  24564MiB |      0%      Default |
|   1  NVIDIA GeForce RTX 4090        Off |   00000000:03:00.0 Off |                  Off |
|  0%   30C    P8             29W /  400W |    1583MiB /  24564MiB |      0%      Default |
"""
    assert "links (0 of 2 readable)" in diagnosis(text).missing


def test_lanes_of_an_idle_gpu_are_what_it_lacks() -> None:
    """The same, `lspci_nvidia.log`: its speed is that of an idle GPU."""
    text = """\
03:00.0 VGA compatible controller: NVIDIA Corporation AD102 [GeForce RTX 4090] (rev a1)
\tCapabilities: [78] Express (v2) Legacy Endpoint, MSI 00
\t\tLnkCap:\tPort #0, Speed 16GT/s, Width x16, ASPM L1, Exit Latency L1 <16us
\t\tLnkSta:\tSpeed 2.5GT/s (downgraded), Width x8 (downgraded)
"""
    (one,) = found(text, "link-one-end")
    assert "runs on x8 of x16 lanes" in one.title
    assert "2.5GT/s" not in one.title


# GitHub, archfan/coreboot issue 2: errors that come back every ten seconds.
TIMEOUT = """\
[{0}.670135] pcieport 0000:00:1c.1: AER: Corrected error received: 0000:00:1c.1
[{0}.670148] pcieport 0000:00:1c.1: PCIe Bus Error: severity=Corrected, type=Data Link Layer, (Transmitter ID)
[{0}.670150] pcieport 0000:00:1c.1:   device [8086:8c12] error status/mask=00001000/00002000
[{0}.670153] pcieport 0000:00:1c.1:    [12] Timeout
"""


@pytest.mark.parametrize(
    ("seconds", "severity"),
    [
        ((41, 51, 63), Severity.WARNING),
        ((41, 51, 170), Severity.INFO),
        ((41, 41, 41), Severity.INFO),
        ((41,), Severity.INFO),
    ],
    ids=["within a minute", "two in a minute", "at one instant", "once"],
)
def test_link_errors_that_keep_coming_are_a_warning(seconds: tuple[int, ...], severity: Severity) -> None:
    (errors,) = found("".join(map(TIMEOUT.format, seconds)), "link-errors")
    assert errors.severity is severity
    assert ("keep coming" in errors.title) is (severity is Severity.WARNING)


def test_times_of_all_logs_are_told_apart() -> None:
    """`dmesg -T`, syslog and ISO 8601, each with three errors within a minute of midnight."""
    for stamps in (
        ("[Fri Aug 29 20:59:52 2025] ", "[Fri Aug 29 21:00:02 2025] ", "[Fri Aug 29 21:00:12 2025] "),
        ("Feb 21 10:16:03 host kernel: ", "Feb 21 10:16:13 host kernel: ", "Feb 21 10:16:23 host kernel: "),
        ("2025-01-01T23:59:40+0100 host kernel: ",) * 1
        + ("2025-01-01T23:59:50+0100 host kernel: ", "2025-01-02T00:00:10+0100 host kernel: "),
    ):
        body = TIMEOUT.replace("[{0}.670135] ", "{0}").replace("[{0}.670148] ", "{0}")
        body = body.replace("[{0}.670150] ", "{0}").replace("[{0}.670153] ", "{0}")
        (errors,) = found("".join(body.format(stamp) for stamp in stamps), "link-errors")
        assert errors.severity is Severity.WARNING, stamps


# GitHub, duaneya/tool_man, nvidia-bug-report.log: a GPU that failed on two days before the last boot.
def test_errors_of_a_gpu_before_the_last_boot_are_told() -> None:
    log = """\
[    0.0] Linux version 5.0.0-35-generic (buildd@lgw01)
[  524.9] NVRM: Xid (PCI:0000:03:00): 62, pid=3074, 0cb5(2d50) 00000000 00000000
[  525.9] NVRM: Xid (PCI:0000:03:00): 32, pid=4563, Channel ID 00000020 intr 00004000
[    0.0] Linux version 5.0.0-36-generic (buildd@lgw01)
[    0.3] pci 0000:03:00.0: [10de:1e02] type 00 class 0x030000
"""
    (error,) = found(log, "gpu-error")
    assert error.severity is Severity.WARNING
    assert error.title.endswith("in an earlier boot, and may come back")
    assert "Xid 62" in error.title
    assert not found(log.replace(": 62,", ": 31,"), "gpu-error")


# GitHub, nokyan/resources issue 512: link files without `class`.
def test_link_files_without_a_class_tell_of_lanes_that_lack() -> None:
    files = "".join(
        f"==> /sys/bus/pci/devices/0000:01:00.0/{name} <==\n{value}\n\n"
        for name, value in (
            ("current_link_speed", "16.0 GT/s PCIe"),
            ("current_link_width", "8"),
            ("max_link_speed", "32.0 GT/s PCIe"),
            ("max_link_width", "16"),
        )
    )
    next_command = "```\n```\n> tail -v -n +1 /sys/bus/pci/devices/0000:03:00.0/*\n"
    (one,) = found(f"{files}{next_command}", "link-one-end")
    assert one.severity is Severity.INFO
    assert "16GT/s x8 and could do 32GT/s x16" in one.title


# GitHub, Manouchehri/dl360p, lshw.xml.
LSHW = """\
<?xml version="1.0" standalone="yes" ?>
<!-- generated by lshw-B.02.18 -->
<list>
<node id="host" claimed="true" class="system" handle="DMI:0100">
 <description>Rack Mount Chassis</description>
  <node id="pci:0" claimed="true" class="bridge" handle="PCIBUS:0000:00">
   <description>Host bridge</description>
   <businfo>pci@0000:00:00.0</businfo>
   <node id="pci:3" claimed="true" class="bridge" handle="PCIBUS:0000:03">
    <description>PCI bridge</description>
    <product>Xeon E7 v2/Xeon E5 v2/Core i7 PCI Express Root Port 2a</product>
    <vendor>Intel Corporation</vendor>
    <businfo>pci@0000:00:02.0</businfo>
    <configuration>
     <setting id="driver" value="pcieport" />
    </configuration>
    <node id="network:0" claimed="true" class="network" handle="PCI:0000:03:00.0">
     <description>Ethernet interface</description>
     <product>NetXtreme II BCM57810 10 Gigabit Ethernet</product>
     <vendor>Broadcom &amp; others</vendor>
     <businfo>pci@0000:03:00.0</businfo>
     <logicalname>eno49</logicalname>
     <configuration>
      <setting id="driver" value="bnx2x" />
     </configuration>
    </node>
   </node>
  </node>
</node>
</list>
"""


def test_lshw_xml_is_read_as_its_json() -> None:
    machine = read_bytes(LSHW.encode())
    assert machine.kinds == ("lshw",)
    device = machine.functions[Address.parse("0000:03:00.0")]
    assert (device.parent, device.driver) == (Address.parse("0000:00:02.0"), "bnx2x")
    assert device.name.endswith("NetXtreme II BCM57810 10 Gigabit Ethernet")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        # GitHub, nashrullahalifauzi/w520, hwinfo.md.
        ("10: PCI 1c.0: 0604 PCI bridge\n  SysFS BusID: 0000:00:1c.0\n  Hardware Class: bridge\n", "hwinfo"),
        # Of a driver's pages: `pciconf -lvc` without the line that names the device.
        (
            "    device     = 'SFC9120 10G Ethernet Controller'\n"
            "    cap 10[70] = PCI-Express 2 endpoint max data 128(2048) FLR RO NS\n"
            "                 link x8(x8) speed 8.0(8.0) ASPM disabled(L0s/L1)\n",
            "pciconf prints them, and no line",
        ),
        # GitHub, jdpc86/opnsense, dmesg.boot.
        ("pcib0: <ACPI Host-PCI bridge> port 0xcf8-0xcff on acpi0\n", "pciconf -lvbBc"),
        # GitHub, ThomasKaiser/sbc-bench, results/4zkJ.txt.
        ("  * Mellanox ConnectX-6 Dx: Speed 8GT/s (downgraded), Width x16 (ok)\n", "by the names of devices"),
        ("nothing of the kind\n", "nothing in it that is read as a PCI device"),
    ],
)
def test_what_is_not_read_is_said_with_what_is(text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        read_bytes(text.encode())


# Linux, a change to drivers/pci/pcie/aer.c: a card that was pulled, whose port shut itself at that.
PULLED = """\
[256236.152622] pcieport 0000:89:02.0: pciehp: Slot(400): Link Down
[256236.152623] pcieport 0000:89:02.0: pciehp: Slot(400): Card not present
[256236.152631] pcieport 0000:89:02.0: DPC: containment event, status:0x1f01 source:0x0000
[256236.152634] pcieport 0000:89:02.0: AER: PCIe Bus Error: severity=Uncorrected (Fatal), type=Transaction \
Layer, (Receiver ID)
[256236.164207] pcieport 0000:89:02.0: AER:   device [8086:347a] error status/mask=00000020/00100000
[256236.173464] pcieport 0000:89:02.0: AER:    [ 5] SDES                   (First)
[256237.500837] pcieport 0000:89:02.0: Data Link Layer Link Active not set in 1000 msec
[256237.500865] pcieport 0000:89:02.0: AER: Device recovery failed
"""


def test_a_card_that_was_pulled_is_one_warning() -> None:
    """Containment, a link down by surprise and a recovery that fails are what pulling it looks like."""
    loud = [finding for finding in diagnosis(PULLED).findings if finding.severity is not Severity.INFO]
    assert [(one.rule, one.severity) for one in loud] == [("link-lost", Severity.WARNING)]
    assert "its card left the slot" in loud[0].title
    there = PULLED.replace("Card not present", "Card present")
    assert any(finding.severity is Severity.ERROR for finding in diagnosis(there).findings)


def test_an_error_that_only_its_own_line_names_has_a_name() -> None:
    """linux-rdma, mlx5 after containment: a report that leaves out the status."""
    text = """\
pcieport 0000:10:01.1: PCIe Bus Error: severity=Uncorrected (Fatal)
pcieport 0000:10:01.1:    [ 5] SDES                   (First)
"""
    (error,) = found(text, "uncorrectable-errors")
    assert "link down by surprise (SDES)" in error.title


@pytest.mark.parametrize(
    "command", ["$ lspci -s 1f:00.0 -vv | grep Lnk", "root@pve:~# lspci -vvs 1f:00.0 | grep -i lnk"]
)
def test_a_command_above_the_lines_of_a_link_says_of_which_device(command: str) -> None:
    """A report about memory behind CXL switches: the command, and what `grep` left."""
    text = f"""\
{command}
    LnkCap: Speed 32GT/s, Width x16
    LnkSta: Speed 32GT/s, Width x8 (downgraded)

$ lspci -s 08:00.0 -vv | grep Lnk    (and 14, 31, 3d: same)
    LnkCap: Speed 32GT/s, Width x8
    LnkSta: Speed 32GT/s, Width x8
"""
    (one,) = found(text, "link-one-end")
    assert one.bdf == "1f:00.0"


def test_what_a_loop_prints_before_an_address_is_no_part_of_it() -> None:
    """A guide to the checks of eight H100."""
    text = """\
===== 0000:52:00.0  3D controller: NVIDIA Corporation GH100 [H100 SXM5 80GB]
        LnkCap: Port #0, Speed 32GT/s, Width x16, ASPM not supported
        LnkSta: Speed 32GT/s, Width x8 (downgraded)
"""
    (one,) = found(text, "link-one-end")
    assert (one.bdf, one.severity) == ("52:00.0", Severity.WARNING)
    assert "H100" in one.device


# GitHub, gammaman88/proxmox-amd-5700u-gpu-passthrough, as `lspci -vvv` prints it.
INSIDE = """\
00:08.1 PCI bridge [0604]: AMD Renoir Internal PCIe GPP Bridge to Bus [1022:1635]
\tBus: primary=00, secondary=05, subordinate=05, sec-latency=0
\tCapabilities: [58] Express (v2) Root Port (Slot-), MSI 00
\t\tLnkCap:\tPort #0, Speed 8GT/s, Width x16, ASPM L0s L1
\t\tLnkSta:\tSpeed 8GT/s, Width x16

05:00.0 VGA compatible controller [0300]: AMD/ATI Lucienne [1002:164c] (rev c1)
\tCapabilities: [64] Express (v2) Legacy Endpoint, MSI 00
\t\tDevCap:\tMaxPayload 256 bytes, PhantFunc 0
\t\tDevCtl:\tMaxPayload 256 bytes, MaxReadReq 512 bytes
\t\tLnkCap:\tPort #0, Speed 8GT/s, Width x16, ASPM L0s L1
\t\tLnkSta:\tSpeed 8GT/s, Width x16
"""


@pytest.mark.parametrize("text", [INSIDE, APU], ids=["lspci", "kernel log"])
def test_graphics_inside_a_processor_have_no_link_to_predict(text: str) -> None:
    with pytest.raises(InputError, match="part of the processor, without a link of its own: 05:00"):
        predict(read_bytes(text.encode()))


@pytest.mark.parametrize("address", ["0000:03:00.0", "0000\\:03\\:00.0"])
def test_files_that_were_shown_one_by_one_are_read(address: str) -> None:
    """As forums have it: a command for each file, with its prompt, and the content below."""
    text = "".join(
        f"user@host:~$ cat /sys/bus/pci/devices/{address}/{name}\n{value}\n"
        for name, value in (
            ("class", "0x010802"),
            ("current_link_speed", "8.0 GT/s PCIe"),
            ("current_link_width", "4"),
            ("max_link_speed", "16.0 GT/s PCIe"),
            ("max_link_width", "4"),
        )
    )
    (one,) = found(text, "link-one-end")
    assert "8GT/s x4 and could do 16GT/s x4" in one.title


def test_what_is_missing_is_said_once_in_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    """Its last note says it; in other forms standard error does."""
    missing = diagnosis(TIMEOUT.format(41))
    for form, times in (("table", 0), ("sarif", 1)):
        Output(form, Severity.WARNING).status(missing)
        assert capsys.readouterr().err.count(missing.missing) == times


def test_registers_that_a_function_does_not_have_are_not_to_be_cleared() -> None:
    """GitHub, Manouchehri/dl360p, lspci.vvvnn.txt: a function without Advanced Error Reporting."""
    text = """\
00:05.2 System peripheral [0880]: Intel Corporation Xeon E7 v2/Xeon E5 v2/Core i7 IIO RAS [8086:0e2a] (rev 04)
\tControl: I/O- Mem- BusMaster- SpecCycle- MemWINV- VGASnoop- ParErr- Stepping- SERR- FastB2B- DisINTx-
\tCapabilities: [40] Express (v2) Root Complex Integrated Endpoint, MSI 00
\t\tDevCap:\tMaxPayload 128 bytes, PhantFunc 0
\t\tDevCtl:\tMaxPayload 128 bytes, MaxReadReq 4096 bytes
\t\tDevSta:\tCorrErr+ UncorrErr+ FatalErr+ UnsuppReq- AuxPwr- TransPend-
"""
    (error,) = found(text, "uncorrectable-errors")
    assert "setpci -s 00:05.2 CAP_EXP+a.w=f" in error.fix
    assert "ECAP_AER" not in error.fix


# linux-pci, a mail on an FPGA that comes back without its registers: the class is what its image says.
def test_an_fpga_that_does_not_answer_is_missed_whatever_its_class_is() -> None:
    text = "03:00.0 RAM memory: Xilinx Corporation Default PCIe endpoint ID (rev ff) (prog-if ff)\n"
    (dead,) = found(text + "\t!!! Unknown header type 7f\n", "device-dead")
    assert dead.severity is Severity.ERROR
    (other,) = found(text.replace("Xilinx", "Intel"), "device-dead")
    assert other.severity is Severity.INFO


# linux-rdma, a mail on an adapter that does not start, whose log a mail program broke.
BROKEN_LOG = """\
04:00.0 InfiniBand: QLogic Corp. IBA7322 QDR InfiniBand HCA (rev 02)
\tKernel modules: ib_qib

Feb 13 09:43:33 localhost kernel: ib_qib 0000:04:00.0: qib0: cannot
register verbs: 17!
Feb 13 09:43:33 localhost kernel: ib_qib: probe of 0000:04:00.0 failed
with error -17
$ ibstatus
"""


def test_lines_of_a_log_that_a_mail_broke_are_read_whole() -> None:
    (lost,) = found(BROKEN_LOG, "device-lost")
    assert lost.title == "04:00.0 could not be started"
    assert "kernel log" in read_bytes(BROKEN_LOG.encode()).kinds


def test_a_line_that_had_room_on_the_one_before_goes_on_with_none() -> None:
    log = "[   12.345678] ib_qib: probe of 0000:04:00.0 failed"
    assert joined_log([log, "with error -17"]) == [log, "with error -17"]
    stamp = "Feb 13 09:43:33 localhost kernel: ib_qib: probe of 0000:04:00.0 failed"
    assert joined_log([stamp, "with error -17", "", "with more"]) == [
        f"{stamp} with error -17",
        "",
        "with more",
    ]
    assert joined_log([stamp, "\tindented", stamp, "$ ibstatus"]) == [
        stamp,
        "\tindented",
        stamp,
        "$ ibstatus",
    ]


# GitHub, diapason-consulting/crash-logs: the dock of a laptop was unplugged; peracotta: a Mac starts.
UNPLUGGED = """\
[    9.1] pci 0000:05:00.0: [8086:15d3] type 01 class 0x060400
[    9.1] pci 0000:05:00.0: PCI bridge to [bus 06-6f]
[    9.1] pci 0000:06:00.0: [8086:15d3] type 01 class 0x060400
[    9.1] pci 0000:06:02.0: [8086:15d3] type 01 class 0x060400
[    9.1] pci 0000:06:02.0: PCI bridge to [bus 3b]
[    9.1] pci 0000:3b:00.0: [8086:15d4] type 00 class 0x0c0330
[   59.1] xhci_hcd 0000:3b:00.0: xHCI host controller not responding, assume dead
[   59.1] xhci_hcd 0000:3b:00.0: HC died; cleaning up
[   60.1] pcieport 0000:06:00.0: Unable to change power state from D3hot to D0, device inaccessible
"""
ICM = "[    8.6] thunderbolt 0000:06:00.0: could not start ICM firmware\n"


def test_usb_ports_go_with_the_cable_of_their_dock() -> None:
    assert {f.severity for f in found(UNPLUGGED, "device-lost")} == {Severity.INFO}
    alone = "".join(line for line in UNPLUGGED.splitlines(keepends=True) if "inaccessible" not in line)
    (dead,) = found(alone, "device-lost")
    assert dead.severity is Severity.ERROR


def test_a_controller_of_cables_that_does_not_start_is_no_lost_device() -> None:
    assert not found(ICM, "device-lost")
    (told,) = found(ICM, "driver-error")
    assert told.severity is Severity.WARNING


# A mail of a list in quoted-printable and Latin-1, pasted without its head: every blank of an indent is =A0.
LATIN = """\
01:00.0 Non-Volatile memory controller: Samsung Electronics Co Ltd NVMe SSD Controller SM981 (rev 01)
=A0=A0=A0 Capabilities: [70] Express (v2) Endpoint, MSI 00
=A0=A0=A0=A0=A0 LnkCap: Port #0, Speed 8GT/s, Width x4, ASPM L1
=A0=A0=A0=A0=A0 LnkSta: Speed 8GT/s, Width x1 (downgraded)
=A0=A0=A0 Kernel driver in use: nvme
"""


def test_blanks_of_a_mail_in_latin_1_are_blanks() -> None:
    (narrow,) = found(LATIN, "link-one-end")
    assert (narrow.bdf, narrow.severity) == ("01:00.0", Severity.WARNING)


# A USB host of a chipset, which has no link, as a thread about Wasabi shows one asleep.
USB_HOST = """\
00:14.0 USB controller [0c03]: Intel Corporation Tiger Lake-LP xHCI Host Controller [8086:a0ed]
\tControl: I/O- Mem- BusMaster- SpecCycle- MemWINV- VGASnoop- ParErr- Stepping- SERR- FastB2B- DisINTx+
\tRegion 0: Memory at 603d180000 (64-bit, non-prefetchable) [disabled] [size=64K]
\tCapabilities: [70] Power Management version 2
\t\tStatus: D0 NoSoftRst+ PME-Enable+ DSel=0 DScale=0 PME-
\tKernel driver in use: xhci_hcd
"""


def test_a_usb_host_that_is_awake_answers_its_driver() -> None:
    (lost,) = found(USB_HOST, "configuration-lost")
    assert lost.severity is Severity.ERROR
    assert not found(USB_HOST.replace("Status: D0", "Status: D3"), "configuration-lost")
    awake = USB_HOST.replace("Mem-", "Mem+").replace(" [disabled]", "")
    assert not found(awake, "configuration-lost")


# GitHub, avocado-misc-tests 1281: POWER, where a host bridge has the number of its domain.
def test_what_a_host_bridge_of_power_stopped_is_of_its_domain() -> None:
    (lost,) = found("[ 1518.598696] EEH: Frozen PHB#28-PE#10000 detected\n", "device-lost")
    assert "a PCI device of domain 0028 was stopped" in lost.headline


# GitHub, raspberry-pi-pcie-devices 4: an excerpt that begins below the first line of its GPU.
BEHEADED = """\
\t\tCESta:\tRxErr- BadTLP+ BadDLLP+ Rollover+ Timeout+ NonFatalErr+
\tKernel driver in use: radeon

01:00.1 Audio device: Advanced Micro Devices, Inc. [AMD/ATI] Caicos HDMI Audio
\tControl: I/O- Mem- BusMaster- SpecCycle- MemWINV- VGASnoop- ParErr- Stepping- SERR- FastB2B- DisINTx-
"""


def test_registers_above_the_first_device_are_said_to_be_unread() -> None:
    assert any("where no device is named" in note for note in diagnosis(BEHEADED).notes)
    assert not any("where no device is named" in note for note in diagnosis(USB_HOST).notes)


# GitHub, 1Panel 11910: what `nvidia-smi -x -q` printed, through an editor that escapes halves of tags.
HALF_ESCAPED = """\
<?xml version="1.0" ?&gt;
<nvidia_smi_log&gt;
&nbsp; <gpu id="00000000:01:00.0"&gt;
&nbsp; <product_name&gt;NVIDIA GeForce RTX 3090</product_name&gt;
&nbsp; <pci&gt;<pci_gpu_link_info&gt;
&nbsp; <pcie_gen&gt;<max_link_gen&gt;4</max_link_gen&gt;
&nbsp; <current_link_gen&gt;1</current_link_gen&gt;</pcie_gen&gt;
&nbsp; <link_widths&gt;<max_link_width&gt;16x</max_link_width&gt;
&nbsp; <current_link_width&gt;4x</current_link_width&gt;</link_widths&gt;</pci_gpu_link_info&gt;</pci&gt;
&nbsp; </gpu&gt;
</nvidia_smi_log&gt;
"""


def test_xml_with_half_of_its_brackets_escaped_is_read() -> None:
    (narrow,) = found(HALF_ESCAPED, "link-one-end")
    assert narrow.bdf == "01:00.0"


# GitHub, pop-os/cosmic-epoch 3764: one timeout, the reset of its ring that failed, and that of the GPU.
RING = """\
[  312.522692] amdgpu 0000:28:00.0: ring gfx_0.0.0 timeout, signaled seq=57638, emitted seq=57641
[  312.774528] amdgpu 0000:28:00.0: Ring gfx_0.0.0 reset failed
[  312.774536] amdgpu 0000:28:00.0: GPU reset begin!. Source:  1
[  316.082456] amdgpu 0000:28:00.0: GPU reset succeeded, trying to resume
"""


def test_a_timeout_and_its_resets_are_one() -> None:
    (late,) = found(RING, "device-timeout")
    assert late.headline.endswith("did not answer its driver in time, once, and works again")
