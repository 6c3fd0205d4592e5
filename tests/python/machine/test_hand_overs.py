"""Dumps as they are handed over: web pages, mails, logs, archives of bug reports, parts of sysfs."""

from __future__ import annotations

import gzip
import html
import io
import json
import lzma
import random
import re
import tarfile
import textwrap
import zipfile
from typing import TYPE_CHECKING, Any

import pytest
from machine_dumps import DUMPS

from lanewise.errors import InputError
from lanewise.machine import read, read_bytes
from lanewise.machine.budget import Budget
from lanewise.machine.model import Kind
from lanewise.machine.unpacking import unpacked

if TYPE_CHECKING:
    from pathlib import Path

    from lanewise.machine.model import Machine

TEXT = (DUMPS / "qemu.nnDvvv").read_text()
REFERENCE = read(DUMPS / "qemu.nnDvvv")
_SYSFS = gzip.decompress((DUMPS / "qemu.sysfs.tar.gz").read_bytes())


def wrapped_by_a_mail_program(width: int, quote: str = "") -> bytes:
    """Break lines as mail programs do: the rest begins at the margin."""
    lines = []
    for line in TEXT.splitlines():
        text = line.lstrip()
        pieces = textwrap.wrap(text, width - 8, break_long_words=False, break_on_hyphens=False) or [""]
        lines += [line[: len(line) - len(text)] + pieces[0], *pieces[1:]]
    return "\n".join(quote + line for line in lines).encode()


def behind(prefix: str) -> bytes:
    """Put something before every line, with the number of the line in it."""
    return "\n".join(prefix.format(n) + line for n, line in enumerate(TEXT.splitlines(), 1)).encode()


_PAGE = (
    "<!DOCTYPE html>\n<html><head><title>Slow card</title></head><body><p>My card is slow.</p>\n"
    "<pre><code>{}</code></pre>\n<p>Any idea?</p></body></html>\n"
)
WAYS = {
    "web page": _PAGE.format(html.escape(TEXT)).encode(),
    "web page, coloured": _PAGE.format(
        html.escape(TEXT).replace("LnkSta:", '<span class="k">LnkSta:</span>')
    ).encode(),
    "web page, lines by <br>": _PAGE.format(
        html.escape(TEXT).replace("\t", "&nbsp;&nbsp;").replace("\n", "<br/>\n")
    ).encode(),
    "entities left in text": html.escape(TEXT).encode(),
    "forum": f"[quote=joe]it is slow[/quote]\n[code]{TEXT}[/code]\nHelp!\n".encode(),
    "Markdown, details": f"<details>\n<summary>lspci</summary>\n\n```\n{TEXT}```\n</details>\n".encode(),
    "hard blanks": TEXT.replace("\t", "\u00a0" * 4).encode(),
    "typographic dashes": TEXT.replace("- ", "\u2013 ").encode(),
    "quoted twice": "\n".join("> > " + line for line in TEXT.splitlines()).encode(),
    "quoted without a blank": "\n".join(">" + line for line in TEXT.splitlines()).encode(),
    "every other line empty": TEXT.replace("\n", "\r\r\n").encode(),
    "UTF-16 without a mark": TEXT.encode("utf-16-le"),
    "numbered by cat -n": behind("{:6d}\t"),
    "numbered by grep -n": behind("{}:"),
    "system log": behind("Nov 21 07:03:{:02d} box lspci[4711]: "),
    "kernel time": behind("[ {:4d}.123456] "),
    "many hosts' tool": behind("node17: "),
    "automation": json.dumps({"results": [{"cmd": "lspci -vvv", "stdout": TEXT, "rc": 0}]}).encode(),
    "automation, lines": json.dumps([{"stdout_lines": TEXT.split("\n")}]).encode(),
    "prompt and password": (
        "user@box:~$ sudo lspci -nnDvvv\n[sudo] password for user: \n"
        f"pcilib: sysfs_read_vpd: read failed: No such device\n{TEXT}user@box:~$ exit\n"
    ).encode(),
    "log of a terminal": f"Script started on 2026-11-21\n\x1b]0;box\x07{TEXT}\x1b[0m".replace(
        "\n", "\r\n"
    ).encode(),
    "with other tools": (
        f"*** lspci ***\n\n{TEXT}\n*** dmidecode ***\n\nHandle 0x0001, DMI type 9, 17 bytes\n"
        "System Slot Information\n\tDesignation: SLOT3\n\tType: x16 PCI Express\n"
        "\tBus Address: 0000:02:00.0\n\n"
        "*** nvidia-smi ***\n\nLink Width: 1x\nStatus: ParErr+\nDriver Version: 560.35\n"
    ).encode(),
    "xz": lzma.compress(TEXT.encode()),
    "lzma": lzma.compress(TEXT.encode(), format=lzma.FORMAT_ALONE),
}


