"""`nvidia-smi topo -m`: how GPUs and network cards reach each other, on top of another source or alone.

A matrix of names and paths; columns behind it give CPUs and NUMA nodes. `nvidia-smi topo -p2p` prints a
matrix of the same shape that is no topology, and is told apart by its entries. Names are positions: GPU0 is
the first GPU by address (``CUDA_DEVICE_ORDER`` does not move them here), NICs are named by the driver, or by
the legend below the matrix. Source: `nvidia-smi topo --help`; drivers before 2017 say ``SOC`` for ``SYS``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from lanewise.machine.kernel_event import EventKind, KernelEvent
from lanewise.machine.model import Kind, Relation
from lanewise.machine.sources.numbers import natural

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lanewise.machine.model import Function, Machine

_NAME = re.compile(r"(?:GPU\d+|NIC\d+|[a-z][^\W_]*+_\w++|ib\w+|hfi\w+)$")
_PATHS = {"X", "SYS", "SOC", "NODE", "PHB", "PXB", "PIX", "PSB"}
_NVLINK = re.compile(r"NV(\d+)$")
_PATH = r"NV\d{1,3}|SYS|SOC|NODE|PHB|PXB|PIX|PSB"
_RUN_TOGETHER = re.compile(rf"(?:{_PATH}){{2,}}$")
"""Cells between which a blank was lost, where a terminal broke the line and it was joined again."""
_LEGEND = re.compile(r"\s*(NIC\d+): (\S+)\s*$")
_NVIDIA = 0x10DE
_DRIVERS = frozenset({"nvidia"})
"""Whose GPUs the tool lists."""
_NOT_PATHS = {"OK", "CNS", "GNS", "TNS", "NS", "U", "DR"}

LOOKS_LIKE_MATRIX = re.compile(r"^([^\n]{0,60}?)\bGPU0[ \t|]+X(?:[ \t|]|$)", re.MULTILINE)
"""The first row of a matrix, perhaps behind the name of a host or the bars of a table."""
_COLOUR = re.compile(r"\[\d{1,2}(?:;\d{1,2})*m")
"""What is left of a heading's underline where the escape character was lost."""


@dataclass(frozen=True, slots=True)
class Row:
    """What a matrix says about one device besides its paths."""

    name: str
    cpus: str | None
    numa_node: int | None


@dataclass
class Matrix:
    """What a matrix says; without rows it is none."""

    vendor: int = _NVIDIA
    """Whose GPUs it numbers."""
    tool: str = "nvidia-smi"
    rows: list[Row] = field(default_factory=list)
    relations: list[Relation] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    taken: set[int] = field(default_factory=set)
    """Numbers of the lines that it consists of."""
    breaks_off: str = ""
    """Where it ends before the row of its last GPU."""


def read(lines: Sequence[str]) -> Matrix:
    """Read the first matrix; further ones are of other machines."""
    matrix = Matrix()
    columns: list[str] = []
    rows = matrix.rows
    legend: dict[str, str] = {}
    complete = several = False
    for number, line in enumerate(_bare(lines)):
        words = line.split()
        name = _LEGEND.match(line)
        if name is not None:
            legend.setdefault(name[1], name[2])
            matrix.taken.add(number)
        elif len(words) >= 1 and words[0] == "GPU0" and "X" not in words[:2]:
            several |= bool(rows)
            complete = bool(rows)
            columns = columns if complete else _columns(words)
            matrix.taken.add(number)
        elif words and columns and not complete and words[0] in columns:
            if words[1:2] and set(words[1 : len(columns) + 1]) & _NOT_PATHS:
                matrix.notes.append(
                    "a matrix of 'nvidia-smi topo -p2p' is no topology and was passed over; "
                    "'nvidia-smi topo -m' prints the topology"
                )
                columns = []
                continue
            matrix.taken.add(number)
            rows.append(_row(words, columns, len(rows), matrix.relations))
    named = {row.name for row in rows}
    cut = [name for name in columns if name.startswith("GPU") and name not in named]
    if rows and cut:
        matrix.breaks_off = f"the matrix of 'nvidia-smi topo' ends with {rows[-1].name}: {cut[0]} has no row"
        matrix.notes.append(matrix.breaks_off)
        # How those reach each other is in their rows, so what the others say of them is not all there is.
        matrix.relations = [r for r in matrix.relations if r.second not in cut]
    if several:
        matrix.notes.append("several matrices of 'nvidia-smi topo': only the first was read")
    matrix.relations = [
        replace(r, first=legend.get(r.first, r.first), second=legend.get(r.second, r.second))
        for r in matrix.relations
    ]
    matrix.rows = [replace(row, name=legend.get(row.name, row.name)) for row in rows]
    return matrix


