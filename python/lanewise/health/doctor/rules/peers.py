"""Devices that should talk to each other directly, and what keeps them from it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from lanewise.health.doctor.finding import Finding, Severity
from lanewise.health.doctor.pair_rig import PairRig, pair_rig_is_known
from lanewise.health.doctor.registry import PERFORMANCE, Bearing, Rule, rule
from lanewise.health.doctor.rig import Leaf, Rig, Trial
from lanewise.health.doctor.words import listed
from lanewise.machine.gpu_modules import come_with_own_links
from lanewise.machine.lanes import lanes_of
from lanewise.machine.moves import together
from lanewise.machine.sockets import across_sockets, interconnect_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lanewise.machine.model import Function
    from lanewise.machine.view import View

_FAST_NIC_GB_PER_S = 12.0
"""Network adapters with a link of this rate talk to GPUs directly. Assumed: 100 Gb/s and more."""

ACS = Rule(
    id="acs-redirect",
    what="ACS sends peer-to-peer requests below a switch up to the root complex and back.",
    why="Two devices below one switch could talk through it without touching the host. With P2P Request "
    "Redirect, each packet crosses the upstream link twice, shares it with all devices below the switch, "
    "and takes the round trip through the root complex. One port that redirects is enough for the traffic "
    "of its device.",
    severity="warning with a GPU or accelerator among the devices below; info otherwise",
    cost="simulated: two devices below the switch writing to each other, redirected and direct, in the "
    "machine's own tree as `lanewise predict --peers` has it",
    fix="If no virtual machine needs the isolation, switch ACS off in the firmware setup, or clear "
    "ReqRedir and CmpltRedir on each of those ports (`setpci -s PORT ECAP_ACS+6.w=0:c`); with virtual "
    "machines, use ATS and direct translated P2P.",
    references=("PCIe Base 5.0 §6.12 (Access Control Services)", "§7.7.8.3 (ACS Control)"),
    not_said="Switches with fewer than two devices that talk to each other; network adapters "
    "alone, which do not; root ports, whose redirection costs nothing more.",
    bearing=Bearing.LIMITS_PEERS,
    profiles=PERFORMANCE,
)

APART = Rule(
    id="peers-apart",
    what="A GPU has no fast network adapter of its kind nearby although the machine has some: all of them "
    "are below another root port or on another NUMA node.",
    why="Transfers between GPU and network adapter (GPUDirect RDMA) stay below a switch where they can; "
    "across root ports or sockets they pass the root complex, which is slower on most hosts and forbidden "
    "on some.",
    severity="info",
    cost="simulated: 4 KiB written by the adapter where the two are, in the machine's own tree as `lanewise "
    "predict --peers` has it, and below a common switch",
    fix="Move the adapter into a slot below the switch of the GPU, or bind each GPU to the nearest "
    "adapter (NCCL_IB_HCA, NCCL_NET_GDR_LEVEL); `lanewise predict --peers` says which that is.",
    references=("PCIe Base 5.0 §1.3.1 (peer-to-peer through a root complex is optional)",),
    not_said="Machines without GPUs or without fast network adapters; GPUs with an adapter below the same "
    "switch or root port.",
    profiles=PERFORMANCE,
)


GPUS = Rule(
    id="gpus-apart",
    what="GPUs of one kind are below different root ports or at different sockets, and no link of their own "
    "is seen.",
    why="Data between such GPUs pass the root complex: more latency, often less bandwidth, the link between "
    "sockets if they are on two, and on some platforms host memory. For GPUs that work alone it does not "
    "matter.",
    severity="info",
    cost="simulated: two GPUs writing to each other across sockets, or 4 KiB from root port to root port, in "
    "the machine's own tree as `lanewise predict --peers` has it, and below a common switch",
    fix="Where they exchange data, put them below one switch or on one socket, or join them with a bridge of "
    "their own (NVLink, Infinity Fabric) if they have the connector; keep each process on the socket of its "
    "GPU.",
    references=("PCIe Base 5.0 §1.3.1 (peer-to-peer through a root complex is optional)",),
    not_said="GPUs that `nvidia-smi topo -m`, `xpu-smi topology -m`, NCCL or hwloc show joined by NVLink, "
    "XGMI or Xe Link, modules that always are (SXM, OAM, NVL), GPUs of different kinds, and machines whose "
    "GPUs share a switch or root port.",
    profiles=PERFORMANCE,
)


@rule(ACS)
def redirected_peers(view: View, this: Rule) -> Iterable[Finding]:
    """Find switches that may not switch."""

    def rate(function: Function) -> float:
        return view.possible_rate(function) or 0.0

    for switch in view.machine.switches:
        redirecting = [port for port in switch.downstream if "ReqRedir" in (_enabled(port))]
        if not redirecting:
            continue
        devices = {
            port.address: [f for f in view.machine.descendants(port) if view.is_device(f)]
            for port in switch.downstream
        }
        peers = [function for port in redirecting for function in devices[port.address]]
        fastest = [max(below, key=rate) for below in devices.values() if below]
        apart = sorted(fastest, key=lambda f: (f in peers, rate(f)), reverse=True)
        if not peers or len(apart) < 2 or all(peer.is_nic for below in devices.values() for peer in below):
            continue
        # Of one port among several that redirects, the port is the place to look.
        place = redirecting[0] if len(redirecting) == 1 else switch.upstream
        rich = any(view.is_compute_gpu(function) or function.is_class(0x12, 0x0B) for function in peers)
        yield this.finding(
            Severity.WARNING if rich else Severity.INFO,
            place.address.short,
            f"{len(peers)} device{'' if len(peers) == 1 else 's'} below {place.address.short} "
            f"{'reaches its neighbours' if len(peers) == 1 else 'reach each other'} only through the root "
            "complex",
            [
                *(f"{port.address.short} ACSCtl: ReqRedir+ ({port.name})" for port in redirecting[:8]),
                f"devices: {listed(peers)}",
            ],
            trial=_switch_trial(view, switch.upstream, apart[0], apart[1]),
            also=[function.address.short for function in peers],
        )


def _enabled(port: Function) -> frozenset[str]:
    acs = port.registers.acs
    return (acs.enabled if acs else None) or frozenset()


def _switch_trial(view: View, upstream: Function, one: Function, other: Function) -> Trial | None:
    what = "two devices writing to each other"
    if pair_rig_is_known(view.machine, one, other):
        as_is = PairRig(view.machine, one.address, other.address, redirected=True, both=True)
        return Trial(as_is, replace(as_is, redirected=False), what)
    above = view.physical_link(upstream)
    first, second = view.leaf_lanes(one), view.leaf_lanes(other)
    if above is None or first is None or second is None:
        return None
    up = lanes_of(above.limit if above.limit.known else above.now)
    if up is None:
        return None
    mps = min(view.payload(one), view.payload(other))
    leaves = (Leaf(first, "write", target=1), Leaf(second, "write", target=0))
    customary = Rig((up,), leaves, mps=mps, acs_redirect=True)
    return Trial(customary, replace(customary, acs_redirect=False), what)


@rule(APART)
def distant_peers(view: View, this: Rule) -> Iterable[Finding]:
    """Find GPUs without a near network adapter."""
    gpus = [function for function in view.devices if view.is_compute_gpu(function)]
    nics = [
        function
        for function in view.devices
        if function.is_nic and (view.possible_rate(function) or 0.0) >= _FAST_NIC_GB_PER_S
    ]
    if not gpus or not nics or not all(view.machine.root_port(f) for f in (*gpus, *nics)):
        return
    lonely = [gpu for gpu in gpus if not any(_near(view, gpu, nic) for nic in nics)]
    if not lonely:
        return
    evidence = [f"{gpu.address.short} {_place(view, gpu)} ({gpu.name})" for gpu in lonely[:4]]
    evidence += [f"{nic.address.short} {_place(view, nic)} ({nic.name})" for nic in nics[:4]]
    nearest = min(nics, key=lambda nic: across_sockets(view.machine, lonely[0], nic))
    yield this.finding(
        Severity.INFO,
        lonely[0].address.short,
        f"{len(lonely)} of {len(gpus)} GPUs have no fast network adapter below their root port",
        evidence,
        trial=_root_trial(view, lonely[0], nearest),
        also=[gpu.address.short for gpu in lonely[1:]],
    )


@rule(GPUS)
def distant_gpus(view: View, this: Rule) -> Iterable[Finding]:
    """Find GPUs of one kind that only the root complex joins."""
    kinds: dict[tuple[int | None, int | None], list[Function]] = {}
    for function in view.devices:
        if view.is_compute_gpu(function) and view.machine.root_port(function) is not None:
            identity = function.identity
            kinds.setdefault((identity.vendor_id, identity.device_id), []).append(function)
    for gpus in kinds.values():
        first = gpus[0]
        apart = [gpu for gpu in gpus[1:] if not _near(view, first, gpu)]
        if not apart or come_with_own_links(view.machine, gpus):
            continue
        far = [gpu for gpu in apart if across_sockets(view.machine, first, gpu)]
        where = "two sockets" if far else "several root ports"
        yield this.finding(
            Severity.INFO,
            first.address.short,
            f"{len(gpus)} GPUs of one kind are spread over {where}, and no link of their own is to be seen",
            [f"{gpu.address.short} {_place(view, gpu)} ({gpu.name})" for gpu in gpus[:8]],
            trial=_root_trial(view, first, (far or apart)[0], exchange=bool(far)),
            also=[gpu.address.short for gpu in gpus[1:]],
        )


def _near(view: View, first: Function, second: Function) -> bool:
    root = view.machine.root_port(first)
    return root is not None and root is view.machine.root_port(second)


def _place(view: View, function: Function) -> str:
    root = view.machine.root_port(function)
    text = f"below root port {root.address.short}" if root else "on a root bus"
    return text if function.numa_node is None else f"{text}, NUMA node {function.numa_node}"


def _root_trial(view: View, gpu: Function, peer: Function, *, exchange: bool = False) -> Trial | None:
    """Compare one write of a peer into a GPU, or with `exchange` all that both can write to each other."""
    writer = "another" if peer.is_gpu else "the adapter"
    what = "two GPUs writing to each other" if exchange else f"4 KiB written by {writer} into the GPU"
    quantity = "goodput" if exchange else "latency"
    if pair_rig_is_known(view.machine, peer, gpu):
        far = PairRig(view.machine, peer.address, gpu.address, both=exchange, one_at_a_time=not exchange)
        near = replace(far, machine=together(view.machine, peer, gpu), redirected=False)
        return Trial(far, near, what, quantity=quantity)
    first, second = view.leaf_lanes(gpu), view.leaf_lanes(peer)
    if first is None or second is None:
        return None
    mps = min(view.payload(gpu), view.payload(peer))
    if exchange:
        leaves = (Leaf(first, "write", target=1), Leaf(second, "write", target=0))
    else:
        leaves = (Leaf(first, "idle"), Leaf(second, "write", size=4096, outstanding=1, target=0))
    apart = Rig((), leaves, mps=mps, forward_between_roots=True)
    if across_sockets(view.machine, gpu, peer):
        sockets = (leaves[0], replace(leaves[1], socket=1))
        apart = replace(apart, leaves=sockets, interconnect=interconnect_of(view.machine))
    up = first if (first.gt_s * first.width) >= (second.gt_s * second.width) else second
    return Trial(apart, Rig((up,), leaves, mps=mps), what, quantity=quantity)
