"""One function while it is being read: mutable, in any order, with gaps; frozen when all is read.

Readers fill one `Draft` per function with whatever their source says; `assembly` makes a machine of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, cast

from lanewise.machine.function import Function, Identity
from lanewise.machine.registers import (
    BOUNDARIES,
    PACKET_SIZES,
    Acs,
    Cxl,
    Dpc,
    Errors,
    LinkMode,
    LinkRegisters,
    Registers,
    Slot,
    Sriov,
    Transfers,
)

if TYPE_CHECKING:
    from lanewise.machine.address import Address
    from lanewise.machine.function import Buses, Kind
    from lanewise.machine.registers import Bar, ResizableBar
    from lanewise.machine.said import (
        AcsSaid,
        CxlSaid,
        DpcSaid,
        ErrorsSaid,
        FunctionSaid,
        IdentitySaid,
        LinkRegistersSaid,
        RegistersSaid,
        Said,
        SlotSaid,
        SriovSaid,
        TransfersSaid,
    )

_MOST_INTERFACES = 1024
"""Names of one function. Assumed: adapters have some hundreds, one for each virtual function."""


_LANES: dict[tuple[int | None, int | None], int] = {(0x1B21, 0x1806): 2}
"""ASMedia's ASM1806, a switch of two lanes (pci.ids), of which many claim eight (public dumps)."""


class Draft:
    """What a source has said about one function so far; keys are the fields of the classes in `model`."""

    __slots__ = (
        "acs",
        "address",
        "bars",
        "buses",
        "cxl",
        "dpc",
        "errors",
        "function",
        "identity",
        "interface",
        "kind",
        "link",
        "parent",
        "path",
        "registers",
        "resizable_bars",
        "slot",
        "sriov",
        "transfers",
        "virtual_functions",
    )

    def __init__(self, address: Address) -> None:
        """Know nothing but the address."""
        self.address = address
        self.kind: Kind | None = None
        self.interface: int | None = None
        """Programming interface, where the source names the class in words."""
        self.buses: Buses | None = None
        self.parent: Address | None = None
        self.path: tuple[Address, ...] = ()
        self.function: FunctionSaid = {}
        self.identity: IdentitySaid = {}
        self.registers: RegistersSaid = {}
        self.bars: list[Bar] | None = None
        self.resizable_bars: list[ResizableBar] = []
        self.virtual_functions: tuple[int, int] | None = None
        """First VF Offset and VF Stride, in routing IDs."""
        self.link: LinkRegistersSaid = {}
        self.transfers: TransfersSaid = {}
        self.errors: ErrorsSaid = {}
        self.slot: SlotSaid = {}
        self.acs: AcsSaid = {}
        self.dpc: DpcSaid = {}
        self.sriov: SriovSaid = {}
        self.cxl: CxlSaid = {}

    def add_interface(self, name: str) -> None:
        """Take a name by which software knows the function; once, and not beyond all measure."""
        names = self.function.get("interfaces") or ()
        if name not in names and len(names) < _MOST_INTERFACES:
            self.function["interfaces"] = (*names, name)

    def freeze(self) -> Function:
        """Return the function, still without parent and children."""
        self._forget_what_cannot_be()
        registers = Registers(
            **self.registers,
            link=LinkRegisters(**self.link) if self.link else None,
            transfers=Transfers(**self.transfers) if self.transfers else None,
            errors=Errors(**self.errors) if self.errors else None,
            slot=Slot(**self.slot) if self.slot else None,
            acs=Acs(**self.acs) if self.acs else None,
            dpc=Dpc(**self.dpc) if self.dpc else None,
            sriov=Sriov(**self.sriov) if self.sriov else None,
            cxl=Cxl(**self.cxl) if self.cxl else None,
            bars=None if self.bars is None else tuple(self.bars),
            resizable_bars=tuple(self.resizable_bars),
        )
        return Function(
            address=self.address,
            kind=self.kind,
            identity=Identity(**self.identity),
            registers=registers,
            parent=self.parent,
            buses=self.buses,
            stated_path=self.path,
            **self.function,
        )

    def _forget_what_cannot_be(self) -> None:
        """Take sizes that no packet has, and boundaries that there are not, for what no source says."""
        sizes: tuple[Literal["mps_supported", "mps", "mrrs"], ...] = ("mps_supported", "mps", "mrrs")
        for name in sizes:
            if self.transfers.get(name) not in PACKET_SIZES:
                self.transfers.pop(name, None)
        if self.link.get("rcb_bytes") not in BOUNDARIES:
            self.link.pop("rcb_bytes", None)
        lanes = _LANES.get((self.identity.get("vendor_id"), self.identity.get("device_id")))
        able = self.link.get("capability")
        if lanes is not None and able is not None and (able.width or 0) > lanes:
            self.link["capability"] = LinkMode(able.gt_s, lanes)

    def fill_from(self, other: Draft) -> None:
        """Take from `other` what this draft does not say; the rest stays."""
        for mine, theirs in zip(self._said(), other._said(), strict=True):
            for key, value in theirs.items():
                mine[key] = _filled(mine.get(key), value)
        self.kind = self.kind or other.kind
        self.buses = self.buses or other.buses
        self.path = self.path or other.path
        self.parent = self.parent or other.parent
        self.bars = self.bars or other.bars
        self.resizable_bars = self.resizable_bars or other.resizable_bars
        self.virtual_functions = self.virtual_functions or other.virtual_functions

    def _said(self) -> tuple[dict[str, object], ...]:
        """Return everything that is said key by key."""
        said: tuple[Said, ...] = (
            self.function,
            self.identity,
            self.registers,
            self.link,
            self.transfers,
            self.errors,
            self.slot,
            self.acs,
            self.dpc,
            self.sriov,
            self.cxl,
        )
        return cast("tuple[dict[str, object], ...]", said)


def _filled(mine: object, theirs: object) -> object:
    """Return `mine`, with gaps filled from `theirs`; groups of registers are filled field by field."""
    if mine is None or mine == ():
        return theirs
    if isinstance(mine, LinkMode) and isinstance(theirs, LinkMode):
        return LinkMode(
            theirs.gt_s if mine.gt_s is None else mine.gt_s,
            theirs.width if mine.width is None else mine.width,
        )
    return mine
