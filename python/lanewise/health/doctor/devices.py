"""What a finding calls its device: a short name, and the slot that it is in.

People who replace a card look for its name and its slot, not for its address. The name is that of `pci.ids`,
without what the law asks of a company's name and without the number of the chip where the product has a name
of its own, in brackets. The slot is what the firmware prints on the board (dmidecode), else what the kernel
calls it.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from lanewise.machine.sources.made_up import MADE_UP_DOMAIN

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lanewise.health.doctor.finding import Finding
    from lanewise.machine.model import Function, Machine
    from lanewise.machine.view import View

_MOST = 34
"""Characters of a product's name, so that a row of a table still holds it beside its finding."""

_PRODUCT = re.compile(r"\[(?=[^][A-Za-z]*+[A-Za-z])([^][]++)\]\s*+$")
"""The name of a product behind that of its chip, like ``GH100 [H100 SXM5 80GB]``."""
_SHORT_VENDOR = re.compile(r"\[([A-Za-z][A-Za-z0-9 .-]*)[\]/]")
"""A vendor's own short name, like ``Advanced Micro Devices, Inc. [AMD/ATI]``."""
_MADE_UP = re.compile(r"\bffff[0-9a-f]{4}:[0-9a-f]{2}:[01][0-9a-f]\.[0-7]\b")
"""An address beyond any that a machine has (`machine.sources.made_up`)."""
_NO_NAME = re.compile(r"0(-\d+)?$")
"""What the kernel calls slots of ports that have no number."""
_LEGAL = re.compile(
    r"(?>,? (?:Inc|Corp|Corporation|Co|Company|Ltd|Limited|LLC|GmbH|AG|and subsidiaries|Technology|"
    r"Technologies|Electronics|Semiconductors?|Systems|International|Group|Computer)\b\.?+,?+){1,8}+\s*+$"
)


def named(findings: Iterable[Finding], view: View) -> list[Finding]:
    """Give each finding the name and slot of its device; those about no device that is there have none."""
    known: dict[str, str] = {}
    names = _instead_of_made_up(view.machine)
    for finding in (all_of_them := list(findings)):
        if finding.bdf and finding.bdf not in known:
            known[finding.bdf] = _words(view, finding.bdf)
    return [
        _called_by_name(
            replace(finding, device=known[finding.bdf]) if known.get(finding.bdf) else finding, names
        )
        for finding in all_of_them
    ]


def _instead_of_made_up(machine: Machine) -> dict[str, str]:
    """Return the names of devices whose source states no addresses, by the addresses that were made up."""
    return {
        function.address.short: function.interfaces[0]
        for function in machine
        if function.address.domain >= MADE_UP_DOMAIN and not function.implied and function.interfaces
    }


def _called_by_name(finding: Finding, names: dict[str, str]) -> Finding:
    """Write the names of devices for addresses that nobody can look up."""
    if not names:
        return finding

    def told(text: str) -> str:
        return _MADE_UP.sub(lambda found: names.get(found[0], found[0]), text)

    return replace(
        finding,
        bdf=told(finding.bdf),
        title=told(finding.title),
        evidence=tuple(map(told, finding.evidence)),
        fix=told(finding.fix),
        also=tuple(map(told, finding.also)),
    )


def _words(view: View, bdf: str) -> str:
    """Return words like ``NVIDIA H100 SXM5 80GB, slot 24``."""
    function = view.machine.named(bdf)
    if function is None or function.implied:
        return ""
    slot = _slot(view, view.machine, function)
    return ", ".join(part for part in (short_name(function), f"slot {slot}" if slot else "") if part)


def short_name(function: Function) -> str:
    """Return vendor and product in few words; numbers, or the kind, where there are none."""
    identity = function.identity
    vendor = _vendor(identity.vendor_name or "")
    if function.model:
        return _cut(function.model.strip())
    if identity.device_name:
        return _product(vendor, identity.device_name)
    if identity.device_id is None:
        return vendor or identity.class_name or ""
    return f"{vendor or 'device'} {identity.vendor_id or 0:04x}:{identity.device_id:04x}"


@cache
def _vendor(name: str) -> str:
    own = _SHORT_VENDOR.search(name)
    return own[1] if own else _LEGAL.sub("", name.partition(" / ")[0])


@cache
def _product(vendor: str, name: str) -> str:
    product = _PRODUCT.search(name)
    words = _cut(product[1] if product else name)
    return words if not vendor or words.startswith(vendor) else f"{vendor} {words}"


def _cut(words: str) -> str:
    """Cut a name behind a word where it is long: some list every product of a chip."""
    if len(words) <= _MOST:
        return words
    return words[: _MOST + 1].rpartition(" ")[0].rstrip(" ,/-(") or words[:_MOST]


def _slot(view: View, machine: Machine, function: Function) -> str | None:
    """Return the slot of a card, of a port the one that it leads to."""
    described = machine.slot_of(function) if machine.slots else None
    if described is not None:
        return described.name
    link = None if function.is_bridge else view.physical_link(function)
    places = (function, *((link.device, link.upper) if link is not None else ()))
    return next((one.physical_slot for one in places if not _NO_NAME.match(one.physical_slot or "0")), None)
