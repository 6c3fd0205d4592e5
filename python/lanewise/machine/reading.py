"""From a source of any kind to a `Machine`: finds out what it is, and hands it to its reader.

Accepts a path, ``-`` for standard input, or nothing for the machine itself. Text may be UTF-8, UTF-16 with a
mark, or anything else, may be compressed with gzip, bzip2 or xz, and may hold several kinds at once (a bug
report with `lspci` and `nvidia-smi` in it). Everything is bounded: a file above 64 MiB, or that unpacks to
more, is refused.
"""

from __future__ import annotations

import io
import re
import sys
from pathlib import Path
from typing import IO, TYPE_CHECKING

from lanewise.errors import InputError
from lanewise.machine.draft import Reading

if TYPE_CHECKING:
    from lanewise.machine.model import Machine
    from lanewise.machine.sources.files import Files

LIVE = Path("/sys")
MOST_BYTES = 64 << 20
MOST_LINES = 1_000_000
_MOST_LINE = 4096
_CONTROLS = bytes(code for code in range(32) if code not in b"\t\n\v\f\r\x1b")
_ESCAPES = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]{0,256}(?:\x07|\x1b\\)|[@-Z\\-_])")
_ACCEPTED = (
    "lspci -vvv or -xxxx output, lspci -tv, a copy of /sys/bus/pci or a tar archive of one, hwloc XML, "
    "NCCL topology XML, nvidia-smi topo -m"
)
_XML_PROLOGUE = re.compile(rb"<!--.*?(?:-->|$)|<\?.*?(?:\?>|$)|<!DOCTYPE[^>\[]*(?:\[.*?\])?[^>]*>", re.S)
_XML_ROOT = re.compile(rb"<([A-Za-z_][\w.-]*)[\s>/]")


def read(source: str | Path | None = None, *, overlay: str | Path | None = None) -> Machine:
    """Read a machine.

    `source` is a file or folder, ``-`` for standard input, or None for this machine. `overlay` is `nvidia-smi
    topo -m` output to put on top. Raises `InputError` when there is nothing to read in it, OSError when it
    cannot be opened.
    """
    machine = _read_one(source)
    if overlay is None:
        return machine
    from lanewise.machine.sources import topo

    reading = Reading()
    rows = topo.read(_lines(_text(_unpacked(_bytes(overlay)), str(overlay))), reading)
    if not rows:
        raise InputError(
            f"'{overlay}' is not what 'nvidia-smi topo -m' prints: no row 'GPU0  X ...' was found"
        )
    return topo.overlay(machine, reading, rows)


def read_bytes(data: bytes, *, name: str = "-") -> Machine:
    """Read a machine from the content of a file."""
    data = _unpacked(data)
    reading = Reading()
    if data[257:262] == b"ustar":
        from lanewise.machine.sources.files import Archive

        archive = Archive(io.BytesIO(data))
        if archive.damaged:
            reading.note(archive.damaged)
        return _sysfs(archive, reading, name)
    root = _xml_root(data)
    if root is not None:
        return _xml(root, data, reading, name)
    return _read_text(_text(data, name), reading, name)


def _read_one(source: str | Path | None) -> Machine:
    if source is None or Path(source).is_dir():
        from lanewise.machine.sources.files import Folder

        folder = LIVE if source is None else Path(source)
        if source is None and not (LIVE / "bus/pci/devices").is_dir():
            raise InputError(f"this machine has no /sys/bus/pci; give a file: {_ACCEPTED}")
        return _sysfs(Folder(folder), Reading(), str(folder))
    return read_bytes(_bytes(source), name=str(source))


def _sysfs(files: Files, reading: Reading, name: str) -> Machine:
    from lanewise.machine.sources import sysfs

    sysfs.read(files, reading)
    return reading.machine(name)


def _bytes(source: str | Path) -> bytes:
    if str(source) == "-":
        return _bounded(sys.stdin.buffer, "standard input")
    with Path(source).open("rb") as file:
        return _bounded(file, f"'{source}'")


def _bounded(file: IO[bytes], name: str) -> bytes:
    data = file.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise InputError(f"{name} is larger than {MOST_BYTES >> 20} MiB, which no dump of a machine is")
    return data


