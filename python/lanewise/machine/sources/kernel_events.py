"""Lines of a Linux kernel log that tell of the bus: devices lost, links down, slots without power or space.

A line counts wherever it stands: in a log alone, beside `lspci`, or put on top (`lanewise scan --with`).
Where a log holds several boots, those before the last are left out, because what they tell of is past; only
GPUs that fell off the bus are kept, for they do it again. The first line of a boot counts only in the form of
the lines around it: bug reports hold ``/proc/version``, which has the same words. Drives
and SAS controllers are called by name (``nvme0``, ``mpt3sas_cm0``), and by their address only once. Xids
about the bus are 79 and 167; the others of NVIDIA's catalog are errors of a GPU. SXids of NVSwitches are in
the log of Fabric Manager, too (``detected NVSwitch fatal error 20034 on fid 0 on NVSwitch pci bus id``). A
log that stands alone names some devices: those are the machine.

What drivers say of their devices is a table of its own (`driver_lines`).
Source: Linux, drivers/pci/hotplug (pciehp_ctrl.c, pciehp_hpc.c), drivers/pci (pcie/dpc.c, pci.c, setup-res.c,
quirks.c: `pcie_failed_link_retrain`), drivers/iommu/iommu.c, drivers/iommu (intel/dmar.c, amd/iommu.c,
arm/arm-smmu-v3), arch/powerpc/kernel/eeh_driver.c, drivers/gpu/drm/amd/amdgpu/amdgpu_ras.c,
drivers/pci/probe.c, 3.10 to 6.17; NVIDIA, "XID Errors", catalog of R575; all read for the wording only.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from lanewise.machine.address import Address
from lanewise.machine.function import Function, Identity
from lanewise.machine.kernel_event import LONGEST_LINE, MOST_SEARCHED, EventKind, KernelEvent, KernelLog
from lanewise.machine.registers import LinkMode
from lanewise.machine.sources import driver_lines, host_controllers, start_up
from lanewise.machine.sources.log_stamps import BOOT_SIGN, has_stamp, is_boot, message_of
from lanewise.machine.sources.numbers import line_rate, natural

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lanewise.machine.model import Machine

_ADDRESS = re.compile(r"(?<![0-9a-f])([0-9a-f]{4,8}:[0-9a-f]{2}:[01][0-9a-f])(?:\.([0-7]))?(?![0-9a-f])")
"""Of a function, or of a device: Xids have no function number."""
_NAME = re.compile(
    r"\b(nvme\d{1,4}(?=(?:c\d{1,4})?n\d)|nvme\d{1,4}|mpt[23]sas(?:_cm)?\d{1,3}|hl\d{1,2})(?:\b|(?:c\d{1,4})?n\d)"
)
_SAS = re.compile(r"\bmpt[23]sas ([0-9a-f]{4,8}:[0-9a-f]{2}:[01][0-9a-f]\.[0-7]): ")
"""What stands before the first line by which a SAS controller is called by its name."""
_INTRODUCED = re.compile(r"\b(nvme\d{1,4}): pci function ([0-9a-f]{4,8}:[0-9a-f]{2}:[01][0-9a-f]\.[0-7])")
_INTERFACE = re.compile(
    r"\b[a-z][\w-]{1,24} ([0-9a-f]{4,8}:[0-9a-f]{2}:[01][0-9a-f]\.[0-7]) (?:net )?((?:eth|en|ib)\w{1,14}): "
    r"(?:renamed from (\w{1,16}))?"
)
"""A line by which a driver tells the name of a network adapter's port, and the one that it had."""
_PORT = re.compile(
    r"\b((?:eth|en[opsPx]|ib)[\w]{0,12}\d\w{0,6}|(?:ixl?|igb|igc|em|re|rge|nfe|msk|bce)\d{1,2}(?=: ))\b"
)
"""The name of a port in a line without an address, as Linux and BSD give them."""
_WATCHED = re.compile(
    r"NETDEV WATCHDOG: (?:CPU: \d+: )?(\w{1,16}) \(|\b(\w{1,16}): (?:NETDEV WATCHDOG|[Ww]atchdog timeout)"
)
_BLOCKED = re.compile(
    r"Request device \[\[?((?:[0-9a-f]{4}:)?(?:0x)?[0-9a-f]{2}:(?:0x)?[01][0-9a-f][.:][0-7])\]|"
    r"device=((?:[0-9a-f]{4}:)?[0-9a-f]{2}:[01][0-9a-f]\.[0-7])"
)
"""The device whose access an IOMMU blocked, where it does not stand before the message."""
_LATE_TO_IOMMU = re.compile(r"IOTLB_INV_TIMEOUT|Invalidation Time-out Error: SID ([0-9a-f]{1,4})\b")
"""What an IOMMU says of a device that did not answer it: by its address, or by its Requester ID."""
_NOBODY = (0, 0xFFFF)
"""Requester IDs that Intel's IOMMU gives where it does not know who was late."""
_SHOWN = 100
"""Events of a kind, device and number that are kept: programs that fail again and again log thousands."""
_MOST_EVENTS = 10_000
"""A link that goes up and down for days. Assumed to be enough to tell."""
_MODE = r"([\d.]+) GT/s(?: PCIe)? x(\d+) link"
_LIMITED = re.compile(rf"limited by {_MODE} at ({_ADDRESS.pattern}).{{0,80}}with {_MODE}")
_BAR = re.compile(r"(?<!VF )BAR (\d)")
_ASSIGNED = re.compile(r"(?<!VF )BAR [0-5](?: \[[^\]]{0,80}\])?: assigned")