def shape(machine: Machine) -> dict[str, object]:
    """Return what a reading says of every function that performance depends on."""
    return {
        str(f.address): (
            f.kind,
            f.parent,
            f.registers.link,
            f.registers.transfers,
            f.identity.class_code,
            f.driver,
        )
        for f in machine
    }


@pytest.mark.parametrize("way", WAYS)
def test_the_machine_survives(way: str) -> None:
    assert shape(read_bytes(WAYS[way])) == shape(REFERENCE)


@pytest.mark.parametrize("width", [72, 78, 90])
@pytest.mark.parametrize("quote", ["", "> "])
def test_lines_that_a_mail_program_broke_are_joined(width: int, quote: str) -> None:
    machine = read_bytes(wrapped_by_a_mail_program(width, quote))
    assert {f.address: f.identity.class_code for f in machine} == {
        f.address: f.identity.class_code for f in REFERENCE
    }
    assert [(link.name, link.now, link.limit) for link in machine.links] == [
        (link.name, link.now, link.limit) for link in REFERENCE.links
    ]
    assert {f.address: f.transfers.mrrs for f in machine} == {f.address: f.transfers.mrrs for f in REFERENCE}


def test_sizes_of_regions_are_no_markup_of_a_forum() -> None:
    regions = {f.address: f.registers.bars for f in REFERENCE}
    forum = read_bytes(WAYS["forum"])
    assert {f.address: f.registers.bars for f in forum} == regions
    large = read_bytes(f"[size=150]It is slow![/size]\n[code]{TEXT}[/code]\n".encode())
    assert {f.address: f.registers.bars for f in large} == regions


def test_colors_of_a_terminal_in_a_forum_do_not_break_lines() -> None:
    line = "[COLOR=#18b218][  84.044433] [/COLOR][COLOR=#b26818]pcieport 0000:00:1c.4[/COLOR][COLOR=red]: {}"
    said = (
        "PCIe Bus Error: severity=Corrected, type=Data Link Layer, (Transmitter ID)",
        "  device [8086:9d14] error status/mask=00000040/00002000",
    )
    machine = read_bytes("\n".join(f"{line.format(text)}[/COLOR]" for text in said).encode())
    errors = machine["00:1c.4"].registers.errors
    assert errors is not None
    assert dict(errors.counters) == {"correctable.BadTLP": 1, "correctable.TOTAL": 1}


def test_two_machines_in_one_file_are_not_mixed() -> None:
    other = TEXT.replace("[8086:29c0]", "[1022:1480]").replace("[1b36:000c]", "[1022:1483]")
    other = other.replace("[1b36:0010]", "[144d:a80a]").replace("[8086:10d3]", "[15b3:1021]")
    machine = read_bytes((TEXT + "\n=== node02 ===\n" + other).encode())
    assert shape(machine) == shape(REFERENCE)
    assert any("several machines" in note for note in machine.notes)


def test_ways_without_bus_numbers_are_followed() -> None:
    """`lspci -P` prints the way to a function; the bridges on it say which bus that ends at."""
    text = (DUMPS / "qemu.PP.vvv").read_text()
    short = re.sub(r"(?m)(?<=/)[0-9a-f]{2}:(?=[0-9a-f]{2}\.[0-7][/ ])", "", text)
    assert "/00.0/01.0 PCI bridge" in short
    assert shape(read_bytes(short.encode())) == shape(read(DUMPS / "qemu.PP.vvv"))
    bare = "\n".join(line for line in short.splitlines() if line[:1] not in ("\t", ""))
    machine = read_bytes(bare.encode())
    assert all(f.address.bus in (0, 0x80, 0xC0) for f in machine)
    assert any("-PP" in note for note in machine.notes)


