"""Lines of kernel logs about the bus, in the wordings of several years: beside a dump, alone, on top."""

from __future__ import annotations

from pathlib import Path

import pytest

from lanewise.errors import InputError
from lanewise.health.doctor import diagnose
from lanewise.machine import read, read_bytes
from lanewise.machine.kernel_event import EventKind
from lanewise.machine.model import LinkMode

DRIVE = """\
01:00.0 Non-Volatile memory controller [0108]: Samsung Electronics Co Ltd PM9A1 [144d:a80a]
\tControl: I/O- Mem+ BusMaster+ SpecCycle- MemWINV- VGASnoop- ParErr- Stepping- SERR- FastB2B- DisINTx+
\tCapabilities: [70] Express (v2) Endpoint, MSI 00
\t\tLnkCap:\tPort #0, Speed 16GT/s, Width x4, ASPM L1, Exit Latency L1 <64us
\t\tLnkSta:\tSpeed 16GT/s (ok), Width x4 (ok)
\tKernel driver in use: nvme
"""

LINES = [
    (
        "NVRM: Xid (PCI:0000:4b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.",
        "GPU_LOST 4b:00.0",
    ),
    ("NVRM: GPU 0000:4b:00.0: GPU has fallen off the bus.", "GPU_LOST 4b:00.0"),
    ("NVRM: GPU at 0000:01:00.0 has fallen off the bus.", "GPU_LOST 01:00.0"),
    ("NVRM: Xid (PCI:0000:4b:00): 31, pid=12, name=python, Ch 00000010, MMU Fault", "GPU_ERROR 4b:00.0"),
    ("NVRM: Xid (PCI:0000:4b:00): 62, 00000000 00000000", "GPU_ERROR 4b:00.0"),
    ("NVRM: Xid (0000:03:00): 14, Channel 00000001", "GPU_ERROR 03:00.0"),
    (
        "NVRM: Xid (PCI:0000:01:00 GPU-I:05): 94, Contained: CE User Channel (0x9). RST: No, D-RST: No",
        "GPU_ERROR 01:00.0",
    ),
    (
        "NVRM: Xid (PCI:0000:01:00): 154, GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset "
        "Required)",
        "GPU_ERROR 01:00.0",
    ),
    (
        "nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 20034, Fatal, Link 30 LTSSM Fault Up",
        "GPU_ERROR c1:00.0",
    ),
    (
        "[ERROR] [tid 12727] detected NVSwitch non-fatal error 12028 on fid 0 on NVSwitch "
        "pci bus id 00000000:86:00.0 physical id 3 port 61",
        "GPU_ERROR 86:00.0",
    ),
    (
        "[INFO] [tid 12727] NVSwitch device on NodeId 0 pci bus id 00000000:86:00.0",
        None,
    ),
    ("NVRM: GPU at PCI:0000:4b:00: GPU-b850f46d-d5ea-c752-ddf3-c4453e44d3f7", None),
    (
        "amdgpu 0000:c3:00.0: amdgpu: 2 uncorrectable hardware errors detected in umc block",
        "GPU_ERROR c3:00.0",
    ),
    ("amdgpu 0000:c3:00.0: amdgpu: 0 uncorrectable hardware errors detected in umc block", None),
    (
        "DMAR: [DMA Read NO_PASID] Request device [ca:00.0] fault addr 0xe2ed4000 [fault reason 0x06] PTE "
        "Read access is not set",
        "DMA_BLOCKED ca:00.0",
    ),
    (
        "DMAR:[DMA Write] Request device [04:00.0] PASID ffffffff fault addr 69974000 [fault reason 05] PTE "
        "Write access is not set",
        "DMA_BLOCKED 04:00.0",
    ),
    ("DMAR: DRHD: handling fault status reg 3", None),
    (
        "DMAR: [INTR-REMAP] Request device [f0:1f.7] fault index 0x0 [fault reason 0x25]",
        "INTERRUPT_BLOCKED f0:1f.7",
    ),
    (
        "DMAR: [INTR-REMAP] Request device [0x64:0x00.5] fault index 0x8800 [fault reason 0x25] Blocked a "
        "compatibility format interrupt request",
        "INTERRUPT_BLOCKED 64:00.5",
    ),
    (
        "nvidia 0000:62:00.0: AMD-Vi: Event logged [IO_PAGE_FAULT domain=0x0022 address=0xfffffff0d8140000 "
        "flags=0x0020]",
        "DMA_BLOCKED 62:00.0",
    ),
    (
        "AMD-Vi: Event logged [IO_PAGE_FAULT device=08:00.0 domain=0x002c address=0xfffffffdf8000000 "
        "flags=0x0008]",
        "DMA_BLOCKED 08:00.0",
    ),
    (
        "arm-smmu-v3 arm-smmu-v3.0.auto: event: F_TRANSLATION client: 0000:01:00.0 sid: 0x100 ssid: 0x0",
        "DMA_BLOCKED 01:00.0",
    ),
    ("megaraid_sas 0000:03:00.0: Found FW in FAULT state, will reset adapter scsi0.", "HEALTH_LOST 03:00.0"),
    ("megaraid_sas 0000:03:00.0: FW now in Ready state", None),
    ("mpt3sas_cm0: fault_state(0x5854)!", "HEALTH_LOST None"),
    ("mpt2sas_cm0: SAS host is non-operational !!!!", "HEALTH_LOST None"),
    ("smartpqi 0000:89:00.0: controller is offline: status code 0x6100c", "HEALTH_LOST 89:00.0"),
    (
        "nvme nvme0: controller is down; will reset: CSTS=0xffffffff, PCI_STATUS=0xffff",
        "CONTROLLER_DOWN None",
    ),
    (
        "nvme 0000:04:00.0: Unable to change power state from D3cold to D0, device inaccessible",
        "DEVICE_FAILED 04:00.0",
    ),
    ("mlx5_core: probe of 0000:dc:00.0 failed with error -16", "DEVICE_FAILED dc:00.0"),
    ("nvme 0000:ca:00.0: probe with driver nvme failed with error -4", "DEVICE_FAILED ca:00.0"),
    ("ixgbe 0000:03:00.0: probe with driver ixgbe failed with error -517", None),
    ("nouveau: probe of 0000:01:00.0 failed with error -12", "COMPLAINED 01:00.0"),
    ("nouveau 0000:01:00.0: probe with driver nouveau failed with error -50", "COMPLAINED 01:00.0"),
    ("mt7921e: probe of 0000:04:00.0 failed with error -110", "COMPLAINED 04:00.0"),
    ("mei_me: probe of 0000:00:16.0 failed with error -110", None),
    ("nouveau: probe of 0000:01:00.0 failed with error -16", None),
    ("nouveau 0000:01:00.0: init failed with -5", "DEVICE_FAILED 01:00.0"),
    ("nvidia 0000:01:00.0: not ready 32767ms after Switch to D0; waiting", "NO_RETURN 01:00.0"),
    ("nvidia 0000:01:00.0: not ready 1023ms after FLR; waiting", None),
    ("pci 0000:4d:00.0: unknown header type 7f, ignoring device", "DEVICE_FAILED 4d:00.0"),
    ("nvme nvme0: Device not ready; aborting initialisation, CSTS=0x0", "DEVICE_FAILED None"),
    ("nvme nvme0: Removing after probe failure status: -19", "DEVICE_FAILED None"),
    (
        "pci 0000:02:00.0: can't change power state from D3cold to D0 (config space inaccessible)",
        "NO_RETURN 02:00.0",
    ),
    ("vfio-pci 0000:01:00.0: not ready 65535ms after bus reset; giving up", "NO_RETURN 01:00.0"),
    ("vfio-pci 0000:01:00.0: not ready 1023ms after bus reset; waiting", None),
    (
        "mlx5_core 0000:3b:00.0: poll_health:739:(pid 0): device's health compromised - reached miss count",
        "HEALTH_LOST 3b:00.0",
    ),
    ("pcieport 0000:5d:04.0: pciehp: Slot(4): Link Down", "LINK_DOWN 5d:04.0"),
    ("pciehp 0000:02:05.0:pcie24: slot(6): Link Down event", "LINK_DOWN 02:05.0"),
    (
        "pcieport 0000:a9:10.0: pciehp: Slot(272): Link Down/Up ignored (recovered by DPC)",
        "RECOVERED a9:10.0",
    ),
    ("pcieport 0000:5d:04.0: pciehp: Slot(4): Card not present", "CARD_GONE 5d:04.0"),
    ("pcieport 0000:5d:04.0: pciehp: Slot(0-3): Card present", "CARD_PRESENT 5d:04.0"),
    ("pcieport 0000:5d:04.0: pciehp: Slot(4): Power fault", "POWER_FAULT 5d:04.0"),
    ("pcieport 0000:5d:04.0: pciehp: Slot(31): Powering off due to button press", "PLANNED 5d:04.0"),
    ("pcieport 0000:5d:04.0: pciehp: Failed to check link status", "NO_LINK 5d:04.0"),
    ("pcieport 0000:00:01.1: Data Link Layer Link Active not set in 1000 msec", "NO_LINK 00:01.1"),
    ("pcieport 0000:64:02.0: DPC: containment event, status:0x1f01 source:0x0000", "CONTAINED 64:02.0"),
    (
        "pcieport 0000:00:01.1: broken device, retraining non-functional downstream link at 2.5GT/s",
        "RETRAINED 00:01.1",
    ),
    ("pci 0000:00:01.1: retraining failed", "RETRAIN_FAILED 00:01.1"),
    ("pci 0000:3b:00.0: BAR 1: no space for [mem size 0x400000000 64bit pref]", "NO_SPACE 3b:00.0"),
    ("pci 0000:3b:00.0: BAR 1 [mem size 0x400000000 64bit pref]: can't assign; no space", "NO_SPACE 3b:00.0"),
    ("pci 0000:3b:00.0: VF BAR 0 [mem size 0x02000000 64bit pref]: can't assign; no space", None),
    ("pci 0000:3b:00.0: BAR 14: no space for [mem size 0x00200000]", None),
    ("pci 0000:3b:00.0: BAR 4 [io  size 0x0020]: can't assign; no space", None),
    ("iommu: Default domain type: Translated", "IOMMU None"),
    (
        "nvme nvme0: I/O 24 QID 1 timeout, aborting",
        "TIMED_OUT None",
    ),
    (
        "nvme nvme0: I/O tag 24 (8018) opcode 0x2 (Read) QID 1 timeout, aborting req_op:READ(0) size:131072",
        "TIMED_OUT None",
    ),
    (
        "nvme nvme0: I/O tag 12 (100c) QID 0 timeout, completion polled",
        "TIMED_OUT None",
    ),
    (
        "nvme nvme0: I/O tag 24 (8018) QID 1 timeout, reset controller",
        "CONTROLLER_DOWN None",
    ),
    (
        "nvme nvme0: I/O tag 5 (1005) QID 0 timeout, disable controller",
        "CONTROLLER_DOWN None",
    ),
    (
        "mlx5_core 0000:cc:00.0: wait_func:1057:(pid 1234): ACCESS_REG(0x805) timeout. Will cause a "
        "leak of a command resource",
        "TIMED_OUT cc:00.0",
    ),
    (
        "mlx5_core 0000:cc:00.0: cmd[3]: CREATE_EQ(0x301) Async, timeout. Will cause a leak of a "
        "command resource",
        "TIMED_OUT cc:00.0",
    ),
    (
        "mlx5_core 0000:01:00.0: mlx5_pcie_event:301:(pid 1234): Detected insufficient power on the "
        "PCIe slot (27W).",
        "RUNS_WITH_LESS 01:00.0",
    ),
    (
        "mlx5_core 0000:01:00.0: mlx5_pcie_event:299:(pid 1234): PCIe slot advertised sufficient "
        "power (75W).",
        None,
    ),
    (
        "bnxt_en 0000:5d:00.0 eth4: Firmware not responding, status: 0x10c89",
        "HEALTH_LOST 5d:00.0",
    ),
    (
        "bnxt_en 0000:5d:00.0 eth4: Error (timeout: 500015) msg {0x23 0x9e1} len:0",
        "TIMED_OUT 5d:00.0",
    ),
    (
        "bnxt_en 0000:5d:00.0 eth4: Detected firmware fatal condition, initiating reset",
        "HEALTH_LOST 5d:00.0",
    ),
    (
        "bnxt_en 0000:5d:00.0 eth4: TX timeout detected, starting reset task!",
        "TIMED_OUT 5d:00.0",
    ),
    (
        "NETDEV WATCHDOG: eth0 (ixgbe): transmit queue 0 timed out",
        "TIMED_OUT None",
    ),
    (
        "ixgbe 0000:03:00.0 eth0: NETDEV WATCHDOG: CPU: 3: transmit queue 0 timed out 5120 ms",
        "TIMED_OUT 03:00.0",
    ),
    (
        "ixgbe 0000:03:00.0 enp3s0: Detected Tx Unit Hang",
        "TIMED_OUT 03:00.0",
    ),
    (
        "e1000e 0000:00:1f.6 eno1: Detected Hardware Unit Hang:",
        "TIMED_OUT 00:1f.6",
    ),
    (
        "i40e 0000:18:00.0 eno1: tx_timeout: VSI_seid: 390, Q 3, NTC: 0x0, HWB: 0x0, NTU: 0x1, TAIL: "
        "0x1, INT: 0x1",
        "TIMED_OUT 18:00.0",
    ),
    (
        "i40e 0000:18:00.0 eno1: tx_timeout recovery unsuccessful, device is in non-recoverable state.",
        "HEALTH_LOST 18:00.0",
    ),
    (
        "ice 0000:b1:00.0: Rebuild failed, unload and reload driver",
        "HEALTH_LOST b1:00.0",
    ),
    (
        "ice 0000:b1:00.0: Firmware recovery mode detected. Limiting functionality.",
        "HEALTH_LOST b1:00.0",
    ),
    (
        "ice 0000:b1:00.0: The DDP package could not be loaded because its version is not supported. "
        "Please use an updated package. Entering Safe Mode.",
        "RUNS_WITH_LESS b1:00.0",
    ),
    (
        "amdgpu 0000:c4:00.0: amdgpu: ring gfx_0.0.0 timeout, signaled seq=1, emitted seq=3",
        "TIMED_OUT c4:00.0",
    ),
    (
        "[drm:amdgpu_job_timedout [amdgpu]] *ERROR* ring gfx timeout, signaled seq=1, emitted seq=3",
        "TIMED_OUT None",
    ),
    (
        "amdgpu 0000:c4:00.0: amdgpu: GPU reset(3) succeeded!",
        "RECOVERED c4:00.0",
    ),
    (
        "amdgpu 0000:c4:00.0: amdgpu: GPU reset(3) failed",
        "DEVICE_FAILED c4:00.0",
    ),
    (
        "amdgpu 0000:c4:00.0: amdgpu: GPU reset end with ret = -5",
        "DEVICE_FAILED c4:00.0",
    ),
    (
        "amdgpu 0000:c4:00.0: amdgpu: Fatal error during GPU init",
        "DEVICE_FAILED c4:00.0",
    ),
    (
        "xe 0000:03:00.0: [drm] *ERROR* CRITICAL: Xe has declared device 0000:03:00.0 as wedged.",
        "DEVICE_FAILED 03:00.0",
    ),
    (
        "habanalabs 0000:19:00.0: Device heartbeat failed! PCI link is broken",
        "HEALTH_LOST 19:00.0",
    ),
    (
        "habanalabs hl0: Device heartbeat failed! PCI link is healthy",
        "HEALTH_LOST None",
    ),
    (
        "qla2xxx [0000:42:00.2]-8041:22: detected PCI disconnect.",
        "HEALTH_LOST 42:00.2",
    ),
    (
        "qla2xxx [0000:42:00.2]-5003:22: ISP System Error - mbx1=0h mbx2=0h mbx3=0h mbx7=0h.",
        "HEALTH_LOST 42:00.2",
    ),
    (
        "mpt3sas_cm0: Command Timeout",
        "TIMED_OUT None",
    ),
    (
        "mpt3sas_cm0: diag reset: FAILED",
        "HEALTH_LOST None",
    ),
    (
        "megaraid_sas 0000:03:00.0: [60]waiting for 12 commands to complete for scsi0",
        "TIMED_OUT 03:00.0",
    ),
    (
        "mlx4_core 0000:05:00.0: Internal error detected:",
        "HEALTH_LOST 05:00.0",
    ),
    (
        "mlx4_core 0000:05:00.0: command 0x23 timed out (go bit not cleared)",
        "TIMED_OUT 05:00.0",
    ),
    (
        "ena 0000:00:05.0 eth0: Keep alive watchdog timeout.",
        "TIMED_OUT 00:05.0",
    ),
    (
        "NVRM: GPU 0000:13:00.0: GPU does not have the necessary power cables connected.",
        "DEVICE_FAILED 13:00.0",
    ),
    (
        "PCI 0040:01:00.0#10000: EEH: Invoking nvme->error_detected(IO frozen)",
        "DEVICE_FAILED 0040:01:00.0",
    ),
    (
        "pci 0004:42:00.0: devices behind bridge are unusable because [bus 43] cannot be assigned for them",
        "DEVICE_FAILED 0004:42:00.0",
    ),
    (
        "nvme 0000:01:00.0: can't enable device: BAR 0 [mem size 0x00004000 64bit]: not claimed",
        "DEVICE_FAILED 01:00.0",
    ),
    (
        "cxl_pci 0000:35:00.0: timeout awaiting memory active after 60 seconds",
        "DEVICE_FAILED 35:00.0",
    ),
    ("cxl_pci 0000:36:00.0: probe with driver cxl_pci failed with error -110", "DEVICE_FAILED 36:00.0"),
    ("cxl_pci 0000:0f:00.0: mem3: frozen state error detected, disable CXL.mem", "CONTROLLER_DOWN 0f:00.0"),
    ("cxl_pci 0000:0f:00.0: mem3: error resume successful", "RECOVERED 0f:00.0"),
    ("cxl_pci 0000:10:00.0: No component registers (-19)", None),
    ("xdma 0000:01:00.0: Failed to detect XDMA config BAR", "DEVICE_FAILED 01:00.0"),
    ("xdma:engine_reg_dump: 0-C2H0-ST: ioread32(0x3470a31b) = 0xffffffff (id).", "CONTROLLER_DOWN None"),
    ("hailo 0000:01:00.0: Failed activating board -110", "DEVICE_FAILED 01:00.0"),
    ("hailo: probe of 0000:01:00.0 failed with error -110", "DEVICE_FAILED 01:00.0"),
    (
        "tenstorrent 0000:c1:00.0: ARC queue RPTR read returned all-1s; device gone?",
        "CONTROLLER_DOWN c1:00.0",
    ),
    ("tenstorrent 0000:c1:00.0: Telemetry not available", None),
    (
        "tg3 0000:02:00.0 eth0: transmit timed out, resetting",
        "TIMED_OUT 02:00.0",
    ),
    (
        "mlx5_core 0000:81:00.0: firmware version: 28.36.1010",
        None,
    ),
    (
        "ixgbe 0000:03:00.0 eth0: NIC Link is Down",
        None,
    ),
    (
        "igb 0000:09:00.0 eth0: igb: eth0 NIC Link is Up 1000 Mbps Full Duplex, Flow Control: RX/TX",
        None,
    ),
    ("usb 1-1: new high-speed USB device number 2 using xhci_hcd 0000:00:14.0", None),
]


