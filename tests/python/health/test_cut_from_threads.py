"""Dumps as people paste them: lines of real machines, cut to what matters, each with where it is from."""

from __future__ import annotations

import pytest

from lanewise.cli.tables.scan import print_machine
from lanewise.health.doctor import Severity, diagnose
from lanewise.health.doctor.finding import Diagnosis, Finding
from lanewise.machine import read_bytes
from lanewise.machine.address import Address
from lanewise.machine.missing_ports import with_missing_ports
from lanewise.machine.model import LinkMode
from lanewise.machine.view import View


def diagnosis(text: str) -> Diagnosis:
    return diagnose(read_bytes(text.encode()), cost=False)


def found(text: str, rule: str) -> list[Finding]:
    return [finding for finding in diagnosis(text).findings if finding.rule == rule]


# GitHub, jizef/2090, lspci.log: lspci -v of a laptop whose GPU bbswitch had switched off.
LAPTOP = """\
00:00.0 Host bridge: Intel Corporation Xeon E3-1200 v6 Host Bridge/DRAM Registers (rev 05)
\tFlags: bus master, fast devsel, latency 0
\tCapabilities: <access denied>

00:01.0 PCI bridge: Intel Corporation Xeon E3-1200 v5 PCIe Controller (x16) (rev 05)
\tBus: primary=00, secondary=01, subordinate=01, sec-latency=0
\tCapabilities: <access denied>
\tKernel driver in use: pcieport

00:02.0 VGA compatible controller: Intel Corporation HD Graphics 610 (rev 04) (prog-if 00 [VGA controller])
\tCapabilities: <access denied>
\tKernel driver in use: i915

01:00.0 3D controller: NVIDIA Corporation GM107M [GeForce GTX 950M] (rev ff) (prog-if ff)
\t!!! Unknown header type 7f
\tKernel modules: nvidia_drm, nvidia
"""
DRIVEN = LAPTOP.replace(
    "\tKernel modules: nvidia_drm", "\tKernel driver in use: nvidia\n\tKernel modules: nvidia_drm"
)
# GitHub, blacksoil/BashCommands, nvidia-bug-report.log.gz: another such laptop, whose GPU died in use.
FELL = "[ 1897.016345] NVRM: Xid (PCI:0000:01:00): 79, GPU has fallen off the bus.\n"


@pytest.mark.parametrize(
    ("text", "severity", "title"),
    [
        (LAPTOP, Severity.INFO, "switched off to save power"),
        (DRIVEN, Severity.WARNING, "switched off to save power"),
        (f"{DRIVEN}\n{FELL}", Severity.ERROR, "it fell off the bus"),
    ],
)
def test_a_laptops_gpu_is_dead_where_the_log_says_so(text: str, severity: Severity, title: str) -> None:
    """One without a driver was switched off by a tool; one that fell off the bus keeps its driver."""
    (dead,) = found(text, "device-dead")
    assert (dead.bdf, dead.severity) == ("01:00.0", severity)
    assert title in dead.title
    assert ("reseat the card" in dead.fix) is (severity is Severity.ERROR)


def test_what_is_on_no_card_has_no_card_to_reseat() -> None:
    """GitHub, kitakar5525/note-linux-on-surface-3, lspci.md."""
    text = "00:03.0 Multimedia controller: Intel Corporation Atom/Celeron Imaging Unit (rev ff)\n"
    (dead,) = found(text, "device-dead")
    assert "firmware setup" in dead.fix
    assert "reseat" not in dead.fix


# GitHub, NVIDIA/nccl issue 820: pasted from a terminal that broke its lines, and cut off.
MATRIX = """\
        GPU0    GPU1    GPU2    GPU3    GPU4    GPU5    mlx5_0  mlx5_1  mlx5_2       mlx5_3  CPU Affinity
GPU0     X      NV12    NV12    NV12    NV12    NV12    PXB     NODE    NODENODE     0-31,64-95
GPU1    NV12     X      NV12    NV12    NV12    NV12    PXB     NODE    NODENODE     0-31,64-95
GPU2    NV12    NV12     X      NV12    NV12    NV12    NODE    PXB     NODENODE     0-31,64-95
GPU3    NV12    NV12    NV12     X      NV12    NV12    NODE    PXB     NODENODE     0-31,64-95
"""


