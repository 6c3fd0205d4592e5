"""Single faults in a dump that is here: a made-up server with two GPUs, an adapter and two drives."""

from __future__ import annotations

from dataclasses import dataclass

from dump_edits import Edit, line_after, together, words
from fault_kinds import (
    answers_with_ones,
    bits,
    card_without_link,
    lanes,
    no_address,
    no_driver,
    payload,
    request,
    speed,
)

from lanewise.health.doctor import Severity

WARNING, ERROR, INFO = Severity.WARNING, Severity.ERROR, Severity.INFO


@dataclass(frozen=True)
class Fault:
    """A fault, and what has to be said of it."""

    name: str
    edit: Edit
    device: str
    rule: str
    least: Severity = WARNING


_SLOT = """\
Handle 0x09{number:02d}, DMI type 9, 17 bytes
System Slot Information
\tDesignation: Slot {number}
\tType: x4 PCI Express 3 x4
\tCurrent Usage: In Use
\tLength: Short
\tCharacteristics:
\t\t3.3 V is provided
\tBus Address: 0000:{bus}:00.0

"""
SLOTS = "# dmidecode 3.5\nGetting SMBIOS data from sysfs.\nSMBIOS 3.2.0 present.\n\n" + "".join(
    _SLOT.format(number=number, bus=bus) for number, bus in enumerate(("18", "19", "1a"), start=1)
)
"""What `dmidecode -t slot` prints of three slots in use."""


def root_errors(received: str, kind: str, correctable: str, uncorrectable: str) -> Edit:
    """Let the port above a drive keep error messages, as `lspci` prints them of a root port."""
    rows = (
        "RootCmd: CERptEn+ NFERptEn+ FERptEn+",
        f"RootSta: {received}",
        f"\t FirstFatal- {kind} FatalMsg- IntMsg 0",
        f"ErrorSrc: ERR_COR: {correctable} ERR_FATAL/NONFATAL: {uncorrectable}",
    )
    return words("17:02.0", r"(\t\tHeaderLog:.*\n)", r"\1" + "".join(f"\t\t{row}\n" for row in rows))