@pytest.mark.parametrize(("line", "event"), LINES, ids=[line[:48] for line, _ in LINES])
@pytest.mark.parametrize(
    "front", ["[  812.100000] ", "Oct 02 08:05:51 box kernel: ", "[  812.1] [ T140] ", ""]
)
def test_what_a_line_tells(line: str, event: str | None, front: str) -> None:
    events = read_bytes(f"{DRIVE}\n{front}{line}\n".encode()).events
    said = [f"{e.kind.name} {None if e.address is None else e.address.short}" for e in events]
    assert said == ([] if event is None else [event])
    assert [e.line for e in events] == ([] if event is None else [line])


FRONTS = (
    "[  812.100000] ",
    "<6>[  812.100000] ",
    "kern  :warn  : [  812.100000] ",
    "[  812.100000] [ T140] ",
    "[  812.100000 <    0.000123>] ",
    "[  +0.000123] ",
    "[<    0.000123>] ",
    "[Wed Oct 30 12:34:56 2024] ",
    "[Mi Okt 30 12:34:56 2024] ",
    "[Oct30 12:34] ",
    "2024-10-30T12:34:56,789012+01:00 ",
    "kern  :warn  : 2024-10-30T12:34:56,789012+01:00 ",
    "2024-10-30T12:34:56+0100 box kernel: ",
    "2024-10-30T12:34:56.789012+01:00 box kernel: ",
    "Oct 30 12:34:56 box kernel: ",
    "Oct 30 12:34:56.789012 box kernel: ",
    "Oct 30 12:34:56 box kernel: [  812.100000] ",
    "1730288096.789012 box kernel: ",
    "[  812.100000] box kernel: ",
)
"""What `dmesg` and `journalctl` print before a message, by their options."""


