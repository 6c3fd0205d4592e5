"""PCI Express errors that firmware handles first and hands to the kernel, as blocks of lines in its log.

Servers whose firmware owns Advanced Error Reporting print nothing else of an error: a block for each record
of APEI (``{1}[Hardware Error]: ...``), also of the boot before (BERT), and then, where the kernel could tell
it to a driver, ``aer_status`` with an address. Both tell of the same error, so the second counts only where
no block says which error it was. Blocks about processors and memory are passed over.

Source: Linux, drivers/firmware/efi/cper.c (`cper_print_pcie`), drivers/acpi/apei/ghes.c,
drivers/pci/pcie/aer.c (`pci_print_aer`), 3.10 to 6.17, read for the wording only; UEFI 2.10, N.2.7.
"""

from __future__ import annotations

import re
from collections import Counter

from lanewise.machine.address import Address
from lanewise.machine.extended_capabilities import CORRECTABLE_BITS, UNCORRECTABLE_BITS
from lanewise.machine.registers import WITHOUT_DETAILS

_ADDRESS = r"[0-9a-f]{4,8}:[0-9a-f]{2}:[01][0-9a-f]\.[0-7]"
_BLOCK = re.compile(
    r"\[Hardware Error\]:\s*(?:"
    r"(?P<start>Hardware error from|event severity: (?P<event>\w+))|Error \d+, type: (?P<type>\w+)|"
    r"section_?type: (?P<section>[^,]{1,40})|"
    rf"device_id: (?P<device>{_ADDRESS})|"
    r"aer_cor_status: 0x(?P<cor>[0-9a-f]{8})(?:, ?aer_cor_mask: 0x(?P<cor_mask>[0-9a-f]{8}))?|"
    r"aer_uncor_status: 0x(?P<uncor>[0-9a-f]{8})(?:, ?aer_uncor_mask: 0x(?P<uncor_mask>[0-9a-f]{8}))?|"
    r"aer_uncor_severity: 0x(?P<fatal>[0-9a-f]{8}))"
)
_BESIDE = re.compile(
    rf"({_ADDRESS}): (?:AER: )?(?:aer_status: 0x([0-9a-f]{{8}})(?:, ?aer_mask: 0x([0-9a-f]{{8}}))?"
    r"|aer_uncor_severity: 0x([0-9a-f]{8}))"
)
SIGN = "[Hardware Error]"
"""In every line of a block."""
BEFORE = "Error records from previous boot"
"""In the line before the blocks of a boot that ended with an error (drivers/acpi/apei/bert.c)."""
BESIDE = "aer_"
"""In the lines beside a block."""


class _Error:
    """One error of one function while its lines are read."""

    def __init__(self, severity: str = "") -> None:
        self.severity = severity
        """``corrected``, ``recoverable``, ``fatal``, ``info``; empty where no line has said it."""
        self.device: Address | None = None
        self.correctable = 0
        self.uncorrectable = 0
        self.fatal_bits: int | None = None
        """Those that the function itself reports as fatal."""

    def counts(self) -> Counter[str]:
        """Return what it counts as, by the names of `registers.Errors.counters`."""
        if self.severity == "corrected":
            prefix, bits, names = "correctable", self.correctable, CORRECTABLE_BITS
        else:
            fatal = self.severity == "fatal" or bool(self.uncorrectable & (self.fatal_bits or 0))
            prefix = "fatal" if fatal else "nonfatal"
            bits, names = self.uncorrectable, UNCORRECTABLE_BITS
        found = Counter({f"{prefix}.TOTAL": 1})
        named = [name for bit, name in names.items() if bits >> bit & 1]
        # Of errors that were not corrected the number is enough to be told.
        nameless = [WITHOUT_DETAILS] if prefix == "correctable" else []
        found.update(f"{prefix}.{name}" for name in named or nameless)
        return found


class FirmwareErrors:
    """Counts the errors in blocks, line by line."""

    def __init__(self) -> None:
        """Start before the first line."""
        self._open: _Error | None = None
        """The section that is being read, of a block about PCI Express."""
        self._event = ""
        self._before = False
        """The blocks are of the boot before, kept by firmware (BERT)."""
        self._counted: dict[Address, Counter[str]] = {}
        self._waiting: dict[Address, _Error] = {}
        self._beside: dict[Address, Counter[str]] = {}

    def take(self, line: str) -> None:
        """Take a line that has `SIGN` or `BESIDE` in it."""
        if BEFORE in line:
            self._close()
            self._before = True
            return
        found = _BLOCK.search(line)
        if found is not None:
            self._take_of_block(found)
        elif (beside := _BESIDE.search(line)) is not None:
            self._take_beside(Address.parse(beside[1]), *beside.group(2, 3, 4))

    def _take_of_block(self, found: re.Match[str]) -> None:
        if found["start"] or found["type"]:
            self._close()
            self._before = self._before and "Hardware error from" not in (found["start"] or "")
            self._event = (found["event"] or self._event) if not found["type"] else self._event
        elif found["section"]:
            self._close()
            if "PCIe" in found["section"]:
                self._open = _Error(self._event)
        elif self._open is None:
            return
        elif found["device"]:
            self._open.device = Address.parse(found["device"])
        elif found["cor"]:
            self._open.correctable = int(found["cor"], 16) & ~int(found["cor_mask"] or "0", 16)
        elif found["uncor"]:
            self._open.uncorrectable = int(found["uncor"], 16) & ~int(found["uncor_mask"] or "0", 16)
        elif found["fatal"]:
            self._open.fatal_bits = int(found["fatal"], 16)

    def _close(self) -> None:
        error, self._open = self._open, None
        if error is not None and error.device is not None and error.severity != "info":
            counts = self._counted.setdefault(error.device, Counter())
            counts.update(error.counts())
            counts["boot_before.TOTAL"] += self._before

    def _take_beside(self, address: Address, status: str | None, mask: str | None, fatal: str | None) -> None:
        if status is not None:
            self._settle(address)
            error = _Error("corrected")
            error.correctable = error.uncorrectable = int(status, 16) & ~int(mask or "0", 16)
            self._waiting[address] = error
        elif fatal is not None and address in self._waiting:
            # Only errors that were not corrected have this line.
            self._waiting[address].severity = "recoverable"
            self._waiting[address].fatal_bits = int(fatal, 16)

    def _settle(self, address: Address) -> None:
        error = self._waiting.pop(address, None)
        if error is not None:
            self._beside.setdefault(address, Counter()).update(error.counts())

    def counts(self) -> dict[Address, Counter[str]]:
        """Return the counts of every function, and end the last block."""
        self._close()
        for address in list(self._waiting):
            self._settle(address)
        named = {address: counts for address, counts in self._counted.items() if not _only_totals(counts)}
        return {**self._counted, **self._beside, **named}


def _only_totals(counts: Counter[str]) -> bool:
    """Whether blocks say how many errors there were and not which, as those without AER registers do."""
    return all(name.endswith((".TOTAL", f".{WITHOUT_DETAILS}")) for name in counts)