def _unpacked(data: bytes) -> bytes:
    """Decompress, at most twice."""
    for _ in range(2):
        opened: io.BufferedIOBase | None = None
        if data[:2] == b"\x1f\x8b":
            import gzip

            opened = gzip.GzipFile(fileobj=io.BytesIO(data))
        elif data[:3] == b"BZh":
            import bz2

            opened = bz2.BZ2File(io.BytesIO(data))
        elif data[:6] == b"\xfd7zXZ\x00":
            import lzma

            opened = lzma.LZMAFile(io.BytesIO(data))  # noqa: SIM115  (nothing to close: memory)
        elif data[:4] in (b"\x28\xb5\x2f\xfd", b"PK\x03\x04") or data[:6] == b"7z\xbc\xaf\x27\x1c":
            raise InputError("zip, 7z and zstd archives are not read: unpack it, or use gzip")
        if opened is None:
            return data
        data = _decompressed(opened)
    return data


def _decompressed(opened: io.BufferedIOBase) -> bytes:
    """Read at most what is allowed; what comes before damage is kept."""
    import zlib
    from lzma import LZMAError

    pieces, size = [], 0
    try:
        while piece := opened.read(1 << 20):
            pieces.append(piece)
            size += len(piece)
            if size > MOST_BYTES:
                raise InputError(f"it unpacks to more than {MOST_BYTES >> 20} MiB")
    except (OSError, EOFError, zlib.error, LZMAError) as error:
        if not pieces:
            raise InputError(f"it looks compressed but cannot be unpacked: {error}") from error
    return b"".join(pieces)


def _xml_root(data: bytes) -> str | None:
    """Return the name of the outermost element, of what is XML."""
    head = data[:65536].lstrip(b"\xef\xbb\xbf \t\r\n")
    if not head.startswith(b"<"):
        return None
    head = _XML_PROLOGUE.sub(b"", head)
    match = _XML_ROOT.search(head)
    return match[1].decode("ascii", "replace") if match else ""


def _xml(root: str, data: bytes, reading: Reading, name: str) -> Machine:
    from lanewise.machine.sources import hwloc, nccl

    if root == "topology":
        hwloc.read(data, reading)
    elif root in ("system", "graphs"):
        nccl.read(data, reading)
    else:
        raise InputError(
            f"'{name}' is XML with <{root}> outermost; hwloc has <topology> there, NCCL <system>"
        )
    if not reading.drafts and len(reading.notes) and "breaks off" in reading.notes[0]:
        raise InputError(f"'{name}': {reading.notes[0]}, and no PCI device was in that")
    return reading.machine(name)


def _text(data: bytes, name: str) -> str:
    """Decode; files that are mostly not text are refused."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        text = data.decode("utf-16", "replace")
    else:
        head = data[:65536]
        if len(head) - len(head.translate(None, _CONTROLS)) > len(head) // 20:
            raise InputError(f"'{name}' is binary; accepted are {_ACCEPTED}")
        text = data.decode("utf-8", "replace").removeprefix("\ufeff")
    return _ESCAPES.sub("", text) if "\x1b" in text else text


def _lines(text: str) -> list[str]:
    return [line[:_MOST_LINE] for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n")]


def _read_text(text: str, reading: Reading, name: str) -> Machine:
    """Read whatever kinds a text holds: functions first, else a tree; a matrix is put on top."""
    from lanewise.machine.sources import lspci, topo, tree

    if text.count("\n") > MOST_LINES:
        raise InputError(f"'{name}' has more than {MOST_LINES:,} lines, which no dump of a machine has")
    lines = _lines(text)
    if lspci.HEADER.search(text):
        lspci.read(lines, reading)
    elif tree.LOOKS_LIKE_TREE.search(text):
        tree.read(lines, reading)
    elif tree.LOOKS_LIKE_LINKS.search(text):
        tree.read_links(lines, reading)
    matrix = Reading()
    rows = topo.read(lines, matrix) if topo.LOOKS_LIKE_MATRIX.search(text) else []
    if not reading.drafts and not rows:
        raise InputError(_nothing_found(text, matrix, name))
    return topo.overlay(reading.machine(name), matrix, rows) if rows else reading.machine(name)


def _nothing_found(text: str, matrix: Reading, name: str) -> str:
    if matrix.notes:
        return f"'{name}': {matrix.notes[0]}; 'nvidia-smi topo -m' prints the topology"
    what = "is empty" if not text.strip() else "has no PCI device in it"
    return f"'{name}' {what}; accepted are {_ACCEPTED}"
