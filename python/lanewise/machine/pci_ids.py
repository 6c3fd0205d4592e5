"""Names of vendors, devices and classes: from the copy in the package, or from a newer `pci.ids`.

The list that is used is the one that a person names (``--pci-ids``, ``LANEWISE_PCI_IDS``); else the newest of
the copy in the package and those that the machine has (`ON_THE_MACHINE`), by the version in their heads. The
copy leaves out subsystems. It is a compilation of facts by the PCI ID Project, distributed here under the
3-clause BSD License; the notice is in its first lines and in ``pci.ids.LICENSE``. To renew it:
``python -m lanewise.machine.pci_ids /usr/share/misc/pci.ids``.

Works in both directions, because `lspci` without ``-nn`` prints names and no numbers, and rules ask for
numbers. Source of the format: the head of the file itself.
"""

from __future__ import annotations

import os
import re
import sys
from functools import cache
from pathlib import Path

from lanewise.errors import InputError

PACKAGED = Path(__file__).with_name("pci.ids.gz")
ON_THE_MACHINE = (
    Path("/usr/share/misc/pci.ids"),
    Path("/usr/share/hwdata/pci.ids"),
    Path("/usr/share/pci.ids"),
    Path("/var/lib/pciutils/pci.ids"),
)
_MOST_BYTES = 16 << 20
_HEAD_BYTES = 1024
_VERSION = re.compile(rb"^#[ \t]{0,8}Version:[ \t]{0,8}(\d{4}\.\d{2}\.\d{2})", re.MULTILINE)
_NAMED_BY = "LANEWISE_PCI_IDS"
"""The variable of the environment that names a list."""

_VENDOR = re.compile(rb"\n([0-9a-f]{4})  (.*)")
_NOBODY = ("", b"")
_BLANKS = b" "
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
    """One `pci.ids` file; entries are looked up in its bytes, and nothing else is parsed."""

    def __init__(self, content: bytes, path: Path | None = None) -> None:
        """Take the content of the file, and where it is unless it is the packaged one."""
        self.path = path
        self.version = _version(content[:_HEAD_BYTES])
        """As in the head of the file, like ``2026.07.31``; empty where it has none."""
        content = b"\n" + content
        end = content.find(b"\nC ")
        self._classes = _text(content[end:]) if end >= 0 else ""
        self._vendors = _vendors(content[:end] if end >= 0 else content)
        self._vendors_by_name: dict[str, list[int]] | None = None
        self._devices: dict[tuple[int, int], str | None] = {}
        self._squeezed: dict[int, bytes] = {}
        """Lines of a vendor's devices without blanks, made when a name is not found as it is."""
        self._class_names: dict[int, str | None] = {}
        self._classes_by_name: dict[str, int] | None = None
        self._split: dict[str, tuple[list[int], str | None, str]] = {}

    def vendor(self, vendor_id: int) -> str | None:
        """Return a vendor's name."""
        name, _ = self._vendors.get(vendor_id, _NOBODY)
        return name or None

    def device(self, vendor_id: int, device_id: int) -> str | None:
        """Return a device's name."""
        numbers = vendor_id, device_id
        if numbers not in self._devices:
            _, devices = self._vendors.get(vendor_id, _NOBODY)
            _, _, rest = devices.partition(b"\n\t%04x  " % device_id)
            self._devices[numbers] = _text(rest.partition(b"\n")[0]) or None
        return self._devices[numbers]

    def device_by_name(self, vendor_id: int, name: str) -> int | None:
        """Return the number of a device of that name; other years' lists may space it otherwise."""
        _, devices = self._vendors.get(vendor_id, _NOBODY)
        end = devices.find(b"  %b\n" % name.encode())
        if end < 5 or devices[end - 5 : end - 4] != b"\t":
            return self._device_spelled_otherwise(vendor_id, name)
        return int(devices[end - 4 : end], 16)

    def _device_spelled_otherwise(self, vendor_id: int, name: str) -> int | None:
        """Return the only device of that name but for blanks, which change from year to year."""
        if vendor_id not in self._squeezed:
            _, devices = self._vendors.get(vendor_id, _NOBODY)
            self._squeezed[vendor_id] = devices.translate(None, _BLANKS)
        lines, wanted = self._squeezed[vendor_id], b"%b\n" % name.encode().translate(None, _BLANKS)
        found = set()
        end = lines.find(wanted)
        while end > 0:
            if lines[end - 6 : end - 4] == b"\n\t":
                found.add(int(lines[end - 4 : end], 16))
            end = lines.find(wanted, end + 1)
        return found.pop() if len(found) == 1 else None

    def class_name(self, subclass: int) -> str | None:
        """Return the name of a class and subclass, like 0x0108, or of the class alone."""
        if subclass not in self._class_names:
            self._class_names[subclass] = self._find_class(subclass)
        return self._class_names[subclass]

    def _find_class(self, subclass: int) -> str | None:
        _, _, rest = self._classes.partition(f"\nC {subclass >> 8:02x}  ")
        block, _, _ = rest.partition("\nC ")
        _, _, name = block.partition(f"\n\t{subclass & 0xFF:02x}  ")
        return (name or block).partition("\n")[0] or None

    def class_by_name(self, name: str) -> int | None:
        """Return class and subclass by name."""
        if self._classes_by_name is None:
            self._classes_by_name = {}
            for base, body in re.findall(r"\nC ([0-9a-f]{2})  .*((?:\n(?:\t|#).*)*)", self._classes):
                for subclass, words in re.findall(r"\n\t([0-9a-f]{2})  (.+)", body):
                    self._classes_by_name.setdefault(words, int(base + subclass, 16))
        return self._classes_by_name.get(name)

    def split(self, name: str) -> tuple[list[int], str | None, str]:
        """Split ``Vendor Device`` into the vendor's numbers (some have several), its name, the rest."""
        if name not in self._split:
            self._split[name] = self._find_vendor(name)
        return self._split[name]

    def _find_vendor(self, name: str) -> tuple[list[int], str | None, str]:
        if self._vendors_by_name is None:
            self._vendors_by_name = {words: [number] for words, number in _FORMER_VENDORS.items()}
            for number, (words, _) in self._vendors.items():
                if words not in _FORMER_VENDORS:
                    self._vendors_by_name.setdefault(words, []).append(number)
        end = len(name)
        while end > 0:
            numbers = self._vendors_by_name.get(name[:end])
            if numbers is not None:
                return numbers, name[:end], name[end:].strip()
            end = name.rfind(" ", 0, end)
        return [], None, name


