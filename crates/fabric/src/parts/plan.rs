//! Which part of a fabric each device belongs to, and how far parts may run ahead of each other.

use super::Apart;
use crate::config::{DeviceKind, FabricConfig};
use crate::corruption;
use crate::fabric::Fabric;
use crate::port::{Owner, Port, PortId};
use lanewise_observe::Owners;
use lanewise_units::{Bytes, Span, order};

/// Why one thread has to do it all.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NotShared {
    /// One thread was asked for.
    #[error("one thread was asked for")]
    OneThread,
    /// A workload has more than DMA of its devices, so they cannot be apart from the host: index among those that were added.
    #[error("workload {0} does more than DMA between a device and memory of the host")]
    Workload(usize),
    /// What is damaged or lost is found out by several parts.
    #[error("errors are injected")]
    Errors,
    /// What one host asks for goes to another.
    #[error("a bridge joins two hosts")]
    Bridge,
    /// A link of the fabric is not one of those that parts are made for.
    #[error("a link loses or replays something, sleeps, or is in Flit Mode")]
    Links,
    /// Nothing that asks for anything is below a root port whose link could be cut.
    #[error("there is nothing to share: no load is below a root port with one virtual channel")]
    NothingToShare,
    /// The latency of a link that would be cut is next to nothing.
    #[error("a link between parts has a latency of {0}, too little to run ahead by")]
    NoLatency(Span),
    /// The system starts no thread more, and says why.
    #[error("the system starts no thread more: {0}")]
    NoThread(String),
}

/// Parts of a fabric.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) parts: usize,
    /// By port, endpoint and flow; flows are known when workloads have started.
    pub(crate) owners: Owners,
    /// By workload.
    pub(crate) of_workload: Vec<u16>,
    /// Links between parts: upper end, lower end.
    pub(crate) links: Vec<[PortId; 2]>,
    /// How far parts may run ahead.
    pub(crate) window: Span,
}

/// What a host does for a TLP at its root ports, beside what a hop costs elsewhere. Measured: in `speed tree4096` a host with all root
/// ports handles 0.24 of all events and takes as much of the time.
const HOST_PER_TLP: u64 = 1;

/// What is below one root port.
struct Subtree {
    devices: Vec<usize>,
    /// Upper end and lower end of the link that would be cut.
    link: [PortId; 2],
    cost: u64,
    /// Of this, what that link costs.
    cost_of_link: u64,
    may_leave: bool,
}

/// The smallest TLP: a header of three DW.
const SMALLEST_HEADER: Bytes = Bytes::new(12);

/// A window below which parts would do nothing but wait for each other. Assumed: a barrier takes longer than what happens in it.
const SHORTEST_WINDOW: Span = Span::from_ns(1);

impl Plan {
    /// Shares a fabric among so many threads at most.
    pub(crate) fn new(
        config: &FabricConfig,
        fabric: &Fabric,
        threads: usize,
        workloads: &[Option<Apart>],
    ) -> Result<Self, NotShared> {
        if threads < 2 {
            return Err(NotShared::OneThread);
        }
        if let Some(bound) = workloads.iter().position(Option::is_none) {
            return Err(NotShared::Workload(bound));
        }
        let faulty = fabric.endpoints.iter().any(|endpoint| endpoint.errors.is_some())
            || fabric.root_complexes.iter().any(|host| host.errors.is_some())
            || corruption::anywhere(config);
        if faulty {
            return Err(NotShared::Errors);
        }
        if !fabric.ports.iter().enumerate().all(|(index, port)| port.peer.index() == index || is_sure(port)) {
            return Err(NotShared::Links);
        }
        if fabric.endpoints.iter().any(|endpoint| endpoint.config.bridge.is_some()) {
            return Err(NotShared::Bridge);
        }
        let mut is_asking = vec![false; config.devices.len()];
        let devices = workloads.iter().flatten().flat_map(|workload| &workload.devices);
        devices.for_each(|device| is_asking[device.0 as usize] = true);
        let mut subtrees = subtrees(config, fabric, &is_asking);
        let mut of_device = share(&mut subtrees, threads, workloads, config.devices.len());
        let parts = number_parts(&mut of_device);
        if parts < 2 {
            return Err(NotShared::NothingToShare);
        }
        let links: Vec<[PortId; 2]> =
            subtrees.iter().filter(|one| of_device[one.devices[0]] != 0).map(|one| one.link).collect();
        let window = links.iter().map(|link| least_latency(fabric, *link)).min().expect("a link is cut");
        if window < SHORTEST_WINDOW {
            return Err(NotShared::NoLatency(window));
        }
        let of = |workload: &Option<Apart>| {
            workload.as_ref().and_then(|one| one.devices.first()).map_or(0, |one| of_device[one.0 as usize])
        };
        Ok(Self {
            parts,
            owners: owners(fabric, &of_device),
            of_workload: workloads.iter().map(of).collect(),
            links,
            window,
        })
    }
}