@pytest.mark.parametrize("front", FRONTS)
def test_times_in_every_form_are_read_and_left_out(front: str, tmp_path: Path) -> None:
    machine, log = tmp_path / "lspci.txt", tmp_path / "dmesg.txt"
    machine.write_text(DRIVE)
    down = "pcieport 0000:5d:04.0: pciehp: Slot(4): Link Down"
    boot = "Linux version 6.8.0-45-generic (buildd@lcy02-amd64-115)"
    log.write_text(f"{front}{boot}\n{front}usb 1-1: new device\n")
    assert read(machine, overlays=[log]).events == ()
    log.write_text(f"{front}{down}\n")
    assert [event.line for event in read(machine, overlays=[log]).events] == [down]
    log.write_text(f"{front}{down}\n{front}{boot}\n")
    assert read(machine, overlays=[log]).events == ()


def test_ports_of_adapters_are_known_by_the_names_that_a_log_gives_them() -> None:
    log = (
        "[    4.1] bnxt_en 0000:01:00.0 enp1s0: renamed from eth4\n"
        "[ 9101.2] NETDEV WATCHDOG: enp1s0 (bnxt_en): transmit queue 3 timed out\n"
    )
    (event,) = read_bytes((DRIVE + log).encode()).events
    assert str(event.address) == "0000:01:00.0"