_HOST_BRIDGE = 0x0600
_NVIDIA_GPU = Identity(class_code=0x030000, vendor_id=0x10DE, vendor_name="NVIDIA Corporation")

_SLOT = r"[Ss]lot\([^()]{0,16}\): "
"""As pciehp begins what it says of a slot, by the name that is printed on the case."""

_KINDS: tuple[tuple[EventKind, str], ...] = (
    (
        EventKind.GPU_LOST,
        r"Xid (?:\([^)]{0,40}\): )?(79|167)\b|fallen off the bus|device lost from bus|GPU_IS_LOST",
    ),
    (
        EventKind.NO_RETURN,
        r"not ready \d+ms after [\w ]{1,60}; giving up|"
        # A mail may end the line at the comma, or behind "(config": nothing else goes on like this.
        r"power state from (?:D3\w*|unknown) to D0(?:,| \(config|[ ,(]*(?:config space|device) "
        r"inaccessible)|Refused to change power state",
    ),
    (
        EventKind.DEVICE_FAILED,
        r"nvme.{0,90}device inaccessible|"
        r"AER: [Dd]evice recovery failed|BAR\d is 0M @ 0x0|unknown header type 7f, ignoring|"
        r"EEH: Invoking \S{1,32}>error_detected\(IO frozen\)|"
        r"can't enable device: BAR \d|No bus number available for hot-added bridge|"
        r"devices behind bridge are unusable because",
    ),
    (EventKind.WAITS, r"not ready \d+ms after [\w ()]{1,60}; waiting"),
    (
        EventKind.TIMED_OUT,
        r"NETDEV WATCHDOG: .{0,60}transmit queue \d+ timed out|IOTLB_INV_TIMEOUT device=|"
        r"VT-d detected Invalidation Time-out Error: SID",
    ),
    (
        EventKind.ACCESS_FAILED,
        r"(?:I/O error|critical (?:medium|target) error), dev nvme\d+(?:c\d+)?n\d+, sector \d|"
        r"nvme\d+n\d+: .{0,80}Unrecovered Read Error|nvme\d+: UNRECOVERED READ ERROR \(",
    ),
    (
        EventKind.COMPLAINED,
        r"installed in this (?:vGPU host )?system is not supported by|"
        r"is not supported by (?:the NVIDIA [\d.]{3,16} driver|open nvidia\.ko|proprietary nvidia\.ko)",
    ),
    (EventKind.RUNS_WITH_LESS, r"kfd: .{0,16}skipped device [0-9a-f:]{9}, PCI rejects atomics"),
    (
        EventKind.RECOVERED,
        r"AER: [Dd]evice recovery successful|DPC port successfully recovered|recovered by DPC|"
        r"(?<!not )ready \d+ms after",
    ),
    (EventKind.POWER_FAULT, _SLOT + r"[Pp]ower fault|Power fault on [Ss]lot|power fault bit"),
    (EventKind.PLANNED, _SLOT + r".{0,32}(?:due to button press|will power off|[Pp]owering off)"),
    (EventKind.CARD_GONE, _SLOT + r"[Cc]ard not present|Card not present on Slot"),
    (EventKind.CARD_PRESENT, _SLOT + r"[Cc]ard present|Card present on Slot"),
    (EventKind.LINK_DOWN, _SLOT + r"Link Down(?!/)"),
    (EventKind.LINK_UP, _SLOT + r"Link Up"),
    (
        EventKind.NO_LINK,
        r"pciehp.{0,60}(?:[Ff]ailed to check link status|[Cc]annot train link|[Ll]ink [Tt]raining [Ee]rror)"
        r"|[Ss]lot\([^()]{0,16}\): No link|Data Link Layer Link Active not set in \d+ msec",
    ),
    (EventKind.NOTHING_FOUND, host_controllers.NO_LINK),
    (EventKind.CONTROLLER_UP, host_controllers.LINK_UP),
    (EventKind.CONTAINED, r"DPC: .{0,40}containment event"),
    (EventKind.RETRAINED, r"retraining non-functional downstream link"),
    (EventKind.RETRAIN_FAILED, r"pci\w{0,16} [0-9a-f:.]{1,20}: retraining failed"),
    (EventKind.LIMITED, r"available PCIe bandwidth, limited by"),
    (
        EventKind.NO_SPACE,
        r"(?<!VF )BAR [0-5](?: \[mem[^\]]{0,80}\])?: "
        r"(?:no space for \[mem|can't assign|failed to assign)(?! \[io)",
    ),
    (EventKind.PAYLOADS_DIFFER, r"Max Payload Size \d+, but upstream |can't set Max Payload Size to \d"),
    (EventKind.IOMMU, r"iommu: Default domain type: |Kernel command line: "),
    (
        EventKind.GPU_ERROR,
        r"\bXid (?:\([^)]{0,40}\): )?\d{1,3},|\bSXid \([^)]{0,40}\): \d{3,6}, |"
        r"detected NVSwitch (?:non-)?fatal error \d{3,6} on |"
        r"uvm encountered global fatal error|"
        r"amdgpu.{0,80}\b[1-9]\d* (?:new )?uncorrectable hardware errors detected in \w+ block",
    ),
    (EventKind.INTERRUPT_BLOCKED, r"INTR-REMAP\]?: ?\[?Request device \[|\[INTR-REMAP\] Request device \["),
    (
        EventKind.DMA_BLOCKED,
        r"DMAR: ?\[DMA (?:Read|Write)[^\]]{0,24}\] Request device \[|"
        r"(?:IO_PAGE_FAULT|ILLEGAL_DEV_TABLE_ENTRY|INVALID_DEVICE_REQUEST) (?:device|domain)=|"
        r"arm-smmu.{0,40}event: F_(?:TRANSLATION|PERMISSION|ACCESS|ADDR_SIZE) client: |"
        r"arm-smmu-v3 \S{1,40}: event 0x1[0-3] received:",
    ),
)
_ANY = re.compile("|".join(f"(?P<{kind.name}>{pattern})" for kind, pattern in _KINDS))
"""One search tells the first kind of a line."""
_WIRELESS = ("iwlwifi", "ath10k_pci", "ath11k_pci", "ath12k_pci", "mt7921e", "ath9k")
_ASSOCIATED = re.compile(r"\bwl\w{1,14}: associated")
"""What the kernel says when a wireless adapter has joined a network: it works, whatever was before."""
_OF_CONTROLLERS = (EventKind.NOTHING_FOUND, EventKind.CONTROLLER_UP)
_OF_IOMMU = (EventKind.DMA_BLOCKED, EventKind.INTERRUPT_BLOCKED)
_WAITED = re.compile(r"not ready (\d{1,9})ms")
_LONGEST_WAIT_MS = 4000
"""A device is to be ready 1 s after a reset (PCIe Base 5.0, 6.6.1). The kernel tells of each doubling, and of
the end; a log that stops at one or two may have been taken meanwhile. Assumed."""
_CODE = re.compile(r"(?:Xid (?:\([^)]{0,40}\): )?|NVSwitch (?:non-)?fatal error )(\d+)")
_NUMBERS = {
    EventKind.WAITS: _WAITED,
    EventKind.NO_SPACE: _BAR,
    EventKind.GPU_LOST: _CODE,
    EventKind.GPU_ERROR: _CODE,
}
"""Where the number of an event stands."""
_FROZEN = re.compile(r"PCI ([0-9a-f]{4}:[0-9a-f]{2}:[01][0-9a-f]\.[0-7])#|EEH: of node=([0-9a-f:.]{12})\b")
"""A device that PowerPC's error handling (EEH) tells of."""
_HOST_BRIDGE_NUMBER = re.compile(r"EEH: (?:.{0,24} )?PHB#([0-9a-f]{1,4})\b")
_MANY_TIMES = (
    *(EventKind.GPU_ERROR, *_OF_IOMMU, EventKind.TIMED_OUT, EventKind.ACCESS_FAILED),
    EventKind.COMPLAINED,
)
_HINT = re.compile(
    r"Xid|detected NVSwitch|off the bus|GPU_IS_LOST|The NVIDIA GPU|from bus|nvme\d|nvme 0|inaccessible|"
    r"not ready|giving up|power state|recover|mlx5_core|offline|link lost|RmInitAdapter|BAR ?\d|[Ss]lot|"
    r"not supported by|pciehp|Link Active not set|DPC:|retraining|"
    r"Adapter removed|available PCIe|probe of|probe with|unknown header|Default domain type|"
    r"Kernel command line|DMAR|AMD-V[iI]|_ENTRY dev|_REQUEST dev|IOTLB|arm-smmu|FAULT|fault_state|non-op|"
    r"mpt[23]sas|lockup|Hardware Error|"
    r"ISP System|fatal error|uncorrectable hardware|time(?:d )?out|Internal error|irmware|Rebuild|heartbeat|"
    r"disconnect|wedged|power cables|amdgpu|EEH: Inv|can't enable|unusable because|Unit Hang|Safe Mode|"
    r"insufficient power|waiting for|diag reset|dev nvme|Unrecovered Read|rejects atomics|Speed 2\.5GT|"
    r"assume dead|No bus number|Payload Size|\.pcie?\b|RC\d{1,2} link|: 0xffffffff|: ready \d"
)
"""What is in every such line: spares most lines the long search."""


