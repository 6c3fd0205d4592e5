"""`devlink health show` and `devlink dev info`: what the firmware of an adapter reports, by address.

A reporter watches one part of an adapter: its firmware (``fw``, ``fw_fatal``), its queues (``tx``, ``rx``),
its ports. ``state error`` means that the part failed and was not recovered; in JSON (``-j``) the words are
the same. What was recovered is told only of the firmware: queues are reset on adapters in order, too.
Source: Linux, Documentation/networking/devlink/devlink-health.rst and devlink-info.rst; iproute2 6.7,
``devlink/devlink.c`` (`cmd_health_show_cb`, `cmd_info_show_cb`), read for the wording only.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lanewise.machine.address import Address
from lanewise.machine.kernel_event import EventKind, KernelEvent
from lanewise.machine.sources.documents import documents_of, text_at
from lanewise.machine.sources.numbers import natural

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lanewise.machine.assembly import Reading

_BEFORE = r"[ \t>|]{0,24}"
_FUNCTION = r"[0-9a-f]{4,8}:[0-9a-f]{2}:[01][0-9a-f]\.[0-7]"
_DEVICE = re.compile(rf"{_BEFORE}pci/({_FUNCTION})(?:/\w{{1,16}})?:(.{{0,200}})$")
LOOKS_LIKE = re.compile(
    rf"^{_BEFORE}pci/{_FUNCTION}(?:/\w{{1,16}})?:"
    r"(?:[ \t]*$[\s>|]{1,40}(?:reporter|driver)|[ \t]{1,8}reporter)[ \t]{1,8}\w",
    re.MULTILINE,
)
"""A device, and a reporter or a driver of it below."""
JSON_SIGNS = re.compile(
    rf'"pci/{_FUNCTION}(?:/\w{{1,16}})?" ?: ?(?:\[\s{{0,40}})?{{\s{{0,40}}"(?:reporter|driver)"'
)
_REPORTER = re.compile(r"\breporter (\w{1,32})\b")
_STATE = re.compile(r"\bstate (\w{1,16}) error (\d{1,9}) recover (\d{1,9})\b")
_RUNNING = re.compile(rf"{_BEFORE}(fw(?:\.version|\.mgmt|\.bundle_id)?)[ \t]{{1,8}}(\S{{1,40}})[ \t]*$")
_DRIVER = re.compile(rf"{_BEFORE}driver[ \t]{{1,8}}(\w{{1,32}})[ \t]*$")
_VERSIONS = ("fw", "fw.version", "fw.mgmt", "fw.bundle_id")
"""What is called the version of the firmware, by driver."""
_OF_FIRMWARE = ("fw", "fw_fatal")
_UNWELL, _WELL = "error", "healthy"


def read(lines: Sequence[str], into: Reading) -> None:
    """Read all devices of a text."""
    device: Address | None = None
    reporter = ""
    for line in lines:
        if (head := _DEVICE.match(line)) is not None:
            device, reporter = Address.parse(head[1]), ""
        if device is None:
            continue
        if (named := _REPORTER.search(line)) is not None:
            reporter = named[1]
        if reporter and (state := _STATE.search(line)) is not None:
            _take(device, reporter, state[1], int(state[2]), int(state[3]), into)
        elif (driver := _DRIVER.match(line)) is not None:
            _drive(device, driver[1], into)
        elif (running := _RUNNING.match(line)) is not None and device in into.drafts:
            into.drafts[device].function.setdefault("firmware", running[2])
    if into.drafts:
        into.kinds.append("devlink")


def read_document(document: str, into: Reading) -> None:
    """Read the same in JSON."""
    for found in documents_of(document):
        of = found if isinstance(found, dict) else {}
        for name, said in [*_named(of.get("health")), *_named(of.get("info"))]:
            address = Address.find(name.removeprefix("pci/").split("/")[0])
            if address is None:
                continue
            for one in said if isinstance(said, list) else [said]:
                if text_at(one, "reporter"):
                    errors, recovered = (natural(text_at(one, key)) or 0 for key in ("error", "recover"))
                    _take(address, text_at(one, "reporter"), text_at(one, "state"), errors, recovered, into)
                elif text_at(one, "driver"):
                    _drive(address, text_at(one, "driver"), into)
                    versions = [text_at(one, "versions", "running", key) for key in _VERSIONS]
                    into.draft(address).function["firmware"] = next(filter(None, versions), None)
    if into.drafts:
        into.kinds.append("devlink")


def _named(said: object) -> list[tuple[str, object]]:
    return list(said.items()) if isinstance(said, dict) else []


def _drive(device: Address, driver: str, into: Reading) -> None:
    function = into.draft(device).function
    function["driver"], function["driver_known"] = driver, True


def _take(device: Address, reporter: str, state: str, errors: int, recovered: int, into: Reading) -> None:
    """Take what a reporter says: firmware that failed is critical, queues and ports soon need a look."""
    function = into.draft(device).function
    firmware = reporter in _OF_FIRMWARE
    line = f"devlink: reporter {reporter}: state {state}, {errors} errors, {recovered} recovered"
    if state == _UNWELL:
        critical = firmware or function.get("stated_health") == "Critical"
        function["stated_health"] = "Critical" if critical else "Warning"
        into.events.append(KernelEvent(EventKind.CALLED_UNHEALTHY, line, device))
    elif state == _WELL:
        function.setdefault("stated_health", "OK")
        if firmware and errors:
            into.events.append(KernelEvent(EventKind.COMPLAINED, line, device))
            into.events.append(KernelEvent(EventKind.RECOVERED, line, device))