def test_gpus_of_a_matrix_that_is_cut_off_lack_no_links() -> None:
    whole = diagnosis(MATRIX)
    assert not whole.findings
    assert "ends with GPU3: GPU4 has no row" in whole.missing


def test_cells_that_ran_together_are_two() -> None:
    machine = read_bytes(MATRIX.encode())
    paths = {(r.first, r.second): r.path for r in machine.relations}
    assert [paths["GPU0", f"mlx5_{n}"] for n in range(4)] == ["PXB", "NODE", "NODE", "NODE"]
    assert machine.relations[0].links == 12


def test_what_a_program_says_of_a_device_is_no_device() -> None:
    """GitHub, mrhalfword/fpga_sio: output of a test of Xilinx's DMA bridge, between lines of the kernel."""
    text = """\
[ 61.2] DMAR: [DMA Read NO_PASID] Request device [30:00.0] fault addr 0x200004000 \
[fault reason 0x06] PTE Read access is not set
  0000:01:00.0 H2C channel 0 failure : Timeout: channel_status=0x1 num_descriptors_started=1976057
"""
    assert [f.address.short for f in read_bytes(text.encode())] == ["30:00.0"]


# GitHub, sreeragvn/Learning_CNN, nvidia-bug-report.log.gz: of ports there is no text.
PART = """\
01:00.0 VGA compatible controller [0300]: NVIDIA Corporation TU117M [GTX 1650 Ti] [10de:1f95] (rev a1)
\tCapabilities: [78] Express (v2) Legacy Endpoint, MSI 00
\t\tDevCtl:\tMaxPayload 256 bytes, MaxReadReq 512 bytes
\t\tLnkCap:\tPort #0, Speed 8GT/s, Width x16, ASPM L0s L1, Exit Latency L0s <512ns, L1 <16us
\t\tLnkCtl:\tASPM L1 Enabled; RCB 64 bytes, Disabled- CommClk+
\t\tLnkSta:\tSpeed 2.5GT/s (downgraded), Width x8 (downgraded)
\tKernel driver in use: nvidia

-[0000:00]-+-00.0
           +-01.1-[01]----00.0
           \\-08.1-[06]----00.0

00:00.0 Host bridge [0600]: Advanced Micro Devices, Inc. [AMD] Renoir Root Complex [1022:1630]
00:01.1 PCI bridge [0604]: Advanced Micro Devices, Inc. [AMD] Renoir PCIe GPP Bridge [1022:1633]
00:08.1 PCI bridge [0604]: Advanced Micro Devices, Inc. [AMD] Renoir Internal GPP Bridge to Bus [1022:1635]
01:00.0 VGA compatible controller [0300]: NVIDIA Corporation TU117M [GTX 1650 Ti] [10de:1f95] (rev a1)
06:00.0 VGA compatible controller [0300]: Advanced Micro Devices, Inc. [AMD/ATI] Renoir [1002:1636] (rev c6)

[    0.5] pci 0000:06:00.0: 126.016 Gb/s available PCIe bandwidth, limited by 8.0 GT/s PCIe x16 link \
at 0000:00:08.1 (capable of 252.048 Gb/s with 16.0 GT/s PCIe x16 link)
"""


def test_a_gpu_inside_the_processor_has_no_slot_that_limits_it() -> None:
    assert not found(PART, "bandwidth-limited")
    wired = PART.replace("Internal GPP Bridge to Bus [1022:1635]", "PCIe GPP Bridge [1022:1634]")
    assert [f.bdf for f in found(wired, "bandwidth-limited")] == ["06:00.0"]


def test_a_port_that_the_source_leaves_out_enables_nothing() -> None:
    (sleeps,) = found(PART, "aspm-enabled")
    assert sleeps.evidence[0] == "00:01.1 LnkCtl: not in the source; L1 has to be enabled there, too"
    assert sleeps.evidence[1].startswith("01:00.0 LnkCtl: ASPM L1 Enabled")


LINK = "LnkCap: Port #0, Speed 16GT/s, Width x16, ASPM L1\n\t\tLnkSta: Speed 16GT/s, Width x8 (downgraded)"