class _Names:
    """Learns which names and which lines before belong to which address."""

    def __init__(self) -> None:
        self._known: dict[str, Address | None] = {}
        """None: several have been called so."""
        self._sas: Address | None = None
        self._sender: dict[Address, Address] = {}
        """The sender of the last message of an error to each port."""
        self._probed: Address | None = None
        self._drivers: dict[str, Address | None] = {}
        """The only device of each driver that was looked for; None: there are several."""
        self._stopped = "a PCI device"
        """What PowerPC's error handling told of last."""

    def forget(self) -> None:
        """Start a boot: names are given anew."""
        self._known.clear()
        self._sender.clear()

    def learn_sender(self, line: str) -> None:
        """Take the sender of an error's message that a port received."""
        from lanewise.machine.sources import kernel_log

        heard = kernel_log.message_in(line)
        if heard is not None:
            self._sender[heard[0]] = heard[1]

    def learn_port(self, line: str) -> None:
        """Take the name of a network adapter's port."""
        if (" eth" in line or " en" in line or " ib" in line) and (interface := _INTERFACE.search(line)):
            address = Address.parse(interface[1])
            self._known[interface[2]] = address
            before = interface[3]
            if before is not None:
                self._known[before] = address if self._known.get(before, address) == address else None

    def learn(self, line: str) -> None:
        """Take names of drives and SAS controllers, and a GPU whose fate is in the next lines."""
        if "sas" in line:
            self._sas = Address.parse(before[1]) if (before := _SAS.search(line)) else self._sas
            if self._sas is not None and (named_so := _NAME.search(line)):
                self._known.setdefault(named_so[1], self._sas)
        if "The NVIDIA GPU " in line and (gpu := _ADDRESS.search(line)):
            self._probed = Address.parse(f"{gpu[1]}.{gpu[2] or 0}")
        introduced = _INTRODUCED.search(line)
        if introduced:
            self._known[introduced[1]] = Address.parse(introduced[2])

    def placed(self, event: KernelEvent) -> KernelEvent:
        """Give a lost GPU the address that stood before its line, and a port's recovery its reason."""
        if "AER: " in event.line and event.address is not None:
            sender = self._sender.get(event.address)
            return replace(event, sender=sender) if sender != event.address else event
        told = event.kind is EventKind.GPU_LOST or _UNSUPPORTED in event.line
        return (
            replace(event, address=self._probed) if told and event.address is None and self._probed else event
        )

    def addressed(self, event: KernelEvent, driver: str, lines: Sequence[str]) -> KernelEvent:
        """Give an event the address of its name, or of the only device of its driver."""
        if event.address is not None:
            return event
        address = self._known.get(event.name or "") or (self._only_one_of(driver, lines) if driver else None)
        unnamed = event.name is None and driver and driver not in driver_lines.GPUS
        called = self._stopped_device(event.line) if driver == driver_lines.EEH else driver
        return replace(event, address=address, name=called if unnamed else event.name)

    def _stopped_device(self, line: str) -> str:
        """Name what PowerPC's error handling tells of: the number of a host bridge is that of its domain.

        That the recovery went well is said without a number.
        """
        bridge = _HOST_BRIDGE_NUMBER.search(line)
        if bridge is not None:
            self._stopped = f"a PCI device of domain {int(bridge[1], 16):04x}"
        return self._stopped

    def _only_one_of(self, driver: str, lines: Sequence[str]) -> Address | None:
        """Return the only device that lines of a driver have before their message."""
        if driver not in self._drivers:
            spoken = re.compile(
                rf"\b{re.escape(driver)} \[?([0-9a-f]{{4,8}}:[0-9a-f]{{2}}:[01][0-9a-f]\.[0-7])"
            )
            spoken = _FROZEN if driver == driver_lines.EEH else spoken
            found = {
                place[1] or place[place.re.groups]
                for line in lines
                if driver in line
                for place in spoken.finditer(line[:MOST_SEARCHED])
            }
            self._drivers[driver] = Address.parse(found.pop()) if len(found) == 1 else None
        return self._drivers[driver]


