"""Links between GPUs in hwloc XML: matrices of NVLink, XGMI and Xe Link bandwidth, and lists of peers.

A matrix (``<distances2>``, or ``<distances2hetero>`` where switches are among its objects) has the bandwidth
in MB/s from each object to each; 0 where nothing joins them. Objects are named by the ``gp_index`` that hwloc
gave them. hwloc 1 and early 2 write ``XGMIPeers`` instead, a list of names. Left out: how many links a
bandwidth is, which hwloc does not say; matrices of latencies and hops; links inside a card. Source: hwloc
2.14, "Topology Attributes: Distances", and files of real machines; for Xe Link its Level Zero plugin.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanewise.machine.model import Relation
from lanewise.machine.sources.numbers import natural

if TYPE_CHECKING:
    from lanewise.machine.address import Address
    from lanewise.machine.assembly import Reading

_MATRICES = {"NVLinkBandwidth": "NV", "XGMIBandwidth": "XGMI", "XeLinkBandwidth": "XL"}
_MOST_OBJECTS = 256
"""Objects of a matrix. Assumed: several times those of the largest hosts, 16 GPUs and 12 switches."""


class GpuLinks:
    """Collects matrices and peers while a file is read; objects may come after what is said of them."""

    def __init__(self) -> None:
        """Start empty."""
        self._objects: dict[str, tuple[Address, str]] = {}
        self._named: dict[str, tuple[Address, str]] = {}
        self._peers: list[tuple[str, str]] = []
        self._matrices: list[_Matrix] = []
        self._open: _Matrix | None = None
        self._into: list[str] | None = None

    def saw(self, attributes: dict[str, str], address: Address) -> None:
        """Remember an object, by number and by name, as the function that it is or belongs to."""
        name = attributes.get("name") or str(address)
        if "gp_index" in attributes:
            self._objects[attributes["gp_index"]] = (address, name)
        self._named[name] = (address, name)

    def peers(self, name: str, others: str) -> None:
        """Take what a device says of those it is joined to by XGMI."""
        self._peers += [(name, other) for other in others.split()[:_MOST_OBJECTS]]

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """Open an element."""
        if name.startswith("distances"):
            path = _MATRICES.get(attributes.get("name", ""))
            by_number = name.endswith("hetero") or attributes.get("indexing") == "gp"
            count = natural(attributes.get("nbobjs")) or 0
            if path and by_number and 1 < count <= _MOST_OBJECTS:
                self._open = _Matrix(path, count)
                self._matrices.append(self._open)
        elif self._open is not None:
            self._into = {"indexes": self._open.indexes, "u64values": self._open.values}.get(name)

    def end(self, name: str) -> None:
        """Close an element."""
        self._into = None
        if name.startswith("distances"):
            self._open = None

    def text(self, text: str) -> None:
        """Take text between elements; the parser hands over whole runs of it."""
        if self._into is not None:
            self._into += text.split()

    def put_into(self, reading: Reading) -> None:
        """Turn everything into relations, each once."""
        found: dict[tuple[Address, Address, str], Relation] = {}
        for first, second in self._peers:
            _join(found, self._named.get(first), self._named.get(second), "XGMI")
        for matrix in self._matrices:
            objects = [self._objects.get(index.rpartition(":")[2]) for index in matrix.indexes]
            for row, column in matrix.joined():
                _join(found, objects[row], objects[column], matrix.path)
        reading.relations += found.values()


class _Matrix:
    def __init__(self, path: str, count: int) -> None:
        self.path = path
        self.count = count
        self.indexes: list[str] = []
        self.values: list[str] = []

    def joined(self) -> list[tuple[int, int]]:
        """Return pairs with any bandwidth; none where the matrix is cut short."""
        if len(self.indexes) != self.count or len(self.values) != self.count**2:
            return []
        return [
            (row, column)
            for row in range(self.count)
            for column in range(self.count)
            if row != column and natural(self.values[row * self.count + column])
        ]


def _join(
    found: dict[tuple[Address, Address, str], Relation],
    one: tuple[Address, str] | None,
    other: tuple[Address, str] | None,
    path: str,
) -> None:
    if one is None or other is None or one[0] == other[0]:
        return
    (first, name), (second, second_name) = sorted((one, other))
    relation = Relation(name, second_name, path, first_address=first, second_address=second)
    found.setdefault((first, second, path), relation)