class TestListsForPrograms:
    @pytest.mark.parametrize("name", ["qemu.mm", "qemu.Dmmnn", "qemu.vmm", "qemu.Dvmmnnk"])
    def test_name_every_function(self, name: str) -> None:
        machine = read(DUMPS / name)
        assert {f.address: f.identity.class_code for f in machine} == {
            f.address: f.identity.class_code for f in REFERENCE
        }
        assert machine["06:00.0"].is_nvme
        assert machine["04:00.0"].identity.device_id == 0x10D3
        assert machine.not_understood.count == 0
        assert not machine.links

    def test_drivers(self) -> None:
        machine = read(DUMPS / "qemu.Dvmmnnk")
        assert machine["01:00.0"].driver == "nvme"
        assert machine["03:00.0"].driver == "pcieport"

    def test_the_form_of_small_systems(self) -> None:
        (function,) = read_bytes(b"00:03.0 Class 0200: 1af4:1000\n")
        assert function.is_nic
        assert (function.identity.vendor_id, function.identity.device_id) == (0x1AF4, 0x1000)
        (function,) = read_bytes(b'00:03.0 "Class 0200" "1af4" "1000" "1af4" "0001" "virtio-pci"\n')
        assert function.is_nic
        assert (function.identity.vendor_id, function.identity.device_id) == (0x1AF4, 0x1000)


def tarred(**members: bytes) -> bytes:
    """Make a tar archive; underscores of names stand for slashes."""
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:xz") as tar:
        for name, data in members.items():
            info = tarfile.TarInfo(name.replace("__", "/"))
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return file.getvalue()


def zipped(**members: bytes) -> bytes:
    """Make a zip archive."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name.replace("__", "/"), data)
    return file.getvalue()


class TestArchivesOfReports:
    def test_a_bug_report_with_outputs_of_commands(self) -> None:
        members = {
            "sosreport-box__version.txt": b"version: 4.5\n",
            "sosreport-box__sos_commands__pci__lspci_-nnvv": TEXT.encode(),
            "sosreport-box__sos_commands__pci__lspci_-tv": (DUMPS / "qemu.tv").read_bytes(),
            "sosreport-box__var__log__messages": b"x" * (8 << 20),
        }
        assert shape(read_bytes(tarred(**members))) == shape(REFERENCE)

    def test_an_archive_larger_than_a_dump_may_be(self) -> None:
        """Bug reports are large; what is passed over costs no memory."""
        members = {"report__var__log__big": b"\0" * (70 << 20), "report__lspci.txt": TEXT.encode()}
        assert shape(read_bytes(tarred(**members))) == shape(REFERENCE)

    @pytest.mark.parametrize("name", ["lspci.txt", "attachments__dump", "lspci.txt.gz"])
    def test_a_zip_as_trackers_want_it(self, name: str) -> None:
        data = gzip.compress(TEXT.encode()) if name.endswith("gz") else TEXT.encode()
        assert shape(read_bytes(zipped(**{name: data}))) == shape(REFERENCE)

    def test_a_zipped_sysfs(self) -> None:
        file = io.BytesIO()
        with tarfile.open(fileobj=io.BytesIO(_SYSFS)) as tar, zipfile.ZipFile(file, "w") as archive:
            for member in tar:
                content = tar.extractfile(member) if member.isfile() else None
                if content is not None:
                    archive.writestr(member.name, content.read())
        machine = read_bytes(file.getvalue())
        assert {f.address: (f.kind, f.parent) for f in machine} == {
            f.address: (f.kind, f.parent) for f in read(DUMPS / "qemu.sysfs.tar.gz")
        }

    def test_sysfs_and_text_in_one_report_complete_each_other(self) -> None:
        """An ordinary user's sysfs has drivers and nodes, the text that root took has registers."""
        file = io.BytesIO()
        with tarfile.open(fileobj=io.BytesIO(_SYSFS)) as tar, tarfile.open(fileobj=file, mode="w") as both:
            for member in tar:
                content = tar.extractfile(member) if member.isfile() else None
                data = content.read() if content is not None else b""
                if member.name.endswith("/config"):
                    data = data[:64]
                    member.size = len(data)
                both.addfile(member, io.BytesIO(data))
            info = tarfile.TarInfo("report/lspci.txt")
            info.size = len(TEXT)
            both.addfile(info, io.BytesIO(TEXT.encode()))
        machine = read_bytes(file.getvalue())
        assert machine["81:00.0"].numa_node == 1
        assert machine["81:00.0"].kind is Kind.ENDPOINT
        assert machine["81:00.0"].transfers == REFERENCE["81:00.0"].transfers

    def test_zstandard(self) -> None:
        zstandard = pytest.importorskip("zstandard")
        packed = zstandard.ZstdCompressor().compress(TEXT.encode())
        assert shape(read_bytes(packed)) == shape(REFERENCE)
        tar = gzip.decompress((DUMPS / "qemu.sysfs.tar.gz").read_bytes())
        assert len(read_bytes(zstandard.ZstdCompressor().compress(tar))) == len(REFERENCE)
        with pytest.raises(InputError, match="unpacks to more"):
            read_bytes(zstandard.ZstdCompressor().compress(b"\0" * (80 << 20)))

    def test_a_zip_bomb_is_passed_over(self) -> None:
        bomb = zipped(**{"lspci.txt": b"\0" * (80 << 20)})
        with pytest.raises(InputError):
            read_bytes(bomb)

    def test_an_encrypted_zip_says_what_it_holds(self) -> None:
        data = bytearray(zipped(**{"readme": b"see lspci"}))
        with pytest.raises(InputError, match="archive"):
            read_bytes(bytes(data))