def test_a_device_whose_way_carries_less() -> None:
    line = (
        "[ 4.1] mlx5_core 0000:17:00.0: 63.008 Gb/s available PCIe bandwidth, limited by 8.0 GT/s PCIe x8 "
        "link at 0000:16:00.0 (capable of 126.016 Gb/s with 8.0 GT/s PCIe x16 link)"
    )
    (event,) = read_bytes(f"{DRIVE}\n{line}\n".encode()).events
    assert (event.now, event.able) == (LinkMode(8.0, 8), LinkMode(8.0, 16))
    assert event.port is not None
    assert event.port.short == "16:00.0"


def test_drives_are_known_by_name_from_the_log_or_from_sysfs(tmp_path: Path) -> None:
    down = "[ 39.4] nvme nvme0: controller is down; will reset: CSTS=0xffffffff, PCI_STATUS=0x10\n"
    known = "[ 8.2] nvme nvme0: pci function 0000:01:00.0\n"
    (event,) = read_bytes((DRIVE + known + down).encode()).events
    assert event.address == read_bytes(DRIVE.encode())["01:00.0"].address
    drive = tmp_path / "sys/bus/pci/devices/0000:02:00.0"
    (drive / "nvme/nvme0").mkdir(parents=True)
    (drive / "vendor").write_text("0x144d\n")
    log = tmp_path / "dmesg.txt"
    log.write_text(down)
    (event,) = read(tmp_path / "sys", overlays=[log]).events
    assert event.address is not None
    assert event.address.short == "02:00.0"


