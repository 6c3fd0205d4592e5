"""Faults in registers that say a device or port cannot work as it is set, or is in another's way."""

from __future__ import annotations

from dump_edits import gone, together, words
from fault import ERROR, H100, INFO, LAPTOP, P100, STORAGE, Fault
from fault_kinds import bits, lanes, no_driver, payload, speed

_GPU, _ABOVE_GPU = "3b:00.0", "39:01.0"
_ADAPTER, _DRIVE = "3c:00.0", "3a:00.0"
_SIGNALLED = r"(^\tStatus:.*?{})-"

STATUS = [
    Fault("a GPU had a fatal error", H100, bits(_GPU, "DevSta", "FatalErr"), _GPU, "uncorrectable-errors"),
    Fault(
        "a port had a fatal error",
        H100,
        bits(_ABOVE_GPU, "DevSta", "FatalErr"),
        _ABOVE_GPU,
        "uncorrectable-errors",
    ),
    Fault(
        "a drive had a fatal error",
        P100,
        bits("81:00.0", "DevSta", "FatalErr"),
        "81:00.0",
        "uncorrectable-errors",
    ),
    Fault(
        "a laptop's drive had an error",
        LAPTOP,
        bits("04:00.0", "DevSta", "NonFatalErr"),
        "04:00.0",
        "uncorrectable-errors",
    ),
    Fault(
        "a GPU took a poisoned packet",
        H100,
        words(_GPU, _SIGNALLED.format("<PERR"), r"\1+"),
        _GPU,
        "uncorrectable-errors",
    ),
    Fault(
        "an adapter refused an access",
        H100,
        bits(_ADAPTER, "UESta", "ACSViol"),
        _ADAPTER,
        "uncorrectable-errors",
        INFO,
    ),
]

PORTS = [
    Fault(
        "a port that lets no DMA pass",
        H100,
        words(_ABOVE_GPU, r"(Control: .*BusMaster)\+", r"\1-"),
        _ABOVE_GPU,
        "dma-blocked",
        ERROR,
    ),
    Fault(
        "a root port that lets no DMA pass",
        H100,
        words("37:01.0", r"(Control: .*BusMaster)\+", r"\1-"),
        "37:01.0",
        "dma-blocked",
        ERROR,
    ),
    Fault(
        "a link that is disabled",
        H100,
        words(_ABOVE_GPU, "Disabled-", "Disabled+"),
        _ABOVE_GPU,
        "link-inactive",
        ERROR,
    ),
    Fault(
        "a device held in reset",
        H100,
        words(_ABOVE_GPU, ">Reset-", ">Reset+"),
        _ABOVE_GPU,
        "link-inactive",
        ERROR,
    ),
    Fault(
        "a link that goes down",
        H100,
        words(_ABOVE_GPU, r"DLActive\+", "DLActive-"),
        _ABOVE_GPU,
        "link-inactive",
    ),
    Fault(
        "a link that trains again", H100, words(_ABOVE_GPU, "Train-", "Train+"), _ABOVE_GPU, "link-inactive"
    ),
    Fault(
        "a GPU that says that it has no lanes, below a port that counts sixteen",
        H100,
        words(_GPU, r"LnkSta:\tSpeed [^,]+, Width x16", "LnkSta:\tSpeed unknown, Width x0"),
        _ABOVE_GPU,
        "link-inactive",
    ),
    Fault(
        "a port asleep above a GPU at work",
        H100,
        words(_ABOVE_GPU, "Status: D0 ", "Status: D3 "),
        _ABOVE_GPU,
        "link-inactive",
    ),
    Fault(
        "two ports that lead to one bus",
        H100,
        words("39:02.0", "secondary=3c, subordinate=3c", "secondary=3b, subordinate=3b"),
        "39:02.0",
        "bus-numbers-wrong",
        ERROR,
    ),
    Fault(
        "buses that the port above does not pass on",
        H100,
        words("37:01.0", r"subordinate=\w+", "subordinate=38"),
        "37:01.0",
        "bus-numbers-wrong",
        ERROR,
    ),
    Fault(
        "two GPUs lost behind links that are up",
        H100,
        together(gone(_GPU), gone("4c:00.0")),
        _ABOVE_GPU,
        "device-not-listed",
    ),
]