_UNSUPPORTED = "is not supported by"
"""What NVIDIA's driver says of a GPU that it named in the line before."""
_BEFORE_A_BOOT = {
    EventKind.GPU_LOST: EventKind.GPU_LOST_BEFORE,
    EventKind.GPU_ERROR: EventKind.GPU_ERROR_BEFORE,
}
"""What is said of earlier boots, and as what."""
_MOST_KEPT = 256
"""Errors of earlier boots: one for each GPU and number."""


def take(lines: Sequence[str]) -> KernelLog:
    """Read a text in one pass; lines of other tools say nothing."""
    from lanewise.machine.sources import kernel_log

    told: list[tuple[KernelEvent, str]] = []
    """Events, and the drivers that spoke."""
    stamped = False
    """Whether one of them had a time before it."""
    before: dict[tuple[EventKind, Address | None, int | None], KernelEvent] = {}
    """GPUs that were lost, and errors that they reported, before the last boot."""
    lacking: set[tuple[Address, int | None]] = set()
    names = _Names()
    seen: Counter[tuple[EventKind, Address | None, str | None, int | None]] = Counter()
    counting = kernel_log.Counting()
    last_boot = 0
    """The line with which it begins."""
    for at, full_line in enumerate(lines):
        line = full_line[:MOST_SEARCHED]
        if BOOT_SIGN in line and is_boot(line) and (has_stamp(line) or not stamped):
            last_boot = at
            _keep_of_gpus(told, before)
            told.clear()
            names.forget()
        counting.take(line)
        names.learn_port(line)
        if "received" in line and "AER: " in line:
            names.learn_sender(line)
        kind, driver = _told_by(line, names)
        if kind is not None and len(told) < _MOST_EVENTS:
            event = names.placed(_event(kind, line))
            what = (event.kind, event.address, event.name, event.number)
            seen[what] += 1
            if event.kind in _MANY_TIMES and seen[what] > _SHOWN:
                continue
            if told and _goes_on_in(told[-1][0], event):
                told.pop()
            told.append((event, driver))
            stamped = stamped or has_stamp(line)
            if place := _what_lacks_space(event):
                lacking.add(place)
        elif kind is None and told and told[-1][1] in _WIRELESS and _ASSOCIATED.search(line):
            told.append((KernelEvent(EventKind.RECOVERED, message_of(line)), told[-1][1]))
        elif kind is None and lacking and _ASSIGNED.search(line):
            # The kernel tries again with other windows, and what failed first is no matter then.
            given = _what_lacks_space(_event(EventKind.NO_SPACE, line))
            if given in lacking:
                lacking.discard(given)
                told[:] = [pair for pair in told if _what_lacks_space(pair[0]) != given]
    told = _without_links_that_came_up(told)
    told = start_up.without_what_is_no_fault(_without_what_was_waited_for(told), lines[last_boot:])
    past = (replace(event, kind=_BEFORE_A_BOOT[event.kind]) for event in before.values())
    events = (*past, *(names.addressed(event, driver, lines) for event, driver in told))
    return KernelLog(events, counting.counters())


