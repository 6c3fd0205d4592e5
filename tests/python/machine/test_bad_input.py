"""What is no dump gets a clear message; what is a damaged one is read as far as it makes sense."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import random
import re
import tarfile
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from machine_dumps import DUMPS

from lanewise.errors import InputError
from lanewise.health.doctor import diagnose
from lanewise.machine import read, read_bytes, reading
from lanewise.machine.address import Address
from lanewise.machine.config_space import decode
from lanewise.machine.draft import Draft

if TYPE_CHECKING:
    from pathlib import Path

BOMB = (
    b'<?xml version="1.0"?><!DOCTYPE topology [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]>'
    b"<topology>&b;</topology>"
)
WRONG = {
    "nothing": (b"", "is empty"),
    "prose": (b"the card is slow, please help\n" * 10, "nothing in it that is read as a PCI device"),
    "a program": (b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0" * 64, "is binary"),
    "zip": (b"PK\x03\x04" + b"\0" * 64, "archive cannot be read"),
    "7z": (b"7z\xbc\xaf\x27\x1c" + b"\0" * 64, "not read"),
    "zstd": (b"\x28\xb5\x2f\xfd" + b"\0" * 64, "Zstandard|cannot be unpacked|is empty"),
    "a web page": (b"<!doctype html>\n<html><body>404</body></html>", "a web page without a dump"),
    "other XML": (b"<config><body>404</body></config>", "<config> outermost"),
    "NCCL graph": (b'<graphs version="1"><graph id="0"/></graphs>', "graph file"),
    "entities": (BOMB, "defines entities"),
    "deep XML": (b"<topology>" + b'<object type="Bridge">' * 1000, "nested deeper"),
    "cut JSON": (
        b'{"id": "node", "children": [{"id": ',
        "is JSON that is incomplete or damaged: Expecting value",
    ),
    "cut list": (b'[{"id": "node"},\n {"id": "core', "damaged: Unterminated string starting at: line 2"),
    "lines of JSON": (b'{"a": 1}\n{"b": 2}\n', "nothing in it that is read as a PCI device"),
    "cut XML": (b'<topology version="2.0"><object type="Mach', "is incomplete or damaged"),
    "no topology": (
        b"        GPU0    GPU1\n GPU0   X       OK\n GPU1   OK      X\n",
        "no topology",
    ),
    "packed rubbish": (gzip.compress(b"rubbish" * 100), "nothing in it that is read as a PCI device"),
    "not packed": (b"\x1f\x8b" + b"\xff" * 100, "cannot be unpacked"),
    "other archive": (None, "without a sysfs and without output of lspci"),
}


def archive(*members: tuple[str, bytes], links: tuple[tuple[str, str], ...] = ()) -> bytes:
    """Make a tar archive."""
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as tar:
        for name, data in members:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
        for name, target in links:
            info = tarfile.TarInfo(name)
            info.type, info.linkname = tarfile.SYMTYPE, target
            tar.addfile(info)
    return file.getvalue()


class TestWrongInput:
    @pytest.mark.parametrize("name", WRONG)
    def test_says_what_is_wrong(self, name: str) -> None:
        data, message = WRONG[name]
        with pytest.raises(InputError, match=message):
            read_bytes(archive(("letters/one.txt", b"dear")) if data is None else data)

    def test_a_missing_file_is_an_ordinary_error(self, tmp_path: Path) -> None:
        with pytest.raises(OSError, match="No such file"):
            read(tmp_path / "missing.txt")

    def test_a_folder_that_is_no_sysfs(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match="not a sysfs"):
            read(tmp_path)

    def test_sources_without_a_device_say_so(self, tmp_path: Path) -> None:
        (tmp_path / "bus/pci/devices").mkdir(parents=True)
        texts = '<topology version="2.0"></topology>', '<system version="1"><cpu numaid="0"/></system>'
        for machine in (read(tmp_path), *(read_bytes(text.encode()) for text in texts)):
            assert len(machine) == 0
            assert machine.notes[-1] == "there is no PCI device in it"
            assert not diagnose(machine, cost=False).examined

    def test_an_overlay_that_is_no_matrix(self) -> None:
        with pytest.raises(InputError, match="topo -m"):
            read(DUMPS / "qemu.vvv", overlays=[DUMPS / "qemu.tv"])

    def test_a_huge_file_is_refused_before_it_is_read(self, tmp_path: Path) -> None:
        huge = tmp_path / "huge"
        with huge.open("wb") as file:
            file.truncate(1 << 30)
        with pytest.raises(InputError, match="larger than 64 MiB"):
            read(huge)

    def test_a_bomb_is_refused_while_it_unpacks(self) -> None:
        bomb = bz2.compress(b"\0" * (80 << 20))
        assert len(bomb) < 1000
        with pytest.raises(InputError, match="unpacks to more"):
            read_bytes(bomb)

    def test_noise_is_refused(self) -> None:
        noise = random.Random(1).randbytes(4 << 20)
        with pytest.raises(InputError, match="is binary"):
            read_bytes(noise)
        with pytest.raises(InputError, match="more than 1,000,000 lines"):
            read_bytes(b"\n" * (4 << 20))
        with pytest.raises(InputError, match="read as a PCI device"):
            read_bytes(bytes(32 + byte % 95 for byte in noise[: 2 << 20]))

    @pytest.mark.parametrize(
        "line", ["{} Host bridge: Example", "pci {}: [8086:1234] type 00 class 0x020000"]
    )
    def test_a_flood_of_functions_is_refused(self, line: str) -> None:
        addresses = (
            f"0000:{bus:02x}:{slot:02x}.{function}"
            for bus in range(256)
            for slot in range(32)
            for function in range(8)
        )
        flood = "\n".join(line.format(address) for address in addresses)
        with pytest.raises(InputError, match="more than 32,768 functions"):
            read_bytes(flood.encode())


class TestArchives:
    def test_paths_that_climb_out_climb_nowhere(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        data = archive(
            ("../../../../etc/passwd", b"root"),
            ("sys/bus/pci/devices/../../../../../../tmp/evil", b"evil"),
            ("/sys/devices/pci0000:00/0000:00:01.0/vendor", b"0x8086\n"),
            ("/sys/devices/pci0000:00/0000:00:01.0/class", b"0x060400\n"),
            links=(("sys/bus/pci/devices/0000:00:01.0", "../../../../../../../../etc"),),
        )
        machine = read_bytes(data)
        assert [str(f.address) for f in machine] == ["0000:00:01.0"]
        assert list(tmp_path.iterdir()) == []
        assert [note for note in machine.notes if "'../../../../etc/passwd'" in note and "2 of" in note]

    @pytest.mark.parametrize("path", ["../etc/passwd", "../../sys/bus/pci/devices/0000:00:01.0/vendor"])
    def test_nothing_but_paths_that_climb_out_is_refused(self, path: str) -> None:
        with pytest.raises(InputError, match="climb out of it"):
            read_bytes(archive((path, b"0x8086")))
        with pytest.raises(InputError, match=r"holds one\.txt.*climb out of it"):
            read_bytes(archive((path, b"0x8086"), ("letters/one.txt", b"dear")))

    def test_headers_of_a_compiler_are_no_sysfs(self) -> None:
        with pytest.raises(InputError, match="without a sysfs"):
            read_bytes(archive(("usr/include/sys/types.h", b"typedef int x;")))

    def test_files_that_claim_to_be_large_are_cut(self) -> None:
        data = archive(("sys/devices/pci0000:00/0000:00:01.0/vendor", b"0x8086" + b" " * (1 << 20)))
        assert read_bytes(data)["00:01.0"].identity.vendor_id == 0x8086

    def test_a_cut_archive_is_read_as_far_as_it_goes(self) -> None:
        whole = gzip.decompress((DUMPS / "qemu.sysfs.tar.gz").read_bytes())
        machine = read_bytes(whole[: len(whole) // 2])
        known = [function.identity.vendor_id is not None for function in machine]
        assert any(known)
        assert not all(known)

    def test_a_link_in_circles_ends(self) -> None:
        way = "sys/devices/pci0000:00/0000:00:01.0"
        data = archive(
            (f"{way}/secondary_bus_number", b"0"), (f"{way}/0000:00:01.0/secondary_bus_number", b"0")
        )
        assert len(read_bytes(data)) == 1

    def test_folders_deeper_than_any_bridges_are_cut(self) -> None:
        way = "/".join(f"{domain:04x}:00:01.0" for domain in range(2000))
        machine = read_bytes(archive((f"sys/devices/pci0000:00/{way}/vendor", b"0x8086")))
        assert len(machine) == 2000
        assert max(len(machine.path(function)) for function in machine) <= 256
        look_at(archive((f"sys/devices/pci0000:00/{way}/vendor", b"0x8086")))


PORT = "00:01.0 PCI bridge: X\n\tCapabilities: [40] Express (v2) Root Port (Slot+), MSI 00\n\t\t"
PCI_LOG = "pci 0000:02:00.0: [1987:5026] type 00 class 0x010802\npci 0000:02:00.0: "
PCICONF = (
    "em0@pci0:2:0:0:\tclass=0x020000 vendor=0x8086 device=0x10d3\n    cap 10[e0] = PCI-Express 2 endpoint "
)
NCCL = '<system><cpu numaid="{}"><pci busid="0000:01:00.0" link_speed="{}" link_width="{}"/></cpu></system>'
NINES = "9" * 5000


def sysfs(name: str, text: str) -> bytes:
    """Make an archive of a sysfs with one file of one function."""
    return archive((f"sys/devices/pci0000:00/0000:00:01.0/{name}", text.encode()))


STRANGE_NUMBERS = {
    "speed": (PORT + "LnkSta:\tSpeed 2.5.5GT/s, Width x1\n").encode(),
    "speeds": (PORT + "LnkCap2: Supported Link Speeds: 2.5-5.0.1GT/s\n").encode(),
    "target": (PORT + "LnkCtl2: Target Link Speed: ..GT/s\n").encode(),
    "power": (PORT + "SltCap: Slot #3, PowerLimit 1.1.1W\n").encode(),
    "latency": (PORT + "DevCap: MaxPayload 128 bytes, Latency L0s 1.1.1ns, L1 1us\n").encode(),
    "timeout": (PORT + "DevCtl2: Completion Timeout: .us to 1.2.3ms\n").encode(),
    "pointer": (PORT + f"AERCap: First Error Pointer: {'f' * 4000}\n").encode(),
    "region": "00:01.0 PCI bridge: X\n\tRegion ²: Memory at {}\n".format("f" * 4000).encode(),
    "node": "00:01.0 PCI bridge: X\n\tFlags: fast devsel, NUMA node ²\n".encode(),
    "node in a list": "Slot:\t00:01.0\nClass:\tBridge\nNUMANode:\t²\n".encode(),
    "node in a matrix": "\tGPU0\tGPU1\tCPU\tNUMA\nGPU0\t X \tNV4\t0-3\t²\nGPU1\tNV4\t X \t0-3\t0\n".encode(),
    "pciconf": (PCICONF + "max data 128(256) link x1(x1) speed 2..5(2.5)\n").encode(),
    "kernel log": (PCI_LOG + "x available PCIe bandwidth (5..0 GT/s PCIe x4 link)\n").encode(),
    "NCCL, node": NCCL.format("²", "8 GT/s", "16").encode(),
    "NCCL, speed": NCCL.format("0", ". GT/s", "16").encode(),
    "NCCL, width": NCCL.format("0", "8 GT/s", NINES).encode(),
    "hwloc, encoding": b'<?xml version="1.0" encoding="UTF-."?><topology><object type="Machine"/></topology>',
    "hwloc": '<topology><object type="NUMANode" os_index="²"/></topology>'.encode(),
    "sysfs, speed": sysfs("current_link_speed", ".. GT/s"),
    "sysfs, count": sysfs("aer_dev_correctable", f"RxErr ²\nBadTLP {NINES}"),
    "sysfs, bus": sysfs("secondary_bus_number", "0x" + "f" * 5000),
    "sysfs, resource": sysfs("resource", "0x1 0x{} 0x200".format("f" * 5000)),
    "sysfs, group": archive(
        ("sys/devices/pci0000:00/0000:00:01.0/vendor", b"0x8086"),
        links=(("sys/devices/pci0000:00/0000:00:01.0/iommu_group", f"../{NINES}"),),
    ),
    "sysfs, node": archive(("sys/devices/system/node/node²/cpulist", b"0-1")),
}


class TestDamage:
    """Arbitrary damage never crashes; whatever is left is read."""

    @settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(data=st.data(), name=st.sampled_from(["qemu.vvv", "qemu.vvvxxxx", "qemu.tv", "qemu.sysfs.tar.gz"]))
    def test_cut_and_damaged_bytes(self, data: st.DataObject, name: str) -> None:
        whole = (DUMPS / name).read_bytes()
        start = data.draw(st.integers(0, len(whole) - 1))
        piece = bytearray(whole[start : start + 20000])
        for position, value in data.draw(
            st.lists(st.tuples(st.integers(0, len(piece) - 1), st.integers(0, 255)), max_size=30)
        ):
            piece[position] = value
        look_at(bytes(piece))

    @settings(max_examples=100, deadline=None)
    @given(space=st.binary(min_size=0, max_size=512), head=st.booleans())
    def test_any_configuration_space(self, space: bytes, head: bool) -> None:
        draft = Draft(Address(0, 0, 1, 0))
        decode((b"\x86\x80\x01\x00\x07\x00\x10\x00" if head else b"") + space, draft)
        draft.freeze()

    @settings(max_examples=100, deadline=None)
    @given(
        text=st.text(
            alphabet="0123456789abcdef:./ []()-+\t\nLnkStaSpeedGT/sWidthxCapabilitiesBus=", max_size=400
        )
    )
    def test_any_text(self, text: str) -> None:
        look_at(("00:01.0 PCI bridge: Intel Corporation\n\t" + text).encode())

    @settings(max_examples=50, deadline=None)
    @given(
        address=st.builds(
            Address, st.integers(0, 0xFFFFFFFF), st.integers(0, 255), st.integers(0, 31), st.integers(0, 7)
        )
    )
    def test_addresses_read_what_they_write(self, address: Address) -> None:
        assert Address.parse(str(address)) == address
        assert Address.parse(address.short) == address

    @pytest.mark.parametrize("name", STRANGE_NUMBERS)
    def test_what_is_no_number_is_not_known(self, name: str) -> None:
        look_at(STRANGE_NUMBERS[name])

    def test_a_function_that_says_everything_too_often(self) -> None:
        often = "\tCapabilities: [100 v1] Physical Layer 16.0 GT/s\n\t\tPhy16Sta: EquComplete+\n"
        (function,) = read_bytes(("00:01.0 Ethernet controller: X\n" + often * 3000).encode())
        assert len(function.registers.capabilities) == 1024
        assert [outcome.gt_s for outcome in function.link.equalization] == [16.0]
        net = "".join(f'<net name="eth{number}"/>' for number in range(5000))
        nccl = f'<system><cpu numaid="0"><pci busid="0000:01:00.0"><nic>{net}</nic></pci></cpu></system>'
        assert len(read_bytes(nccl.encode())["01:00.0"].interfaces) == 1024

    def test_a_way_longer_than_any_ends(self) -> None:
        lines = (
            "/".join(f"{step >> 8:02x}:{step >> 3 & 31:02x}.{step & 7}" for step in (n, n + 1))
            + " PCI bridge: X"
            for n in reversed(range(3000))
        )
        machine = read_bytes("\n".join(lines).encode())
        assert max(len(machine.path(function)) for function in machine) <= 256

    def test_bridges_that_claim_each_other_end(self) -> None:
        bridge = "{0}:00.0 PCI bridge: X\n\tBus: primary={0}, secondary={1}, subordinate=ff, sec-latency=0\n"
        machine = read_bytes((bridge.format("01", "02") + bridge.format("02", "01")).encode())
        assert len(machine) == 2
        assert sum(f.parent is None for f in machine) == 1

    def test_a_capability_that_points_at_itself_ends(self) -> None:
        space = bytearray(4096)
        space[0:4], space[6], space[0x34] = b"\x86\x80\x01\x00", 0x10, 0x40
        space[0x40:0x42] = b"\x01\x40"
        space[0x100:0x104] = (0x100 << 20 | 1 << 16 | 0x0D).to_bytes(4, "little")
        draft = Draft(Address(0, 0, 1, 0))
        decode(bytes(space), draft)
        assert draft.registers["capabilities"] == ("Power Management", "Access Control Services")


def look_at(data: bytes) -> None:
    """Read and ask everything that tables and rules ask; refusing is fine, crashing is not."""
    from lanewise.machine.json_form import to_json
    from lanewise.machine.scenario import scan_to_scenario

    try:
        machine = reading.read_bytes(data)
    except InputError:
        return
    json.dumps(to_json(machine))
    for function in machine:
        assert machine.path(function) is not None
        assert function.name
    try:
        scan_to_scenario(machine)
    except InputError:
        return


@pytest.mark.parametrize("size", [0, 64, 8192, 16384])
def test_sizes_that_no_packet_has_say_nothing(size: int) -> None:
    """A register that reads as ones has the reserved encoding 7; a garbled text any number."""
    text = (DUMPS / "qemu.vvv").read_text()
    odd = re.sub(r"(MaxPayload|MaxReadReq) \d+ bytes", rf"\1 {size} bytes", text)
    machine = read_bytes(odd.replace("RCB 64 bytes", "RCB 32 bytes").encode())
    assert odd != text
    for function in machine:
        transfers = function.transfers
        assert (transfers.mps, transfers.mps_supported, transfers.mrrs) == (None, None, None)
        assert function.link.rcb_bytes is None
    assert any(function.transfers.extended_tags is False for function in machine)