@pytest.mark.parametrize(
    "form",
    [
        "{bdf}\n\t\t{link}",
        "{bdf} {link}",
        "{bdf}\t\t{link}",
        "GPU {bdf}:\n{link}",
        "=== 0000:{bdf} ===\n\n{link}",
    ],
)
def test_a_loop_over_devices_names_each_link(form: str) -> None:
    """Output of ``for d in ...; do echo $d; lspci -vv -s $d | grep Lnk; done``, as in many threads."""
    text = "\n".join(form.format(bdf=bdf, link=LINK) for bdf in ("31:00.0", "4b:00.0"))
    machine = read_bytes(text.encode())
    assert [f.address for f in machine] == [Address(0, 0x31, 0, 0), Address(0, 0x4B, 0, 0)]
    assert {(f.link.capability, f.link.status) for f in machine} == {(LinkMode(16.0, 16), LinkMode(16.0, 8))}
    assert {f.name for f in machine} == {"unknown device"}
    assert [f.bdf for f in found(text, "link-one-end")] == ["31:00.0", "4b:00.0"]


# GitHub, LiangZhou9527/some_stuff, lspci-vv: drives that a GPU reads by itself.
POLLED = """\
1a:00.0 Non-Volatile memory controller: Intel Corporation NVMe DC SSD [DC] (prog-if 02 [NVM Express])
\tControl: I/O- Mem+ BusMaster+ SpecCycle- MemWINV- VGASnoop- ParErr+ Stepping- SERR+ FastB2B- DisINTx-
\tCapabilities: [50] MSI-X: Enable- Count=129 Masked-
\tCapabilities: [60] Express (v2) Endpoint, MSI 00
\t\tDevCtl:\tMaxPayload 256 bytes, MaxReadReq 4096 bytes
\t\tLnkCap:\tPort #0, Speed 16GT/s, Width x4, ASPM not supported
\t\tLnkSta:\tSpeed 16GT/s (ok), Width x4 (ok)
\tKernel driver in use: libnvm helper
"""


def test_a_drive_that_a_program_polls_needs_no_interrupts() -> None:
    assert not found(POLLED, "interrupts-off")
    assert found(POLLED.replace("libnvm helper", "nvme"), "interrupts-off")


def test_less_speed_at_one_end_is_not_enough_to_say_that_nothing_is_wrong() -> None:
    """GitHub, sanderjo/SpacemiT-K3-X100-A100 issue 1: a drive at 2.5 GT/s. A GPU may sleep."""
    slow = POLLED.replace("LnkSta:\tSpeed 16GT/s (ok)", "LnkSta:\tSpeed 2.5GT/s (downgraded)")
    assert "links (0 of 1 readable)" in diagnosis(slow).missing
    assert not diagnosis(POLLED).missing
    gpu = slow.replace("Non-Volatile memory controller", "3D controller").replace("NVMe DC SSD", "NVIDIA GPU")
    assert not diagnosis(gpu.replace("(prog-if 02 [NVM Express])", "(rev a1)")).missing


def test_a_switch_without_its_port_shows_its_link(capsys: pytest.CaptureFixture[str]) -> None:
    """GitHub, geerlingguy/raspberry-pi-pcie-devices issue 741."""
    text = """\
01:00.0 PCI bridge: Advanced Micro Devices, Inc. [AMD/ATI] Navi 10 XL Upstream Port (rev 24)
\tBus: primary=01, secondary=02, subordinate=03, sec-latency=0
\tCapabilities: [58] Express (v2) Upstream Port, MSI 00
\t\tLnkCap:\tPort #0, Speed 32GT/s, Width x16, ASPM L1, Exit Latency L1 <64us
\t\tLnkSta:\tSpeed 2.5GT/s (downgraded), Width x1 (downgraded)

b3:00.0 FireWire (IEEE 1394): Ricoh Co Ltd R5C832 IEEE 1394 Controller (rev 05) (prog-if 10 [OHCI])
\tCapabilities: [dc] Power Management version 2
"""
    print_machine(read_bytes(text.encode()), everything=False)
    shown = capsys.readouterr().out
    assert "2.5GT/s x1" in shown
    assert "1 function without a link not shown" in shown