def _vendors(content: bytes) -> dict[int, tuple[str, bytes]]:
    """Cut the file at each line that begins with a number: vendors' names, and the lines of their devices."""
    _, *pieces = _VENDOR.split(content)
    return {
        int(number, 16): (_text(name), devices + b"\n")
        for number, name, devices in zip(pieces[::3], pieces[1::3], pieces[2::3], strict=True)
    }


def _text(content: bytes) -> str:
    return content.decode("utf-8", "replace")


@cache
def load() -> PciIds:
    """Load the list that is named, else the newest; raises InputError where what is named is no list."""
    named = os.environ.get(_NAMED_BY)
    if named:
        return _named(Path(named))
    newest, path = max((_version_of(path), path) for path in (*ON_THE_MACHINE, PACKAGED))
    content = _content(path) if path != PACKAGED and newest > _version_of(PACKAGED) else b""
    return PciIds(content, path) if _is_list(content) else packaged()


def use(path: Path) -> None:
    """Take names from a list of one's own from now on; raises InputError where the file is none."""
    os.environ[_NAMED_BY] = str(path)
    load.cache_clear()
    load()


def _named(path: Path) -> PciIds:
    try:
        content = _content(path)
    except OSError as error:
        raise InputError(f"'{path}' cannot be read as a list of PCI IDs: {error.strerror}") from None
    if not _is_list(content):
        raise InputError(
            f"'{path}' is not a list of PCI IDs; the PCI ID Project has one, https://pci-ids.ucw.cz/v2.2/pci.ids"
        )
    return PciIds(content, path)


def _content(path: Path) -> bytes:
    """Return the bytes of a list, unpacked where it is compressed; no more than any list has."""
    with path.open("rb") as file:
        content = file.read(_MOST_BYTES)
    if content[:2] != b"\x1f\x8b":
        return content
    import gzip

    try:
        with gzip.open(path) as packed:
            return packed.read(_MOST_BYTES)
    except (EOFError, gzip.BadGzipFile):
        return b""


def _is_list(content: bytes) -> bool:
    """Whether a file has vendors, and classes below them."""
    return b"\nC " in content and _VENDOR.search(content) is not None


def _version_of(path: Path) -> str:
    """Return the version of a list without reading it all; empty where there is none."""
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD_BYTES)
            if head[:2] == b"\x1f\x8b":
                import gzip

                file.seek(0)
                head = gzip.GzipFile(fileobj=file).read(_HEAD_BYTES)
    except (OSError, EOFError):
        return ""
    return _version(head)


def _version(head: bytes) -> str:
    match = _VERSION.search(head)
    return match[1].decode() if match else ""


@cache
def packaged() -> PciIds:
    """Load the copy that comes with the package."""
    import gzip

    return PciIds(gzip.decompress(PACKAGED.read_bytes()))


def _pack(source: Path) -> None:
    """Write the packaged copy from a `pci.ids`, without subsystems and without a time stamp."""
    import gzip

    lines = source.read_text(encoding="utf-8").splitlines(keepends=True)
    if not _is_list(source.read_bytes()):
        sys.exit(f"{source} is not a list of PCI IDs")
    notice = 40
    kept = [
        line for number, line in enumerate(lines) if number < notice or not line.startswith(("\t\t", "#"))
    ]
    PACKAGED.write_bytes(gzip.compress("".join(kept).encode("utf-8"), 9, mtime=0))


if __name__ == "__main__":
    _pack(Path(sys.argv[1]))