def _goes_on_in(before: KernelEvent, event: KernelEvent) -> bool:
    """Whether a line that names nobody ends in a colon, and the next one tells of whom it was."""
    nobody = before.address is None and before.name is None and before.line.rstrip().endswith(":")
    return nobody and before.kind is event.kind and event.address is not None


def _keep_of_gpus(
    told: list[tuple[KernelEvent, str]], kept: dict[tuple[EventKind, Address | None, int | None], KernelEvent]
) -> None:
    """Keep what became of GPUs: the last line of each that was lost, and the last of each error.

    A loss that has the number of an Xid counts more than one without.
    """
    for event, _ in told:
        if event.kind is EventKind.GPU_LOST:
            place = (event.kind, event.address, None)
            if event.number or place not in kept:
                kept[place] = event
        elif event.kind is EventKind.GPU_ERROR and event.number is not None and len(kept) < _MOST_KEPT:
            kept[event.kind, event.address, event.number] = event


def _without_what_was_waited_for(told: list[tuple[KernelEvent, str]]) -> list[tuple[KernelEvent, str]]:
    """Keep of each wait that had no end its last line, as what it is after so long: a device that is gone."""
    last: dict[Address | None, KernelEvent] = {}
    for event, _ in told:
        if event.kind is EventKind.WAITS:
            last[event.address] = event
        elif event.kind in (EventKind.NO_RETURN, EventKind.RECOVERED):
            last.pop(event.address, None)
    kept = []
    for event, driver in told:
        if event.kind is not EventKind.WAITS:
            kept.append((event, driver))
        elif event is last.get(event.address) and (event.number or 0) >= _LONGEST_WAIT_MS:
            kept.append((replace(event, kind=EventKind.NO_RETURN), driver))
    return kept


