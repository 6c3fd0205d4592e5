"""The matrix of pairs of a machine: GPUs, network adapters and drives, each with each GPU.

    from lanewise.health.predict.peers import predict_peers
    from lanewise.machine import read

    peers = predict_peers(read("lspci.txt"))
    print(peers.table, peers.adapter_table)

Each pair is simulated alone, through the machine's own tree. Rows are devices that move data by themselves,
columns GPUs, whose memory it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanewise.errors import InputError
from lanewise.health.predict.nearest import nearest_adapters
from lanewise.health.predict.pairs import MODULES, TRANSLATING, pair_of, refused_by_the_driver
from lanewise.health.predict.payload import unstated_payloads
from lanewise.health.predict.peers_result import PeerDevice, PeerPrediction
from lanewise.health.predict.simulator import Simulator
from lanewise.machine.gpu_modules import come_with_own_links
from lanewise.machine.lanes import lanes_of
from lanewise.machine.missing_ports import with_missing_ports
from lanewise.machine.path_type import numa_node
from lanewise.machine.view import View

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from lanewise.health.predict.pairs import Pair
    from lanewise.machine.address import Address
    from lanewise.machine.model import Function, Machine
    from lanewise.machine.ways import Change

MOST_GPUS, MOST_OTHERS = 32, 64
"""Devices whose pairs are simulated. Machines with more get those that are named, then adapters before
drives, then the first by address."""

_ASSUMPTIONS = (
    "the host has the latencies and memory of a generic server of the root ports' generation and maker, as "
    "in what 'lanewise scan --scenario' writes; root ports forward peers to each other, and where they do, "
    "one payload size holds for the whole machine",
    "memory of GPUs is never the limit, nor is what is behind a drive; the wire behind an adapter that is "
    "known by name is",
    "a large transfer is 64 KiB, 16 under way, or a long copy of a GPU that is known as a part; what ACS or "
    "the IOMMU redirects comes back from the root port, and translations are always at hand",
)


def predict_peers(
    machine: Machine,
    *,
    changes: Mapping[Address, Change] | None = None,
    devices: Sequence[Address] | None = None,
    on_progress: Callable[[str], None] | None = None,
) -> PeerPrediction:
    """Simulate what each GPU, network adapter and drive can write to and read from each GPU.

    `changes` are tried instead of what the machine says; with `devices`, only pairs that one of them is in
    are simulated. `on_progress` hears the pair in progress. Raises `InputError` for an address that the
    machine does not have, and where there is no pair.
    """
    machine, notes = with_missing_ports(machine)
    named = None if devices is None else {machine.find(address).address for address in devices}
    view = View(machine)
    gpus, others, crowded = _within_limits(view, named or set())
    wanted = [
        (device, gpu)
        for device in (*gpus, *others)
        for gpu in gpus
        if device is not gpu and (named is None or {device.address, gpu.address} & named)
    ]
    simulator = Simulator(machine, changes or {})
    pairs = []
    for device, gpu in wanted:
        if on_progress:
            on_progress(f"{device.address.short} and {gpu.address.short}")
        pairs.append(pair_of(simulator, device, gpu))
    if not pairs:
        raise InputError(_why_nothing(gpus, view))
    concerned = {function.address: function for pair in wanted for function in pair}
    shown = tuple(
        _device(view, function, kind, number)
        for kind, functions in _by_kind(gpus, others).items()
        for number, function in enumerate(functions)
        if function.address in concerned
    )
    adapters = nearest_adapters(_of_adapters(simulator, gpus, others, pairs), _addresses(gpus))
    mentioned = set(_addresses(concerned.values() if named is None else map(machine.find, named)))
    return PeerPrediction(
        source=machine.source,
        devices=shown,
        pairs=tuple(pairs),
        adapters=tuple(each for each in adapters if {each.gpu, each.nic} & mentioned),
        assumptions=(
            *_ASSUMPTIONS,
            *unstated_payloads(machine, list(concerned.values()), simulator.changes, simulator.payloads),
            *simulator.rests_on.said(),
        ),
        notes=(*machine.notes, *machine.contradictions, *notes, *crowded, *_notes(machine, gpus, pairs)),
        simulations=simulator.runs,
    )


def _within_limits(view: View, named: set[Address]) -> tuple[list[Function], list[Function], list[str]]:
    """Return GPUs and other devices, by address, and a note on those that are too many."""
    gpus = [function for function in view.devices if function.is_gpu]
    adapters = [function for function in view.devices if function.is_nic]
    drives = [function for function in view.devices if function.is_nvme]
    kept = {
        function.address
        for functions, most in ((gpus, MOST_GPUS), ([*adapters, *drives], MOST_OTHERS))
        # Sorting keeps the order of those that are alike.
        for place, function in enumerate(sorted(functions, key=lambda each: each.address not in named))
        if place < most or function.address in named
    }
    kinds = {"GPUs": gpus, "network adapters": adapters, "drives": drives}
    left = {
        kind: sum(function.address not in kept for function in functions) for kind, functions in kinds.items()
    }
    counts = ", ".join(f"{count} {kind}" for kind, count in left.items() if count)
    notes = (
        [f"left out, because there are too many: {counts}; devices that are named are in"] if counts else []
    )
    present = [function for function in view.devices if function.address in kept]
    others = [function for function in present if function.is_nic or function.is_nvme]
    return [function for function in present if function.is_gpu], others, notes


def _of_adapters(
    simulator: Simulator, gpus: list[Function], others: list[Function], pairs: list[Pair]
) -> list[Pair]:
    """Return the pairs of all adapters with all GPUs: a choice among some would be none."""
    known = {(pair.device, pair.peer): pair for pair in pairs}
    return [
        known.get((nic.address.short, gpu.address.short)) or pair_of(simulator, nic, gpu)
        for nic in others
        if nic.is_nic
        for gpu in gpus
    ]


def _addresses(functions: Iterable[Function]) -> list[str]:
    return [function.address.short for function in functions]


def _by_kind(gpus: list[Function], others: list[Function]) -> dict[str, list[Function]]:
    """Return the devices under the names that `nvidia-smi topo -m` has for their kinds."""
    return {
        "GPU": gpus,
        "NIC": [function for function in others if function.is_nic],
        "NVMe": [function for function in others if function.is_nvme],
    }


def _device(view: View, function: Function, kind: str, number: int) -> PeerDevice:
    mode = view.possible(function)
    lanes = None if mode is None else lanes_of(mode)
    return PeerDevice(
        name=f"{kind}{number}",
        kind=kind,
        bdf=function.address.short,
        device=function.name,
        link="" if lanes is None else lanes.word,
        numa_node=numa_node(view.machine, function),
        interfaces=function.interfaces,
        iommu=_iommu(function),
    )


def _iommu(function: Function) -> str | None:
    """Say whether the IOMMU translates a device's addresses, as far as a source tells."""
    if function.iommu_type is None:
        return None
    return "translates" if function.iommu_type in TRANSLATING else "passes through"


