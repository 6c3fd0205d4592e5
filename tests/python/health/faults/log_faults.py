"""Faults that only a kernel log tells of: errors of GPUs by number, of firmware, of adapters."""

from __future__ import annotations

from dump_edits import line_after
from fault import ERROR, H100, INFO, P100, RTX, STORAGE, WARNING, Fault

from lanewise.health.doctor import Severity

_GPU = "3b:00.0"


def xid(number: int, words: str, least: Severity, *, after: str = "") -> Fault:
    """Put a line of NVIDIA's driver behind a dump of eight GPUs."""
    line = f"[86112.33] NVRM: Xid (PCI:0000:3b:00): {number}, {words}\n{after}"
    return Fault(
        f"Xid {number}: {words[-24:]}{' and after' * bool(after)}",
        H100,
        line_after(line),
        _GPU,
        "gpu-error",
        least,
    )


_NOBODY = "pid='<unknown>', name=<unknown>, "
_RESET = "GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)"
_DONE = (
    "[86200.1] NVRM: Xid (PCI:0000:3b:00): 154, GPU recovery action changed from 0x1 (GPU Reset Required) to "
    "0x0 (None)\n"
)
XIDS = [
    xid(
        13,
        "pid=7342, name=python3, Graphics SM Warp Exception on (GPC 4, TPC 1, SM 0): Illegal Address",
        INFO,
    ),
    xid(31, "pid=7342, name=python3, Ch 00000010, intr 00000000. MMU Fault: ENGINE GRAPHICS GPC4", INFO),
    xid(
        48,
        f"{_NOBODY}DBE (double bit error), An uncorrectable double bit error (DBE) has been detected",
        ERROR,
    ),
    xid(62, "00000000 00000000 00000000 00000000", ERROR),
    xid(
        63, f"{_NOBODY}Row Remapper: New row (0x00a1ac) marked for remapping, reset gpu to activate.", WARNING
    ),
    xid(64, f"{_NOBODY}Row Remapper: Error recording row to remap. All reserved rows are used.", ERROR),
    xid(74, f"{_NOBODY}NVLink: fatal error detected on link 12(0x0, 0x0, 0x10000, 0x0)", ERROR),
    xid(92, f"{_NOBODY}High single bit ECC error rate", WARNING),
    xid(94, "pid=7342, name=python3, Contained: SM (0x1). RST: No, D-RST: No", WARNING),
    xid(95, f"{_NOBODY}Uncontained: LTC TAG (0x2,0x0). RST: Yes, D-RST: No", ERROR),
    xid(109, "pid=7342, name=python3, Ch 00000008, errorString CTX SWITCH TIMEOUT", ERROR),
    xid(119, "pid=7342, name=nvidia-smi, Timeout after 6s of waiting for RPC response from GPU0 GSP!", ERROR),
    xid(120, f"{_NOBODY}GSP task exception: store access fault", ERROR),
    xid(121, f"{_NOBODY}C2C Link corrected error threshold exceeded", WARNING),
    xid(122, f"{_NOBODY}SPI PMU RPC Read Failure", WARNING),
    xid(123, f"{_NOBODY}SPI PMU RPC Write Failure", WARNING),
    xid(140, f"{_NOBODY}An uncorrectable ECC error detected (possible firmware handling failure)", ERROR),
    xid(149, "NETIR_INT  Fatal   XC0 i0 Link -1", ERROR),
    xid(150, "MSE_INT  Nonfatal XC0 i0 Link 04", WARNING),
    xid(154, _RESET, ERROR),
    xid(119, "pid=7, Timeout after 6s of waiting for RPC response from GPU0 GSP!", WARNING, after=_DONE),
]

