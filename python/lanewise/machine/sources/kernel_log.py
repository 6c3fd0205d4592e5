"""Linux kernel logs: what `dmesg` and `journalctl -k` say about PCI.

At boot the kernel writes one line for each function it finds, with IDs and class (since 6.10 with its kind),
one for each bridge with the buses behind it, and a line for each device that could do more than its way to
the host carries. Later it writes about errors. So a log tells the tree, some links and the errors that were
reported; what else runs how fast it does not say, and `lspci -vvv` does. Errors are also taken from a log
that stands beside `lspci` in one file. An error is up to three lines: that a root port received a message,
of which kind it was, and its bits; whichever of them is there counts once. Counts are lower bounds: the
kernel drops lines when there are many.

Source: Linux, drivers/pci/probe.c (`pci_setup_device`, `pci_configure_mps`), drivers/pci/pci.c
(`__pcie_print_link_status`), drivers/pci/pcie/aer.c (`aer_print_error`), 3.10 to 6.17, read for the wording
only. Errors that firmware handles first: `firmware_errors`.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from lanewise.machine.address import Address
from lanewise.machine.extended_capabilities import CORRECTABLE_BITS, UNCORRECTABLE_BITS
from lanewise.machine.function import Buses, Kind
from lanewise.machine.registers import MOMENTS, WITHOUT_DETAILS, LinkMode
from lanewise.machine.sources import esxi_errors
from lanewise.machine.sources.firmware_errors import BEFORE, BESIDE, SIGN, FirmwareErrors
from lanewise.machine.sources.host_controllers import SIGN as CONTROLLER_SIGN
from lanewise.machine.sources.host_controllers import HostControllers
from lanewise.machine.sources.log_stamps import BOOT_SIGN, is_boot, seconds_of
from lanewise.machine.sources.numbers import line_rate
from lanewise.machine.sources.traced_errors import TracedErrors
from lanewise.machine.sources.wrapping import joined_log

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lanewise.machine.assembly import Reading
    from lanewise.machine.draft import Draft

_ADDRESS = r"[0-9a-f]{4,8}:[0-9a-f]{2}:[01][0-9a-f]\.[0-7]"
_LINE = re.compile(rf"(?:^|[ \t\]])({_ADDRESS}): +(\S.*)")
_FOUND = re.compile(
    r"(?:found )?\[([0-9a-f]{4}):([0-9a-f]{4})\](?: type \d+)? class (?:0x)?([0-9a-f]{6})(?: (.*))?"
)
_BUSES = re.compile(r"PCI bridge to \[bus ([0-9a-f]{2})(?:-([0-9a-f]{2}))?\]")
_MODE = r"([\d.]+) GT/s(?: PCIe)? x(\d+) link"
_LIMITED = re.compile(rf"available PCIe bandwidth, limited by {_MODE} at ({_ADDRESS}) .{{0,80}}?with {_MODE}")
_UNLIMITED = re.compile(rf"available PCIe bandwidth \({_MODE}\)")
_RUNS_AT = re.compile(r"^PCI-Express: Speed ([\d.]{1,5})GT/s Width x(\d{1,2})\b")
"""What i40e prints of the link of each port when it starts it."""
_GIGABIT = re.compile(r"^Intel\(R\) (?:Gigabit Ethernet|PRO/1000) Network Connection$")
"""What igb and e1000e print of each port when they start it, where the log does not have its numbers."""
_PAYLOAD = re.compile(r"Max Payload Size set to +(\d+)(?:/ *(\d+))? \(was +\d+(?:, max (\d+))?\)")
_HOW_BAD = r"(Correct(?:ed|able)|Uncorrect\w+ \((?:Non-)?F[atl]{1,4}\)?)"
"""Kernels before 6.10 say Corrected, and Uncorrected; Correctable and Uncorrectable since.

