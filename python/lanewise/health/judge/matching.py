"""Which device a case was measured on, and which simulation says what was possible there.

Names of devices are looked up: addresses, interfaces that sysfs knows (``nvme0n1`` is on ``nvme0``,
``mlx5_0``), GPUs by number in the order of their addresses. CUDA numbers GPUs like that with
CUDA_DEVICE_ORDER=PCI_BUS_ID, and on most machines with GPUs of one kind without it. Where nothing names a
device and only one of its class is there, it is that one; otherwise the case is left unmatched, and a person
can say which it was.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from lanewise.health.judge.asked import asked_of_drive, is_random, read_percent
from lanewise.health.judge.elsewhere import another_host, another_machine, not_over_pcie
from lanewise.health.predict.benchmarks import LARGE, Benchmark, Direction, dma, fast_media, fio
from lanewise.health.predict.pair_benchmarks import large
from lanewise.machine.address import Address
from lanewise.machine.function import C2C
from lanewise.machine.view import is_management

if TYPE_CHECKING:
    from lanewise.machine.model import Function, Machine
    from lanewise.tools.instruments.measurement import Case, Measurement

_ADDRESS = re.compile(r"\b(?:[0-9a-fA-F]{4,8}:)?[0-9a-fA-F]{2}:[01][0-9a-fA-F]\.[0-7]\b")
_GPU = re.compile(r"\bGPU ?(\d+)\b")
_SCSI = re.compile(r"\bsd[a-z]{1,3}\d*\b")
_NVME = re.compile(r"\b(nvme\d+)(?:n\d+)?")
_CLASSES = {
    "fio": "is_storage",
    "gdsio": "is_storage",
    "CrystalDiskMark": "is_storage",
    "KDiskMark": "is_storage",
    "SPDK perf": "is_storage",
    "bdevperf": "is_storage",
    "DISKSPD": "is_storage",
    "elbencho": "is_storage",
    "vdbench": "is_storage",
    "iometer": "is_storage",
    "iperf3": "is_nic",
    "perftest": "is_nic",
    "osu": "is_nic",
    "ucx_perftest": "is_nic",
    "smartflow": "is_nic",
}
_OF_RDMA = ("perftest", "ucx_perftest")
MEASURED = {"is_storage": "drives", "is_nic": "network adapters", "is_gpu": "GPUs"}
"""What tools of a class measure, in words."""
_MOST_NAMED = 8
GPU_TOOLS = (
    "nvbandwidth",
    "bandwidthTest",
    "p2pBandwidthLatencyTest",
    "rocm_bandwidth_test",
    "TransferBench",
)
"""Tools that copy between host and GPUs."""


_SMALLEST_MESSAGE = 256
"""Below, adapters are held back by the messages that they can start, whose payload is next to nothing."""
_OWN_LINKS = re.compile(r"\bSXM\d?|\bHGX\b|\bNVL\b|\bMI[23]\d{2}[AX]?\b|\bB[23]00\b|\bG[HB][1-3]00\b")
"""GPUs that are sold with links of their own only."""


_INSIDE = "a copy inside one GPU: nothing crosses PCI Express"


@dataclass(frozen=True)
class Match:
    """A case with the device it belongs to and the simulation to set beside it."""

    function: Function | None = None
    benchmark: Benchmark | None = None
    share: float = 1.0
    """Part of the simulated bandwidth that the tool counts."""
    reason: str = ""
    """Why there is no match."""


def match(case: Case, measurement: Measurement, machine: Machine, chosen: Function | None = None) -> Match:
    """Match one case. `chosen` is the device a person named, where the output names none."""
    tool = str(case.raw.get("tool", measurement.tool))
    measurement = replace(measurement, tool=tool)
    elsewhere = (
        another_machine(case, measurement, machine)
        or another_host(case, machine)
        or not_over_pcie(case, tool)
    )
    if elsewhere:
        return Match(reason=elsewhere)
    if tool == "nccl-tests":
        return _collective(case, measurement, machine)
    if chosen is not None and (wrong := _of_another_kind(chosen, case, measurement, machine)):
        if "tool" not in case.raw:
            return Match(reason=wrong)
        # Where a file has outputs of several tools, it was chosen for those of another.
        chosen = None
    if tool in GPU_TOOLS:
        reason = _not_over_the_link(case)
        return Match(reason=reason) if reason else _gpu_copy(case, measurement, machine, chosen)
    return _device(case, measurement, machine, chosen)


def class_of(tool: str) -> str:
    """Return which devices a tool measures, as `Function` says that one is such: a key of `MEASURED`."""
    return "is_gpu" if tool in (*GPU_TOOLS, "nccl-tests") else _CLASSES.get(tool, "is_storage")


def _of_another_kind(chosen: Function, case: Case, measurement: Measurement, machine: Machine) -> str:
    """Say that a tool does not measure what was chosen; empty where it does, or nobody knows its kind."""
    tool = measurement.tool
    wanted = class_of(tool)
    kind = _kind_of(chosen)
    if not kind or getattr(chosen, wanted):
        return ""
    fitting = (
        _devices(machine, wanted) if wanted == "is_gpu" else _candidates(case, measurement, machine, wanted)
    )
    measured = "RDMA adapters" if tool in _OF_RDMA else MEASURED[wanted]
    there = ", ".join(function.address.short for function in fitting[:_MOST_NAMED]) or "none"
    return f"{tool} measures {measured}, and {chosen.address.short} is {kind}; the machine has {there}"


def _kind_of(function: Function) -> str:
    """Return what a function is by its class, with an article; empty where no tool is for or against it."""
    kinds = {
        "a drive": function.is_nvme,
        "a storage controller": function.is_storage,
        "a network adapter": function.is_nic,
        "a GPU": function.is_gpu,
        "a bridge": function.is_bridge,
    }
    return next((words for words, is_one in kinds.items() if is_one), "")


def _device(case: Case, measurement: Measurement, machine: Machine, chosen: Function | None) -> Match:
    """Match a case of a drive or an adapter."""
    tool = measurement.tool
    wanted = class_of(tool)
    candidates = _candidates(case, measurement, machine, wanted)
    unread = _unread(machine, wanted, candidates)
    # gdsio names files, which may lie on an array of drives.
    lone = len(candidates) == 1 and tool != "gdsio" and not any(map(_is_drive, unread))
    function = _named(case, machine) or chosen or (candidates[0] if lone else None)
    if function is None:
        return Match(reason=_which(candidates, case, unread))
    if reason := _says_nothing(case, wanted, len(_all_named(case, machine))):
        return Match(function, reason=reason)
    if not getattr(function, wanted) and function is not chosen:
        return Match(reason=f"{function.address.short} is no device of the kind that {tool} measures")
    if wanted == "is_storage":
        others = tuple(
            drive for drive in _all_named(case, machine) if drive is not function and drive.is_nvme
        )
        return Match(function, _storage(case, function, others if function.is_nvme else ()))
    return _network(case, function, machine)


def _says_nothing(case: Case, wanted: str, named: int) -> str:
    """Say why a case tells nothing about a device's link; empty when it does."""
    if str(case.raw.get("test", "")).startswith("Atomic"):
        return "atomic operations: no transfer of theirs is predicted"
    if case.bandwidth_bytes_per_s is None:
        return "a latency: that of media, wire and software is not known"
    if case.direction is None:
        return "the output does not say whether it reads or writes"
    drives = dict.fromkeys(_NVME.findall(str(case.target or "")))
    if len(drives) > max(1, named):
        return f"a job over several drives ({', '.join(drives)}), which this description does not tell apart"
    is_small = case.block_bytes is not None and case.block_bytes < _SMALLEST_MESSAGE
    if wanted == "is_nic" and is_small:
        return (
            f"messages of {case.block_bytes} B: the limit is the adapter's rate of messages, "
            "which no register shows"
        )
    return ""


