"""`amd-smi` (static, list, metric, topology) and `rocm-smi` (showbus, showtopo), as text and as JSON.

`rocm-smi` says ``GPU[0] : PCI Bus: 0000:63:00.0``, and prints matrices; `amd-smi` prints blocks of ``KEY:
value`` that begin with ``GPU: 0``. GPUs are numbered alike in both, so what each says comes together where
both are in a text. ``metric --pcie`` tells how the link runs, and replays. ``MAX_PCIE_*`` counts for modules
(OAM) only: on a card it may be that of the switch inside the GPU. The ``pcie clock level`` of `rocm-smi` is
what power management asks for, and no state of the link. Links between GPUs other than XGMI are not told
apart by either tool. Source: ROCm 4.3 to 7.2, outputs of real machines and the changelog of amd-smi.
"""

from __future__ import annotations

import re
from itertools import combinations
from typing import TYPE_CHECKING

from lanewise.machine.address import Address
from lanewise.machine.function import Kind
from lanewise.machine.gpu_health import GpuHealth
from lanewise.machine.model import Relation
from lanewise.machine.registers import LinkMode
from lanewise.machine.sources.documents import documents_of, objects_of, text_at
from lanewise.machine.sources.made_up import made_up_address
from lanewise.machine.sources.numbers import line_rate, natural, whole

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from lanewise.machine.assembly import Reading
    from lanewise.machine.draft import Draft

_FUNCTION = r"[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]"
LOOKS_LIKE = re.compile(
    r"^[ \t>]{0,16}(?:GPU\[\d{1,3}\][ \t]{0,8}: (?:PCI Bus:|\(Topology\))"
    r"|BDF: [0-9a-fA-F]{4,8}:|MAX_PCIE_(?:WIDTH|LANES|SPEED):"
    r"|PCIE:[ \t]*$\s{1,40}WIDTH: |=+ Link Type between two GPUs =+)",
    re.MULTILINE,
)
"""A line of `rocm-smi` about a bus or a node, or of `amd-smi` about a bus."""
JSON_SIGNS = re.compile(r'"(?:max_pcie_(?:width|lanes)|replay_count|PCI Bus|\(Topology\) Numa Node)"\s*:')
"""A key of either tool."""
_ROCM = re.compile(
    r"[ \t>]{0,16}GPU\[(\d{1,3})\][ \t]{0,8}: (?:\(Topology\) )?([\w ()]{2,40}?)[ \t]*:[ \t]*+(.*)"
)
_BLOCK = re.compile(r"[ \t>]{0,16}GPU: (\d{1,3})[ \t]*$")
_PAIR = re.compile(r"[ \t>]{0,40}([A-Za-z][\w ]{1,40}):[ \t]+(\S.{0,120})$")
_ROW = re.compile(r"[ \t>]{0,16}(GPU\d{1,3})((?:[ \t]{1,40}(?:0|XGMI|PCIE|N/A|UNKNOWN|SELF)){1,256})[ \t]*$")
_BDF_ROW = re.compile(
    rf"[ \t>]{{0,16}}({_FUNCTION})((?:[ \t]{{1,40}}(?:SELF|XGMI|PCIE|N/A|UNKNOWN)){{1,256}})[ \t]*$"
)
_BETWEEN = re.compile(r"\(Topology\) Link type between DRM devices (\d{1,3}) and (\d{1,3})$")
_SPEED = re.compile(r"(\d{1,3}(?:\.\d)?) ?GT/s")
_AMD = 0x1002
_ACCELERATOR = 0x120000
_DISPLAY = 0x038000
_KEYS = {
    "pci bus": "bdf",
    "bdf": "bdf",
    "device id": "device_id",
    "device_id": "device_id",
    "gpu id": "device_id",
    "market_name": "name",
    "card series": "name",
    "numa node": "node",
    "node": "node",
    "max_pcie_width": "most_width",
    "max_pcie_lanes": "most_width",
    "max_pcie_speed": "most_speed",
    "slot_type": "slot",
    "width": "width",
    "speed": "speed",
    "replay_count": "replays",
    "pcie replay count": "replays",
    "replay_roll_over_count": "rollovers",
    "total_uncorrectable_count": "uncorrectable",
}
"""What keys of either tool are called here, in lower case."""
_MODULES = ("OAM",)


def read(lines: Sequence[str], into: Reading) -> None:
    """Read all GPUs and the links between them."""
    gpus: dict[int, dict[str, str]] = {}
    block: dict[str, str] | None = None
    rows: dict[str, list[str]] = {}
    wanted = False
    for line in lines:
        rocm, head, pair = _ROCM.match(line), _BLOCK.match(line), _PAIR.match(line)
        if rocm is not None:
            _say(gpus.setdefault(int(rocm[1]), {}), rocm[2], rocm[3])
        elif head is not None:
            block = gpus.setdefault(int(head[1]), {})
        elif pair is not None and block is not None:
            _say(block, pair[1], pair[2])
        elif "Link Type" in line or "LINK TYPE" in line:
            wanted = True
        elif wanted and (row := _ROW.match(line) or _BDF_ROW.match(line)) is not None:
            rows.setdefault(row[1], row[2].split())
        elif "between two GPUs" in line or line.rstrip().endswith("TABLE:"):
            wanted = False
    _finish(gpus, into)
    _relate(rows, gpus, into)


