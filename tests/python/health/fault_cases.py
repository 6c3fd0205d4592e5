"""Machines with a fault each, and their likes without it: cases of `test_rules`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from machines import GPU, function, machine, pair

from lanewise.health.doctor import Severity
from lanewise.machine.gpu_health import GpuHealth
from lanewise.machine.model import (
    Address,
    Bar,
    Buses,
    Disagreement,
    Errors,
    EventKind,
    Identity,
    KernelEvent,
    Kind,
    LinkMode,
    LinkRegisters,
    Machine,
    PhysicalSlot,
    Registers,
    Relation,
    Slot,
    Window,
)

ROOM = (Window(0xE1000000, 0xE1FFFFFF), Window(0x2000000000, 0x2FFFFFFFFF, prefetchable=True))
SHUT = (Window(), Window(prefetchable=True))
BARS = (Bar(0, address=0xE1000000, size=1 << 24), Bar(1, address=0x2000000000, size=1 << 36, bits64=True))
NO_BARS = (Bar(0, size=1 << 24, unassigned=True), Bar(1, size=1 << 36, bits64=True, ignored=True))


def port(*, slot: Slot | None, windows: tuple[Window, ...] = SHUT, **link: Any) -> Machine:
    """A root port with nothing listed below it."""
    state = {
        "capability": LinkMode(32.0, 16),
        "status": LinkMode(2.5, 0),
        "data_link_active": False,
        "data_link_active_reporting": True,
        **link,
    }
    empty = function("00:01.0", Kind.ROOT_PORT, can="32 x16")
    registers = empty.registers._replace(link=LinkRegisters(**state), slot=slot, windows=windows)
    return machine(replace(empty, registers=registers))


def gpus(count: int, *odd: dict[str, Any], can: str = "32 x16", **all_of_them: Any) -> Machine:
    """GPUs of one kind, each below its own root port; the first ones differ."""
    functions = []
    for number in range(count):
        common: dict[str, Any] = {"can": can, "class_code": GPU, "vendor": 0x10DE, "driver_known": True}
        common |= {"driver": "nvidia", **all_of_them}
        this = common | (odd[number] if number < len(odd) else {})
        bus = 0x10 + number
        functions += [
            function(f"00:{number + 1:02x}.0", Kind.ROOT_PORT, can=can),
            function(f"{bus:02x}:00.0", Kind.ENDPOINT, parent=f"00:{number + 1:02x}.0", **this),
        ]
    return machine(*functions)


def logged(on: Machine, *events: tuple[EventKind, str, str], **more: Any) -> Machine:
    """Put lines of a log on a machine."""
    lines = (KernelEvent(kind, line, address=Address.parse(bdf), **more) for kind, bdf, line in events)
    return replace(on, events=tuple(lines))


def downgraded(port_says: str) -> Machine:
    """What `lspci -vv | grep -P "^[0-9a-f]|LnkSta:"` leaves: no capabilities, no buses."""
    said = {"said_of_speed": "ok", "said_of_width": "downgraded", "status": LinkMode(16.0, 2)}
    device = LinkRegisters(**said)  # type: ignore[arg-type]
    above = device._replace(said_of_width=port_says)
    bridge = Identity(class_code=0x060400, vendor_id=0x8086, device_id=0x2032)
    drive = Identity(class_code=0x010802, vendor_id=0x144D, device_id=0xA80A)
    return machine(
        replace(function("00:01.0", Kind.ROOT_PORT), kind=None, buses=None, identity=bridge,
                registers=Registers(express=True, link=above)),
        replace(function("01:00.0", Kind.ENDPOINT), kind=None, identity=drive,
                registers=Registers(express=True, link=device)),
    )  # fmt: skip


def uplink(speed: float) -> Machine:
    """A switch of which only speeds of now are known, with two GPUs below."""
    fast = {"class_code": GPU, "vendor": 0x10DE}
    functions = [
        function("00:01.0", Kind.ROOT_PORT),
        function("01:00.0", Kind.UPSTREAM_PORT, parent="00:01.0"),
        function("02:00.0", Kind.DOWNSTREAM_PORT, parent="01:00.0"),
        function("02:01.0", Kind.DOWNSTREAM_PORT, parent="01:00.0"),
        function("03:00.0", Kind.ENDPOINT, parent="02:00.0", **fast),
        function("04:00.0", Kind.ENDPOINT, parent="02:01.0", **fast),
    ]
    now = {"00:01.0": speed, "01:00.0": speed}
    return machine(
        *(
            replace(f, registers=f.registers._replace(link=LinkRegisters(status=LinkMode(gt_s, 16))))
            for f in functions
            for gt_s in [now.get(f.address.short, 32.0)]
        )
    )


def slots(*without_device: int, count: int = 5) -> Machine:
    """Occupied slots whose links are up; behind some of them nothing is listed."""
    functions = []
    for number in range(1, count + 1):
        above = function(f"00:{number:02x}.0", Kind.ROOT_PORT)
        up = above.link._replace(data_link_active=True, data_link_active_reporting=True)
        slot = Slot(number=number, presence=True)
        functions.append(replace(above, registers=above.registers._replace(link=up, slot=slot)))
        if number not in without_device:
            functions.append(function(f"{0x10 + number:02x}:00.0", Kind.ENDPOINT, parent=above.address.short))
    return machine(*functions)


def pinned_down(**port_says: Any) -> Machine:
    """A drive at work behind a port that says something against it."""
    link = {"data_link_active": True, "data_link_active_reporting": True, **port_says}
    return pair(port={"link": link}, driver="nvme", class_code=0x010802)


def numbered_alike(*, second: int) -> Machine:
    """Two root ports with windows, and the bus that the second one leads to; the first leads to bus 1."""
    ports = []
    for number, bus in ((1, 1), (2, second)):
        one = function(f"00:0{number}.0", Kind.ROOT_PORT, can="16 x4")
        registers = one.registers._replace(windows=ROOM)
        ports.append(replace(one, registers=registers, buses=Buses(0, bus, bus)))
    return machine(*ports)


def contradicted(first: str, second: str, *, less: bool) -> Machine:
    """A drive of which a second source says something else."""
    one = Disagreement(Address.parse("01:00.0"), "lanes", f"lspci: {first}", f"other: {second}", less)
    return replace(pair(), disagreements=(one,))


def meshed(count: int, *, first: int) -> Machine:
    """GPUs with 18 NVLinks to each other; between the first two there are others."""
    pairs = [(a, b) for a in range(count) for b in range(a + 1, count)]
    relations = (Relation(f"GPU{a}", f"GPU{b}", "NV", first if (a, b) == (0, 1) else 18) for a, b in pairs)
    return replace(gpus(count), relations=tuple(relations))


def in_slots(*used: str) -> Machine:
    """A drive in its slot beside an empty port, and slots that the firmware found a card in."""
    drive = pair()
    empty = replace(function("00:02.0", Kind.ROOT_PORT, can="16 x4"), buses=Buses(0, 2, 2))
    slots = [
        PhysicalSlot(f"Slot {number}", used=True, address=address, device=address if number == 1 else None)
        for number, address in enumerate(map(Address.parse, used), start=1)
    ]
    return replace(machine(*drive.functions.values(), empty), slots=tuple(slots))


SILENT = {"no_answer": ("configuration space: all ones",)}
DOWN, UP = EventKind.LINK_DOWN, EventKind.LINK_UP
XID = "NVRM: Xid (PCI:0000:10:00): 79, pid=1, GPU has fallen off the bus."
LESS = {
    "now": LinkMode(8.0, 4),
    "able": LinkMode(8.0, 16),
    "port": Address.parse("00:09.0"),
}

HEARD = Errors(root_status=frozenset({"UERcvd", "NonFatalMsg"}), error_sources=(0, 0x0100))
LATE = "nvme nvme0: I/O tag 24 (8018) QID 1 timeout, aborting"
PARITY = "bnx2x 0000:01:00.0: Parity errors detected in blocks: BRB"
MEDIUM = "critical medium error, dev nvme0n1, sector 2048 op 0x0:(READ) flags 0x80700"
SAFE = "ice 0000:01:00.0: The DDP package could not be loaded. Entering Safe Mode."

FAULT_CASES: dict[str, tuple[Machine, Machine, Severity]] = {
    "gpu-unreachable": (
        replace(gpus(2), events=(KernelEvent(EventKind.NO_GPUS, "No devices were found"),)),
        gpus(2),
        Severity.ERROR,
    ),
    "slot-device-missing": (in_slots("01:00.0", "02:00.0"), in_slots("01:00.0"), Severity.WARNING),
    "gpu-links-fewer": (meshed(8, first=12), meshed(8, first=18), Severity.WARNING),
    "drive-errors": (
        logged(pair(), (EventKind.ACCESS_FAILED, "01:00.0", MEDIUM)),
        logged(pair(), (EventKind.RECOVERED, "01:00.0", MEDIUM)),
        Severity.WARNING,
    ),
    "driver-error": (
        logged(pair(), (EventKind.COMPLAINED, "01:00.0", PARITY)),
        logged(pair(), (EventKind.RECOVERED, "01:00.0", PARITY)),
        Severity.WARNING,
    ),
    "link-test-mode": (
        pair(link={"test_modes": ("EnterCompliance",)}),
        pair(link={"test_modes": ()}),
        Severity.WARNING,
    ),
    "slot-latch-open": (
        pair(port={"registers": {"slot": Slot(number=7, latch_open=True, latch_sensor=True)}}),
        pair(port={"registers": {"slot": Slot(number=7, latch_open=True, latch_sensor=False)}}),
        Severity.WARNING,
    ),
    "self-test-failed": (
        pair(registers={"self_test": 3}),
        pair(registers={"self_test": 0}),
        Severity.WARNING,
    ),
    "channel-pending": (
        pair(registers={"channel_pending": True}),
        pair(registers={"channel_pending": False}),
        Severity.WARNING,
    ),
    "error-message": (
        pair(port={"registers": {"errors": HEARD}}),
        pair(port={"registers": {"errors": HEARD._replace(root_status=frozenset())}}),
        Severity.WARNING,
    ),
    "errors-below": (
        pair(port={"registers": {"secondary_status": frozenset({"ParErr", "<MAbort"})}}),
        pair(port={"registers": {"secondary_status": frozenset({"<MAbort"})}}),
        Severity.WARNING,
    ),
    "device-timeout": (
        logged(pair(), (EventKind.TIMED_OUT, "01:00.0", LATE)),
        logged(pair(), (EventKind.RECOVERED, "01:00.0", LATE)),
        Severity.WARNING,
    ),
    "device-reduced": (
        logged(pair(), (EventKind.RUNS_WITH_LESS, "01:00.0", SAFE)),
        pair(),
        Severity.WARNING,
    ),
    "sources-disagree": (contradicted("x16", "x8", less=True), pair(), Severity.WARNING),
    "link-inactive": (pinned_down(data_link_active=False), pinned_down(), Severity.WARNING),
    "device-asleep": (
        pair(registers={"power_state": "D3hot"}, driver="nvme", class_code=0x010802),
        pair(registers={"power_state": "D3hot"}, driver="vfio-pci", class_code=0x010802),
        Severity.WARNING,
    ),
    "interrupts-off": (
        pair(registers={"interrupts": True, "interrupts_masked": True}, driver="nvme", class_code=0x010802),
        pair(registers={"interrupts": True, "interrupts_masked": False}, driver="nvme", class_code=0x010802),
        Severity.WARNING,
    ),
    "dma-blocked": (
        pair(port={"registers": {"bus_master": False}}, registers={"bus_master": True}),
        pair(port={"registers": {"bus_master": False}}, registers={"bus_master": False}),
        Severity.ERROR,
    ),
    "bus-numbers-wrong": (numbered_alike(second=1), numbered_alike(second=2), Severity.ERROR),
    "address-conflict": (
        pair(port={"registers": {"windows": ROOM[:1] + SHUT[1:]}}, registers={"bars": BARS}),
        pair(port={"registers": {"windows": ROOM}}, registers={"bars": BARS}),
        Severity.ERROR,
    ),
    "device-dead": (
        pair(registers=SILENT, driver="nvme"),
        pair(registers={**SILENT, "power_state": "D3cold"}, driver="nvme"),
        Severity.ERROR,
    ),
    "slot-no-link": (
        port(slot=Slot(number=7, presence=True), windows=ROOM),
        port(slot=Slot(number=7, presence=False), windows=ROOM),
        Severity.WARNING,
    ),
    "device-not-listed": (slots(3, 4, count=6), slots(3, 4, 5, count=6), Severity.WARNING),
    "link-training": (
        port(slot=Slot(presence=True), training=True),
        port(slot=None, training=True),
        Severity.WARNING,
    ),
    "slot-power-fault": (
        port(slot=Slot(number=7, power_fault=True)),
        port(slot=Slot(number=7, power_fault=False)),
        Severity.ERROR,
    ),
    "bar-unassigned": (
        pair(registers={"bars": NO_BARS}, driver="nvme"),
        pair(registers={"bars": (*BARS, Bar(2, io=True, unassigned=True), Bar(6, unassigned=True))}),
        Severity.ERROR,
    ),
    "bridge-window-closed": (
        pair(port={"registers": {"windows": SHUT}}, registers={"bars": BARS}),
        pair(port={"registers": {"windows": ROOM}}, registers={"bars": BARS}),
        Severity.ERROR,
    ),
    "driver-missing": (gpus(4, {"driver": None}), gpus(4), Severity.WARNING),
    "device-health": (
        gpus(4, {"stated_health": "Critical"}, stated_health="OK"),
        gpus(4, stated_health="OK"),
        Severity.ERROR,
    ),
    "odd-one-out": (gpus(8, {"now": "2.5 x16"}), gpus(8, now="2.5 x16"), Severity.WARNING),
    "uplink-slow": (uplink(5.0), uplink(32.0), Severity.WARNING),
    "iommu-translated": (
        gpus(8, iommu_group=3, iommu_type="DMA-FQ"),
        gpus(8, iommu_group=3, iommu_type="identity"),
        Severity.WARNING,
    ),
    "link-downgraded": (downgraded("downgraded"), pair(now="16 x2"), Severity.WARNING),
    "bandwidth-limited": (
        logged(gpus(4), (EventKind.LIMITED, "10:00.0", "31.5 Gb/s available PCIe bandwidth"), **LESS),
        gpus(4),
        Severity.WARNING,
    ),
    "device-lost": (
        logged(gpus(4), (EventKind.GPU_LOST, "10:00.0", XID), number=79),
        gpus(4),
        Severity.ERROR,
    ),
    "gpu-error": (
        logged(gpus(4), (EventKind.GPU_ERROR, "10:00.0", "NVRM: Xid (PCI:0000:10:00): 48, DBE"), number=48),
        logged(
            gpus(4), (EventKind.GPU_ERROR, "10:00.0", "Xid (PCI:0000:10:00): 154, to 0x0 (None)"), number=154
        ),
        Severity.ERROR,
    ),
    "gpu-health": (
        gpus(4, {"health": GpuHealth(remap_failed=True, uncorrectable=2)}),
        gpus(4, {"health": GpuHealth(remap_failed=False, uncorrectable=0, recovery_action="None")}),
        Severity.ERROR,
    ),
    "gpu-slowdown": (
        gpus(4, {"health": GpuHealth(slowdowns=("thermal",))}),
        gpus(4, {"health": GpuHealth(slowdowns=())}),
        Severity.WARNING,
    ),
    "dma-fault": (
        logged(gpus(4), (EventKind.DMA_BLOCKED, "10:00.0", "DMAR: [DMA Read] Request device [10:00.0]")),
        gpus(4),
        Severity.WARNING,
    ),
    "link-lost": (
        logged(port(slot=Slot(presence=True)), (DOWN, "00:01.0", "pciehp: Slot(4): Link Down")),
        logged(pair(), (EventKind.CARD_PRESENT, "00:01.0", "pciehp: Slot(4): Card present")),
        Severity.ERROR,
    ),
    "link-retrained": (
        logged(
            port(slot=Slot(presence=True)), (EventKind.RETRAIN_FAILED, "00:01.0", "pci: retraining failed")
        ),
        port(slot=Slot(presence=True)),
        Severity.ERROR,
    ),
}