def _named(case: Case, machine: Machine) -> Function | None:
    """Find a device that the case names by address or interface."""
    return next(iter(_all_named(case, machine)), None)


def _all_named(case: Case, machine: Machine) -> list[Function]:
    """Find the devices that a case names, each once: a job of fio may be about several."""
    target = str(case.target or "")
    found: dict[Address, Function] = {}
    for text in _ADDRESS.findall(target):
        function = machine.functions.get(Address.parse(text))
        if function is not None:
            found.setdefault(function.address, function)
    if found:
        return list(found.values())
    names = {interface: f for f in machine for interface in f.interfaces}
    drives = _NVME.findall(target)
    named = (
        (names.get(drive) for drive in drives)
        if drives
        else (f for name, f in names.items() if re.search(rf"\b{re.escape(name)}\b", target))
    )
    for function in named:
        if function is not None:
            found.setdefault(function.address, function)
    return list(found.values())


def _candidates(case: Case, measurement: Measurement, machine: Machine, wanted: str) -> list[Function]:
    """Return the devices that a case may be about: an RDMA tool's adapters, the drives of a target's kind."""
    found = [function for function in _devices(machine, wanted) if not is_management(function)]
    if measurement.tool in _OF_RDMA:
        return [function for function in found if function.does_rdma] or found
    target = str(case.target or "")
    if wanted == "is_storage" and _NVME.search(target):
        return [function for function in found if function.is_nvme]
    return [function for function in found if not function.is_nvme] if _SCSI.search(target) else found


