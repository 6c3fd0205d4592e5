"""Devices, slots and ports that are dead, and what the kernel says of them."""

from __future__ import annotations

from dump_edits import files, line_after, ones, only_hex, only_words, together, words
from fault import (
    ERROR,
    H100,
    INFO,
    LAMBDA,
    LAPTOP,
    OLD_TOWER,
    P6T6,
    P100,
    RTX,
    STORAGE,
    TOWER,
    VECTOR,
    WARNING,
    WORKSTATION,
    X99,
    Fault,
)
from fault_kinds import (
    answers_with_ones,
    bits,
    card_without_link,
    no_address,
    no_driver,
    payload,
    speed,
)

DEAD = [
    Fault(
        "a GPU of eight fell off the bus", H100, answers_with_ones("3b:00.0"), "3b:00.0", "device-dead", ERROR
    ),
    Fault(
        "a GPU fell off the bus below a switch", RTX, answers_with_ones("06:00.0"), "06:00.0", "device-dead"
    ),
    Fault("a drive fell off the bus", P100, answers_with_ones("81:00.0"), "81:00.0", "device-dead", ERROR),
    Fault(
        "an adapter fell off the bus", STORAGE, answers_with_ones("5f:00.0"), "5f:00.0", "device-dead", ERROR
    ),
    Fault("a laptop's drive fell off", LAPTOP, answers_with_ones("04:00.0"), "04:00.0", "device-dead", ERROR),
    Fault("an HBA answers with ones, in bytes", P6T6, ones("04:00.0"), "04:00.0", "device-dead"),
    Fault(
        "a drive answers with ones, in bytes",
        LAMBDA,
        together(only_hex, ones("23:00.0")),
        "23:00.0",
        "device-dead",
    ),
    Fault(
        "a vector engine answers with ones, in sysfs",
        VECTOR,
        files(config=b"\xff" * 64)("3f:00.0"),
        "3f:00.0",
        "device-dead",
    ),
]

SLOTS = [
    Fault(
        "a GPU of eight did not train",
        H100,
        card_without_link("39:01.0", "3b:00.0"),
        "39:01.0",
        "slot-no-link",
    ),
    Fault(
        "an adapter did not train", H100, card_without_link("39:02.0", "3c:00.0"), "39:02.0", "slot-no-link"
    ),
    Fault("a P100 did not train", P100, card_without_link("00:02.0", "04:00.0"), "00:02.0", "slot-no-link"),
    Fault(
        "a drive below a switch did not train",
        STORAGE,
        card_without_link("b0:08.0", "b1:00.0"),
        "b0:08.0",
        "slot-no-link",
    ),
    Fault(
        "a GPU trains for ever",
        H100,
        card_without_link("4a:01.0", "4c:00.0", training=True),
        "4a:01.0",
        "link-training",
    ),
    Fault(
        "a drive trains for ever",
        STORAGE,
        card_without_link("b0:09.0", "b2:00.0", training=True),
        "b0:09.0",
        "link-training",
    ),
    Fault(
        "a slot lost its power",
        H100,
        together(card_without_link("39:00.0", "3a:00.0"), bits("39:00.0", "SltSta", "PowerFlt")),
        "39:00.0",
        "slot-power-fault",
        ERROR,
    ),
    Fault(
        "a slot lost its power for a moment",
        P100,
        bits("80:02.0", "SltSta", "PowerFlt"),
        "80:02.0",
        "slot-power-fault",
    ),
]

PINNED = [
    Fault(
        "a port held at Gen1 above a sleeping GPU",
        RTX,
        words("02:03.0", r"Target Link Speed: 32GT/s", "Target Link Speed: 2.5GT/s"),
        "06:00.0",
        "link-speed",
    ),
    Fault(
        "a port that may not change speed",
        RTX,
        words("02:04.0", r"SpeedDis-", "SpeedDis+"),
        "07:00.0",
        "link-speed",
    ),
    Fault("a drive at Gen2 below a switch", STORAGE, speed(5, "b0:08.0", "b1:00.0"), "b1:00.0", "link-speed"),
    Fault("a switch's uplink at Gen1", H100, speed(2.5, "37:01.0", "38:00.0"), "38:00.0", "link-speed"),
    Fault("one GPU of eight at Gen1", H100, speed(2.5, "39:01.0", "3b:00.0"), "3b:00.0", "odd-one-out"),
    Fault(
        "one GPU of eight with small payloads",
        H100,
        payload(128, "39:01.0", "3b:00.0"),
        "3b:00.0",
        "odd-one-out",
        INFO,
    ),
]

SOFTWARE = [
    Fault("a GPU of eight without its driver", H100, no_driver("3b:00.0"), "3b:00.0", "driver-missing"),
    Fault("a drive without its driver", STORAGE, no_driver("18:00.0"), "18:00.0", "driver-missing"),
    Fault(
        "a GPU of eight without addresses", H100, no_address("3b:00.0"), "3b:00.0", "bar-unassigned", ERROR
    ),
    Fault(
        "a GPU whose BARs the kernel ignores",
        RTX,
        no_address("06:00.0", "<ignored>"),
        "06:00.0",
        "bar-unassigned",
        ERROR,
    ),
    Fault(
        "a bridge that passes nothing on",
        P100,
        together(
            words("80:01.0", r"(\tMemory behind bridge: ).*", r"\g<1>[disabled]"),
            words("80:01.0", r"(\tPrefetchable memory behind bridge: ).*", r"\g<1>[disabled]"),
        ),
        "80:01.0",
        "bridge-window-closed",
        ERROR,
    ),
]