class TestCopiesOfSysfs:
    def extract(self, folder: Path) -> Path:
        """Unpack our own capture."""
        with tarfile.open(fileobj=io.BytesIO(_SYSFS)) as tar:
            tar.extractall(folder, filter="fully_trusted")
        return folder

    def flat(self, source: Path, target: Path) -> Path:
        """Copy functions as `cp -rL /sys/bus/pci/devices` does."""
        for config in source.glob("sys/devices/pci*/**/config"):
            place = target / config.parent.name
            place.mkdir(parents=True)
            for file in config.parent.iterdir():
                if file.is_file():
                    (place / file.name).write_bytes(file.read_bytes())
        return target

    @pytest.mark.parametrize(
        "place", ["", "devices", "pci/devices", "bus/pci/devices", "sys/bus/pci/devices"]
    )
    def test_functions_alone(self, tmp_path: Path, place: str) -> None:
        self.flat(self.extract(tmp_path / "whole"), tmp_path / "copy" / place)
        machine = read(tmp_path / "copy")
        assert {f.address: (f.kind, f.parent) for f in machine} == {
            f.address: (f.kind, f.parent) for f in REFERENCE
        }

    def test_functions_alone_in_an_archive(self, tmp_path: Path) -> None:
        copy = self.flat(self.extract(tmp_path / "whole"), tmp_path / "copy")
        file = io.BytesIO()
        with tarfile.open(fileobj=file, mode="w:gz") as tar:
            tar.add(copy, "devices")
        assert [link.name for link in read_bytes(file.getvalue()).links] == [
            link.name for link in REFERENCE.links
        ]

    def test_configuration_space_alone(self, tmp_path: Path) -> None:
        whole = self.extract(tmp_path / "whole")
        file = io.BytesIO()
        with tarfile.open(fileobj=file, mode="w:gz") as tar:
            for config in sorted(whole.glob("sys/devices/pci*/**/config")):
                tar.add(config, str(config.relative_to(whole)))
        assert [(x.name, x.now) for x in read_bytes(file.getvalue()).links] == [
            (x.name, x.now) for x in REFERENCE.links
        ]

    def test_links_alone_say_how_to_copy(self, tmp_path: Path) -> None:
        whole = self.extract(tmp_path / "whole")
        (tmp_path / "copy").mkdir()
        (whole / "sys/bus").rename(tmp_path / "copy/bus")
        machine = read(tmp_path / "copy")
        assert len(machine) == len(REFERENCE)
        assert any("cp -rL" in note for note in machine.notes)