def read_document(document: str, into: Reading) -> None:
    """Read the JSON of either tool."""
    gpus: dict[int, dict[str, str]] = {}
    pairs: list[tuple[int, int]] = []
    for found in documents_of(document):
        for one in objects_of(found):
            pairs += _links_between(one)
            index = natural(text_at(one, "gpu"))
            if index is not None:
                for inner in objects_of(one):
                    _say_all(gpus.setdefault(index, {}), inner)
        for key, card in found.items() if isinstance(found, dict) else ():
            if isinstance(card, dict) and key.startswith("card") and key[4:].isdigit():
                _say_all(gpus.setdefault(int(key[4:]), {}), card)
    _finish(gpus, into)
    into.relations += [_relation(f"GPU{a}", f"GPU{b}", gpus) for a, b in pairs]


def _say_all(gpu: dict[str, str], said: dict[str, object]) -> None:
    for key, value in said.items():
        text = text_at(value, "value") if isinstance(value, dict) else text_at(said, key)
        unit = text_at(value, "unit") if isinstance(value, dict) else ""
        _say(gpu, key.removeprefix("(Topology) "), f"{text} {unit}".strip())


def _say(gpu: dict[str, str], key: str, value: str) -> None:
    known = _KEYS.get(key.strip().lower())
    if known is not None and value and value != "N/A":
        gpu.setdefault(known, value.strip())


def _links_between(said: dict[str, object]) -> Iterable[tuple[int, int]]:
    for key, value in said.items():
        found = _BETWEEN.match(key) if value == "XGMI" else None
        if found is not None:
            yield int(found[1]), int(found[2])


def _finish(gpus: dict[int, dict[str, str]], into: Reading) -> None:
    """Make a function of each GPU that an address or a link is told of."""
    before = len(into.drafts)
    for index, said in sorted(gpus.items()):
        try:
            draft = into.draft(Address.parse(said.get("bdf", "")))
        except ValueError:
            if not {"width", "speed"} <= said.keys():
                continue
            draft = into.draft(made_up_address(into))
            into.note("addresses of GPUs are made up: 'amd-smi static --bus' beside it prints them")
        draft.add_interface(f"GPU{index}")
        _describe(draft, said, into)
    if len(into.drafts) > before:
        into.kinds.append("AMD SMI")


def _describe(draft: Draft, said: dict[str, str], into: Reading) -> None:
    identity = draft.identity
    identity["vendor_id"] = _AMD
    identity["device_id"] = whole(said.get("device_id"), 16)
    module = said.get("slot") in _MODULES
    identity["class_code"] = _ACCELERATOR if module else _DISPLAY
    if identity["device_id"] is None and said.get("name"):
        identity["vendor_name"] = "Advanced Micro Devices, Inc. [AMD/ATI]"
        identity["device_name"] = said["name"]
    draft.kind = Kind.ENDPOINT
    draft.function["driver"], draft.function["driver_known"] = "amdgpu", True
    draft.function["numa_node"] = natural(said.get("node"))
    now = LinkMode(_rate(said.get("speed")), natural(said.get("width")) or None)
    most = LinkMode(_rate(said.get("most_speed")), natural(said.get("most_width")) or None)
    if now != LinkMode():
        draft.link["status"] = now
    if most != LinkMode() and module:
        draft.link["capability"] = most
        draft.registers["express"] = True
    elif most != LinkMode():
        into.note("the maximum link that AMD's tools state may be that of the switch inside a card: not used")
    found = (("correctable.Replay", "replays"), ("correctable.Rollover", "rollovers"))
    counters = [(name, count) for name, key in found if (count := natural(said.get(key))) is not None]
    if counters:
        draft.errors["counters"] = tuple(counters)
    uncorrectable = natural(said.get("uncorrectable"))
    if uncorrectable is not None:
        draft.function["health"] = GpuHealth(uncorrectable=uncorrectable)


def _rate(text: str | None) -> float | None:
    speed = _SPEED.match(text or "")
    return line_rate(speed[1]) if speed else None


def _relate(rows: dict[str, list[str]], gpus: dict[int, dict[str, str]], into: Reading) -> None:
    """Take XGMI links from a matrix, whose columns are its rows."""
    names = list(rows)
    for first, second in combinations(range(len(names)), 2):
        row = rows[names[first]]
        if second < len(row) and row[second] == "XGMI":
            into.relations.append(_relation(names[first], names[second], gpus))
    if any(relation.path == "XGMI" for relation in into.relations):
        into.kinds.append("AMD SMI")


def _relation(first: str, second: str, gpus: dict[int, dict[str, str]]) -> Relation:
    return Relation(first, second, "XGMI", None, _address(first, gpus), _address(second, gpus))


def _address(name: str, gpus: dict[int, dict[str, str]]) -> Address | None:
    index = natural(name.removeprefix("GPU"))
    said = name if index is None else gpus.get(index, {}).get("bdf", "")
    try:
        return Address.parse(said)
    except ValueError:
        return None
