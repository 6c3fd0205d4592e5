"""What two captures of one machine in a text say differently.

Lanes, speeds, other devices and missing ones are disagreements, as between two sources. Other registers in
which they contradict each other are named by the groups that `lspci` prints them in. Left out: what changes
by itself while a machine works (power states, speeds of GPUs), what is told in other words by another
verbosity, addresses that firmware hands out, and ports, of whose links the devices tell.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanewise.machine.draft import Draft
from lanewise.machine.function import ENDPOINTS, Kind
from lanewise.machine.naming import complete
from lanewise.machine.registers import Equalization, LinkMode
from lanewise.machine.sources.disagreements import may_sleep
from lanewise.machine.surroundings import Disagreement
from lanewise.machine.topology import is_switch_of_gpu

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from lanewise.machine.address import Address
    from lanewise.machine.function import Function

_FEW_MISSING = 4
"""One in so many devices may be missing from a capture; of one with less, part was left out on purpose."""

_GROUPS = {
    "registers": "Control, Status",
    "link": "LnkCap, LnkCtl, LnkSta",
    "transfers": "DevCap, DevCtl, DevSta",
    "errors": "AER",
    "slot": "SltCap, SltCtl, SltSta",
    "acs": "ACS",
    "dpc": "DPC",
    "sriov": "SR-IOV",
    "cxl": "CXL",
}
"""Parts of a `Draft`, and how `lspci` calls the registers that they are of."""

_LEFT_OUT = {
    "registers": frozenset({"no_answer", "power_state", "capabilities", "windows"}),
    "link": frozenset(
        {
            *("status", "said_of_speed", "said_of_width"),
            *("training", "bandwidth_managed", "bandwidth_autonomous", "aspm_supported"),
        }
    ),
    "errors": frozenset({"uncorrectable_mask", "uncorrectable_severity", "correctable_mask"}),
}
"""What changes by itself, what follows from other registers, and what old versions of `lspci` print in part:
masks, and ASPM (``ASPM unknown``)."""
_BITS_LEFT_OUT = frozenset({"TransPend", "AuxPwr"})


def disagreements(
    known: Mapping[Address, Draft], capture: Mapping[Address, Draft], number: int, *, whole: bool
) -> Iterator[Disagreement]:
    """Compare what is known from earlier captures with one more, the `number`th.

    `whole` says that a device that is in one of them only was not left out on purpose.
    """
    before, this = "capture 1" if number == 2 else "earlier captures", f"capture {number}"
    found = [
        _of_device(known[address], capture[address]) for address in sorted(known.keys() & capture.keys())
    ]
    found += [_of_lists(known, capture)] if whole else []
    for each in found:
        for address, what, first, second in each:
            # Which of them says less does not matter: nothing tells which is of now, or of which machine.
            yield Disagreement(address, what, f"{before}: {first}", f"{this}: {second}", less=True)


def contradictory_groups(earlier: Draft, later: Draft) -> list[str]:
    """Name the registers in which two captures of a function contradict each other."""
    if are_two_devices(earlier, later):
        return []
    groups = []
    for name, words in _GROUPS.items():
        mine, theirs = getattr(earlier, name), getattr(later, name)
        keys = (mine.keys() & theirs.keys()) - _LEFT_OUT.get(name, frozenset())
        if any(_contradict(mine[key], theirs[key]) for key in keys):
            groups.append(words)
    mine, theirs = _have_addresses(earlier), _have_addresses(later)
    if any(mine[index] != theirs[index] for index in mine.keys() & theirs.keys()):
        groups.append("BARs")
    return groups


def are_two_devices(one: Draft, other: Draft) -> bool:
    """Whether two captures name different devices, as far as both say who they are."""
    mine, theirs = who(one, other), who(other, one)
    return mine is not None and theirs is not None and mine != theirs


def who(draft: Draft, other: Draft) -> object:
    """Return vendor and device in numbers, where both say them, else the first words of the name.

    The rest of a name changes from one year's `pci.ids` to the next.
    """
    if all({"vendor_id", "device_id"} <= one.identity.keys() for one in (draft, other)):
        return draft.identity["vendor_id"], draft.identity["device_id"]
    name = draft.identity.get("device_name")
    return None if name is None else name.split()[:3]


def is_host_bridge(draft: Draft) -> bool:
    """Whether it is what a whole list begins with."""
    code = draft.identity.get("class_code")
    return code >> 8 == 0x0600 if code is not None else draft.identity.get("class_name") == "Host bridge"


def _of_device(earlier: Draft, later: Draft) -> Iterator[tuple[Address, str, str, str]]:
    """Compare who a device is, and how its link runs."""
    address = later.address
    if are_two_devices(earlier, later):
        was, now = (draft.identity.get("device_name") or "another device" for draft in (earlier, later))
        yield address, "device", was, now
    elif _is_lower_end(later):
        first, second = (draft.link.get("status", LinkMode()) for draft in (earlier, later))
        if first.width and second.width and first.width != second.width:
            yield address, "lanes", f"x{first.width}", f"x{second.width}"
        if first.gt_s and second.gt_s and first.gt_s != second.gt_s and not _may_sleep(earlier, later):
            yield address, "speed", f"{first.gt_s:g}GT/s", f"{second.gt_s:g}GT/s"


def _of_lists(
    known: Mapping[Address, Draft], capture: Mapping[Address, Draft]
) -> Iterator[tuple[Address, str, str, str]]:
    """Find devices that are in one only of two whole lists, which begin with a host bridge."""
    if max(len(known), len(capture)) > 2 * min(len(known), len(capture)):
        return
    if not all(any(map(is_host_bridge, each.values())) for each in (known, capture)):
        return
    common = len(known.keys() & capture.keys())
    for held, other, said in (
        (known, capture, ("there", "not there")),
        (capture, known, ("not there", "there")),
    ):
        missing = [address for address in sorted(held.keys() - other.keys()) if _is_device(held[address])]
        if _FEW_MISSING * len(missing) <= common:
            yield from ((address, "listed", *said) for address in missing)


def _is_lower_end(draft: Draft) -> bool:
    """Whether it is the first function at the lower end of a link, as far as it says."""
    if draft.address.function or draft.function.get("virtual"):
        return False
    return draft.kind in (*ENDPOINTS, Kind.UPSTREAM_PORT) or (draft.kind is None and draft.buses is None)


def _is_device(draft: Draft) -> bool:
    """Whether it is neither a bridge nor a virtual function, which come and go."""
    code, words = draft.identity.get("class_code"), draft.identity.get("class_name") or ""
    bridge = "bridge" in words.lower() if code is None else code >> 16 == 0x06
    return draft.buses is None and not bridge and not draft.function.get("virtual")


def _may_sleep(earlier: Draft, later: Draft) -> bool:
    """Whether the slower of two speeds is that of an idle GPU."""
    first, second = _named(earlier), _named(later)
    return may_sleep(first, second) or is_switch_of_gpu(second)


def _named(draft: Draft) -> Function:
    """Return who a function is and how its link runs, with the numbers that its names stand for."""
    copy = Draft(draft.address)
    copy.identity, copy.interface = {**draft.identity}, draft.interface
    copy.link["status"] = draft.link.get("status", LinkMode())
    complete([copy])
    return copy.freeze()


def _have_addresses(draft: Draft) -> dict[int, bool]:
    return {bar.index: bar.assigned for bar in draft.bars or ()}


def _contradict(mine: object, theirs: object) -> bool:
    """Whether two statements cannot both hold; what one of them leaves open contradicts nothing."""
    if mine is None or theirs is None or mine == theirs:
        return False
    if isinstance(mine, frozenset) and isinstance(theirs, frozenset):
        return not mine ^ theirs <= _BITS_LEFT_OUT
    if isinstance(mine, LinkMode) and isinstance(theirs, LinkMode):
        return any(map(_contradict, mine, theirs))
    mine_by_speed, theirs_by_speed = _outcomes(mine), _outcomes(theirs)
    if mine_by_speed or theirs_by_speed:
        common = mine_by_speed.keys() & theirs_by_speed.keys()
        return any(any(map(_contradict, mine_by_speed[gt_s], theirs_by_speed[gt_s])) for gt_s in common)
    return True


def _outcomes(said: object) -> dict[float, Equalization]:
    """Return outcomes of equalization by speed; none where this is something else."""
    if not isinstance(said, tuple):
        return {}
    return {one.gt_s: one for one in said if isinstance(one, Equalization)}