SETTINGS = [
    Fault(
        "a payload beyond what a GPU can do",
        H100,
        payload(4096, _GPU, _ABOVE_GPU),
        _GPU,
        "mps-mismatch",
        ERROR,
    ),
    Fault(
        "a GPU at an address that no bridge passes on",
        H100,
        words(_GPU, r"(Region 2: Memory at )230000000000", r"\g<1>110000000000"),
        _GPU,
        "address-conflict",
        ERROR,
    ),
    Fault(
        "a GPU at the address of another",
        H100,
        words("4c:00.0", r"(Region 2: Memory at )[0-9a-f]+", r"\g<1>230000000000"),
        "4c:00.0",
        "address-conflict",
        ERROR,
    ),
    Fault(
        "a GPU that decodes one BAR no more",
        H100,
        words(_GPU, r"(\tRegion 2: .*?)( \[size)", r"\1 [disabled]\2"),
        _GPU,
        "configuration-lost",
        ERROR,
    ),
    Fault("a GPU of eight asleep", H100, words(_GPU, "Status: D0 ", "Status: D3 "), _GPU, "device-asleep"),
    Fault(
        "an adapter asleep", H100, words(_ADAPTER, "Status: D0 ", "Status: D3 "), _ADAPTER, "device-asleep"
    ),
    Fault("a drive asleep", P100, words("81:00.0", "Status: D0 ", "Status: D3 "), "81:00.0", "device-asleep"),
    Fault(
        "a drive whose interrupts are masked",
        H100,
        words(_DRIVE, r"(MSI-X: Enable. Count=\d+ Masked)-", r"\1+"),
        _DRIVE,
        "interrupts-off",
    ),
    Fault(
        "an adapter without interrupts",
        H100,
        words(_ADAPTER, r"MSI-X: Enable\+", "MSI-X: Enable-"),
        _ADAPTER,
        "interrupts-off",
    ),
    Fault(
        "a GPU of eight with 32 tags",
        H100,
        words(_GPU, r"(RlxdOrd. ExtTag)\+", r"\1-"),
        _GPU,
        "odd-one-out",
    ),
    Fault(
        "a GPU of eight that shows little of its memory",
        H100,
        words(_GPU, r"\[size=128G\]", "[size=256M]"),
        _GPU,
        "odd-one-out",
    ),
    Fault("a GPU of eight without a BAR", H100, words(_GPU, r"^\tRegion 4: .*\n", ""), _GPU, "odd-one-out"),
    Fault(
        "a GPU of eight that calls itself nothing",
        H100,
        words(_GPU, "3D controller", "Unassigned class [ff00]"),
        _GPU,
        "odd-one-out",
    ),
    Fault(
        "a drive of several that calls itself nothing",
        STORAGE,
        words("18:00.0", "Non-Volatile memory controller", "Unassigned class [0000]"),
        "18:00.0",
        "odd-one-out",
    ),
    Fault(
        "a GPU of eight in a slot that was split",
        H100,
        together(words(_ABOVE_GPU, r"(LnkCap:.*Width )x16", r"\1x8"), lanes(8, _GPU, _ABOVE_GPU)),
        _GPU,
        "odd-one-out",
    ),
    Fault(
        "a GPU of eight that can do half the speed",
        H100,
        together(words(_GPU, r"(LnkCap:.*Speed )32GT/s", r"\g<1>16GT/s"), speed(16, _GPU, _ABOVE_GPU)),
        _GPU,
        "odd-one-out",
    ),
    Fault(
        "the second port of an adapter without driver",
        P100,
        no_driver("01:00.1"),
        "01:00.1",
        "driver-missing",
    ),
]

FAULTS = [*STATUS, *PORTS, *SETTINGS]