FAULTS = [
    Fault("a GPU on half its lanes", lanes(8, "17:00.0", "18:00.0"), "18:00.0", "link-width"),
    Fault("a drive on one lane", lanes(1, "17:02.0", "19:00.0"), "19:00.0", "link-width"),
    Fault("an adapter on a quarter of its lanes", lanes(4, "3a:00.0", "3b:00.0"), "3b:00.0", "link-width"),
    Fault("a drive at Gen1", speed(2.5, "17:03.0", "1a:00.0"), "1a:00.0", "link-speed"),
    Fault("an adapter at Gen2", speed(5, "3a:00.0", "3b:00.0"), "3b:00.0", "link-speed"),
    Fault("an adapter that sends too much", payload(512, "3b:00.0"), "3b:00.0", "mps-mismatch", ERROR),
    Fault(
        "an adapter that asks for little",
        together(request(128, "3b:00.0"), words("3b:00.0", r"(RlxdOrd[-+] ExtTag)\+", r"\1-")),
        "3b:00.0",
        "mrrs-small",
    ),
    Fault(
        "a read that was never answered",
        bits("18:00.0", "UESta", "CmpltTO"),
        "18:00.0",
        "uncorrectable-errors",
    ),
    Fault("a link that replays", bits("1a:00.0", "CESta", "BadTLP", "Rollover"), "1a:00.0", "link-errors"),
    Fault(
        "a port that holds its link down",
        bits("17:00.0", "DpcSta", "Trigger"),
        "17:00.0",
        "dpc-triggered",
        ERROR,
    ),
    Fault(
        "a drive that was reset under its driver",
        together(
            words("19:00.0", r"(Control: I/O- Mem)\+ BusMaster\+", r"\1- BusMaster-"),
            words("19:00.0", r"(Region 0: Memory at \w+ \([^)]*\)) ", r"\1 [virtual] "),
        ),
        "19:00.0",
        "configuration-lost",
        ERROR,
    ),
    Fault(
        "reads that time out at once",
        words("3b:00.0", r"(DevCtl2: Completion Timeout: )[^,]+", r"\g<1>50us to 100us"),
        "3b:00.0",
        "completion-timeout",
    ),
    Fault(
        "a message of an error that nobody handled",
        root_errors("CERcvd- MultCERcvd- UERcvd+ MultUERcvd-", "NonFatalMsg+", "0000", "1900"),
        "19:00.0",
        "error-message",
    ),
    Fault(
        "messages of errors that were corrected",
        root_errors("CERcvd+ MultCERcvd+ UERcvd- MultUERcvd-", "NonFatalMsg-", "1900", "0000"),
        "19:00.0",
        "error-message",
        INFO,
    ),
    Fault(
        "a link that was left in compliance mode",
        words("17:02.0", "EnterCompliance-", "EnterCompliance+"),
        "17:02.0",
        "link-test-mode",
    ),
    Fault(
        "a drive that was left at another voltage",
        words("19:00.0", "Transmit Margin: Normal Operating Range", "Transmit Margin: 200-400mV(full-swing)"),
        "19:00.0",
        "link-test-mode",
    ),
    Fault(
        "an open latch",
        together(
            words("17:02.0", r"(SltCap:.*)MRL-", r"\1MRL+"), words("17:02.0", r"(SltSta:.*)MRL-", r"\1MRL+")
        ),
        "17:02.0",
        "slot-latch-open",
    ),
    Fault(
        "a lamp that is on",
        words("17:02.0", "AttnInd Off", "AttnInd Blink"),
        "17:02.0",
        "slot-latch-open",
        INFO,
    ),
    Fault(
        "an adapter that failed its self-test",
        words("3b:00.0", r"(\tInterrupt: )", r"\tBIST result: 03\n\1"),
        "3b:00.0",
        "self-test-failed",
    ),
    Fault(
        "an adapter without any interrupt",
        words(
            "3b:00.0",
            r"(\tCapabilities: \[60\])",
            r"\tCapabilities: [50] MSI-X: Enable- Count=64 Masked-\n\1",
        ),
        "3b:00.0",
        "interrupts-off",
    ),
    Fault(
        "a drive whose virtual channel never came up",
        words(
            "19:00.0",
            r"(\tKernel driver)",
            r"\tCapabilities: [1a0 v1] Virtual Channel\n"
            r"\t\tStatus:\tInProgress-\n"
            r"\t\tVC0:\tCaps:\tPATOffset=00 MaxTimeSlots=1 RejSnoopTrans-\n"
            r"\t\t\tCtrl:\tEnable+ ID=0 ArbSelect=Fixed TC/VC=ff\n"
            r"\t\t\tStatus:\tNegoPending+ InProgress-\n\1",
        ),
        "19:00.0",
        "channel-pending",
    ),
    Fault(
        "a drive that only the firmware has seen",
        together(
            card_without_link("17:02.0", "19:00.0"),
            words("17:02.0", r"(SltSta:.*)PresDet\+", r"\1PresDet-"),
            line_after(SLOTS),
        ),
        "19:00.0",
        "slot-device-missing",
    ),
    Fault(
        "a poisoned packet below a port",
        words("17:02.0", r"(Secondary status: .*)ParErr-(.*)<PERR-", r"\1ParErr+\2<PERR+"),
        "17:02.0",
        "errors-below",
    ),
    Fault("a GPU fell off the bus", answers_with_ones("18:00.0"), "18:00.0", "device-dead", ERROR),
    Fault("a GPU did not train", card_without_link("5d:00.0", "5e:00.0"), "5d:00.0", "slot-no-link"),
    Fault(
        "a drive trains for ever",
        card_without_link("17:02.0", "19:00.0", training=True),
        "17:02.0",
        "link-training",
    ),
    Fault("a slot lost its power", bits("3a:00.0", "SltSta", "PowerFlt"), "3a:00.0", "slot-power-fault"),
    Fault("a GPU without its driver", no_driver("18:00.0"), "18:00.0", "driver-missing"),
    Fault("a GPU without addresses", no_address("5e:00.0"), "5e:00.0", "bar-unassigned", ERROR),
    Fault(
        "a port held at Gen1",
        together(
            speed(2.5, "17:00.0", "18:00.0"),
            words("17:00.0", "Target Link Speed: 8GT/s", "Target Link Speed: 2.5GT/s"),
        ),
        "18:00.0",
        "link-speed",
    ),
    Fault(
        "Xid 79",
        line_after(
            "[ 5012.1] NVRM: Xid (PCI:0000:18:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off "
            "the bus."
        ),
        "18:00.0",
        "device-lost",
        ERROR,
    ),
    Fault(
        "a drive's controller is down",
        line_after(
            "[ 8.2] nvme nvme0: pci function 0000:19:00.0\n"
            "[ 9101.4] nvme nvme0: controller is down; will reset: CSTS=0xffffffff, PCI_STATUS=0xffff\n"
            "[ 9101.5] nvme nvme0: Removing after probe failure status: -19"
        ),
        "19:00.0",
        "device-lost",
        ERROR,
    ),
    Fault(
        "a drive that does not answer a command",
        line_after(
            "2024-10-30T12:34:56,789012+01:00 nvme nvme0: pci function 0000:19:00.0\n"
            "2024-10-30T12:44:57,789012+01:00 nvme nvme0: I/O tag 24 (8018) opcode 0x2 (Read) QID 1 timeout, "
            "aborting req_op:READ(0) size:131072"
        ),
        "19:00.0",
        "device-timeout",
    ),
    Fault(
        "a drive whose reads fail",
        line_after(
            "[   2.1] nvme nvme0: pci function 0000:19:00.0\n"
            "[ 861.3] critical medium error, dev nvme0n1, sector 2048 op 0x0:(READ) flags 0x80700 "
            "phys_seg 4 prio class 2"
        ),
        "19:00.0",
        "drive-errors",
    ),
    Fault(
        "an adapter whose firmware does not answer a command",
        line_after(
            "[ 861.3] mlx5_core 0000:3b:00.0: wait_func:1187:(pid 3322): ACCESS_REG(0x805) timeout. Will "
            "cause a leak of a command resource"
        ),
        "3b:00.0",
        "device-timeout",
    ),
    Fault(
        "an adapter that has stopped sending",
        line_after(
            "[   4.1] mlx5_core 0000:3b:00.0 enp59s0np0: renamed from eth0\n"
            "[ 861.3] NETDEV WATCHDOG: enp59s0np0 (mlx5_core): transmit queue 5 timed out"
        ),
        "3b:00.0",
        "device-timeout",
    ),
    Fault(
        "an adapter that asks for more power than its slot gives",
        line_after(
            "[   4.1] mlx5_core 0000:3b:00.0: mlx5_pcie_event:301:(pid 122): Detected insufficient power on "
            "the PCIe slot (27W)."
        ),
        "3b:00.0",
        "device-reduced",
    ),
    Fault(
        "hundreds of errors of which the log tells only that they came",
        line_after(
            "\n".join(
                400 * ["[ 99.1] pcieport 0000:17:02.0: AER: Multiple Corrected error received: 0000:19:00.0"]
            )
        ),
        "19:00.0",
        "link-errors",
    ),
    Fault(
        "a GPU without its power cable",
        line_after("[  9.9] NVRM: GPU 0000:5e:00.0: GPU does not have the necessary power cables connected."),
        "5e:00.0",
        "device-lost",
        ERROR,
    ),
    Fault(
        "an adapter whose way carries less",
        line_after(
            "[ 3.9] mlx5_core 0000:3b:00.0: 31.504 Gb/s available PCIe bandwidth, limited by 8.0 GT/s PCIe "
            "x4 link at 0000:3a:00.0 (capable of 126.016 Gb/s with 8.0 GT/s PCIe x16 link)"
        ),
        "3b:00.0",
        "bandwidth-limited",
    ),
]