def _without_links_that_came_up(told: list[tuple[KernelEvent, str]]) -> list[tuple[KernelEvent, str]]:
    """Keep of host controllers those whose links are down at the end: drivers try again."""
    last: dict[str | None, KernelEvent] = {}
    for event, _ in told:
        if event.kind not in _OF_CONTROLLERS:
            continue
        before = last.get(event.name)
        also = event.kind is EventKind.NOTHING_FOUND and host_controllers.NO_START.search(event.line)
        if not also or before is None or before.kind is not event.kind:
            last[event.name] = event
    return [
        (event, driver)
        for event, driver in told
        if event.kind not in _OF_CONTROLLERS
        or (event.kind is EventKind.NOTHING_FOUND and event is last[event.name])
    ]


def _told_by(line: str, names: _Names) -> tuple[EventKind | None, str]:
    """Return what a line tells, and the driver that spoke where it was one."""
    if _HINT.search(line):
        names.learn(line)
        found = _ANY.search(line)
        if found is not None:
            return EventKind[found.lastgroup or ""], "nvidia" if "GPU_IS_LOST" in line else ""
    said = driver_lines.said(line)
    return (said.kind, said.driver) if said is not None else (None, "")


def _event(kind: EventKind, line: str) -> KernelEvent:
    message = message_of(line)[:LONGEST_LINE]
    place, name = _ADDRESS.search(line), _NAME.search(line)
    late = _LATE_TO_IOMMU.search(line) if kind is EventKind.TIMED_OUT else None
    if (kind in _OF_IOMMU or late is not None) and (blocked := _BLOCKED.search(line)):
        return KernelEvent(kind, message, address=_of_any_form(blocked[1] or blocked[2]))
    if late is not None:
        return _late_to_iommu(message, int(late[1] or "0", 16))
    if kind in _OF_CONTROLLERS and (controller := host_controllers.CONTROLLER.search(line)):
        port, called = host_controllers.PORT.search(line), controller[controller.lastindex or 1]
        return KernelEvent(kind, message, name=f"{called} port {port[1]}" if port else called)
    watched = _WATCHED.search(line) if kind is EventKind.TIMED_OUT else None
    if watched is not None and place is None:
        return KernelEvent(kind, message, name=watched[1] or watched[2])
    port = _PORT.search(line) if place is None and name is None else None
    called = name or port
    event = KernelEvent(
        kind,
        message,
        address=Address.parse(f"{place[1]}.{place[2] or 0}") if place else None,
        name=called[1] if called else None,
    )
    if kind is EventKind.LIMITED and (limit := _LIMITED.search(line)):
        speed, width, device, function, could, lanes = limit.group(1, 2, 4, 5, 6, 7)
        return replace(
            event,
            now=LinkMode(line_rate(speed), natural(width)),
            able=LinkMode(line_rate(could), natural(lanes)),
            port=Address.parse(f"{device}.{function or 0}"),
        )
    number = _NUMBERS[kind].search(line) if kind in _NUMBERS else None
    return replace(event, number=natural(number[1])) if number is not None else event


