"""Small files that unpack to gigabytes, and copies of sysfs with traps: refused or read within the limits."""

from __future__ import annotations

import gzip
import io
import os
import shutil
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from functools import reduce
from pathlib import Path

import pytest
from hostile import refused, run
from machine_dumps import DUMPS

from lanewise.errors import InputError
from lanewise.machine import read
from lanewise.machine.budget import MOST_LINES, MOST_TEXT, Budget, UsedUpError


def zeros(size: int) -> bytes:
    """Return as many MiB of zeros as one file of gzip: one of them, compressed, again and again."""
    mebibyte = bytes(1 << 20)
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    packed = packer.compress(mebibyte) + packer.flush(zlib.Z_FULL_FLUSH)
    check = reduce(lambda check, _: zlib.crc32(mebibyte, check), range(size >> 20), 0)
    head = b"\x1f\x8b\x08" + bytes(6) + b"\xff"
    tail = packer.flush() + check.to_bytes(4, "little") + size.to_bytes(4, "little")
    return head + packed * (size >> 20) + tail


def long_header(kind: bytes) -> bytes:
    """Return a tar archive, compressed, with a long name or properties of 900 MB."""
    size = 900 << 20
    info = tarfile.TarInfo("lspci.txt")
    info.type, info.size = kind, size
    return gzip.compress(info.tobuf()) + zeros(size)


def tar_of(members: dict[str, bytes]) -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as archive:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return file.getvalue()


def zip_of(members: dict[str, bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return file.getvalue()


def many(pack: Callable[[dict[str, bytes]], bytes]) -> bytes:
    blank = gzip.compress(b"x" * (40 << 20), compresslevel=1)
    return pack({f"lspci-{number}.txt": blank for number in range(8)})


BOMBS: dict[str, Callable[[], bytes]] = {
    "twice": lambda: gzip.compress(zeros(256 << 20)),
    "a long name": lambda: long_header(tarfile.GNUTYPE_LONGNAME),
    "properties": lambda: long_header(tarfile.XHDTYPE),
    "packed files in an archive": lambda: many(tar_of),
    "packed files in a zip": lambda: many(zip_of),
    "wide characters": lambda: gzip.compress("a 😀\n".encode() * (6 << 20), compresslevel=1),
    "carriage returns": lambda: gzip.compress(b"\r" * (20 << 20), compresslevel=1),
    "damaged xz": lambda: b"\xfd7zXZ\x00" + bytes(40),
}


@pytest.mark.parametrize("name", BOMBS)
def test_bombs_are_refused(name: str, tmp_path: Path) -> None:
    (tmp_path / "bomb").write_bytes(BOMBS[name]())
    refused(run("scan", tmp_path / "bomb"))


def test_the_largest_text_that_is_read_stays_within_the_limits(tmp_path: Path) -> None:
    dump = (DUMPS / "qemu.vvv").read_text()
    text = (dump + "\n😀\n").encode()
    (tmp_path / "dump").write_bytes((text * (MOST_TEXT // len(text)))[: MOST_TEXT - 1])
    done = run("scan", tmp_path / "dump", "--json")
    assert done.returncode == 0, done.stderr[-500:]


def test_a_budget_is_shared() -> None:
    budget = Budget()
    budget.read(10, MOST_LINES)
    with pytest.raises(UsedUpError, match="lines"):
        budget.read(10, 1)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """Return a copy of a sysfs as a folder."""
    with tarfile.open(DUMPS / "qemu.sysfs.tar.gz") as archive:
        archive.extractall(tmp_path / "copy", filter="data")
    return next(path.parent.parent for path in (tmp_path / "copy").rglob("bus/pci"))


def test_pipes_and_terminals_in_a_copy_are_passed_over(copy: Path) -> None:
    whole = read(copy)
    folder = next(copy.rglob("devices/pci*/*:*:*.*"))
    for name in ("current_link_speed", "config", "numa_node"):
        (folder / name).unlink(missing_ok=True)
        os.mkfifo(folder / name)
    (folder / "vendor").unlink()
    (folder / "vendor").symlink_to("/dev/tty")
    assert len(read(copy).functions) == len(whole.functions)
    done = run("scan", copy, "--json")
    assert done.returncode == 0, done.stderr[-500:]


@pytest.mark.parametrize("target", ["/etc/passwd", "../../../../../../../../../../../../../../etc/passwd"])
def test_links_out_of_a_copy_lead_nowhere(copy: Path, target: str, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("root:x:0:0")
    folder = next(copy.rglob("devices/pci*/*:*:*.*"))
    for name in ("nvme/nvme9/model", "local_cpulist", "power_state"):
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.unlink(missing_ok=True)
        place.symlink_to(target if name != "power_state" else secret)
    shutil.rmtree(copy / "bus/pci/slots", ignore_errors=True)
    (copy / "bus/pci/slots").symlink_to(tmp_path)
    done = run("scan", copy, "--json")
    assert done.returncode == 0, done.stderr[-500:]
    assert b"root:" not in done.stdout


def test_a_pipe_as_the_whole_input_is_read(tmp_path: Path) -> None:
    with pytest.raises((InputError, OSError)):
        read(tmp_path / "none")
    done = run("scan", "-", "--json", stdin=(DUMPS / "qemu.vvv").read_bytes())
    assert done.returncode == 0