/// What is below each root port that has a link.
fn subtrees(config: &FabricConfig, fabric: &Fabric, is_asking: &[bool]) -> Vec<Subtree> {
    let mut below: Vec<Vec<(usize, usize)>> = vec![Vec::new(); config.devices.len()];
    for (index, link) in config.links.iter().enumerate() {
        below[link.upper.0].push((index, link.lower.0));
    }
    let hosts = config.devices.iter().enumerate();
    let hosts = hosts.filter(|(_, device)| matches!(device.kind, DeviceKind::RootComplex(_)));
    let mut found = Vec::new();
    for (link, top) in hosts.flat_map(|(host, _)| &below[host]) {
        let ends = [config.links[*link].upper, config.links[*link].lower];
        let link = ends.map(|(device, port)| fabric.device_ports[device][port]);
        let may_leave = may_be_cut(fabric, link);
        let mut subtree = Subtree { devices: Vec::new(), link, cost: 0, cost_of_link: 0, may_leave };
        subtree.cost_of_link = rate_below(fabric, &below, is_asking, *top, &mut subtree);
        found.push(subtree);
    }
    found
}

/// Notes a device and all below it, and what their links cost: as many bytes as they can have to carry. Returns how many come from here.
fn rate_below(
    fabric: &Fabric,
    below: &[Vec<(usize, usize)>],
    is_asking: &[bool],
    device: usize,
    subtree: &mut Subtree,
) -> u64 {
    subtree.devices.push(device);
    let from_below: u64 =
        below[device].iter().map(|(_, next)| rate_below(fabric, below, is_asking, *next, subtree)).sum();
    // Port 0 faces upstream.
    let wire = &fabric.ports[fabric.device_ports[device][0].index()].settings.wire;
    let bytes_per_us = 4096 * Span::from_us(1).ticks() / wire.span(Bytes::from_kib(4)).ticks().max(1);
    let asked = if is_asking[device] { u64::MAX } else { from_below };
    let rate = bytes_per_us.min(asked);
    subtree.cost += rate;
    rate
}

/// Whether all that is sent on a link arrives at a time that is known then, once, and Acks come before the replay timer runs out.
fn is_sure(port: &Port) -> bool {
    port.error_free_non_flit && !port.sleeps && port.transmitter.replay_timer_watched
}

/// Whether messages can take the place of the ends of a link: it carries packets of one channel.
fn may_be_cut(fabric: &Fabric, link: [PortId; 2]) -> bool {
    link.iter().all(|id| fabric.ports[id.index()].is_plain())
}

