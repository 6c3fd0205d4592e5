"""Devices that are not predicted, and why: each is said, so that none vanishes.

Leaves out bridges, what is no device of data and has no link, and further functions of a device, which share
its link.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanewise.machine.model import ENDPOINTS, Kind
from lanewise.machine.view import View, is_emulated, is_management

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from lanewise.machine.address import Address
    from lanewise.machine.model import Function, Machine

_MOST_ADDRESSES = 6
_WITHOUT_LINK = (Kind.INTEGRATED_ENDPOINT, Kind.CONVENTIONAL)
NOT_PREDICTED = "not predicted, because "
"""How a sentence about a device that is left out begins."""
UNKNOWN_LINK = "its link is not known"
"""Why a device is left out that a better source would show."""
TOO_SLOW = "its link carries less than 1.9 GB/s"
"""Why one is left out that is predicted where somebody names it."""


def left_out(
    machine: Machine, predicted: Collection[Address], named: Iterable[Function] | None = None
) -> list[str]:
    """Say by reason which devices have no prediction; `predicted` are the addresses of those that have.

    Of all devices, or of those that somebody `named`.
    """
    view = View(machine)
    slots = {address.slot for address in predicted}
    reasons: dict[str, list[str]] = {}
    movers = {function.address.slot for function in machine if _moves_data(view, function)}
    for function in machine if named is None else named:
        if function.address.slot in slots or not (named is not None or _is_device(view, function)):
            continue
        # A tree names the first function without its class.
        if named is None and function.address.slot in movers and not _moves_data(view, function):
            continue
        slots.add(function.address.slot)
        reasons.setdefault(_reason(view, function), []).append(function.address.short)
    return [f"{NOT_PREDICTED}{reason}: {_listed(found)}" for reason, found in reasons.items()]


def _moves_data(view: View, function: Function) -> bool:
    return not function.virtual and view.is_data_mover(function)


def _is_device(view: View, function: Function) -> bool:
    """Whether a function is the end of a link, or of a class that moves data."""
    if function.virtual or function.is_bridge or function.implied:
        return False
    return view.machine.role(function) in ENDPOINTS or view.is_data_mover(function)


def _reason(view: View, function: Function) -> str:
    if reason := _of_its_kind(view, function):
        return reason
    if view.is_in_processor(function) and not function.is_nic:
        return "it is part of the processor, without a link of its own"
    if view.machine.role(function) in _WITHOUT_LINK:
        return "no link of PCI Express leads to it"
    rate = view.possible_rate(function)
    if rate is None:
        return UNKNOWN_LINK
    if not view.is_worth_tuning(rate):
        return TOO_SLOW
    return "no benchmark of it could be simulated"


def _of_its_kind(view: View, function: Function) -> str | None:
    """Say why devices like this one are never predicted; None for those that are."""
    if is_emulated(function):
        return "a hypervisor makes it up"
    if is_management(function):
        return "it only manages the switch that it is in"
    if function.has_c2c:
        return "it reaches its host over NVLink-C2C, which is not simulated"
    if function.is_cxl_memory:
        return "it is memory that the host loads and stores over CXL ('lanewise new cxl_memory' has one)"
    if not view.is_data_mover(function):
        return "it is no GPU, network, storage or computing device by class and maker"
    return None


def _listed(addresses: Iterable[str]) -> str:
    all_of_them = list(addresses)
    rest = len(all_of_them) - _MOST_ADDRESSES
    return ", ".join(all_of_them[:_MOST_ADDRESSES]) + (f" and {rest} more" if rest > 0 else "")
