"""What drivers of Linux print when a device fails them: one table, a line for each message.

Models messages that tell of the device: its firmware stopped, it did not answer in time, it runs with less
than it can do, it works again. Left out: what a driver says of programs, cables and remote ends. A message
counts wherever it stands in a line; most have the driver and the address before them.
Source: Linux 3.10 to 6.17, the files named beside each; NVIDIA open-gpu-kernel-modules, arch/nvalloc. All
read for the wording only.
"""

from __future__ import annotations

from typing import NamedTuple

from lanewise.machine.kernel_event import EventKind


class DriverLine(NamedTuple):
    """One message, or several that mean the same."""

    kind: EventKind
    message: str
    """A pattern; it names the driver where the words alone could be of another one."""
    source: str
    """Where the driver prints it, below drivers/ of Linux."""


_AT = r"[0-9a-f:.]{10,16}"
_SAS = r"mpt[23]sas(?:_cm)?\d+: "
_AMD = r"amdgpu.{0,60}"

DRIVERS = (
    r"(?:nvme|nvidia|amdgpu|xe|mlx[45]_core|bnxt_en|bnx2x|ixgbe|i40e|ice|igb|igc|e1000e|tg3|ena|sfc|qede|"
    r"cxgb4|ionic|hinic3?|mpt[23]sas|mpi3mr|megaraid_sas|smartpqi|lpfc|qla2xxx|ahci|habanalabs|hfi1)"
)
"""Drivers of what moves data: others fail to probe on machines in order, too."""

_DOWN, _FAILED = EventKind.CONTROLLER_DOWN, EventKind.DEVICE_FAILED
_HEALTH, _SLOW, _LESS = EventKind.HEALTH_LOST, EventKind.TIMED_OUT, EventKind.RUNS_WITH_LESS
_AGAIN = EventKind.RECOVERED