def _devices(machine: Machine, wanted: str) -> list[Function]:
    """Return the first function of each device of a class."""
    slots: dict[tuple[int, int, int], Function] = {}
    for function in machine.endpoints:
        if getattr(function, wanted):
            slots.setdefault(function.address.slot, function)
    found = list(slots.values())
    nvidia = [function for function in found if wanted == "is_gpu" and function.identity.vendor_id == 0x10DE]
    return nvidia or found


def _unread(machine: Machine, wanted: str, candidates: list[Function]) -> list[Function]:
    """Return devices of a class of which a dump has the name alone, as a tree has beside `lspci -s`."""
    slots = {function.address.slot for function in candidates}
    partial = [one for one in machine if one.kind is None and one.registers.express is not False]
    return [
        one
        for one in partial
        if (getattr(one, wanted) or (wanted == "is_storage" and _is_drive(one)))
        and not one.virtual
        and one.address.slot not in slots
    ]


def _is_drive(function: Function) -> bool:
    """Whether it is an NVMe drive by its class, or by its name in a tree, which has no classes."""
    return function.is_nvme or (function.identity.class_code is None and "NVMe" in function.name)


def _which(candidates: list[Function], case: Case, unread: list[Function]) -> str:
    left = ""
    if unread:
        names = ", ".join(function.address.short for function in unread[:_MOST_NAMED])
        left = f"the dump does not tell the link of {names}; take it as root, with 'lspci -vvv'"
    if not candidates:
        nothing = (
            "the machine has no device of this class; --machine names a dump of the one it was measured on"
        )
        return left or nothing
    known = ", ".join(function.address.short for function in candidates[:_MOST_NAMED])
    named = f"'{case.target}' is none of them; " if case.target else ""
    return f"{named}say which device it was with --device: {known}" + (f"; {left}" if left else "")