# GitHub, ewagner12/all-ways-egpu issue 37: a card at gen3 x4 in a dock says so at its switch alone.
NAVI = """\
62:00.0 VGA compatible controller [0300]: Advanced Micro Devices, Inc. [AMD/ATI] Navi 10 [1002:731f]
\tCapabilities: [64] Express (v2) Legacy Endpoint, MSI 00
\t\tDevCtl:\tMaxPayload 128 bytes, MaxReadReq 512 bytes
\t\tLnkCap:\tPort #0, Speed 16GT/s, Width x16, ASPM L0s L1
\t\tLnkSta:\tSpeed 16GT/s, Width x16
"""
# GitHub, xCuri0/ReBarUEFI issue 384.
ARC = (
    NAVI.replace("Advanced Micro Devices, Inc. [AMD/ATI] Navi 10 [1002:731f]", "Intel G21 [8086:e20b]")
    .replace("16GT/s", "2.5GT/s")
    .replace("x16", "x1")
)
# GitHub, ewagner12/all-ways-egpu issue 37: the ports of the switch in that card.
SWITCH = """\
60:00.0 PCI bridge [0604]: Advanced Micro Devices, Inc. [AMD/ATI] Navi 10 XL Upstream Port [1002:1478]
\tBus: primary=60, secondary=61, subordinate=62, sec-latency=0
\tCapabilities: [58] Express (v2) Upstream Port, MSI 00
\t\tLnkCap:\tPort #0, Speed 16GT/s, Width x16, ASPM L0s L1
\t\tLnkSta:\tSpeed 8GT/s (downgraded), Width x4 (downgraded)

61:00.0 PCI bridge [0604]: Advanced Micro Devices, Inc. [AMD/ATI] Navi 10 XL Downstream Port [1002:1479]
\tBus: primary=61, secondary=62, subordinate=62, sec-latency=0
\tCapabilities: [58] Express (v2) Downstream Port (Slot-), MSI 00
\t\tLnkCap:\tPort #0, Speed 16GT/s, Width x16, ASPM L0s L1
\t\tLnkSta:\tSpeed 16GT/s, Width x16

"""


@pytest.mark.parametrize("text", [NAVI, ARC])
def test_a_gpu_behind_a_switch_in_its_chip_tells_nothing_of_its_slot(text: str) -> None:
    assert "links (0 of 1 readable)" in diagnosis(text).missing
    assert not diagnosis(text).findings
    machine = read_bytes(text.encode())
    (gpu,) = machine
    assert View(machine).possible(gpu) is None
    assert with_missing_ports(machine) == (machine, [])
    nvidia = text.replace("Advanced Micro Devices, Inc. [AMD/ATI] Navi 10", "NVIDIA").replace(
        "Intel", "NVIDIA"
    )
    other = read_bytes(nvidia.replace("1002:", "10de:").replace("8086:", "10de:").encode())
    assert View(other).possible(next(iter(other))) is not None


def test_the_switch_in_a_gpu_tells_of_its_slot() -> None:
    machine = read_bytes(f"{SWITCH}{NAVI}".encode())
    assert View(machine).possible(machine.functions[Address(0, 0x62, 0, 0)]) == LinkMode(16.0, 4)
    assert [f.bdf for f in found(f"{SWITCH}{NAVI}", "link-one-end")] == ["60:00.0"]


def test_an_error_of_a_root_port_without_an_id_is_its_own() -> None:
    """GitHub, pop-os/pop issue 3363: a Ryzen's root port states zero, which is the host bridge's ID."""
    line = "[ 68183.6] pcieport 0000:00:03.1: AER: Correctable error message received from 0000:00:00.0\n"
    assert [f.address.short for f in read_bytes(line.encode())] == ["00:03.1"]
    other = line.replace("from 0000:00:00.0", "from 0000:0a:00.0")
    assert "0a:00.0" in [f.address.short for f in read_bytes(other.encode())]


def test_freebsd_has_no_sysfs_to_look_into() -> None:
    """GitHub, an inventory of a server with FreeBSD 10; the adapter has two lanes of four."""
    text = """\
bce0@pci0:11:0:0:       class=0x020000 card=0x03a91014 chip=0x163914e4 rev=0x20 hdr=0x00
    vendor     = 'Broadcom Corporation'
    device     = 'NetXtreme II BCM5709 Gigabit Ethernet'
    cap 10[ac] = PCI-Express 2 endpoint max data 256(512) link x2(x4)
                 speed 5.0(5.0) ASPM disabled(L0s/L1)
"""
    (below,) = found(text, "link-one-end")
    assert "pkg install pciutils" in below.fix
    assert "/sys/" not in below.fix