A serial console cuts lines at 80 characters, and some put the last character of a line at the end."""
_SEVERITY = re.compile(rf"(?:PCIe|CXL) Bus Error: severity={_HOW_BAD}(?:, type=(Transaction))?")
_RECEIVED = re.compile(
    rf"AER: (?:Multiple )?{_HOW_BAD} error (?:message )?received(?: from)?:? "
    rf"(?:({_ADDRESS})|id=([0-9a-f]{{4}}))"
)
"""What a root port says: that a message came, and from whom. Kernels before 5.0 give the number alone."""
_NAMED_BIT = re.compile(r"(?:AER: +)?\[ {0,2}(\d{1,2})\] +[A-Z]")
"""A line that names one error, like ``[ 5] SDES (First)``."""
_STATUS = re.compile(r"error status/mask=([0-9a-f]{8})/([0-9a-f]{8})")

_KINDS = {
    "PCIe Endpoint": Kind.ENDPOINT,
    "PCIe Legacy Endpoint": Kind.LEGACY_ENDPOINT,
    "PCIe Root Port": Kind.ROOT_PORT,
    "PCIe Switch Upstream Port": Kind.UPSTREAM_PORT,
    "PCIe Switch Downstream Port": Kind.DOWNSTREAM_PORT,
    "PCIe to PCI/PCI-X bridge": Kind.PCIE_TO_PCI_BRIDGE,
    "PCI/PCI-X to PCIe bridge": Kind.PCI_TO_PCIE_BRIDGE,
    "PCIe Root Complex Integrated Endpoint": Kind.INTEGRATED_ENDPOINT,
    "PCIe Root Complex Event Collector": Kind.EVENT_COLLECTOR,
    "conventional PCI bridge": Kind.CONVENTIONAL_BRIDGE,
    "conventional PCI endpoint": Kind.CONVENTIONAL,
}
_NOT_EXPRESS = frozenset({Kind.CONVENTIONAL, Kind.CONVENTIONAL_BRIDGE})

LOOKS_LIKE_LOG = re.compile(
    rf"(?:pci|pcieport) {_ADDRESS}: "
    r"(?:(?:found )?\[[0-9a-f]{4}:[0-9a-f]{4}\]|PCI bridge to \[bus|[\d.]{1,16} Gb/s available PCIe)"
    rf"|{_ADDRESS}:? (?:PCIe|CXL) Bus Error: severity="
)
"""A line about a function that was found, about a link, or about an error."""
_FUNCTION_FOUND = re.compile(rf"pci {_ADDRESS}: (?:found )?\[[0-9a-f]{{4}}:[0-9a-f]{{4}}\]")


_APART_S, _MINUTE_S = 5.0, 60.0
"""Errors so far apart have no cause in common that is over, as training has. Assumed."""


def is_most_of(text: str, headers: re.Pattern[str]) -> bool:
    """Whether a text names more functions as a log than as `lspci`, some of whose lines drivers imitate."""
    if LOOKS_LIKE_LOG.search(text) is None:
        return False
    return 2 * len(headers.findall(text)) < len(_FUNCTION_FOUND.findall(text))


def read(lines: Sequence[str], into: Reading) -> None:
    """Read a log as the only source: functions, buses, links and errors."""
    reader = _Reader(into)
    for line in joined_log(lines):
        reader.take(line)
    reader.finish()
    into.shows_tree = True
    into.kinds.append("kernel log")
    into.note(
        "a kernel log shows only links that are slower than their device, and errors that were reported; "
        "'sudo lspci -vvv' tells the rest"
    )


class Counting:
    """Counts the errors that a log reports, line by line."""

    def __init__(self) -> None:
        """Start before the first line."""
        self._start()

    def _start(self) -> None:
        """Forget what was counted: of the boots in a log only the last one counts."""
        self._severity: dict[Address, str] = {}
        """By which prefix the last error of a function counts."""
        self._errors: defaultdict[Address, Counter[str]] = defaultdict(Counter)
        self._waiting: dict[Address, str] = {}
        """Functions whose last error has no details yet, and as what it counts until then."""
        self._unnamed: set[Address] = set()
        """Functions whose last error has no bits and no name yet."""
        self._times: dict[Address, list[float]] = {}
        """When a link had errors in the minute before the last ones, each time once."""
        self._moments: dict[Address, int] = {}
        """The most of these that were in one minute."""
        self._heard: tuple[Address, str] | None = None
        """Sender of a message of which nothing more was said yet, and its prefix."""
        self._of_firmware, self._traced = FirmwareErrors(), TracedErrors()

    def take(self, line: str) -> None:
        """Take a line; most are about something else."""
        if " Bus Error: severity=" in line and self._traced.take(line):
            return
        if SIGN in line or BESIDE in line or BEFORE in line:
            self._of_firmware.take(line)
            return
        if BOOT_SIGN in line and is_boot(line):
            self._start()
        if any(sign in line for sign in esxi_errors.SIGNS) and esxi_errors.count(line, self._errors):
            return
        if " Bus Error" not in line and "error status/mask" not in line and "received" not in line:
            if self._unnamed and "] " in line:
                self._take_name(line)
            return
        match = _LINE.search(line)
        if match is None:
            return
        address, message = Address.parse(match[1]), match[2]
        severity, status = _SEVERITY.search(message), _STATUS.search(message)
        if severity:
            self._heard = None
            prefix = self._severity[address] = _prefix(severity[1])
            self._count(address, f"{prefix}.TOTAL")
            self._unnamed.add(address)
            if severity[2] is None:
                self._waiting[address] = f"{prefix}.{WITHOUT_DETAILS}"
                self._count(address, self._waiting[address])
                if prefix == "correctable":
                    self._note_time(address, seconds_of(line))
        elif status:
            self._bits(address, int(status[1], 16) & ~int(status[2], 16))
        elif received := _RECEIVED.search(message):
            self._settle()
            self._heard = (_source(address, received[2], received[3]), _prefix(received[1]))

    def _take_name(self, line: str) -> None:
        """Take an error by the line that names it, where the one with its bits was left out."""
        match = _LINE.search(line)
        bit = None if match is None else _NAMED_BIT.match(match[2])
        if match is not None and bit is not None and (address := Address.parse(match[1])) in self._unnamed:
            self._bits(address, 1 << int(bit[1]))

    def _note_time(self, address: Address, now: float | None) -> None:
        """Note when a link had an error; several at a time have one cause, as a change of its speed."""
        if now is None:
            return
        times = self._times.setdefault(address, [])
        if times and now < times[-1]:
            times.clear()
        if not times or now - times[-1] >= _APART_S:
            times.append(now)
            times[:] = [time for time in times if now - time <= _MINUTE_S]
            self._moments[address] = max(self._moments.get(address, 0), len(times))

    def _bits(self, address: Address, status: int) -> None:
        """Count errors by their names; what was counted for want of a name is taken back.

        An excerpt may begin behind the line that says how bad an error is: some bits are those of errors
        alone that are not corrected.
        """
        prefix = self._severity.get(address)
        self._unnamed.discard(address)
        if prefix is None:
            worse = any(status >> bit & 1 for bit in UNCORRECTABLE_BITS.keys() - CORRECTABLE_BITS.keys())
            prefix = "nonfatal" if worse else "correctable"
            self._errors[address][f"{prefix}.TOTAL"] += status != 0
        names = CORRECTABLE_BITS if prefix == "correctable" else UNCORRECTABLE_BITS
        waiting = self._waiting.pop(address, None)
        if waiting is not None:
            self._errors[address][waiting] -= 1
        for bit, name in names.items():
            if status >> bit & 1:
                self._count(address, f"{prefix}.{name}")

    def _settle(self) -> None:
        """Count the message that was heard last at its sender, if nobody has said more of it."""
        if self._heard is not None:
            address, prefix = self._heard
            self._count(address, f"{prefix}.TOTAL")
            self._count(address, f"{prefix}.{WITHOUT_DETAILS}")
            self._heard = None

    def _count(self, address: Address, name: str) -> None:
        self._errors[address][name] += 1

    def counters(self) -> tuple[tuple[Address, tuple[tuple[str, int], ...]], ...]:
        """Return the counts of every function, as `registers.Errors.counters`."""
        self._settle()
        for address, moments in self._moments.items():
            self._errors[address][MOMENTS] = moments if moments > 1 else 0
        found = {**self._traced.counts(), **self._of_firmware.counts(), **self._errors}
        return tuple((address, tuple(sorted((+counts).items()))) for address, counts in found.items())


class _Reader:
    """Takes a log line by line."""

    def __init__(self, into: Reading) -> None:
        self._into = into
        self._counting = Counting()
        self._controllers = HostControllers()
        self._takers: tuple[tuple[re.Pattern[str], Callable[[Address, re.Match[str]], None]], ...] = (
            (_FOUND, self._found),
            (_BUSES, self._buses),
            (_LIMITED, self._limited),
            (_UNLIMITED, self._unlimited),
            (_RUNS_AT, self._runs_at),
            (_PAYLOAD, self._payload),
            (_GIGABIT, self._gigabit),
        )

    def take(self, line: str) -> None:
        """Take a line; most are about something else."""
        self._counting.take(line)
        if CONTROLLER_SIGN in line:
            self._controllers.take(line)
        match = _LINE.search(line) if "." in line else None
        if match is None:
            return
        address, message = Address.parse(match[1]), match[2]
        for pattern, taker in self._takers:
            found = pattern.search(message)
            if found:
                taker(address, found)
                return

    def _found(self, address: Address, match: re.Match[str]) -> None:
        draft = self._into.draft(address)
        draft.identity |= {
            "vendor_id": int(match[1], 16),
            "device_id": int(match[2], 16),
            "class_code": int(match[3], 16),
        }
        kind = _KINDS.get((match[4] or "").strip())
        if kind is not None:
            draft.kind = kind
            draft.registers["express"] = kind not in _NOT_EXPRESS

    def _buses(self, address: Address, match: re.Match[str]) -> None:
        secondary = int(match[1], 16)
        self._into.draft(address).buses = Buses(address.bus, secondary, int(match[2] or match[1], 16))

    def _limited(self, address: Address, match: re.Match[str]) -> None:
        draft = self._into.draft(address)
        draft.link["capability"] = _mode(match[4], match[5])
        port = self._into.draft(Address.parse(match[3]))
        port.link["status"] = _mode(match[1], match[2])
        for end in (draft, port):
            end.registers["express"] = True

    def _unlimited(self, address: Address, match: re.Match[str]) -> None:
        take_full_link(self._into.draft(address), match[0])

    def _runs_at(self, address: Address, match: re.Match[str]) -> None:
        draft = self._into.draft(address)
        draft.link["status"] = _mode(match[1], match[2])
        draft.registers["express"] = True

    def _gigabit(self, address: Address, _match: re.Match[str]) -> None:
        draft = self._into.draft(address)
        if "class_code" not in draft.identity:
            draft.identity["class_code"] = 0x020000
            draft.identity["device_name"] = "Gigabit Ethernet Network Connection"

    def _payload(self, address: Address, match: re.Match[str]) -> None:
        """Take the payload; the read size that is logged with it is what drivers change when they start."""
        transfers = self._into.draft(address).transfers
        transfers["mps"] = int(match[1])
        if match[2] or match[3]:
            transfers["mps_supported"] = int(match[2] or match[3])

    def finish(self) -> None:
        """Give every function its counts, and root ports of host controllers their links."""
        for address, counters in self._counting.counters():
            self._into.draft(address).errors |= {"counters": counters, "counted_in_log": True}
        self._controllers.put_on(self._into)


def take_full_link(draft: Draft, message: str) -> None:
    """Take that all links up to the host carry what a device can do: so its own link runs in full."""
    found = _UNLIMITED.search(message)
    if found is not None:
        draft.link["capability"] = draft.link["status"] = _mode(found[1], found[2])
        draft.registers["express"] = True


def _mode(speed: str, width: str) -> LinkMode:
    return LinkMode(line_rate(speed), int(width))


def _source(port: Address, address: str | None, requester: str | None) -> Address:
    """Return the sender of a message, where a kernel gives its Requester ID in place of an address.

    Root ports that report an error of their own may state no ID, which is zero: that is the host bridge's,
    which sends none. Linux looks at the registers then (drivers/pci/pcie/aer.c, is_error_source).
    """
    if address is not None:
        sender = Address.parse(address)
    else:
        number = int(requester or "0", 16)
        sender = Address(port.domain, number >> 8, number >> 3 & 0x1F, number & 7)
    return port if sender == Address(port.domain, 0, 0, 0) else sender


def message_in(line: str) -> tuple[Address, Address] | None:
    """Return the port that received the message of an uncorrectable error, and its sender."""
    match = _LINE.search(line)
    received = _RECEIVED.search(match[2]) if match is not None else None
    if match is None or received is None or received[1].startswith("Correct"):
        return None
    port = Address.parse(match[1])
    return port, _source(port, received[2], received[3])


def _prefix(severity: str) -> str:
    if severity.startswith("Correct"):
        return "correctable"
    return "nonfatal" if "(Non-F" in severity else "fatal"