def test_what_was_before_the_last_boot_is_past() -> None:
    down = "[ 99.1] nvme 0000:4b:00.0: controller is down; will reset: CSTS=0xffffffff, PCI_STATUS=0x10\n"
    boot = "[ 0.0] Linux version 6.8.0-31-generic (buildd@lcy02) #31-Ubuntu SMP\n"
    assert read_bytes((DRIVE + "\n" + down + boot).encode()).events == ()
    assert len(read_bytes((DRIVE + "\n" + boot + down).encode()).events) == 1


def test_a_gpu_that_fell_off_the_bus_before_the_last_boot_may_again() -> None:
    lost = "[ 99.1] NVRM: Xid (PCI:0000:4b:00): 79, pid=1, GPU has fallen off the bus.\n"
    boot = "[ 0.0] Linux version 6.8.0-31-generic (buildd@lcy02) #31-Ubuntu SMP\n"
    (before,) = read_bytes((DRIVE + "\n" + lost + boot).encode()).events
    (now,) = read_bytes((DRIVE + "\n" + boot + lost).encode()).events
    assert (before.kind, now.kind) == (EventKind.GPU_LOST_BEFORE, EventKind.GPU_LOST)


def test_space_that_was_found_at_last_was_never_missing() -> None:
    failed = "[ 0.7] pci 0000:3b:00.0: BAR 0 [mem size 0x02000000 64bit pref]: can't assign; no space\n"
    given = "[ 0.8] pci 0000:3b:00.0: BAR 0 [mem 0x9000000000-0x9001ffffff 64bit pref]: assigned\n"
    assert read_bytes((DRIVE + "\n" + failed + given).encode()).events == ()
    assert len(read_bytes((DRIVE + "\n" + given + failed).encode()).events) == 1


