"""What `predict --peers` comes to: devices, pairs, adapters for GPUs; as tables and as JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from lanewise.health.predict.measured import measured_elsewhere
from lanewise.output_format import FORMAT
from lanewise.written import counted, in_short

if TYPE_CHECKING:
    from collections.abc import Iterable

    import polars as pl

    from lanewise.documents import Predict, PredictPeersDevice
    from lanewise.health.predict.measured import MeasuredElsewhere
    from lanewise.health.predict.nearest import Adapter
    from lanewise.health.predict.pairs import Pair


@dataclass(frozen=True, kw_only=True)
class PeerDevice:
    """A device that pairs are made of."""

    name: str
    """Kind and number by address: GPU0, NIC0, NVMe0."""
    kind: str
    """GPU, NIC or NVMe."""
    bdf: str
    """Address."""
    device: str
    """Its name."""
    link: str
    """Generation and width that its link can train to; empty where no source tells."""
    numa_node: int | None
    interfaces: tuple[str, ...]
    """Names by which software knows it, such as ``mlx5_0``."""
    iommu: str | None
    """``translates`` or ``passes through``; None where no source tells."""

    def document(self) -> PredictPeersDevice:
        """Return the device as JSON has it."""
        return cast("PredictPeersDevice", {**vars(self), "interfaces": list(self.interfaces)})


@dataclass(frozen=True)
class PeerPrediction:
    """What the devices of a machine can move to and from its GPUs."""

    source: str
    """What was read."""
    devices: tuple[PeerDevice, ...]
    """GPUs, then network adapters, then drives, each by address."""
    pairs: tuple[Pair, ...]
    """One for each device with each GPU."""
    adapters: tuple[Adapter, ...]
    """The network adapter to use for each GPU; none where there is no adapter."""
    assumptions: tuple[str, ...]
    """What the numbers rest on, a sentence each."""
    changes: tuple[str, ...] = ()
    """What was tried instead of what the machine has."""
    notes: tuple[str, ...] = ()
    """What was left out, a sentence each."""
    simulations: int = 0
    """How many were run."""

    @property
    def measured_elsewhere(self) -> list[MeasuredElsewhere]:
        """How near such simulations were to what others measured, for each kind of case in `pairs`."""
        return measured_elsewhere(pair.kind_of_case for pair in self.pairs)

    @cached_property
    def table(self) -> pl.DataFrame:
        """One row per pair: the way, what redirects it, rates in GB/s, latency of a write of 4 KiB in ns."""
        return _frame(vars(pair) for pair in self.pairs)

    @cached_property
    def adapter_table(self) -> pl.DataFrame:
        """One row per GPU: the network adapter to use, the way to it, rates in GB/s."""
        return _frame(dict(each.document()) for each in self.adapters)

    def __repr__(self) -> str:
        """Say of what it is."""
        return in_short(self, self.source, counted(len(self.pairs), "pair"))

    def _repr_html_(self) -> str:
        """Return what a notebook shows: pairs and adapters, and what was assumed."""
        from lanewise.notebook import html

        return html(
            f"Pairs of devices of {self.source}",
            [*self.notes, *(f"Assumed: {each}" for each in self.assumptions)],
            [("Pairs", self.table), ("Which adapter for which GPU", self.adapter_table)],
        )

    @property
    def document(self) -> Predict:
        """The matrix as JSON has it."""
        return {
            "format": FORMAT,
            "source": self.source,
            "predictions": [],
            "alike": [],
            "peers": {
                "devices": [each.document() for each in self.devices],
                "pairs": [pair.document() for pair in self.pairs],
                "adapters": [each.document() for each in self.adapters],
            },
            "measured_elsewhere": [each.document() for each in self.measured_elsewhere],
            "what_if": list(self.changes),
            "assumptions": list(self.assumptions),
            "notes": list(self.notes),
        }

    def to_json(self) -> str:
        """Return the matrix as JSON text."""
        return json.dumps(self.document, indent=2, ensure_ascii=False)


def _frame(rows: Iterable[dict[str, Any]]) -> pl.DataFrame:
    # Polars takes a tenth of a second, and the command line asks for no table.
    import polars as pl

    return pl.DataFrame(list(rows), infer_schema_length=None)
