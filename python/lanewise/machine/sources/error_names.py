"""Errors of PCI Express by the kernel's words, and their short names, which registers and `lspci` have.

Trace events (``include/ras/ras_event.h``) and the files ``aer_dev_*`` of sysfs up to Linux 4.20 write words,
the latter without *Error* behind some; later files have the short names. Source: Linux,
``drivers/pci/pcie/aer.c`` and ``Documentation/ABI/testing/sysfs-bus-pci-devices-aer``, read for the wording
only.
"""

from __future__ import annotations

NAMES = {
    "Receiver Error": "RxErr",
    "Bad TLP": "BadTLP",
    "Bad DLLP": "BadDLLP",
    "RELAY_NUM Rollover": "Rollover",
    "Replay Timer Timeout": "Timeout",
    "Advisory Non-Fatal Error": "AdvNonFatalErr",
    "Corrected Internal Error": "CorrIntErr",
    "Header Log Overflow": "HeaderOF",
    "Data Link Protocol Error": "DLP",
    "Surprise Down Error": "SDES",
    "Poisoned TLP": "TLP",
    "Flow Control Protocol Error": "FCP",
    "Completion Timeout": "CmpltTO",
    "Completer Abort": "CmpltAbrt",
    "Unexpected Completion": "UnxCmplt",
    "Receiver Overflow": "RxOF",
    "Malformed TLP": "MalfTLP",
    "ECRC Error": "ECRC",
    "Unsupported Request Error": "UnsupReq",
    "ACS Violation": "ACSViol",
    "Uncorrectable Internal Error": "UncorrIntErr",
    "MC Blocked TLP": "BlockedTLP",
}
"""Of the errors that rules know."""
_OF_FILES = {"NonFatalErr": "AdvNonFatalErr"}
"""What files call otherwise than `lspci` does."""


def short_name(words: str) -> str:
    """Return the short name of an error; whatever has none stays as it is."""
    return NAMES.get(words) or NAMES.get(f"{words} Error") or _OF_FILES.get(words, words)