_BLOCK = """\
[   71.1] {1}[Hardware Error]: Hardware error from APEI Generic Hardware Error Source: 5
[   71.1] {1}[Hardware Error]: event severity: SEVERITY
[   71.1] {1}[Hardware Error]:  Error 0, type: SEVERITY
[   71.1] {1}[Hardware Error]:   section_type: PCIe error
[   71.1] {1}[Hardware Error]:   port_type: 0, PCIe end point
[   71.1] {1}[Hardware Error]:   version: 3.0
[   71.1] {1}[Hardware Error]:   command: 0x0546, status: 0x0010
[   71.1] {1}[Hardware Error]:   device_id: 0000:04:00.0
[   71.1] {1}[Hardware Error]:   vendor_id: 0x10de, device_id: 0x15f8
[   71.1] {1}[Hardware Error]:   STATUS
"""


def of_firmware(severity: str, status: str) -> str:
    """Write what the kernel of a server prints whose firmware handles errors first."""
    return _BLOCK.replace("SEVERITY", severity).replace("STATUS", status)


_TIMEOUT = "aer_uncor_status: 0x00004000, aer_uncor_mask: 0x00100000"
_REPLAYS = "aer_cor_status: 0x00001000, aer_cor_mask: 0x00002000"
_SHUT = "PTE Read access is not set"
_DMAR = "[86112.3] DMAR: [DMA Read NO_PASID] Request device [{}] fault addr 0xe2ed4000 [fault reason 0x06] {}"
_AMD = (
    "[86112.3] {} 0000:{}: AMD-Vi: Event logged [IO_PAGE_FAULT domain=0x0022 address=0xd8140000 flags=0x0020]"
)
FAULTS = [
    *XIDS,
    Fault(
        "an NVSwitch with a fatal error",
        H100,
        line_after("[77.1] nvidia-nvswitch0: SXid (PCI:0000:3b:00.0): 20034, Fatal, Link 30 LTSSM Fault Up"),
        _GPU,
        "gpu-error",
        ERROR,
    ),
    Fault(
        "firmware first: a completion timeout",
        P100,
        line_after(of_firmware("recoverable", _TIMEOUT)),
        "04:00.0",
        "uncorrectable-errors",
    ),
    Fault(
        "firmware first: fatal",
        P100,
        line_after(of_firmware("fatal", _TIMEOUT)),
        "04:00.0",
        "uncorrectable-errors",
        ERROR,
    ),
    Fault(
        "firmware first: a hundred replays",
        P100,
        line_after(100 * of_firmware("corrected", _REPLAYS)),
        "04:00.0",
        "link-errors",
    ),
    Fault("DMAR: a drive", H100, line_after(_DMAR.format("ca:00.0", _SHUT)), "ca:00.0", "dma-fault"),
    Fault("DMAR: a GPU", P100, line_after(_DMAR.format("04:00.0", _SHUT)), "04:00.0", "dma-fault"),
    Fault(
        "AMD-Vi: a GPU, five times",
        RTX,
        line_after("\n".join(5 * [_AMD.format("nvidia", "06:00.0")])),
        "06:00.0",
        "dma-fault",
    ),
    Fault(
        "MegaRAID in fault state",
        P100,
        line_after("[86.3] megaraid_sas 0000:03:00.0: Found FW in FAULT state, will reset adapter scsi0."),
        "03:00.0",
        "device-lost",
        ERROR,
    ),
    Fault(
        "MegaRAID works again",
        P100,
        line_after(
            "[86.3] megaraid_sas 0000:03:00.0: FW in FAULT state, Fault code:0x10000 subcode:0x0\n"
            "[99.3] megaraid_sas 0000:03:00.0: Reset successful for scsi0."
        ),
        "03:00.0",
        "device-lost",
    ),
    Fault(
        "an HBA in fault state",
        STORAGE,
        line_after(
            "[  2.1] mpt3sas 0000:3b:00.0: enabling device (0140 -> 0142)\n"
            "[  2.2] mpt3sas_cm0: 63 BIT PCI BUS DMA ADDRESSING SUPPORTED, total mem (263853628 kB)\n"
            "[ 90.1] mpt3sas_cm0: fault_state(0x5854)!"
        ),
        "3b:00.0",
        "device-lost",
        ERROR,
    ),
]
