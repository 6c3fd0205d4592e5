"""What devices of one kind are compared by: their links (`link_traits`), settings, memory, wires, health."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanewise.health.doctor.finding import Severity
from lanewise.health.doctor.link_traits import MANY, OF_LINKS, Trait, gt_per_s, less, noted, top_speed
from lanewise.health.doctor.words import size

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from lanewise.machine.model import Function
    from lanewise.machine.view import View

_FAR_LESS = 4
"""A port that carries so many times less than that of an equal adapter has another cable or fell back."""

_ROM = 6
PAYLOAD, READS = "MaxPayload", "MaxReadReq"


def _payload(view: View, function: Function) -> Hashable:
    """Return the payload, unless the port has another one: `mps-mismatch` tells of that."""
    link = view.machine.link_above(function)
    mps = function.transfers.mps
    return None if link is not None and link.upper.transfers.mps not in (None, mps) else mps


def _functions(view: View, function: Function) -> Hashable:
    """Count the functions of a device; the ports of an adapter are one each."""
    if function.address.function or not view.machine.measured:
        return None
    return view.functions_in_slot[function.address.slot]


def memory(_view: View, function: Function) -> Hashable:
    """Return how much memory the BARs of a device show in all, where every size is known."""
    sizes = [bar.size for bar in function.registers.bars or () if not bar.io and bar.index < _ROM]
    return None if not sizes or None in sizes else sum(one or 0 for one in sizes)


def _bar1(view: View, function: Function) -> Hashable:
    """Return the BAR through which a GPU shows its memory, unless registers tell that BARs differ."""
    if function.health is None:
        return None
    told = len({memory(view, one) for one in view.machine if one.health and one.is_gpu}) > 1
    return None if told else function.health.bar1_bytes


def _smaller_window(_view: View, function: Function, _value: Hashable, _theirs: Hashable) -> Severity | None:
    """Say what a smaller window means: a choice of firmware, or, where it cannot be resized, a fault."""
    if not function.is_gpu:
        return None
    return Severity.INFO if function.registers.resizable_bars else Severity.WARNING


def _slower_wire(_view: View, function: Function, value: Hashable, theirs: Hashable) -> Severity | None:
    far = isinstance(value, int) and isinstance(theirs, int) and _FAR_LESS * value <= theirs
    return Severity.WARNING if far and function.does_rdma else Severity.INFO


def _flag(read: Callable[[Function], Hashable]) -> Callable[[View, Function], Hashable]:
    return lambda _view, function: None if function.address.function else read(function)


def _aspm(function: Function) -> Hashable:
    enabled = function.link.aspm_enabled
    return None if enabled is None else " ".join(enabled) or "off"


def _virtual_functions(function: Function) -> int | None:
    sriov = function.registers.sriov
    if sriov is None or sriov.enabled is None:
        return None
    return (sriov.count or 0) if sriov.enabled else 0


def _never(_value: Hashable, _usual: Hashable) -> bool:
    return False


def _is_off(value: Hashable, _usual: Hashable) -> bool:
    return value is False


def _bytes(value: Hashable) -> str:
    return f"{value} B"


def _sign(value: Hashable) -> str:
    return "on" if value else "off"


def _named(bits: frozenset[str] | None) -> str | None:
    return None if bits is None else " ".join(sorted(bits)) or "none"


TRAITS = (
    *OF_LINKS,
    Trait("top speed of GPU and slot", top_speed, gt_per_s, less, fewest=MANY),
    Trait(PAYLOAD, _payload, _bytes, less),
    Trait(READS, lambda _, function: function.transfers.mrrs, _bytes, less, of_two=noted),
    Trait("ExtTag", _flag(lambda function: function.transfers.extended_tags), _sign, _is_off, of_two=noted),
    Trait("RlxdOrd", _flag(lambda function: function.transfers.relaxed_ordering), _sign, _never),
    Trait("AtomicOps", _flag(lambda function: function.transfers.atomics_enabled), _sign, _never),
    Trait("ASPM", _flag(_aspm), str, _never),
    Trait("number of functions", _functions, str, less),
    Trait("memory of BARs", memory, lambda value: size(int(str(value))), less, of_two=_smaller_window),
    Trait("BAR1", _bar1, lambda value: size(int(str(value))), less),
    Trait(
        "network speed",
        lambda _, function: function.port_mbit_s,
        lambda value: f"{int(str(value)) / 1000:g} Gbit/s",
        less,
        of_two=_slower_wire,
    ),
    Trait("GPUDirect", _flag(lambda function: function.gpu_direct), _sign, _never),
    Trait("ECC", _flag(lambda function: function.health and function.health.ecc), _sign, _never),
    Trait("errors reported", _flag(lambda function: _named(function.transfers.reports)), str, _never),
    Trait("errors masked", _flag(lambda function: _named(function.errors.uncorrectable_mask)), str, _never),
    Trait(
        "fatal errors", _flag(lambda function: _named(function.errors.uncorrectable_severity)), str, _never
    ),
    Trait(
        "corrected errors masked",
        _flag(lambda function: _named(function.errors.correctable_mask)),
        str,
        _never,
    ),
    Trait("NoSnoop", _flag(lambda function: function.transfers.no_snoop), _sign, _never),
    Trait("LTR", _flag(lambda function: function.transfers.ltr), _sign, _never),
    Trait("10-bit tags", _flag(lambda function: function.transfers.ten_bit_tags), _sign, _never),
    Trait(
        "slot power limit",
        _flag(lambda function: function.transfers.slot_power_limit_w),
        lambda value: f"{value:g} W",
        _never,
    ),
    Trait("virtual functions", lambda _, function: _virtual_functions(function), str, _never),
    Trait(
        "power limit",
        _flag(lambda function: function.health and function.health.power_limit_w),
        lambda value: f"{value} W",
        _never,
    ),
    Trait("NUMA node", lambda _, function: function.numa_node, str, _never, fewest=4),
    Trait("revision", lambda _, function: function.identity.revision, lambda value: f"{value:02x}", _never),
    Trait("firmware", lambda _, function: function.firmware, str, _never),
)