def _storage(case: Case, function: Function, others: tuple[Function, ...] = ()) -> Benchmark:
    """Build the same access, to all drives of the job; drives get media that are never the limit."""
    size, at_once = asked_of_drive(case)
    both = case.direction == "both"
    read = case.direction != "write"
    direction: Direction = "both" if both else "write" if read else "read"
    settle, measure = _times(size * at_once)
    if not function.is_nvme:
        return _plain(function, direction, size, at_once, settle, measure)
    jobs = max(1, min(case.workers or 1, 64))
    rw = ("rand" if is_random(case) else "") + ("rw" if both else "read" if read else "write")
    depth = max(1, at_once // jobs)
    share = read_percent(case) if both else None
    workload = fio(
        function, rw, f"{size} B", depth=depth, jobs=jobs, engine="io_uring", also=others, read_percent=share
    )
    media = tuple(setting for drive in (function, *others) for setting in fast_media(drive))
    return Benchmark(case.name, function, workload, direction, settle, measure, media, also=others)


def _network(case: Case, function: Function, machine: Machine) -> Match:
    """Build the transfer on the side that the output is from."""
    if "gpu" in case.raw:
        return _gpu_direct(case, function, machine)
    size = min(case.block_bytes or LARGE, 1 << 20)
    depth = max(16, LARGE // max(1, size))
    return Match(function, _plain(function, on_the_link(case), size, depth, 30, 60))


def on_the_link(case: Case) -> Direction:
    """Return how an adapter's data goes on its link: what it sends it reads, what arrives it writes."""
    if case.direction == "both":
        return "both"
    # An RDMA read, seen from the side that asks, writes what arrives; a server is the other side.
    arrives = (case.direction in ("receive", "read")) != (case.raw.get("side") == "server")
    return "write" if arrives else "read"


def _gpu_direct(case: Case, function: Function, machine: Machine) -> Match:
    """Build the transfer between an adapter and the memory of the GPU that the output names."""
    address = str(case.raw.get("gpu") or "")
    known = machine.functions.get(Address.parse(address)) if address else None
    gpus = _devices(machine, "is_gpu")
    gpu = known if known is not None and known.is_gpu else gpus[0] if len(gpus) == 1 else None
    if gpu is None:
        named = f"{address} is no GPU of this machine" if address else "the output does not say of which"
        return Match(function, reason=f"from or to the memory of a GPU: {named}")
    return Match(function, large(function, gpu, on_the_link(case)))


def _plain(function: Function, direction: str, size: int, depth: int, settle: int, measure: int) -> Benchmark:
    return Benchmark(
        "", function, dma(function, direction, size, outstanding=min(depth, 4096)), direction, settle, measure
    )


def _times(in_flight: int) -> tuple[int, int]:
    """Choose settling and measuring time in us: several rounds of what is in flight, at about 4 GB/s."""
    round_us = max(40, in_flight // 4096)
    return min(4 * round_us, 20_000), min(8 * round_us, 40_000)


def _gpu_copy(case: Case, measurement: Measurement, machine: Machine, chosen: Function | None) -> Match:
    functions = _gpus(case, machine)
    if not functions and chosen is not None:
        functions = [chosen]
    if not functions:
        found = ", ".join(f.address.short for f in _devices(machine, "is_gpu")) or "no GPU"
        return Match(
            reason=f"'{case.target}' is not in the machine, which has {found}; name it with --device"
        )
    first = functions[0]
    names = " ".join(measurement.listed("device names"))
    if len(functions) == 1 and (chip := C2C.search(f"{first.name} {names}")):
        return Match(reason=f"{chip[0]} reaches its host over NVLink-C2C: nothing crosses PCI Express")
    if functions[1:] == [first]:
        return Match(reason=_INSIDE)
    if len(functions) > 1 and (links := machine.own_links(*functions[:2])):
        return Match(reason=f"a copy over {links}: nothing crosses PCI Express")
    if len(functions) > 1:
        return _peer_copy(case, measurement, first, functions[1])
    both = case.direction == "both"
    direction = "both" if both else "read" if case.direction == "write" else "write"
    benchmark = _plain(first, direction, LARGE, 16, 30, 60)
    # nvbandwidth times one of the two copies, the other only disturbs it.
    return Match(first, benchmark, share=0.5 if both and measurement.tool == "nvbandwidth" else 1.0)


def _collective(case: Case, measurement: Measurement, machine: Machine) -> Match:
    """Set a collective's bus bandwidth beside a peer copy, where GPUs have no links of their own."""
    if reason := _not_of_one_machine(measurement):
        return Match(reason=reason)
    known = (machine.functions.get(Address.parse(text)) for text in measurement.listed("devices") if text)
    named = [function for function in known if function is not None and function.is_gpu]
    gpus = named or _devices(machine, "is_gpu")
    if len(gpus) < 2:
        without = "the machine shows no GPU: name the machine that it was measured on"
        return Match(reason="a collective of one GPU crosses no link" if gpus else without)
    pairs = [(first, second) for first in gpus for second in gpus if first.address < second.address]
    links = next((links for pair in pairs if (links := machine.own_links(*pair))), None)
    if links:
        return Match(reason=f"GPUs joined by {links}: a collective takes it, and not PCI Express")
    if any(_OWN_LINKS.search(gpu.name) for gpu in gpus):
        return Match(
            reason="GPUs with links of their own (NVLink, Infinity Fabric), which a collective takes"
        )
    told = {frozenset((each.first_address, each.second_address)) for each in machine.relations}
    if not all(frozenset((first.address, second.address)) in told for first, second in pairs):
        return Match(
            reason="nothing says whether NVLink joins these GPUs; put 'nvidia-smi topo -m' on top with --with"
        )
    # A ring visits all: its slowest step is the longest way, most often between first and last.
    return _peer_copy(case, measurement, gpus[0], gpus[-1])


def _not_of_one_machine(measurement: Measurement) -> str:
    """Say why a collective is not one of several GPUs of a machine, as its output tells; else empty."""
    if measurement.raw.get("alone"):
        return "every process ran alone on one GPU: a collective of one GPU crosses no link"
    if len(measurement.listed("hosts")) > 1:
        return "a collective of several machines: the network between them is not known"
    return ""


def _peer_copy(case: Case, measurement: Measurement, first: Function, second: Function) -> Match:
    """Build copies between two GPUs: the first writes into the second, or reads from it, as the test says."""
    both = case.direction == "both"
    reads = case.direction == "read" or "bidirectional_memcpy_read" in str(case.raw.get("test", ""))
    way = "read" if reads else "write"
    benchmark = Benchmark(
        case.name,
        first,
        dma(first, way, LARGE, target=second),
        "both" if both else way,
        30,
        60,
        peer=second,
        beside=(dma(second, way, LARGE, target=first),) if both else (),
    )
    one_of_two = both and measurement.tool == "nvbandwidth" and "Total" not in case.name
    return Match(first, benchmark, share=0.5 if one_of_two else 1.0)


def _not_over_the_link(case: Case) -> str:
    """Say why a case tells nothing about a link; empty when it does."""
    test = str(case.raw.get("test", ""))
    if case.bandwidth_bytes_per_s is None:
        return "a latency of GPU kernels and driver, of which the link is a small part"
    if test == "Device to Device" or "local" in test:
        return _INSIDE
    if case.raw.get("peer_access") is False:
        return "without peer access: copied by way of host memory"
    if test.startswith("multinode"):
        return "copies between machines, over NVLink: nothing crosses PCI Express"
    return _not_of_one_link(case, test)


def _not_of_one_link(case: Case, test: str) -> str:
    """Say which links a copy went over besides that of its GPU, or beside other copies; empty for its own."""
    if link := case.raw.get("own link"):
        return f"a copy over {link}: nothing crosses PCI Express"
    if way := case.raw.get("by way of"):
        return f"copied by way of {way}: over more than one device's link"
    if test.startswith(("all_to", "one_to_all", "host_to_all")) or case.raw.get("at once", 1) != 1:
        return "several copies at once: 'lanewise predict' has all at once"
    return ""


def _gpus(case: Case, machine: Machine) -> list[Function]:
    """Find the GPUs that a case names, first the one that writes into the other or reads from it."""
    by_number = _devices(machine, "is_gpu")
    target = str(case.target or "")
    found = []
    for part in target.split("->"):
        if text := _ADDRESS.search(part):
            function = machine.functions.get(Address.parse(text[0]))
            if function is not None and not function.is_gpu:
                return []
        elif (number := _GPU.search(part)) and int(number[1]) < len(by_number):
            function = by_number[int(number[1])]
        else:
            function = None
        if function is None:
            return []
        found.append(function)
    return found