def test_a_log_on_top(tmp_path: Path) -> None:
    machine, log = tmp_path / "lspci.txt", tmp_path / "dmesg.txt"
    machine.write_text(DRIVE)
    log.write_text(
        "[  812.1] nvme 0000:01:00.0: PCIe Bus Error: severity=Corrected, "
        "type=Data Link Layer, (Receiver ID)\n"
        "[  812.1] nvme 0000:01:00.0:   device [144d:a80a] error status/mask=00000040/0000e000\n"
        "[  813.1] nvme 0000:01:00.0: not ready 65535ms after FLR; giving up\n"
    )
    both = read(machine, overlays=[log])
    assert [event.kind for event in both.events] == [EventKind.NO_RETURN]
    assert both["01:00.0"].errors.counter("correctable.BadTLP") == 1
    assert both["01:00.0"].errors.counted_in_log
    assert "kernel log" in both.kinds


def test_a_log_without_complaints_may_be_put_on_top_and_other_texts_may_not(tmp_path: Path) -> None:
    machine, log = tmp_path / "lspci.txt", tmp_path / "dmesg.txt"
    machine.write_text(DRIVE)
    log.write_text("[    0.1] smpboot: CPU0: Intel Xeon\n[    0.2] usb 1-1: new device\n" * 3)
    assert read(machine, overlays=[log]).events == ()
    log.write_text("Dear all,\nthe box is slow.\n")
    with pytest.raises(InputError, match="dmesg"):
        read(machine, overlays=[log])


