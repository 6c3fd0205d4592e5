"""Makes the machines that the documentation reads: `lspci -vvv` of computers that nobody owns.

    python examples/machines.py        writes laptop.txt and gpu-server.txt beside itself

Their configuration space is written here, byte by byte, and printed by `lspci -F` (package pciutils), so that
the text has the form that the tool gives it. What `lspci` reads from a running system only (driver, NUMA
node, sizes of regions) is added behind. `laptop-fio.json` is what fio 3.33 wrote on another machine, with
figures that this drive could have.
"""

from __future__ import annotations

import re
import struct
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

HERE = Path(__file__).resolve().parent
ENDPOINT, ROOT_PORT, UPSTREAM, DOWNSTREAM = 0, 4, 5, 6
PM, EXPRESS, MSIX = 0x40, 0x70, 0xB0
AER, ACS, SECONDARY = 0x100, 0x180, 0x1C0
MIB, GIB = 1 << 20, 1 << 30
LARGE = 16 * MIB
"""Regions from here on are prefetchable."""


class Put(Protocol):
    """Write values at an offset, in the layout of `struct`."""

    def __call__(self, offset: int, layout: str, *values: int) -> None:
        """Write them."""


@dataclass
class Link:
    """Speed as a generation, 1 to 7, and lanes."""

    generation: int
    lanes: int


@dataclass
class Function:
    """One function, as its registers tell it."""

    address: str
    device: tuple[int, int]
    class_code: int
    kind: int | None = ENDPOINT
    """Of PCI Express; None for a function that has no such capability."""
    most: Link = field(default_factory=lambda: Link(3, 4))
    now: Link | None = None
    """None where nothing is connected."""
    subsystem: tuple[int, int] = (0, 0)
    revision: int = 0
    buses: tuple[int, int] = (0, 0)
    """Secondary and subordinate, of a port."""
    regions: tuple[int, ...] = ()
    """Sizes of 64-bit memory regions."""
    mps: int = 256
    mps_most: int = 512
    mrrs: int = 512
    latency_tolerance: bool = False
    aspm: bool = False
    ten_bit_tags: bool = False
    driver: str = ""
    node: int | None = None
    slot: int | None = None
    correctable: int = 0
    """Bits of Correctable Error Status."""

    @property
    def is_port(self) -> bool:
        """Whether it is one end of a link and not a device."""
        return self.kind in (ROOT_PORT, UPSTREAM, DOWNSTREAM)


