"""`lspci` output: lists, `-v` to `-vvv` text, `-xxx` and `-xxxx` hexadecimal dumps, and both in one file.

Finds the functions and cuts the file into one block each; `lspci_text` reads the words of a block and
`config_space` its bytes. Accepts every pciutils since 3.1, with and without `-n`, `-nn`, `-D`, `-PP`, and
what happens to such text on its way: Markdown fences, quotes, blanks for tabs, shell prompts, messages in
between, several captures in one file. Source: pciutils, ``lspci.c`` (headers, hexadecimal rows) of 3.1.7,
3.9.0 and 3.13.0, read for the wording only.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lanewise.machine import config_space
from lanewise.machine.address import Address
from lanewise.machine.assembly import refuse_more_than_a_machine_has
from lanewise.machine.draft import Draft
from lanewise.machine.function import Kind
from lanewise.machine.registers import SPEEDS_GT_S, LinkMode
from lanewise.machine.sources.capture_differences import is_host_bridge
from lanewise.machine.sources.captures import merge
from lanewise.machine.sources.lspci_text.block import BlockReader
from lanewise.machine.sources.wrapping import FENCE, FUNCTION, HEADER

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lanewise.machine.assembly import Reading

HEX_ROW = re.compile(r"^[ \t>]{0,8}([0-9a-f]{2,3}): ?((?:[0-9a-f]{2}(?: |$)){1,16})(.*)$")
_MORE_HEX = re.compile(r"^[ \t>]{0,8}((?:[0-9a-f]{2}(?: |$)){1,15})$")
_WAY = re.compile(rf"^[ \t>|]{{0,16}}({FUNCTION})((?:/[01][0-9a-fA-F]\.[0-7]){{1,12}})[ \t]++(.*)")
"""A function by the way to it, as ``-P`` prints it: only the first step has a bus number."""
_COMMAND = re.compile(
    rf"[^\n]{{0,80}}?(?<![\w.-])lspci [^\n|]{{0,40}}?-[A-Za-z]{{0,8}}s ?['\"]?({FUNCTION})(?![\w:.])"
)
"""A command about one function, of whose output a filter may have dropped the first line."""
_PROMPT = re.compile(
    rf"[ \t>|]{{0,16}}(?:\$ |[\w.-]{{1,32}}@[\w.-]{{1,64}}[: ][^\n]{{0,80}}[$#] |[^\n]{{0,40}}{FUNCTION})"
)
"""What ends the output of a command: another one, or the name of another device."""
_NUMBERS = re.compile(r"\[([0-9a-fA-F]{4})\]$")
_IDS = re.compile(r"\[([0-9a-fA-F]{4}):([0-9a-fA-F]{4})\]")
_REVISION = re.compile(r" \(rev ([0-9a-fA-F]{2})\)")
_INTERFACE = re.compile(r" \(prog-if ([0-9a-fA-F]{2})")
_TAIL = re.compile(r" \((?:rev|prog-if) .*")
_CUT = "--"
"""The line that `grep -A` puts between what it left: a driver may be among what it dropped."""
_KERNEL_LOG = re.compile(r"\[ *\d+\.\d+\] ")

_DOUBLE_SPACED = 0.4
"""Share of empty lines from which on they are between all lines and no longer between functions."""

_DRIVERS_OF_A_LIST = 2
"""Functions with a driver from which on a list is one of ``-k``. One may be a capture of its own."""


def read(lines: Sequence[str], into: Reading) -> None:
    """Read all functions in a text; whatever it is, raises nothing but InputError for a flood of them."""
    blank_ends = lines.count("") < _DOUBLE_SPACED * len(lines)
    captures: list[dict[Address, Draft]] = [{}]
    block: _Block | None = None
    seen_text = seen_hex = after_blank = outside = filtered = False
    for number, line in enumerate(lines, start=1):
        if block is not None and not outside and block.words.take_key(line):
            seen_text, after_blank = True, False
            continue
        header = HEADER.match(line) if _may_be_header(line) else None
        way = _WAY.match(line) if header is None and "/" in line[:24] else None
        command = _COMMAND.match(line) if header is None and way is None and "lspci " in line else None
        if command is not None:
            filtered |= _keep(block, captures, into)
            block, outside = _Block(command, by_command=True), False
        elif header is not None or way is not None:
            filtered |= _keep(block, captures, into)
            header = header or _with_bus(way, captures[-1], into)
            block = None if header is None else _Block(header)
            outside = header is None
        elif not line:
            after_blank = blank_ends
            continue
        elif block is None or outside or block.ends_at(line, after_blank=after_blank):
            outside = True
            if not _is_wrapping(line):
                into.not_understood(number, line)
        elif block.take_hex(line):
            seen_hex = True
        elif not _is_wrapping(line):
            seen_text |= block.words.take(line, number, into)
        after_blank = False
    filtered |= _keep(block, captures, into)
    if (
        block is not None
        and seen_text
        and not block.by_command
        and _breaks_off(lines, block.draft.address, captures[-1])
    ):
        into.note_end(
            f"the text ends inside function {block.draft.address.short}: what follows it is missing"
        )
    excerpts = any(line == _CUT or line.endswith(f" {_CUT}") for line in lines)
    if not excerpts:
        for capture in captures:
            _settle_drivers(capture)
    merge(captures, into, excerpts=excerpts or filtered)
    into.kinds.append(f"lspci {' and '.join(_kinds(seen_text, seen_hex))}")


def _breaks_off(lines: Sequence[str], last: Address, capture: dict[Address, Draft]) -> bool:
    """Whether the text ends inside its last function: no empty line after it, as after each of the others.

    That may be an excerpt, and editors and shells take off an empty line at the end. So the text also ends
    inside a line, or a bridge that leads to something has buses behind that of the last function and no
    function of the text is on them, in a text that is not of bridges only.
    """
    if "" not in lines[:-1] or lines[-2:] == ["", ""]:
        return False
    if lines[-1]:
        return lines[-1][0] in " \t"
    if all(draft.buses is not None for draft in capture.values()):
        return False
    used = {(address.domain, address.bus) for address in capture}
    return any(
        draft.buses.secondary > last.bus
        and not any(
            (address.domain, bus) in used for bus in range(draft.buses.secondary, draft.buses.subordinate + 1)
        )
        for address, draft in capture.items()
        if draft.buses is not None and address.domain == last.domain and _leads_to_something(draft)
    )


def _leads_to_something(bridge: Draft) -> bool:
    """Whether a bridge says that something is behind it: the ports of its switch, or a link that is up.

    A port without a slot that does not report whether its link is active shows the lowest speed when nothing
    is there. Behind a bridge to conventional PCI there need not be anything, and an ordinary user sees none
    of this.
    """
    if bridge.kind in (Kind.UPSTREAM_PORT, Kind.PCIE_TO_PCI_BRIDGE):
        return bridge.kind is Kind.UPSTREAM_PORT
    link, status = bridge.link, bridge.link.get("status", LinkMode())
    if link.get("data_link_active_reporting"):
        return bool(status.width and link.get("data_link_active"))
    present = bridge.slot.get("presence")
    if present is None:
        present = status.gt_s is not None and status.gt_s > SPEEDS_GT_S[0]
    return bool(status.width and present)


def _with_bus(way: re.Match[str] | None, known: dict[Address, Draft], into: Reading) -> re.Match[str] | None:
    """Turn the way that ``-P`` prints into an address, with the secondary buses of the bridges on it."""
    if way is None:
        return None
    address = Address.parse(way[1])
    for step in way[2].strip("/").split("/"):
        bridge = known.get(address)
        if bridge is None or bridge.buses is None:
            into.note("addresses of 'lspci -P' have no bus numbers: add -v, or use -PP")
            return None
        device, _, function = step.partition(".")
        address = Address(address.domain, bridge.buses.secondary, int(device, 16), int(function))
    return HEADER.match(f"{address} {way[3]}")


def _keep(block: _Block | None, captures: list[dict[Address, Draft]], into: Reading) -> bool:
    """Put a complete function into its capture; an address that comes again begins another one.

    Return whether it is what a filter left of the output of a command.
    """
    if block is None:
        return False
    block.finish(into)
    if block.by_command and not block.draft.link:
        return False
    address = block.draft.address
    if address in captures[-1]:
        captures.append({})
        refuse_more_than_a_machine_has(captures)
    captures[-1][address] = block.draft
    refuse_more_than_a_machine_has(captures[-1])
    return block.by_command


def _settle_drivers(capture: dict[Address, Draft]) -> None:
    """Take it that functions of a whole ``lspci -k`` without a driver line have none.

    A whole list begins with a host bridge. What is printed of one without body says nothing by itself.
    """
    drafts = capture.values()
    if sum(bool(draft.function.get("driver")) for draft in drafts) < _DRIVERS_OF_A_LIST:
        return
    if any(map(is_host_bridge, drafts)):
        for draft in drafts:
            draft.function.setdefault("driver_known", True)


def _kinds(seen_text: bool, seen_hex: bool) -> list[str]:
    kinds = ["text"] if seen_text else []
    if seen_hex:
        kinds.append("hex")
    return kinds or ["list"]


def _may_be_header(line: str) -> bool:
    """Whether a dot and a colon are where an address has them: spares most lines a regular expression."""
    return ":" in line[:20] and "." in line[:24]


def _is_wrapping(line: str) -> bool:
    """Whether a line is about something else: fences, prompts, rules, a kernel log."""
    text = line.strip(" \t>|")
    if not text or text.startswith((FENCE, "~~~", "$ ", "# ", "---", "===", "%", "+-", "\\-", "-[")):
        return True
    return "lspci -" in text or (text[0] == "[" and _KERNEL_LOG.match(text) is not None)


class _Block:
    """What is printed of one function: words and bytes."""

    def __init__(self, header: re.Match[str], *, by_command: bool = False) -> None:
        self.by_command = by_command
        path = [Address.parse(part) for part in header[1].split("/")]
        if path[0].domain:
            # `-PP` names the domain only once.
            path = [part._replace(domain=path[0].domain) for part in path]
        self.draft = Draft(path[-1])
        self.draft.path = tuple(path[:-1])
        self.bytes = bytearray()
        self.missing = 0
        self.words = BlockReader(self.draft)
        if not by_command:
            _name(header, self.draft)

    def ends_at(self, line: str, *, after_blank: bool) -> bool:
        """Whether a line is no more of this function: behind an empty line, lines of it are indented."""
        if self.by_command and not self.draft.link:
            return _PROMPT.match(line) is not None
        return after_blank and line[0] not in " \t"

    def take_hex(self, line: str) -> bool:
        """Take a row of bytes; also one that a message interrupted, and the rest of it on the next line."""
        if self.missing:
            rest = _MORE_HEX.match(line)
            if rest is not None:
                self._append(rest[1])
                return True
            self.missing = 0
        row = HEX_ROW.match(line) if ":" in line.lstrip(" \t>")[2:4] else None
        if row is None:
            return False
        offset = int(row[1], 16)
        if offset == len(self.bytes):
            self.missing = 16
            self._append(row[2])
        return True

    def _append(self, pairs: str) -> None:
        found = bytes.fromhex(pairs)[: self.missing]
        self.bytes += found
        self.missing -= len(found)

    def finish(self, into: Reading) -> None:
        """Decode the bytes; the words count where both speak."""
        self.words.finish()
        if self.bytes:
            decoded = Draft(self.draft.address)
            config_space.decode(bytes(self.bytes), decoded)
            if self.words.denied:
                self.draft.registers.pop("express", None)
            self.draft.fill_from(decoded)
        if self.words.denied and not self.bytes:
            into.note("capabilities could not be read (<access denied>): capture as root to see links")


def _name(header: re.Match[str], draft: Draft) -> None:
    """Read class, vendor, device, revision and interface from the first line."""
    identity = draft.identity
    tail = header[0][header.end(1) - header.start() :]
    revision, interface = _REVISION.search(tail), _INTERFACE.search(tail)
    if revision:
        identity["revision"] = int(revision[1], 16)
    prog_if = int(interface[1], 16) if interface else 0
    if header[2]:
        identity["class_code"] = int(header[2], 16) << 8 | prog_if
        identity["vendor_id"], identity["device_id"] = int(header[3], 16), int(header[4], 16)
        return
    class_name, name = header[5].strip(), _TAIL.sub("", header[6])
    code = _NUMBERS.search(class_name)
    if code:
        identity["class_code"] = int(code[1], 16) << 8 | prog_if
        class_name = class_name[: code.start()].strip()
    elif interface:
        draft.interface = prog_if
    ids = _IDS.search(name, max(0, name.rfind("[")))
    if ids is not None:
        identity["vendor_id"], identity["device_id"] = int(ids[1], 16), int(ids[2], 16)
        name = name[: ids.start()].strip()
    identity["class_name"] = class_name
    identity["device_name"] = name
