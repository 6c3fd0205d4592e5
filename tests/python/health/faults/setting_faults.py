"""Settings of one device or port that its neighbours do not share: drivers, windows, interrupts."""

from __future__ import annotations

from dump_edits import gone, together, words
from fault import ERROR, H100, INFO, KUNPENG, LAPTOP, P100, RTX, STORAGE, X99, Fault
from fault_kinds import held_by, no_driver, payload

_GPU, _ABOVE_GPU = "3b:00.0", "39:01.0"
_NO_MASTER = r"(Control: .*BusMaster)\+", r"\1-"
_ASKED_AGAIN = r"EqualizationComplete\+(.*\s+.*LinkEqualizationRequest)-", r"EqualizationComplete-\1+"

REACH = [
    Fault(
        "a port without bus numbers, whose card is gone",
        STORAGE,
        together(
            gone("3b:00.0"),
            words("3a:00.0", r"secondary=\w+, subordinate=\w+", "secondary=00, subordinate=00"),
        ),
        "3a:00.0",
        "bus-numbers-wrong",
        ERROR,
    ),
    Fault(
        "a switch's port without bus numbers, whose GPU is gone",
        H100,
        together(
            gone(_GPU), words(_ABOVE_GPU, r"secondary=\w+, subordinate=\w+", "secondary=00, subordinate=00")
        ),
        _ABOVE_GPU,
        "bus-numbers-wrong",
        ERROR,
    ),
    Fault(
        "a slow adapter may not start DMA",
        X99,
        words("08:00.0", *_NO_MASTER),
        "08:00.0",
        "configuration-lost",
    ),
    Fault(
        "a gigabit port may not start DMA",
        P100,
        words("01:00.1", *_NO_MASTER),
        "01:00.1",
        "configuration-lost",
    ),
    Fault(
        "a GPU takes less than the switch in its chip sends",
        X99,
        payload(128, "05:00.0"),
        "05:00.0",
        "mps-mismatch",
        ERROR,
    ),
]

DRIVERS = [
    Fault(
        "one of two controllers in the processor", KUNPENG, no_driver("74:02.0"), "74:02.0", "driver-missing"
    ),
    Fault("one GPU of eight held by vfio-pci", H100, held_by("vfio-pci", _GPU), _GPU, "driver-missing"),
    Fault(
        "one adapter of eight held by pci-stub",
        H100,
        held_by("pci-stub", "3c:00.0"),
        "3c:00.0",
        "driver-missing",
    ),
]

MEMORY = [
    Fault(
        "one of two GPUs whose window cannot be resized",
        P100,
        words("04:00.0", r"(Region 1: .*\[size=)16G", r"\g<1>256M"),
        "04:00.0",
        "odd-one-out",
    ),
    Fault(
        "one GPU of eight with a small window",
        RTX,
        words("f5:00.0", r"(Region 2: .*\[size=)128G", r"\g<1>256M"),
        "f5:00.0",
        "odd-one-out",
    ),
    Fault(
        "a GPU said to be at the other socket",
        RTX,
        words("84:00.0", "NUMA node: 1", "NUMA node: 0"),
        "84:00.0",
        "numa-mismatch",
        INFO,
    ),
]

NOTED = [
    Fault(
        "one of two GPUs without wide tags",
        P100,
        words("04:00.0", r"(RlxdOrd[-+] ExtTag)\+", r"\1-"),
        "04:00.0",
        "odd-one-out",
        INFO,
    ),
    Fault(
        "a gigabit port without messages beside one that has them",
        P100,
        words("01:00.1", r"(MSI-X: Enable)\+", r"\1-"),
        "01:00.1",
        "interrupts-off",
        INFO,
    ),
    Fault(
        "one port of a switch that redirects",
        H100,
        words(_ABOVE_GPU, r"(ACSCtl:.*ReqRedir)- CmpltRedir-", r"\1+ CmpltRedir+"),
        _ABOVE_GPU,
        "acs-redirect",
    ),
    Fault(
        "a drive's port asks for equalization again",
        STORAGE,
        words("b0:0b.0", *_ASKED_AGAIN),
        "b4:00.0",
        "equalization-incomplete",
        INFO,
    ),
    Fault(
        "a laptop's drive asks for equalization again",
        LAPTOP,
        words("04:00.0", *_ASKED_AGAIN),
        "04:00.0",
        "equalization-incomplete",
        INFO,
    ),
]

FAULTS = [*REACH, *DRIVERS, *MEMORY, *NOTED]
