"""sysfs: live, as a copied folder, or as an archive read in memory.

Files under ``/sys/bus/pci/devices`` say who is below whom, which driver is bound, on which NUMA node a
function is, and hold configuration space: all of it for root, 64 bytes for others, and then speed and width
of links come from ``current_link_speed`` and its like. Nothing is written and no device is asked more than
`lspci` asks. Source: Linux, ``Documentation/ABI/testing/sysfs-bus-pci`` and ``-pci-devices-aer``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lanewise.machine import config_space
from lanewise.machine.address import Address
from lanewise.machine.draft import Draft
from lanewise.machine.model import Buses, NumaNode
from lanewise.machine.registers import WITHOUT_DETAILS, Bar, LinkMode
from lanewise.machine.sources.error_names import short_name
from lanewise.machine.sources.numbers import line_rate, natural, whole

if TYPE_CHECKING:
    from lanewise.machine.assembly import Reading
    from lanewise.machine.said import IdentityNumber, LinkModeName
    from lanewise.machine.sources.files import Files

_SPEED = re.compile(r"([\d.]{1,16}) ?GT/s")
_INTERFACE_FOLDERS = ("net", "nvme", "infiniband", "drm", "sound")
_COUNTERS = {
    "aer_dev_correctable": "correctable",
    "aer_dev_nonfatal": "nonfatal",
    "aer_dev_fatal": "fatal",
}
_IO, _PREFETCH, _MEMORY_64, _DISABLED, _UNSET = 0x100, 0x2000, 0x100000, 0x10000000, 0x20000000
_NOBODY = 0xFFFF
"""Vendor of a function that does not answer. 7.5.1.1.1. Virtual functions read so too: 9.3.4.1.1."""
_NO_LANES = 63
"""Negotiated Link Width, all ones."""
_NUMBERS: tuple[tuple[str, IdentityNumber], ...] = (
    ("vendor", "vendor_id"),
    ("device", "device_id"),
    ("class", "class_code"),
    ("revision", "revision"),
    ("subsystem_vendor", "subsystem_vendor_id"),
    ("subsystem_device", "subsystem_id"),
)
_MODES: tuple[tuple[LinkModeName, str], ...] = (("status", "current"), ("capability", "max"))


def read(files: Files, into: Reading) -> None:
    """Read all functions of a sysfs; ``bus/pci/devices`` is below the root of `files`."""
    into.kinds.append("sysfs")
    into.shows_tree = True
    folders = _folders(files)
    short = 0
    for address, (folder, parent) in sorted(folders.items()):
        draft = Draft(address)
        draft.parent = parent
        short += _function(files, folder, draft)
        into.add(draft)
    if folders and not any(draft.identity for draft in into.drafts.values()):
        into.note(
            "the copy holds links to functions and not the functions: copy with "
            "'cp -rL /sys/bus/pci/devices', or take /sys/devices along"
        )
    if short:
        into.note(
            f"configuration space of {short} functions could not be read in full: run as root to see all"
        )
    _slots(files, into)
    _nodes(files, into)
    if files.failed:
        into.note(
            f"{len(files.failed)} of the files could not be read (input/output error), the first of them "
            f"'{files.failed[0]}'"
        )
    name = files.text("../proc/sys/kernel/hostname")
    into.hostname = name or None


def _folders(files: Files) -> dict[Address, tuple[str, Address | None]]:
    """Return the folder of every function, and its parent where the path of the folder says so."""
    found: dict[Address, tuple[str, Address | None]] = {}
    for name in files.names("bus/pci/devices"):
        address = _address(name)
        if address is None:
            continue
        target = files.link(f"bus/pci/devices/{name}")
        _, devices, way = (target or "").partition("devices/")
        if devices:
            found[address] = (f"devices/{way}", _parent(way))
        else:
            found[address] = (f"bus/pci/devices/{name}", None)
    for way in files.device_folders():
        address = _address(way.rpartition("/")[2])
        if address is not None:
            found.setdefault(address, (f"devices/{way}", _parent(way)))
    return found


def _address(text: str) -> Address | None:
    try:
        return Address.parse(text)
    except ValueError:
        return None


def _parent(way: str) -> Address | None:
    """Return the function one folder up; a host bridge's folder (``pci0000:17``) is none."""
    parts = way.rstrip("/").split("/")
    return _address(parts[-2]) if len(parts) > 1 else None


def _function(files: Files, folder: str, draft: Draft) -> bool:
    """Read one function; whether its configuration space is cut short."""
    data = files.data(f"{folder}/config", config_space.EXTENDED_BYTES)
    if data:
        config_space.decode(data, draft)
    identity = draft.identity
    for name, field in _NUMBERS:
        number = whole(files.text(f"{folder}/{name}"), 0)
        if number is not None:
            identity[field] = number
    if identity.get("vendor_id") == _NOBODY and not files.link(f"{folder}/physfn"):
        _does_not_answer(draft, "vendor: 0xffff")
    _links_and_buses(files, folder, draft)
    _surroundings(files, folder, draft)
    _counters(files, folder, draft)
    resources = files.text(f"{folder}/resource")
    if resources:
        _bars(resources, draft)
    total = whole(files.text(f"{folder}/sriov_totalvfs"), 0)
    if total is not None:
        count = whole(files.text(f"{folder}/sriov_numvfs"), 0)
        draft.sriov |= {"total": total, "count": count, "enabled": None if count is None else count > 0}
    return data is not None and len(data) <= config_space.HEADER_BYTES