LINES = (
    DriverLine(_DOWN, r"nvme.{0,60}controller is down; will reset", "nvme/host/pci.c"),
    DriverLine(_DOWN, r"nvme.{0,80}timeout, (?:reset|disable) controller", "nvme/host/pci.c"),
    DriverLine(_DOWN, r"nvme.{0,60}frozen state error", "nvme/host/pci.c"),
    DriverLine(
        _DOWN, rf"xhci_hcd {_AT}: xHCI host controller not responding, assume dead", "usb/host/xhci-ring.c"
    ),
    DriverLine(
        _DOWN,
        rf"\b(?:ixgbe|i40e|ice|igb|igc|e1000e) {_AT}: (?:[\w: ]{{0,24}})Adapter removed",
        "net/ethernet/intel",
    ),
    DriverLine(
        _DOWN,
        r"\btg3.{0,60}(?:0x00000000: 0xffffffff, 0xffffffff|timed out, .{0,60}=ffffffff)",
        "net/ethernet/broadcom/tg3.c (tg3_dump_state, tg3_abort_hw)",
    ),
    DriverLine(_FAILED, r"nvme.{0,90}Device not ready; aborting", "nvme/host/core.c"),
    DriverLine(_FAILED, r"nvme.{0,90}device inaccessible", "pci/pci.c"),
    DriverLine(_FAILED, r"nvme.{0,90}Removing after probe failure", "nvme/host/pci.c"),
    DriverLine(_FAILED, r"nvme.{0,90}Disabling device after reset failure", "nvme/host/pci.c"),
    DriverLine(_FAILED, r"nvme.{0,90}Identify Controller failed", "nvme/host/core.c"),
    DriverLine(_FAILED, r"PCIe link lost", "net/ethernet/intel/igb, igc"),
    DriverLine(_FAILED, r"NVRM: (?:GPU [0-9a-f:.]+: )?RmInitAdapter failed", "nvidia: arch/nvalloc/unix"),
    DriverLine(
        _FAILED, r"GPU does not have the necessary power cables connected", "nvidia: arch/nvalloc/unix"
    ),
    DriverLine(_FAILED, r"has declared device [0-9a-f:.]+ as wedged", "gpu/drm/xe/xe_device.c"),
    DriverLine(
        _FAILED,
        rf"{_AMD}(?:Fatal error during GPU init|GPU reset\(\d+\) failed|GPU reset end with ret = -|"
        r"GPU Recovery Failed|amdgpu_device_ip_init failed)",
        "gpu/drm/amd/amdgpu/amdgpu_device.c",
    ),
    DriverLine(
        _FAILED,
        rf"\b{DRIVERS} {_AT}: probe with driver \S{{1,32}} failed with error -(?!517)",
        "base/dd.c",
    ),
    DriverLine(_FAILED, rf"\b{DRIVERS} {_AT}: BAR \d: can't reserve \[mem", "pci/pci.c"),
    DriverLine(
        _FAILED,
        rf"{_SAS}(?:pci_request_selected_regions: failed|failure at \S{{1,80}}/\w*scsih_probe\(\)!)",
        "scsi/mpt3sas/mpt3sas_base.c, mpt3sas_scsih.c",
    ),
    DriverLine(_FAILED, rf"\b{DRIVERS}: probe of {_AT} failed with error -(?!517)", "base/dd.c"),
    DriverLine(
        _HEALTH,
        r"mlx5_core.{0,120}(?:health compromised|PCI (?:slot )?is (?:offline|unavailable)|"
        r"PCI reads still not working|unable to respond to|sensors reported fatal|Fatal error \d+ detected|"
        r"firmware internal err)",
        "net/ethernet/mellanox/mlx5/core/health.c",
    ),
    DriverLine(_HEALTH, r"PCI (?:channel|device) is offline", "net/ethernet/mellanox"),
    DriverLine(_HEALTH, r"mlx4_core.{0,60}Internal error detected", "net/ethernet/mellanox/mlx4/catas.c"),
    DriverLine(
        _HEALTH,
        r"bnxt_en.{0,60}(?:Firmware not responding|Detected firmware fatal condition|"
        r"Firmware reset aborted|FW (?:fatal )?reset (?:timed out|failed))",
        "net/ethernet/broadcom/bnxt/bnxt.c",
    ),
    DriverLine(
        _HEALTH,
        r"(?:i40e|ice|ixgbe).{0,60}(?:tx_timeout recovery unsuccessful|Rebuild failed, unload and reload|"
        r"[Ff]irmware [Rr]ecovery [Mm]ode detected)",
        "net/ethernet/intel/i40e, ice, ixgbe",
    ),
    DriverLine(_HEALTH, r"habanalabs.{0,60}heartbeat failed", "accel/habanalabs/common/device.c"),
    DriverLine(
        _HEALTH,
        r"megaraid_sas.{0,160}(?:FW in FAULT state|killing adapter|fatal error and was reset)|"
        r"megasas: Found FW in FAULT state",
        "scsi/megaraid",
    ),
    DriverLine(
        _HEALTH,
        rf"{_SAS}(?:fault_state\(0x|SAS host is non-op|(?:diag|host) reset: FAILED)",
        "scsi/mpt3sas/mpt3sas_base.c",
    ),
    DriverLine(_HEALTH, rf"smartpqi {_AT}: controller (?:is )?offline", "scsi/smartpqi"),
    DriverLine(_HEALTH, rf"hpsa {_AT}: [Cc]ontroller lockup detected", "scsi/hpsa.c"),
    DriverLine(
        _HEALTH,
        r"qla2xxx.{0,60}(?:ISP System Error|detected PCI disconnect|ISP error recovery failed)",
        "scsi/qla2xxx",
    ),
    DriverLine(_HEALTH, rf"lpfc {_AT}: .{{0,40}}Adapter Hardware Error", "scsi/lpfc"),
    DriverLine(_SLOW, r"nvme.{0,100}timeout, (?:aborting|completion polled)", "nvme/host/pci.c"),
    DriverLine(
        _SLOW,
        r"mlx5_core.{0,160}timeout\. Will cause a leak of a command resource",
        "net/ethernet/mellanox/mlx5/core/cmd.c",
    ),
    DriverLine(
        _SLOW, r"mlx4_core.{0,60}command (?:channel command )?0x\w+ timed out", "net/ethernet/mellanox/mlx4"
    ),
    DriverLine(_SLOW, r"bnxt_en.{0,40}Error \(timeout: \d+\) msg", "net/ethernet/broadcom/bnxt/bnxt_hwrm.c"),
    DriverLine(_SLOW, r"NETDEV WATCHDOG: .{0,60}transmit queue \d+ timed out", "net/sched/sch_generic.c"),
    DriverLine(
        _SLOW,
        r"Detected (?:Tx Unit|Hardware Unit) Hang|initiating reset due to tx timeout",
        "net/ethernet/intel/e1000e, igb, igc, ixgbe",
    ),
    DriverLine(
        _SLOW,
        r"\b(?:i40e|ice|bnxt_en|mlx5_core|ena|tg3|atlantic).{0,60}(?:tx_timeout: VSI|TX timeout detected|"
        r"transmit timed out, resetting|Keep alive watchdog timeout)",
        "net/ethernet",
    ),
    DriverLine(
        _SLOW,
        r"amdgpu.{0,60}\bring \w[\w.]{0,24} timeout, |\[amdgpu\]\] \*ERROR\* ring \w[\w.]{0,24} timeout",
        "gpu/drm/amd/amdgpu/amdgpu_job.c",
    ),
    DriverLine(_SLOW, rf"{_SAS}Command Timeout", "scsi/mpt3sas/mpt3sas_base.c"),
    DriverLine(_SLOW, rf"megaraid_sas {_AT}: .{{0,40}}waiting for \d+ commands to complete", "scsi/megaraid"),
    DriverLine(
        EventKind.ACCESS_FAILED,
        r"(?:I/O error|critical (?:medium|target) error), dev nvme\d+(?:c\d+)?n\d+, sector \d|"
        r"nvme\d+n\d+: .{0,80}Unrecovered Read Error",
        "block/blk-mq.c (blk_print_req_error), nvme/host/core.c",
    ),
    DriverLine(_LESS, r"\bice .{0,160}Entering Safe Mode", "net/ethernet/intel/ice/ice_main.c"),
    DriverLine(
        _LESS,
        r"mlx5_core.{0,60}insufficient power on the PCIe slot",
        "net/ethernet/mellanox/mlx5/core/events.c",
    ),
    DriverLine(_LESS, rf"\bi40e {_AT}: PCI-Express: Speed 2\.5GT/s", "net/ethernet/intel/i40e/i40e_main.c"),
    DriverLine(
        _LESS,
        r"kfd: .{0,16}skipped device [0-9a-f:]{9}, PCI rejects atomics",
        "gpu/drm/amd/amdkfd/kfd_device.c",
    ),
    DriverLine(_AGAIN, r"nvme\d+: \d+/\d+/\d+ default/read/poll queues", "nvme/host/pci.c"),
    DriverLine(_AGAIN, r"megaraid_sas.{0,60}Reset successful for scsi", "scsi/megaraid"),
    DriverLine(_AGAIN, rf"{_SAS}(?:diag|host) reset: SUCCESS", "scsi/mpt3sas/mpt3sas_base.c"),
    DriverLine(
        _AGAIN,
        rf"{_AMD}(?:GPU reset\(\d+\) succeeded|[Rr]ing \w[\w.]{{0,24}} reset succe)",
        "gpu/drm/amd/amdgpu/amdgpu_device.c",
    ),
)


def pattern_of(kind: EventKind) -> list[str]:
    """Return the patterns of all messages of a kind."""
    return [line.message for line in LINES if line.kind is kind]