def test_a_log_alone_that_lists_no_function() -> None:
    alone = read_bytes(b"[ 99.1] NVRM: Xid (PCI:0000:4b:00): 79, pid=1, GPU has fallen off the bus.\n")
    assert [event.kind for event in alone.events] == [EventKind.GPU_LOST]
    assert alone.kinds == ("kernel log",)


def test_sas_controllers_are_called_by_name() -> None:
    log = (
        "[    2.1] mpt3sas 0000:01:00.0: enabling device (0000 -> 0002)\n"
        "[    2.2] mpt3sas_cm0: 64 BIT PCI BUS DMA ADDRESSING SUPPORTED, total mem (65797272 kB)\n"
        "[   90.3] mpt3sas_cm0: fault_state(0x2666)!\n"
        "[   90.4] mpt3sas_cm0: sending diag reset !!\n"
        "[   91.9] mpt3sas_cm0: diag reset: SUCCESS\n"
    )
    failed, again = read_bytes((DRIVE + log).encode()).events
    assert (failed.kind, again.kind) == (EventKind.HEALTH_LOST, EventKind.RECOVERED)
    assert {str(failed.address), str(again.address)} == {"0000:01:00.0"}


def test_what_is_said_thousands_of_times_is_kept_a_hundred_times() -> None:
    line = "NVRM: Xid (PCI:0000:4b:00): 13, pid=7, name=a.out, Graphics SM Warp Exception\n"
    last = "NVRM: Xid (PCI:0000:4b:00): 48, pid=7, name=a.out, DBE (double bit error)\n"
    events = read_bytes((DRIVE + 5000 * line + last).encode()).events
    assert (len(events), events[-1].number) == (101, 48)


