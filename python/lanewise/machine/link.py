"""One physical link of a machine: the port above, the device below, and what their registers make of it.

Leaves out: which links leave the chip and which devices sleep (`view`). Source: PCI Express Base
Specification 5.0, 1.3 and 7.5.3.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lanewise.machine.registers import LinkMode

if TYPE_CHECKING:
    from lanewise.machine.function import Function

_MADE_UP = frozenset({(0x1B36, 0x000C), (0x15AD, 0x07A0)})
"""Root ports of QEMU and VMware (pci.ids): they claim x32, and speeds that the host's slot may not have."""


@dataclass(frozen=True, slots=True)
class Link:
    """One physical link: the port above and the functions of the one device below."""

    upper: Function
    lower: tuple[Function, ...]
    """All functions on the secondary bus that speak Express; at least one; lowest number first."""
    on_die: bool = False
    """Both ends are in one chip: its registers are for show and no physical limit."""
    tunnel: bool = False
    """It goes through a Thunderbolt or USB4 cable: its registers are for show too, and `on_die` is set."""

    @property
    def device(self) -> Function:
        """The first function of the lower end whose link registers are known; all have the same.

        Those of virtual functions are reserved. Where none is known it is the first.
        """
        return next((one for one in self.lower if one.tells_link), self.lower[0])

    @property
    def port_can(self) -> LinkMode:
        """What the port above can do; unknown for ports that a hypervisor makes up, where that matters.

        A device that is passed through shows the registers of its real link, and nothing shows its real port:
        a link below its device's capability may be below that of its slot, or not.
        """
        identity, claimed, device = self.upper.identity, self.upper.link.capability, self.device.link
        if (identity.vendor_id, identity.device_id) not in _MADE_UP:
            return claimed
        if device.status != device.capability:
            return LinkMode()
        # A device at its best shows that its real slot can do that, whatever the made-up one claims.
        able = device.capability
        return LinkMode(_most(claimed.gt_s, able.gt_s), _most(claimed.width, able.width))

    @property
    def now(self) -> LinkMode:
        """What runs now: the lower end's status, the upper end's where the lower says nothing."""
        lower, upper = self.device.link.status, self.upper.link.status
        gt_s = lower.gt_s if lower.gt_s is not None else upper.gt_s
        return LinkMode(gt_s, lower.width or upper.width or lower.width)

    @property
    def limit(self) -> LinkMode:
        """The most both ends can do: the smaller speed and width; None where either end does not say."""
        upper, lower = self.port_can, self.device.link.capability
        known_width = upper.width is not None and lower.width is not None
        width = min(upper.width or 0, lower.width or 0) if known_width else None
        return LinkMode(_smaller(upper.gt_s, lower.gt_s), width)

    @property
    def reach(self) -> LinkMode:
        """The most that no end rules out: as `limit`, and where one end does not say, what the other does."""
        upper, lower = self.port_can, self.device.link.capability
        return LinkMode(_least(upper.gt_s, lower.gt_s), _least(upper.width, lower.width))

    @property
    def below_speed(self) -> bool:
        """Whether it runs slower than both ends can. Idle GPUs do: see `Machine.is_idle_gpu`."""
        now, limit = self.now.gt_s, self.limit.gt_s
        return now is not None and limit is not None and 0 < now < limit

    @property
    def held(self) -> tuple[Function, float] | None:
        """Return which end holds it below what both can do, and at how many GT/s; None when neither does.

        The port's Target Link Speed is an upper limit for the link; a device's own is none by the
        specification, and says how the link was set up. With Hardware Autonomous Speed
        Disable set, an end does not leave the speed that it has. 7.5.3.19.
        """
        now, limit = self.now.gt_s, self.limit.gt_s
        if now is None or limit is None or now >= limit:
            return None
        for end in (self.upper, self.device):
            target = end.link.target_gt_s
            if target is not None and now <= target < limit:
                return end, target
        frozen = (end for end in (self.upper, self.device) if end.link.autonomous_speed_disabled)
        return next(((end, now) for end in frozen), None)

    @property
    def below_width(self) -> bool:
        """Whether it runs on fewer lanes than both ends have."""
        now, limit = self.now.width, self.limit.width
        return now is not None and limit is not None and 0 < now < limit

    @property
    def contradiction(self) -> str | None:
        """Say how it runs, where that is more than both of its ends can do: then one register is wrong."""
        now, limit = self.now, self.limit
        if self.on_die or not limit.gt_s or not limit.width:
            return None
        if (now.gt_s or 0) <= limit.gt_s and (now.width or 0) <= limit.width:
            return None
        return f"{self.name} contradicts itself: LnkSta says {now}, and both ends can do {limit} at most"

    @property
    def name(self) -> str:
        """``port -> device`` in short addresses."""
        return f"{self.upper.address.short} -> {self.device.address.short}"


def _least(first: float | None, second: float | None) -> Any:
    return min((end for end in (first, second) if end is not None), default=None)


def _most(first: float | None, second: float | None) -> Any:
    return max((end for end in (first, second) if end is not None), default=None)


def _smaller(first: float | None, second: float | None) -> float | None:
    return None if first is None or second is None else min(first, second)