class TestVirtualFunctions:
    """A drive with its virtual functions switched on by the kernel, under QEMU."""

    @pytest.mark.parametrize("name", ["qemu-vfs.vvv", "qemu-vfs.xxxx", "qemu-vfs.sysfs.tar.gz"])
    def test_are_told_from_their_owner(self, name: str) -> None:
        machine = read(DUMPS / name)
        owner = machine["01:00.0"]
        assert [f.address.short for f in machine if f.virtual] == ["01:00.1", "01:00.2"]
        assert {f.physical_function for f in machine if f.virtual} == {owner.address}
        sriov = owner.registers.sriov
        assert sriov is not None
        assert (sriov.enabled, sriov.count, sriov.total) == (True, 2, 2)

    def test_are_no_endpoints_of_their_own(self) -> None:
        machine = read(DUMPS / "qemu-vfs.vvv")
        assert [f.address.short for f in machine.endpoints if f.is_nvme] == ["01:00.0", "06:00.0"]
        link = machine.link_above(machine["01:00.0"])
        assert link is not None
        assert link.device.address.short == "01:00.0"


@pytest.mark.parametrize("padding", [b"", bytes(4), bytes(4096)])
def test_joined_files_of_xz_are_read_to_the_end(padding: bytes) -> None:
    """As gzip's are: `cat a.xz b.xz` is a file of both, and padding of four bytes may lie between."""
    half = len(TEXT) // 2
    joined = padding.join(lzma.compress(part.encode()) for part in (TEXT[:half], TEXT[half:], "\n")) + padding
    opened = unpacked(joined, Budget())
    assert opened == f"{TEXT}\n".encode()


@pytest.mark.parametrize("rest", [b"more", bytes(3) + lzma.compress(b"x"), lzma.compress(b"x")[:-20]])
def test_what_follows_xz_and_is_none_is_damage(rest: bytes) -> None:
    with pytest.raises(InputError, match="looks compressed but cannot be unpacked"):
        unpacked(lzma.compress(b"begun") + rest, Budget())


REAL_DECOMPRESSOR = lzma.LZMADecompressor


def handed_over(data: bytes, monkeypatch: pytest.MonkeyPatch) -> int:
    """Unpack joined files of xz, and return how many bytes decompressors were given."""
    given = []

    class Counting:
        def __init__(self, **options: Any) -> None:
            self._real = REAL_DECOMPRESSOR(**options)

        def __getattr__(self, name: str) -> Any:
            return getattr(self._real, name)

        def decompress(self, piece: bytes, **options: Any) -> bytes:
            given.append(len(piece))
            return self._real.decompress(piece, **options)

    with monkeypatch.context() as patch:
        patch.setattr(lzma, "LZMADecompressor", Counting)
        unpacked(data, Budget())
    return sum(given)


def test_many_joined_files_of_xz_are_each_handed_over_once_or_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each decompressor was given all that was left: for twice as many files, four times as much."""
    empty = lzma.compress(b"")
    some, more = (handed_over(empty * count, monkeypatch) for count in (1000, 2000))
    assert some <= 2 * 1000 * 512
    assert more <= 2.1 * some
    long = [lzma.compress(random.Random(seed).randbytes(1 << 20)) for seed in range(3)]
    # Once to look at its head, and once to read it; what a piece has of the next file is handed over again.
    assert handed_over(b"".join(long), monkeypatch) <= 4 * sum(map(len, long))


def test_more_files_of_xz_than_anybody_joins_are_refused() -> None:
    empty = lzma.compress(b"")
    assert unpacked(empty * 10_000, Budget()) == b""
    with pytest.raises(InputError, match="more than 10,000 files of xz"):
        unpacked(empty * 10_001, Budget())