def test_a_log_alone_names_its_devices() -> None:
    machine = read_bytes(
        b"[86112.3] NVRM: Xid (PCI:0000:3b:00): 119, pid=7342, Timeout after 6s of waiting\n"
    )
    (gpu,) = machine
    assert (gpu.address.short, gpu.driver, gpu.is_gpu) == ("3b:00.0", "nvidia", True)
    (drive,) = read_bytes(b"[1.0] DMAR: [DMA Read] Request device [ca:00.0] fault addr 0 [fault reason 06]\n")
    assert (drive.address.short, drive.identity.class_code) == ("ca:00.0", None)


@pytest.mark.parametrize(
    ("how_bad", "severity", "what_to_do"),
    [("fatal", "error", "reset all GPUs together"), ("non-fatal", "info", "the switch goes on")],
)
def test_errors_of_an_nvswitch_in_either_log(how_bad: str, severity: str, what_to_do: str) -> None:
    """A switch is not reset as a GPU is, and no program is at fault."""
    for line in (
        f"[7] nvidia-nvswitch0: SXid (PCI:0000:86:00.0): 20034, {how_bad.capitalize()}, Link 30 LTSSM Fault",
        f"nv-fabricmanager[5183]: detected NVSwitch {how_bad} error 20034 on NodeId 0 on NVSwitch pci bus id "
        "00000000:86:00.0 physical id 3 port 30",
    ):
        (finding,) = diagnose(read_bytes(line.encode()), cost=False).findings
        assert (finding.rule, finding.severity.value) == ("gpu-error", severity)
        assert finding.title.startswith("errors of an NVSwitch at 86:00.0: SXid 20034")
        assert what_to_do in finding.fix
        assert "compute-sanitizer" not in finding.fix


def test_a_gpu_that_was_named_a_line_before(tmp_path: Path) -> None:
    log = (
        "[ 9.1] NVRM: The NVIDIA GPU 0000:01:00.0\n"
        "[ 9.1] NVRM: (PCI ID: 10de:26b5) installed in this system has\n"
        "[ 9.1] NVRM: fallen off the bus and is not responding to commands.\n"
    )
    (event,) = read_bytes((DRIVE + log).encode()).events
    assert (event.kind, str(event.address)) == (EventKind.GPU_LOST, "0000:01:00.0")


@pytest.mark.parametrize(
    "line",
    [
        "nvme nvme7: controller is down; will reset: CSTS=0xffffffff, PCI_STATUS=0x10",
        "mpt3sas_cm3: fault_state(0x5854)!",
        "NVRM: fallen off the bus and is not responding to commands.",
        "habanalabs hl3: Device heartbeat failed! PCI link is broken",
    ],
)
def test_a_device_that_a_log_names_and_nobody_knows(line: str) -> None:
    findings = diagnose(read_bytes(f"{DRIVE}\n[ 9.1] {line}\n".encode()), cost=False).findings
    assert [f.severity.value for f in findings if f.rule == "device-lost"] == ["error"]