def _links_and_buses(files: Files, folder: str, draft: Draft) -> None:
    for field, name in _MODES:
        speed = _SPEED.match(files.text(f"{folder}/{name}_link_speed") or "")
        width = whole(files.text(f"{folder}/{name}_link_width"), 0)
        if width == _NO_LANES and speed is None and field == "status":
            _does_not_answer(draft, f"current_link_width: {width}")
        mode = LinkMode(line_rate(speed[1] if speed else None), None if width in (_NO_LANES, 255) else width)
        if mode != LinkMode() and draft.link.get(field) is None:
            draft.link[field] = mode
    if draft.link and draft.registers.get("express") is None:
        draft.registers["express"] = True
    secondary = whole(files.text(f"{folder}/secondary_bus_number"), 0)
    subordinate = whole(files.text(f"{folder}/subordinate_bus_number"), 0)
    if secondary is not None and draft.buses is None:
        draft.buses = Buses(draft.address.bus, secondary, secondary if subordinate is None else subordinate)


def _does_not_answer(draft: Draft, sign: str) -> None:
    draft.registers["no_answer"] = (*draft.registers.get("no_answer", ()), sign)


def _surroundings(files: Files, folder: str, draft: Draft) -> None:
    function = draft.function
    function["numa_node"] = natural(files.text(f"{folder}/numa_node"))
    function["label"] = files.text(f"{folder}/label") or None
    function["local_cpus"] = files.text(f"{folder}/local_cpulist") or None
    driver = files.link(f"{folder}/driver")
    function["driver"] = driver.rpartition("/")[2] if driver else None
    function["driver_known"] = files.keeps_links
    function["iommu_group"] = natural((files.link(f"{folder}/iommu_group") or "").rpartition("/")[2])
    if function["iommu_group"] is not None:
        function["iommu_type"] = files.text(f"kernel/iommu_groups/{function['iommu_group']}/type") or None
    physical = _address((files.link(f"{folder}/physfn") or "").rpartition("/")[2])
    if physical is not None:
        function["physical_function"], function["virtual"] = physical, True
    enabled = natural(files.text(f"{folder}/enable"))
    if enabled is not None:
        draft.registers["enabled"] = enabled > 0
    state = files.text(f"{folder}/power_state")
    if state == "error":
        _does_not_answer(draft, "power_state: error")
    elif state and state != "unknown":
        draft.registers["power_state"] = state
    names = [name for kind in _INTERFACE_FOLDERS for name in files.names(f"{folder}/{kind}")]
    function["interfaces"] = tuple(
        sorted(name for name in names if not name.startswith(("card", "render", "hw")))
    )
    for drive in files.names(f"{folder}/nvme")[:1]:
        function["model"] = files.text(f"{folder}/nvme/{drive}/model") or None
        function["firmware"] = files.text(f"{folder}/nvme/{drive}/firmware_rev") or None


def _counters(files: Files, folder: str, draft: Draft) -> None:
    """Read AER counters: lines ``BadTLP 3`` or ``Bad TLP 3``, and a total.

    A correctable total alone, as `grep` leaves it, counts errors of an unnamed kind.
    """
    counters = []
    for name, prefix in _COUNTERS.items():
        kinds = {}
        for line in (files.text(f"{folder}/{name}") or "").splitlines():
            words, _, number = line.strip().rpartition(" ")
            count = natural(number)
            if count is not None and words:
                kinds["TOTAL" if words.startswith("TOTAL") else short_name(words.strip())] = count
        if prefix == "correctable" and kinds.keys() == {"TOTAL"}:
            kinds[WITHOUT_DETAILS] = kinds["TOTAL"]
        counters += [(f"{prefix}.{kind}", count) for kind, count in kinds.items()]
    if counters:
        draft.errors["counters"] = tuple(counters)


def _bars(text: str, draft: Draft) -> None:
    """Read ``resource``: first and last address and flags of each region; the kernel knows sizes."""
    bars = []
    for index, line in enumerate(text.splitlines()[:7]):
        words = [whole(word, 16) for word in line.split()]
        if len(words) != 3:
            continue
        start, end, flags = words
        if start is None or end is None or not flags:
            continue
        bars.append(
            Bar(
                index,
                address=None if flags & _UNSET else start or None,
                size=end - start + 1 if end >= start else None,
                io=bool(flags & _IO),
                bits64=bool(flags & _MEMORY_64),
                prefetchable=bool(flags & _PREFETCH),
                disabled=bool(flags & _DISABLED),
                unassigned=bool(flags & _UNSET) or not start,
            )
        )
    draft.bars = bars


def _slots(files: Files, into: Reading) -> None:
    """Read names of slots: a folder each, with the device it holds as ``domain:bus:device``."""
    slots = {files.text(f"bus/pci/slots/{name}/address"): name for name in files.names("bus/pci/slots")}
    for draft in into.drafts.values():
        place = str(draft.address).rpartition(".")[0]
        if place in slots:
            draft.function["physical_slot"] = slots[place]


def _nodes(files: Files, into: Reading) -> None:
    for name in sorted(files.names("devices/system/node")):
        index = natural(name.removeprefix("node"))
        if name.startswith("node") and index is not None:
            cpus = files.text(f"devices/system/node/{name}/cpulist")
            into.numa_nodes.append(NumaNode(index, cpus or None))
    into.numa_nodes.sort(key=lambda node: node.index)