def places(functions: list[Function]) -> dict[str, list[tuple[int, int]]]:
    """Lay regions out in memory, by address: base and size. Small ones lie below 4 GiB, large ones above."""
    low, high = 0x9000_0000, 0x2000_0000_0000
    laid: dict[str, list[tuple[int, int]]] = {}
    for function in functions:
        laid[function.address] = []
        for size in function.regions:
            step = max(size, MIB)
            if size < LARGE:
                base = low = -(-low // step) * step
                low += step
            else:
                base = high = -(-high // step) * step
                high += step
            laid[function.address].append((base, size))
    return laid


def behind(
    function: Function, laid: dict[str, list[tuple[int, int]]], *, large: bool
) -> tuple[int, int] | None:
    """Return where the regions behind a port begin and end; None when there are none."""
    first, last = function.buses
    found = [
        (base, base + max(size, MIB))
        for address, regions in laid.items()
        if first <= int(address[:2], 16) <= last
        for base, size in regions
        if (size >= LARGE) == large
    ]
    return (min(found)[0], max(found)[1] - 1) if found else None


def configuration(function: Function, laid: dict[str, list[tuple[int, int]]]) -> bytes:
    """Return 4096 bytes of configuration space."""
    space = bytearray(4096)

    def put(offset: int, layout: str, *values: int) -> None:
        struct.pack_into("<" + layout, space, offset, *values)

    put(0, "HHHH", *function.device, 0x0406 if function.driver else 0x0002, 0x0010)
    put(0x08, "I", function.class_code << 8 | function.revision)
    put(0x0C, "BBBB", 16, 0, 0x01 if function.is_port else 0x00, 0)
    for index, (base, size) in enumerate(laid[function.address]):
        put(0x10 + 8 * index, "Q", base | (0xC if size >= LARGE else 0x4))
    if function.is_port:
        put(0x18, "BBB", int(function.address[:2], 16), *function.buses)
        # A window whose base is above its limit is closed.
        put(0x1C, "BB", 0xF1, 0x01)
        base, limit = behind(function, laid, large=False) or (0xFFF0_0000, 0x000F_FFFF)
        put(0x20, "HH", base >> 16 & 0xFFF0, limit >> 16 & 0xFFF0)
        base, limit = behind(function, laid, large=True) or (0xFFF0_0000, 0x000F_FFFF)
        put(0x24, "HHII", base >> 16 & 0xFFF0 | 1, limit >> 16 & 0xFFF0 | 1, base >> 32, limit >> 32)
    else:
        put(0x2C, "HH", *function.subsystem)
    put(0x34, "B", PM)
    put(PM, "BBHI", 0x01, EXPRESS if function.kind is not None else 0, 0x0003, 0x00000008)
    if function.kind is not None:
        _express(function, put)
        put(AER, "I", _extended(0x0001, 2, ACS if function.kind in (ROOT_PORT, DOWNSTREAM) else SECONDARY))
        put(AER + 0x0C, "I", 0x00462030)
        put(AER + 0x10, "II", function.correctable, 0x2000)
        put(AER + 0x18, "I", 0x00A0)
        if function.kind in (ROOT_PORT, DOWNSTREAM):
            put(
                ACS,
                "IHH",
                _extended(0x000D, 1, SECONDARY),
                0x001F,
                0x0001 if function.kind == DOWNSTREAM else 0,
            )
        put(SECONDARY, "I", _extended(0x0019, 1, 0))
    return bytes(space)


def _extended(capability: int, version: int, following: int) -> int:
    return capability | version << 16 | following << 20


def _express(function: Function, put: Put) -> None:
    """Write the PCI Express capability (PCI Express Base 6.0, section 7.5.3) and MSI-X."""
    slot = 0x0100 if function.slot is not None else 0
    is_port, is_below = function.is_port, function.kind in (ROOT_PORT, DOWNSTREAM)
    put(EXPRESS, "BBH", 0x10, 0 if is_port else MSIX, 0x0002 | function.kind << 4 | slot)
    put(EXPRESS + 4, "I", (function.mps_most.bit_length() - 8) | 0x8020 | (0 if is_port else 0x10000FC0))
    control = 0x0110 | (function.mps.bit_length() - 8) << 5 | (function.mrrs.bit_length() - 8) << 12 | 0x000F
    put(EXPRESS + 8, "HH", control | (0 if is_port else 0x0800), 0x0001 if function.correctable else 0)
    port_number = (function.slot or 0) << 24
    reports = 0x180000 if is_below else 0
    put(
        EXPRESS + 12,
        "I",
        function.most.generation
        | function.most.lanes << 4
        | (0x800 if function.aspm else 0)
        | 4 << 15
        | reports
        | 0x400000
        | port_number,
    )
    now = function.now
    control = 0x0040 | (0x0002 if function.aspm and now else 0)
    put(EXPRESS + 16, "H", control)
    status = 0x1000 | (now.generation | now.lanes << 4 if now else 1)
    put(EXPRESS + 18, "H", status | (0x2000 if is_below and now else 0))
    if function.slot is not None:
        put(EXPRESS + 20, "I", function.slot << 19 | 75 << 7)
        put(EXPRESS + 26, "H", 0x0040 if now else 0)
    tags = 0x30000 if function.ten_bit_tags else 0
    put(EXPRESS + 36, "I", 0x001F | tags | (0x800 if function.latency_tolerance else 0))
    put(
        EXPRESS + 40,
        "H",
        (0x1000 if function.ten_bit_tags and not is_port else 0)
        | (0x400 if function.latency_tolerance else 0),
    )
    put(EXPRESS + 44, "I", ((1 << function.most.generation) - 1) << 1)
    put(EXPRESS + 48, "HH", function.most.generation, 0x001E if now and now.generation >= 3 else 0)
    if not is_port:
        put(MSIX, "BBHII", 0x11, 0, 0x8000 | 31, 0x2000, 0x3000)


def listing(functions: list[Function]) -> str:
    """Return what `lspci -vvv` prints of them, with what only a running system tells."""
    dump = ""
    laid = places(functions)
    for function in functions:
        space = configuration(function, laid)
        rows = [f"{at:02x}: {space[at : at + 16].hex(' ')}" for at in range(0, 4096, 16)]
        dump += "\n".join([f"{function.address} made by examples/machines.py", *rows]) + "\n\n"
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write(dump)
        file.flush()
        text = subprocess.run(
            ["lspci", "-F", file.name, "-vvv"], capture_output=True, text=True, check=True
        ).stdout
    by_address = {function.address: function for function in functions}
    return "\n".join(_as_running(block, by_address[block[:7]]) for block in text.strip().split("\n\n"))


def _as_running(block: str, function: Function) -> str:
    # A dump has no sizes, so that the upper half of a region looks like another one.
    block = re.sub(r"(?m)^\tRegion .*<unassigned>.*\n", "", block)
    sizes = iter(function.regions)
    block = re.sub(r"(?m)^(\tRegion .*)$", lambda match: f"{match[1]} [size={_size(next(sizes))}]", block)
    if function.node is not None:
        block = re.sub(r"(?m)^(\tLatency: .*)$", rf"\1\n\tNUMA node: {function.node}", block)
    if function.driver:
        block += f"\n\tKernel driver in use: {function.driver}"
    return block + "\n"


def _size(size: int) -> str:
    return f"{size // GIB}G" if size >= GIB else f"{size // MIB}M" if size >= MIB else f"{size // 1024}K"


def laptop() -> list[Function]:
    """Return a laptop whose drive has four lanes, and its port two."""
    port = {"class_code": 0x060400, "kind": ROOT_PORT, "revision": 0x30, "mps": 128, "mps_most": 256}
    port |= {"mrrs": 128, "driver": "pcieport", "latency_tolerance": True, "aspm": True}
    card = {"mps": 128, "aspm": True, "latency_tolerance": True}
    intel = 0x8086
    return [
        Function("00:00.0", (intel, 0x3E34), 0x060000, kind=None, revision=0x0C, driver="skl_uncore"),
        Function(
            "00:02.0",
            (intel, 0x3EA0),
            0x030000,
            kind=None,
            revision=2,
            regions=(16 * MIB, 256 * MIB),
            driver="i915",
        ),
        Function("00:1c.0", (intel, 0x9DB8), most=Link(3, 1), now=Link(1, 1), buses=(1, 1), slot=0, **port),
        Function("00:1d.0", (intel, 0x9DB0), most=Link(3, 2), now=Link(3, 2), buses=(4, 4), slot=8, **port),
        Function(
            "01:00.0",
            (0x10EC, 0x8168),
            0x020000,
            most=Link(1, 1),
            now=Link(1, 1),
            regions=(4096, 16384),
            revision=0x15,
            subsystem=(0x10EC, 0x0123),
            mps_most=128,
            driver="r8169",
            **card,
        ),
        Function(
            "04:00.0",
            (intel, 0xF1A6),
            0x010802,
            most=Link(3, 4),
            now=Link(3, 2),
            regions=(16384,),
            revision=3,
            subsystem=(intel, 0x390B),
            mps_most=128,
            driver="nvme",
            **card,
        ),
    ]


def gpu_server() -> list[Function]:
    """Return two sockets and four switches with eight GPUs, one of which runs on half its lanes."""
    functions = []
    wide, narrow = Link(5, 16), Link(4, 4)
    for socket, first in ((0, 0x15), (0, 0x37), (1, 0x97), (1, 0xB7)):
        shared = {"node": socket, "ten_bit_tags": True}
        bridge = {"class_code": 0x060400, "driver": "pcieport", "mrrs": 128, **shared}
        last = first + 7
        functions.append(
            Function(
                f"{first:02x}:01.0",
                (0x8086, 0x352A),
                most=wide,
                now=wide,
                kind=ROOT_PORT,
                revision=0x04,
                slot=first,
                buses=(first + 1, last),
                **bridge,
            )
        )
        switch = {"device": (0x1000, 0xC030), "revision": 0xB0, **bridge}
        functions.append(
            Function(
                f"{first + 1:02x}:00.0", most=wide, now=wide, kind=UPSTREAM, buses=(first + 2, last), **switch
            )
        )
        for port in range(5):
            bus = first + 3 + port
            link = narrow if port == 4 else Link(5, 8) if (first, port) == (0x97, 1) else wide
            most = Link(5, 4) if port == 4 else wide
            functions.append(
                Function(
                    f"{first + 2:02x}:{port:02x}.0",
                    most=most,
                    now=link,
                    kind=DOWNSTREAM,
                    slot=first + 3 + port,
                    buses=(bus, bus),
                    **switch,
                )
            )
            device = {"address": f"{bus:02x}:00.0", "now": link, **shared}
            if port < 2:
                functions.append(
                    Function(
                        device=(0x10DE, 0x2330),
                        class_code=0x030200,
                        most=wide,
                        revision=0xA1,
                        mrrs=4096,
                        mps_most=256,
                        regions=(16 * MIB, 128 * GIB, 32 * MIB),
                        subsystem=(0x10DE, 0x16C1),
                        driver="nvidia",
                        **device,
                    )
                )
            elif port < 4:
                functions.append(
                    Function(
                        device=(0x15B3, 0x1021),
                        class_code=0x020000,
                        most=wide,
                        mrrs=4096,
                        regions=(32 * MIB,),
                        subsystem=(0x15B3, 0x0041),
                        driver="mlx5_core",
                        **device,
                    )
                )
            else:
                functions.append(
                    Function(
                        device=(0x144D, 0xA80A),
                        class_code=0x010802,
                        most=Link(4, 4),
                        regions=(16384,),
                        subsystem=(0x144D, 0xA801),
                        driver="nvme",
                        **device,
                    )
                )
    return functions


if __name__ == "__main__":
    for name, machine in (("laptop", laptop()), ("gpu-server", gpu_server())):
        (HERE / f"{name}.txt").write_text(listing(machine), encoding="utf-8")