def _late_to_iommu(message: str, requester: int) -> KernelEvent:
    """Make the event of a device that did not answer Intel's IOMMU, which knows it by its Requester ID."""
    if requester in _NOBODY:
        return KernelEvent(EventKind.TIMED_OUT, message, name="a device")
    sender = Address(0, requester >> 8, requester >> 3 & 0x1F, requester & 7)
    return KernelEvent(EventKind.TIMED_OUT, message, address=sender)


def _of_any_form(text: str) -> Address:
    """Return the address in ``ca:00.0``, with or without its domain; old lines have a colon for the dot."""
    text = text.replace("0x", "")
    bus_and_device = text[:-2]
    return Address.parse(f"{'' if bus_and_device.count(':') > 1 else '0000:'}{bus_and_device}.{text[-1]}")


def _what_lacks_space(event: KernelEvent) -> tuple[Address, int | None] | None:
    """Return the function and BAR that an event of that kind is about; None for others."""
    if event.kind is not EventKind.NO_SPACE or event.address is None:
        return None
    return event.address, event.number


def put_on(machine: Machine, log: KernelLog) -> Machine:
    """Put a log on a machine: its events, and the errors of functions whose kernel counts none."""
    names = {name: function.address for function in machine for name in function.interfaces}
    drivers = Counter(function.driver for function in machine)
    names |= {f.driver: f.address for f in machine if f.driver and drivers[f.driver] == 1}
    events = tuple(
        event if event.address else replace(event, address=names.get(event.name or ""))
        for event in log.events
    )
    functions = dict(machine.functions) or _named_in(log, events)
    if not any(function.is_class(_HOST_BRIDGE) for function in functions.values()):
        # A list of a few devices that somebody picked: the log has others.
        missing = (address for address, _ in log.counters if address not in functions)
        functions = dict(sorted((functions | {address: Function(address) for address in missing}).items()))
    for address, counters in log.counters:
        function = functions.get(address)
        if function is not None and function.errors.counters is None:
            errors = function.errors._replace(counters=counters, counted_in_log=True)
            functions[address] = replace(function, registers=function.registers._replace(errors=errors))
    return replace(machine, functions=functions, events=(*machine.events, *events))


def _named_in(log: KernelLog, events: tuple[KernelEvent, ...]) -> dict[Address, Function]:
    """Return the devices that a log names which stands alone; it knows no more of them than their driver."""
    found = {address: Function(address) for address, _ in log.counters}
    found |= {event.address: Function(event.address) for event in events if event.address is not None}
    for event in events:
        if event.address is not None and "NVRM: Xid" in event.line:
            found[event.address] = Function(event.address, identity=_NVIDIA_GPU, driver="nvidia")
    return dict(sorted(found.items()))