def _why_nothing(gpus: list[Function], view: View) -> str:
    if not gpus:
        there = [function for function in view.machine if view.is_compute_gpu(function)]
        if there and all(function.has_c2c for function in there):
            return "there are no pairs: GPUs reach host and peers over NVLink-C2C, which is not simulated"
        advice = "; capture as root with 'lspci -vvv'" if there else ""
        return f"there are no pairs: the source shows no GPU{' whose link is known' if there else ''}{advice}"
    if len(view.devices) == 1:
        return f"there are no pairs: {gpus[0].address.short} is the only device that moves data"
    return "there are no pairs with these devices: name a GPU, a network adapter or an NVMe drive"


def _notes(machine: Machine, gpus: Sequence[Function], pairs: Sequence[Pair]) -> list[str]:
    notes = []
    own = sorted({pair.own_links for pair in pairs if pair.own_links})
    notes += [f"GPUs joined by {kind} copy to each other over that, which is not simulated" for kind in own]
    notes += refused_by_the_driver(gpus)
    between = [pair for pair in pairs if machine[pair.device].is_gpu and not pair.own_links]
    if between and not own and come_with_own_links(machine, gpus):
        notes.append(MODULES)
    unknown = list(
        dict.fromkeys(pair.device for pair in pairs if not pair.own_links and pair.write_gb_per_s is None)
    )
    if unknown:
        notes.append(f"not simulated, because a link on the way is not known: {', '.join(unknown[:8])}")
    return notes
