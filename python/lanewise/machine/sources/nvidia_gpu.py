"""What NVIDIA's tools say of one GPU, whichever of their forms says it: into a draft.

``Max`` of the generation is what GPU and host can do together, ``Device Max`` the GPU, ``Host Max`` the port
above it. ``Max`` of the width is the GPU's own: it says 16x on boards that wire eight lanes, so it is no
statement about the slot. Performance states run from P0 (fastest) to P15, and idle GPUs are in P5 and beyond
or say that they are idle in so many words, unless they are in use. Source: `nvidia-smi` manual of drivers 470
to 580 (GPU ATTRIBUTES; PCI), NVML reference, and outputs of real machines.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lanewise.machine import pci_ids
from lanewise.machine.address import Address
from lanewise.machine.function import Buses, Kind
from lanewise.machine.registers import SPEEDS_GT_S, LinkMode
from lanewise.machine.sources import nvidia_health
from lanewise.machine.sources.made_up import made_up_address
from lanewise.machine.sources.numbers import natural, whole

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lanewise.machine.assembly import Reading
    from lanewise.machine.draft import Draft
    from lanewise.machine.said import LinkModeName

_NVIDIA = 0x10DE
_DISPLAY = 0x038000
"""Class of a display controller that is neither said to be VGA nor 3D."""
_VBIOS = re.compile(r"[0-9A-Fa-f]{2}(?:\.[0-9A-Fa-f]{2}){2,5}$")
_STATE = re.compile(r"P\d{1,2}$")
_FIRST_SAVING = 5
"""The first performance state in which GPUs save power. Assumed: P0 to P3 are for loads (manual)."""
_AT_WORK_PERCENT = 50
"""Use of a GPU from which it is at work, whatever its driver says of idleness. Assumed: desktops use less."""
_WIDTH = re.compile(r"(\d{1,2})x?$")


def address_of(text: str) -> Address | None:
    """Return the address in ``00000000:3B:00.0``; None where it is none."""
    try:
        return Address.parse(text)
    except ValueError:
        return None


def take(said: Mapping[str, str], address: Address, into: Reading) -> Draft:
    """Make the draft of a GPU of what is said of it; keys are those of `nvidia-smi --query-gpu`.

    What cannot be understood (``N/A``, ``[Unknown Error]``, ``ERR!``) is not said.
    """
    draft = into.draft(address)
    draft.kind = Kind.ENDPOINT
    draft.function["driver"], draft.function["driver_known"] = "nvidia", True
    _identify(draft, said)
    able = generation(said.get("gpumax")) or generation(said.get("max"))
    _set_mode(draft, "capability", LinkMode(able, width(said.get("width.max"))))
    if _VBIOS.match(said.get("vbios", "")):
        draft.function["firmware"] = said["vbios"]
    # A link has one generation: where the two differ, the lower one is what it runs at.
    both = (generation(said.get("gpucurrent")), generation(said.get("current")))
    now = min((one for one in both if one is not None), default=None)
    _set_mode(draft, "status", LinkMode(now, width(said.get("width.current"))))
    _count(draft, said)
    health = nvidia_health.health(said)
    if health is not None:
        draft.function["health"] = health
    used = (health.utilization_percent if health is not None else None) or 0
    state, idle = said.get("pstate", ""), said.get("idle")
    if _STATE.match(state):
        draft.function["performance_state"] = state
        saving = int(state[1:]) >= _FIRST_SAVING
        busy = not saving and (idle == "Not Active" or used >= _AT_WORK_PERCENT)
        draft.function["idle"] = False if busy else True if saving or idle == "Active" else None
    if said.get("index", "").isdigit():
        draft.add_interface(f"GPU{int(said['index'])}")
    host = generation(said.get("hostmax"))
    if draft.function.get("idle") is False and host is None:
        # Old drivers say nothing of the host, and those in a guest do not know it. Their ``Max`` is of GPU
        # and host together, so the port can do it, and a GPU at work that is slower fell back.
        host = generation(said.get("max"))
    if host is not None and draft.parent is None:
        _add_port(draft, host, into)
    return draft


def generation(text: str | None) -> float | None:
    """Return the line rate of a generation, GT/s."""
    number = natural(text)
    return SPEEDS_GT_S[number - 1] if number and number <= len(SPEEDS_GT_S) else None


def width(text: str | None) -> int | None:
    """Return the lanes in ``16x`` or ``16``."""
    match = _WIDTH.match(text or "")
    return int(match[1]) or None if match else None


def _set_mode(draft: Draft, which: LinkModeName, mode: LinkMode) -> None:
    if mode != LinkMode():
        draft.link[which] = mode
        draft.registers["express"] = True


def _identify(draft: Draft, said: Mapping[str, str]) -> None:
    identity = draft.identity
    identity["vendor_id"] = _NVIDIA
    numbers, subsystem = whole(said.get("device_id"), 16), whole(said.get("sub_device_id"), 16)
    if numbers is not None and numbers & 0xFFFF == _NVIDIA:
        identity["device_id"] = numbers >> 16 & 0xFFFF
    if subsystem:
        identity["subsystem_vendor_id"], identity["subsystem_id"] = (
            subsystem & 0xFFFF,
            subsystem >> 16 & 0xFFFF,
        )
    base, sub = whole(said.get("base_class"), 16), whole(said.get("sub_class"), 16)
    known = base is not None and sub is not None
    identity["class_code"] = (base or 0) << 16 | (sub or 0) << 8 if known else _DISPLAY
    name = said.get("name", "").removeprefix("NVIDIA ").strip()
    device_id = identity.get("device_id")
    if name and (device_id is None or pci_ids.load().device(_NVIDIA, device_id) is None):
        identity["vendor_name"], identity["device_name"] = "NVIDIA Corporation", name


def _count(draft: Draft, said: Mapping[str, str]) -> None:
    """Keep replays since the driver loaded, and how often REPLAY_NUM rolled over and the link retrained."""
    found = (("correctable.Replay", "replays"), ("correctable.Rollover", "rollovers"))
    counters = [(name, count) for name, key in found if (count := natural(said.get(key))) is not None]
    if counters:
        draft.errors["counters"] = tuple(counters)


def _add_port(draft: Draft, gt_s: float, into: Reading) -> None:
    """Make the port above, of which nothing is known but the speed that it can do."""
    port = into.draft(made_up_address(into))
    port.kind = Kind.ROOT_PORT
    port.registers["express"] = True
    port.identity["class_code"] = 0x060400
    port.buses = Buses(None, draft.address.bus, draft.address.bus)
    port.link["capability"] = LinkMode(gt_s, None)
    port.function["implied"] = True
    draft.parent = port.address
