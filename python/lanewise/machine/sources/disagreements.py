"""What two sources say differently of one function, where one of them must be wrong, or something happened.

Lanes that run do not change while a machine works, nor do the most lanes and speed of a link. Speeds of GPUs
do: what idle ones lower is no disagreement. A tool that lists GPUs and leaves out one of those that its
driver has does not reach that one. Left out: names, identities, counters and states, which belong to their
moment.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanewise.machine.model import IDLE_GPU_GT_S, Disagreement
from lanewise.machine.sources.made_up import MADE_UP_DOMAIN

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lanewise.machine.model import Function, Machine

_AMD_SMI = "AMD SMI"
_DRIVERS = {"nvidia-smi": ("nvidia", 0x10DE), _AMD_SMI: ("amdgpu", 0x1002)}
"""Tools, the driver that they ask, and the maker of its GPUs."""
_FEWEST_LISTED = 2
"""GPUs that a list has which is no query of a single one."""


def between(machine: Machine, mine: Function, told: Machine, theirs: Function) -> Iterator[Disagreement]:
    """Compare what a machine and a layer say of a link and of a place."""
    who, whose = _name(machine), _name(told)
    now, then = mine.link.status, theirs.link.status

    def differ(what: str, first: str, second: str, *, less: bool) -> Disagreement:
        return Disagreement(mine.address, what, f"{who}: {first}", f"{whose}: {second}", less)

    if now.width and then.width and now.width != then.width:
        yield differ("lanes", f"x{now.width}", f"x{then.width}", less=then.width < now.width)
    if now.gt_s and then.gt_s and now.gt_s != then.gt_s and not may_sleep(mine, theirs):
        yield differ("speed", f"{now.gt_s:g}GT/s", f"{then.gt_s:g}GT/s", less=then.gt_s < now.gt_s)
    link, most = machine.link_above(mine), theirs.link.capability
    port = told.parent(theirs)
    if port is not None and port.implied and port.link.capability.gt_s and most.gt_s:
        # What the host can do, as `nvidia-smi` says in a line of its own.
        most = most._replace(gt_s=min(most.gt_s, port.link.capability.gt_s))
    limit = mine.link.capability if link is None or not link.limit.known else link.limit
    # A layer may state the most of the device or of device and port together: both are at least the limit.
    if limit.width and most.width and most.width < limit.width:
        yield differ("most lanes", f"x{limit.width}", f"x{most.width}", less=True)
    if limit.gt_s and most.gt_s and most.gt_s < limit.gt_s:
        yield differ("most speed", f"{limit.gt_s:g}GT/s", f"{most.gt_s:g}GT/s", less=True)
    if None not in (mine.numa_node, theirs.numa_node) and mine.numa_node != theirs.numa_node:
        yield differ("NUMA node", str(mine.numa_node), str(theirs.numa_node), less=False)


def of_lists(machine: Machine, told: Machine, *, whole: bool = False) -> Iterator[Disagreement]:
    """Find GPUs that only one of `nvidia-smi` or `amd-smi` and the other source has.

    `whole` says that the list counts the GPUs and holds as many; another may be one of some of them.
    """
    listed = {f.address for f in told if not f.implied and f.address.domain < MADE_UP_DOMAIN}
    tool = next((one for one in _DRIVERS if one in told.kinds), None)
    if tool is None or (len(listed) < _FEWEST_LISTED and not whole):
        return
    driven = {f.address: f for f in machine if _is_driven(f, tool)}
    if tool == _AMD_SMI:
        # A processor's own GPU has that driver as well, and AMD's tools may leave it out.
        kinds = {f.identity.device_id for address, f in driven.items() if address in listed}
        driven = {address: f for address, f in driven.items() if f.identity.device_id in kinds}
    missing = [address for address in driven if address not in listed]
    common = listed & driven.keys()
    if len(missing) < len(common) or (whole and common):
        for address in missing:
            how = f"driver in use: {driven[address].driver}" if driven[address].driver else "there"
            first, second = f"{_name(machine)}: {how}", f"{_name(told)}: not there"
            yield Disagreement(address, "listed", first, second, less=True)
    if common:
        for address in sorted(listed - machine.functions.keys()):
            yield Disagreement(address, "listed", f"{_name(machine)}: not there", f"{_name(told)}: there")


def _is_driven(function: Function, tool: str) -> bool:
    """Whether a GPU belongs to the driver of a tool; of its maker's in a source without drivers all may."""
    driver, vendor = _DRIVERS[tool]
    if function.virtual or not function.is_gpu or not function.registers.express:
        return False
    return function.driver == driver or (
        function.identity.vendor_id == vendor and function.driver is None and not function.driver_known
    )


def may_sleep(mine: Function, theirs: Function) -> bool:
    """Whether the slower of two speeds is one that a GPU has while it is idle."""
    speeds = {one.link.status.gt_s or 0.0: one for one in (mine, theirs)}
    slow = speeds[min(speeds)]
    return mine.is_gpu and min(speeds) <= IDLE_GPU_GT_S and slow.idle is not False


def _name(machine: Machine) -> str:
    return machine.kinds[0] if machine.kinds else "the dump"