/// The part of each device: hosts and what cannot leave them are in part 0; of the rest the most costly first, wherever there is least.
fn share(subtrees: &mut [Subtree], threads: usize, workloads: &[Option<Apart>], devices: usize) -> Vec<u16> {
    let mut subtree_of = vec![usize::MAX; devices];
    for (index, subtree) in subtrees.iter().enumerate() {
        subtree.devices.iter().for_each(|device| subtree_of[*device] = index);
    }
    // Devices of one workload stay together: each subtree has the first one of its group.
    let mut group: Vec<usize> = (0..subtrees.len()).collect();
    for workload in workloads.iter().flatten() {
        let mut places = workload.devices.iter().map(|device| subtree_of[device.0 as usize]);
        let Some(first) = places.next() else { continue };
        for other in places {
            let (to, from) = (group[first].min(group[other]), group[first].max(group[other]));
            group.iter_mut().filter(|one| **one == from).for_each(|one| *one = to);
        }
    }
    let mut cost = vec![0; subtrees.len()];
    let mut may_leave = vec![true; subtrees.len()];
    for (subtree, group) in subtrees.iter().zip(&group) {
        cost[*group] += subtree.cost;
        may_leave[*group] &= subtree.may_leave;
    }
    // No more than have something to do: the host, and what is below each root port.
    let threads = threads.min(subtrees.len() + 1);
    let mut load = vec![0; threads];
    load[0] = subtrees.iter().map(|one| one.cost_of_link).sum::<u64>() * HOST_PER_TLP;
    let mut part_of_group = vec![0; subtrees.len()];
    let mut order: Vec<usize> = (0..subtrees.len()).filter(|index| group[*index] == *index).collect();
    order::sort_by_key(&mut order, |index| (may_leave[*index], std::cmp::Reverse(cost[*index])));
    for index in order {
        let least = (0..threads).min_by_key(|part| load[*part]).expect("there are threads");
        let part = if may_leave[index] { least } else { 0 };
        load[part] += cost[index];
        part_of_group[index] = part as u16;
    }
    let mut of_device = vec![0; devices];
    for (subtree, group) in subtrees.iter().zip(&group) {
        subtree.devices.iter().for_each(|device| of_device[*device] = part_of_group[*group]);
    }
    of_device
}

/// Leaves out numbers of parts that have nothing. Returns how many parts there are.
fn number_parts(of_device: &mut [u16]) -> usize {
    let mut used: Vec<u16> = of_device.iter().copied().chain([0]).collect();
    order::sort(&mut used);
    used.dedup();
    for part in of_device {
        *part = used.binary_search(part).expect("it is used") as u16;
    }
    used.len()
}

/// Which part counts what is seen at each port and endpoint.
fn owners(fabric: &Fabric, of_device: &[u16]) -> Owners {
    let mut owners = Owners {
        ports: vec![0; fabric.ports.len()],
        requesters: vec![0; fabric.endpoints.len()],
        flows: Vec::new(),
    };
    for ((device, ports), part) in fabric.devices.iter().zip(&fabric.device_ports).zip(of_device) {
        ports.iter().for_each(|port| owners.ports[port.index()] = *part);
        if let Owner::Endpoint(index) = device.owner {
            owners.requesters[index as usize] = *part;
        }
    }
    owners
}

/// What is put on a link has no effect at its other end before so much time has passed: on its way, and until it is checked or a switch
/// may forward it.
fn least_latency(fabric: &Fabric, link: [PortId; 2]) -> Span {
    let of_end = |id: &PortId| {
        let receiver = &fabric.ports[id.index()];
        // Both directions of a link are alike.
        let wire = &receiver.settings.wire;
        let smallest = wire.span(SMALLEST_HEADER) + wire.framing;
        let checked = smallest + receiver.settings.receive_latency;
        let tlp = match receiver.owner {
            Owner::Switch(index) => checked.min(fabric.switches[index as usize].config.latency),
            Owner::RootComplex(_) | Owner::Endpoint(_) => checked,
        };
        wire.propagation + tlp.min(wire.dllp + receiver.settings.receive_latency)
    };
    link.iter().map(of_end).min().expect("a link has two ends")
}
