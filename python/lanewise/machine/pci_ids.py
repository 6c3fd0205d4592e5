"""Names of vendors, devices and classes, from the machine's `pci.ids` or the copy in the package.

The copy leaves out subsystems. It is a compilation of facts by the PCI ID Project, distributed here under the
3-clause BSD License; the notice is in its first lines and in ``pci.ids.LICENSE``. To renew it:
``python -m lanewise.machine.pci_ids /usr/share/misc/pci.ids``.

Works in both directions, because `lspci` without ``-nn`` prints names and no numbers, and rules ask for
numbers. Source of the format: the head of the file itself.
"""

from __future__ import annotations

import re
import sys
from functools import cache
from pathlib import Path

PACKAGED = Path(__file__).with_name("pci.ids.gz")
ON_THE_MACHINE = (
    Path("/usr/share/misc/pci.ids"),
    Path("/usr/share/hwdata/pci.ids"),
    Path("/usr/share/pci.ids"),
    Path("/var/lib/pciutils/pci.ids"),
)
_MOST_BYTES = 16 << 20

_NEXT_VENDOR = re.compile(r"\n(?:[0-9a-f]|C )")
_FORMER_VENDORS = {
    "nVidia Corporation": 0x10DE,
    "Advanced Micro Devices [AMD]": 0x1022,
    "Advanced Micro Devices, Inc. [AMD]": 0x1022,
    "Advanced Micro Devices [AMD] nee ATI": 0x1002,
    "Advanced Micro Devices, Inc. [AMD/ATI]": 0x1002,
    "ATI Technologies Inc": 0x1002,
    "Intel Corp.": 0x8086,
    "PLX Technology, Inc.": 0x10B5,
    "LSI Logic / Symbios Logic": 0x1000,
    "Broadcom / LSI": 0x1000,
    "Broadcom Corporation": 0x14E4,
    "Broadcom Limited": 0x14E4,
    "Broadcom Inc. and subsidiaries": 0x14E4,
    "Amazon.com, Inc.": 0x1D0F,
}
"""Names that vendors had in other years' files."""


class PciIds:
    """One `pci.ids` file; entries are looked up in its text, and nothing else is parsed."""

    def __init__(self, text: str) -> None:
        """Take the text of the file."""
        self._text = "\n" + text
        self._devices_end = self._text.find("\nC ")
        self._blocks: dict[int, str] = {}
        self._vendors: dict[str, list[int]] | None = None
        self._class_names: dict[int, str | None] = {}
        self._classes: dict[str, int] | None = None
        self._split: dict[str, tuple[list[int], str | None, str]] = {}

    def vendor(self, vendor_id: int) -> str | None:
        """Return a vendor's name."""
        return self._block(vendor_id).partition("\n")[0][6:] or None

    def device(self, vendor_id: int, device_id: int) -> str | None:
        """Return a device's name."""
        return _after(self._block(vendor_id), f"\n\t{device_id:04x}  ")

    def device_by_name(self, vendor_id: int, name: str) -> int | None:
        """Return the number of a device of that name."""
        block = self._block(vendor_id)
        end = block.find(f"  {name}\n")
        if end < 5 or block[end - 5 : end - 4] != "\t":
            return None
        return int(block[end - 4 : end], 16)

    def class_name(self, subclass: int) -> str | None:
        """Return the name of a class and subclass, like 0x0108, or of the class alone."""
        if subclass not in self._class_names:
            self._class_names[subclass] = self._find_class(subclass)
        return self._class_names[subclass]

    def _find_class(self, subclass: int) -> str | None:
        start = self._text.find(f"\nC {subclass >> 8:02x}  ", self._devices_end)
        if start < 0:
            return None
        end = self._text.find("\nC ", start + 3)
        block = self._text[start : None if end < 0 else end]
        return _after(block, f"\n\t{subclass & 0xFF:02x}  ") or block[1:].partition("\n")[0][6:]

    def class_by_name(self, name: str) -> int | None:
        """Return class and subclass by name."""
        if self._classes is None:
            self._classes = {}
            classes = self._text[self._devices_end :]
            for base, body in re.findall(r"\nC ([0-9a-f]{2})  .*((?:\n(?:\t|#).*)*)", classes):
                for subclass, words in re.findall(r"\n\t([0-9a-f]{2})  (.+)", body):
                    self._classes.setdefault(words, int(base + subclass, 16))
        return self._classes.get(name)

    def split(self, name: str) -> tuple[list[int], str | None, str]:
        """Split ``Vendor Device`` into the vendor's numbers (some have several), its name, the rest."""
        if name not in self._split:
            self._split[name] = self._find_vendor(name)
        return self._split[name]

    def _find_vendor(self, name: str) -> tuple[list[int], str | None, str]:
        if self._vendors is None:
            self._vendors = {words: [number] for words, number in _FORMER_VENDORS.items()}
            for number, words in re.findall(r"\n([0-9a-f]{4})  (.+)", self._text[: self._devices_end]):
                known = self._vendors.setdefault(words, [])
                if words not in _FORMER_VENDORS:
                    known.append(int(number, 16))
        end = len(name)
        while end > 0:
            numbers = self._vendors.get(name[:end])
            if numbers is not None:
                return numbers, name[:end], name[end:].strip()
            end = name.rfind(" ", 0, end)
        return [], None, name

    def _block(self, vendor_id: int) -> str:
        """Return the lines of one vendor."""
        if vendor_id not in self._blocks:
            start = self._text.find(f"\n{vendor_id:04x}  ", 0, self._devices_end)
            block = ""
            if start >= 0:
                end = _NEXT_VENDOR.search(self._text, start + 2)
                block = self._text[start + 1 : end.start() + 1 if end else None]
            self._blocks[vendor_id] = block
        return self._blocks[vendor_id]


def _after(text: str, mark: str) -> str | None:
    start = text.find(mark)
    if start < 0:
        return None
    end = text.find("\n", start + len(mark))
    return text[start + len(mark) : None if end < 0 else end]


@cache
def load() -> PciIds:
    """Load the machine's file if there is one, else the packaged copy."""
    for path in ON_THE_MACHINE:
        try:
            with path.open(encoding="utf-8", errors="replace") as file:
                text = file.read(_MOST_BYTES)
        except OSError:
            continue
        if "\nC " in text:
            return PciIds(text)
    return packaged()


@cache
def packaged() -> PciIds:
    """Load the copy that comes with the package."""
    import gzip

    return PciIds(gzip.decompress(PACKAGED.read_bytes()).decode("utf-8"))


def _pack(source: Path) -> None:
    """Write the packaged copy from a `pci.ids`, without subsystems and without a time stamp."""
    import gzip

    lines = source.read_text(encoding="utf-8").splitlines(keepends=True)
    notice = 40
    kept = [
        line for number, line in enumerate(lines) if number < notice or not line.startswith(("\t\t", "#"))
    ]
    PACKAGED.write_bytes(gzip.compress("".join(kept).encode("utf-8"), 9, mtime=0))


if __name__ == "__main__":
    _pack(Path(sys.argv[1]))