LOG = [
    Fault(
        "Xid 79",
        H100,
        line_after(
            "[ 5012.118902] NVRM: Xid (PCI:0000:3b:00): 79, pid='<unknown>', name=<unknown>, "
            "GPU has fallen off the bus."
        ),
        "3b:00.0",
        "device-lost",
        ERROR,
    ),
    Fault(
        "a drive's controller is down",
        P100,
        line_after(
            "[ 8.201] nvme nvme0: pci function 0000:81:00.0\n"
            "[ 9101.4] nvme nvme0: controller is down; will reset: CSTS=0xffffffff, PCI_STATUS=0xffff\n"
            "[ 9101.5] nvme nvme0: Removing after probe failure status: -19"
        ),
        "81:00.0",
        "device-lost",
        ERROR,
    ),
    Fault(
        "a drive that had to be reset",
        P100,
        line_after(
            "[ 8.201] nvme nvme0: pci function 0000:81:00.0\n"
            "[ 91.1] nvme nvme0: I/O 12 QID 3 timeout, aborting\n"
            "[ 121.1] nvme nvme0: I/O 12 QID 3 timeout, reset controller"
        ),
        "81:00.0",
        "device-lost",
    ),
    Fault(
        "an adapter with an error in its firmware",
        H100,
        line_after(
            "[ 91.1] mlx5_core 0000:3c:00.0: print_health_info:518:(pid 0): synd 0x1: firmware internal error"
        ),
        "3c:00.0",
        "device-lost",
    ),
    Fault(
        "an adapter that its driver gave up",
        H100,
        line_after("[ 9.1] ixgbe 0000:01:00.0: Adapter removed"),
        "01:00.0",
        "device-lost",
        ERROR,
    ),
    Fault(
        "an adapter's firmware stopped",
        STORAGE,
        line_after(
            "[ 731.2] mlx5_core 0000:5f:00.0: poll_health:739:(pid 0): device's health compromised - reached "
            "miss count"
        ),
        "5f:00.0",
        "device-lost",
    ),
    Fault(
        "a drive does not wake",
        WORKSTATION,
        line_after(
            "[ 41.7] nvme 0000:17:00.0: Unable to change power state from D3cold to D0, device inaccessible"
        ),
        "17:00.0",
        "device-lost",
        ERROR,
    ),
    Fault(
        "a slot's link went down",
        TOWER,
        line_after("[ 1204.9] pcieport 0000:00:03.0: pciehp: Slot(3): Link Down"),
        "00:03.0",
        "link-lost",
    ),
    Fault(
        "a port contained an error",
        LAPTOP,
        line_after(
            "[ 77.0] pcieport 0000:00:1d.0: DPC: containment event, status:0x1f01 source:0x0000\n"
            "[ 77.0] pcieport 0000:00:1d.0: DPC: unmasked uncorrectable error detected"
        ),
        "00:1d.0",
        "dpc-triggered",
    ),
    Fault(
        "a link that had to be retrained",
        X99,
        together(
            only_words,
            line_after(
                "[ 1.1] pcieport 0000:00:02.0: broken device, retraining non-functional downstream link "
                "at 2.5GT/s"
            ),
        ),
        "00:02.0",
        "link-retrained",
    ),
    Fault(
        "no space for a BAR",
        RTX,
        line_after(
            "[ 0.9] pci 0000:06:00.0: BAR 1 [mem size 0x2000000000 64bit pref]: can't assign; no space"
        ),
        "06:00.0",
        "bar-unassigned",
        WARNING,
    ),
    Fault(
        "a way that carries less than its adapter",
        OLD_TOWER,
        line_after(
            "[ 3.9] i40e 0000:02:00.0: 15.752 Gb/s available PCIe bandwidth, limited by 8.0 GT/s PCIe x2 "
            "link at 0000:00:02.0 (capable of 63.008 Gb/s with 8.0 GT/s PCIe x8 link)"
        ),
        "02:00.0",
        "bandwidth-limited",
    ),
    Fault(
        "errors in the log",
        TOWER,
        line_after(
            "\n".join(
                f"[ {at}.1] pcieport 0000:00:03.0: PCIe Bus Error: severity=Corrected, type=Data Link Layer, "
                "(Receiver ID)\n"
                f"[ {at}.1] pcieport 0000:00:03.0:   device [8086:2f08] error status/mask=00000040/00002000\n"
                f"[ {at}.1] pcieport 0000:00:03.0:    [ 6] BadTLP"
                for at in range(100, 250)
            )
        ),
        "02:00.0",
        "link-errors",
    ),
]

FAULTS = [*DEAD, *SLOTS, *PINNED, *SOFTWARE, *LOG]