def _bare(lines: Sequence[str]) -> list[str]:
    """Take off what stands before every line, the bars of a table, and what is left of colours."""
    first = next((match for line in lines if (match := LOOKS_LIKE_MATRIX.match(line))), None)
    before = "" if first is None else first[1]
    bare = (line.removeprefix(before) if before.strip(" \t|") else line for line in lines)
    return [_COLOUR.sub("", line).replace("|", " ") if "|" in line or "[" in line else line for line in bare]


def _columns(words: list[str]) -> list[str]:
    """Return the names in the heading, up to the columns about CPUs and NUMA nodes."""
    columns = []
    for word in words:
        if not _NAME.match(word):
            break
        columns.append(word)
    return columns


def _row(words: list[str], columns: list[str], index: int, relations: list[Relation]) -> Row:
    if any(map(_RUN_TOGETHER.match, words)):
        cells = (re.findall(_PATH, word) if _RUN_TOGETHER.match(word) else [word] for word in words)
        words = [cell for each in cells for cell in each]
    entries = words[1 : len(columns) + 1]
    for column, path in list(zip(columns, entries, strict=False))[index + 1 :]:
        nvlink = _NVLINK.match(path)
        if nvlink:
            relations.append(Relation(words[0], column, "NV", links=int(nvlink[1])))
        elif path in _PATHS:
            relations.append(Relation(words[0], column, "SYS" if path == "SOC" else path))
    rest = words[len(columns) + 1 :]
    cpus = rest[0] if rest and rest[0][0].isdigit() else None
    return Row(words[0], cpus, natural(rest[1]) if len(rest) > 1 else None)


def put_on(machine: Machine, matrix: Matrix) -> Machine:
    """Put relations and affinities on top of a machine; names that fit no function stay names."""
    gpus = [f for f in machine if f.is_gpu and f.identity.vendor_id == matrix.vendor and not f.virtual]
    gpus = [f for f in gpus if f.kind is not Kind.INTEGRATED_ENDPOINT]
    named = [row.name for row in matrix.rows if row.name.startswith("GPU")]
    notes = list(matrix.notes)
    if gpus and len(gpus) != len(named):
        notes.append(f"'{matrix.tool}' lists {len(named)} GPUs of {len(gpus)}: which is which is a guess")
    functions_by_name = {name: f for f in machine for name in f.interfaces}
    functions_by_name |= zip(named, gpus, strict=False)
    of = {row.name: functions_by_name[row.name] for row in matrix.rows if row.name in functions_by_name}
    relations = tuple(_addressed(relation, of) for relation in matrix.relations)
    functions = dict(machine.functions)
    for row in matrix.rows:
        if row.name in of:
            functions[of[row.name].address] = _near(of[row.name], row)
    return replace(
        machine,
        functions=functions,
        relations=machine.relations + relations,
        notes=(*machine.notes, *notes),
        breaks_off=machine.breaks_off or matrix.breaks_off,
        events=(*machine.events, *_fewer(matrix, named, gpus)),
    )


def _fewer(matrix: Matrix, named: list[str], gpus: list[Function]) -> list[KernelEvent]:
    """Say that a matrix lists fewer GPUs than the driver has."""
    driven = [gpu for gpu in gpus if gpu.driver in _DRIVERS]
    if not named or len(named) >= len(driven):
        return []
    line = f"{matrix.tool}: {len(named)} GPUs listed, {len(driven)} with driver {driven[0].driver}"
    return [KernelEvent(EventKind.NO_GPUS, line)]


def _near(function: Function, row: Row) -> Function:
    return replace(
        function,
        numa_node=row.numa_node if function.numa_node is None else function.numa_node,
        local_cpus=function.local_cpus or row.cpus,
        interfaces=function.interfaces
        if row.name in function.interfaces
        else (*function.interfaces, row.name),
    )


def _addressed(relation: Relation, of: dict[str, Function]) -> Relation:
    first, second = of.get(relation.first), of.get(relation.second)
    return replace(
        relation,
        first_address=first.address if first else None,
        second_address=second.address if second else None,
    )
