//! How data come from one rank to another: how far apart they are, and who reaches whose memory.

use super::super::kinds::Reading;
use super::super::networks::Networks;
use super::super::workload::unknown;
use super::super::{Inputs, Settings, side_link};
use super::passes::of_link_above;
use crate::file::WrittenWorkload;
use crate::parameters::{CollectiveParameters, DistanceChoice, NetworkKindChoice};
use crate::value::Auto;
use lanewise_units::{Bytes, order};
use lanewise_workload::device::rdma::{CableEnd, NicPort};
use lanewise_workload::load::collective::{Hardware, NetworkPath, Path, Rank, Way};
use std::collections::BTreeSet;

/// A workload and its ranks.
pub(super) struct Around<'a, 'f> {
    pub inputs: &'a Inputs<'f>,
    pub workload: &'a WrittenWorkload,
    pub path: &'a str,
    pub parameters: &'a CollectiveParameters,
    pub ranks: &'a [Rank],
}

/// How far apart two devices of a host are; nearer ones are less.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Distance {
    Itself,
    SideLink,
    Switch,
    Switches,
    HostBridge,
    System,
}

impl Distance {
    /// The farthest that a choice allows.
    const fn of(choice: DistanceChoice) -> Self {
        match choice {
            DistanceChoice::Never => Self::Itself,
            DistanceChoice::SideLink => Self::SideLink,
            DistanceChoice::Switch => Self::Switch,
            DistanceChoice::Switches => Self::Switches,
            DistanceChoice::HostBridge => Self::HostBridge,
            DistanceChoice::System => Self::System,
        }
    }
}

/// An adapter that rings may cross the network by.
pub(super) struct Adapter {
    port: NicPort,
    /// Bytes a second, as NCCL counts them: the slower of its port and its slot.
    pub rate: f64,
    /// Ranks that it is nearest to.
    ranks: Vec<u32>,
}

/// Bytes a second of the adapters of a rank, of the one that has least: those that are nearest to it, shared with others that they are nearest to.
///
/// Source: `ncclTopoGetLocalNet`, src/graph/topo.cc of NVIDIA/nccl 2.30.7.
pub(super) fn of_rank(adapters: &[Vec<Adapter>], ranks: u32) -> Vec<f64> {
    let of_rank = |rank: u32| {
        let near = || adapters.iter().flatten().filter(|adapter| adapter.ranks.contains(&rank));
        let sharers = near().next().map_or(1, |adapter| adapter.ranks.len());
        near().map(|adapter| adapter.rate).take(near().count().div_ceil(sharers)).collect::<Vec<f64>>()
    };
    let all = |rates: &Vec<f64>| rates.iter().sum::<f64>();
    (0..ranks).map(of_rank).min_by(|one, other| all(one).total_cmp(&all(other))).unwrap_or_default()
}

/// Of each of so many rings, the rank of each host at which it enters: one that is nearest to its adapter, each another one if there are as many.
/// None where every ring enters at the first rank of its host.
pub(super) fn entries(adapters: &[Vec<Adapter>], rings: u32) -> Vec<Vec<u32>> {
    let of_node = |of_node: &Vec<Adapter>| {
        let mut used = BTreeSet::new();
        let mut enters = Vec::new();
        for adapter in of_node {
            let fresh = adapter.ranks.iter().find(|rank| !used.contains(*rank));
            let rank = *fresh.unwrap_or(&adapter.ranks[0]);
            used.insert(rank);
            enters.push(rank);
        }
        enters
    };
    let of_nodes: Vec<Vec<u32>> = adapters.iter().map(of_node).collect();
    if of_nodes.iter().all(|enters| enters.iter().all(|rank| *rank == enters[0])) {
        return Vec::new();
    }
    let of_ring = |ring: usize| of_nodes.iter().map(|enters| enters[ring % enters.len()]).collect();
    (0..rings as usize).map(of_ring).collect()
}

impl Around<'_, '_> {
    /// Bytes a second of the slowest side link, if all neighbours of a host are joined by one.
    pub(super) fn side_link_rate(&self) -> Option<f64> {
        let neighbours = self.ranks.iter().zip(self.ranks.iter().cycle().skip(1));
        let rates = neighbours.filter(|(one, other)| one.node == other.node).map(|(one, other)| {
            let [one, other] = [one, other].map(|rank| rank.device.0 as usize);
            side_link::joins(self.inputs, one, other)
                .then(|| side_link::of_device(self.inputs, one).map(|link| link.rate.bytes_per_second()))?
        });
        let rates: Vec<u64> = rates.collect::<Option<_>>()?;
        rates.into_iter().min().map(|rate| rate as f64)
    }

    /// The way of each pair; nothing when one has none, which is reported.
    pub(super) fn ways(
        &self,
        pairs: BTreeSet<(u32, u32)>,
        reading: &mut Reading<'_, '_>,
    ) -> Option<Vec<Way>> {
        for name in &self.parameters.networks {
            reading.networks.named(self.inputs, self.workload, name, reading.output)?;
        }
        let mut ways = Vec::new();
        for pair in pairs {
            let [from, to] = [pair.0, pair.1].map(|rank| &self.ranks[rank as usize]);
            let path = match from.node == to.node {
                true => self.within_host(from, to),
                false => Path::Network(self.between_hosts(from, to, reading)?),
            };
            ways.push(Way { pair, path });
        }
        Some(ways)
    }

    /// NCCL's, of each host: no peers across a host bridge, but between two devices of an AMD host.
    fn p2p_level(&self, node: u32) -> Distance {
        if let Auto::Given(choice) = self.parameters.p2p_level {
            return Distance::of(choice);
        }
        let of_host = self.ranks.iter().filter(|rank| rank.node == node).count();
        if of_host <= 2 && self.is_amd(node) { Distance::System } else { Distance::Switches }
    }

    /// Whether all devices of each host are at one socket of it.
    pub(super) fn are_at_one_socket(&self) -> bool {
        let pairs =
            self.ranks.iter().zip(self.ranks.iter().skip(1)).filter(|(one, other)| one.node == other.node);
        let device = |rank: &Rank| rank.device.0 as usize;
        pairs.into_iter().all(|(one, other)| self.distance(device(one), device(other)) < Distance::System)
    }

    /// Whether every host is AMD's: of mixed makers NCCL counts as with neither (src/init.cc).
    pub(super) fn are_all_amd(&self) -> bool {
        self.ranks.iter().all(|rank| self.is_amd(rank.node))
    }

    /// Whether a host is AMD's.
    fn is_amd(&self, node: u32) -> bool {
        let first = self.ranks.iter().find(|rank| rank.node == node);
        let host = first.and_then(|rank| self.inputs.topology.path_up(rank.device.0 as usize).last());
        let maker = host.and_then(|host| {
            let (maker, _) = self.inputs.component_of(host).structural::<String>("maker", &mut Vec::new())?;
            Some(maker)
        });
        maker.as_deref() == Some("amd")
    }

    fn within_host(&self, from: &Rank, to: &Rank) -> Path {
        let level = self.p2p_level(from.node);
        let (from, to) = (from.device.0 as usize, to.device.0 as usize);
        match self.distance(from, to) {
            distance if distance > level => Path::HostMemory,
            Distance::SideLink => Path::Peer(Hardware::SideLink),
            _ if self.may_be_peers(from, to) => Path::Peer(Hardware::Pci),
            _ => Path::HostMemory,
        }
    }

    /// Whether requests of one find the other: below one switch, or through a host that forwards them.
    fn may_be_peers(&self, from: usize, to: usize) -> bool {
        match self.meeting(from, to).and_then(|instance| self.inputs.settings_of(instance)) {
            Some(Settings::Host(host)) => host.peer_to_peer,
            _ => true,
        }
    }

    /// The first instance that is above both.
    fn meeting(&self, from: usize, to: usize) -> Option<usize> {
        let topology = &self.inputs.topology;
        let above: Vec<usize> = topology.path_up(from).collect();
        topology.path_up(to).find(|instance| above.contains(instance))
    }

    fn distance(&self, from: usize, to: usize) -> Distance {
        if side_link::joins(self.inputs, from, to) {
            return Distance::SideLink;
        }
        let topology = &self.inputs.topology;
        let Some(meeting) = self.meeting(from, to) else { return Distance::System };
        if matches!(self.inputs.settings_of(meeting), Some(Settings::Host(_))) {
            let socket = |instance: usize| {
                let below = topology.path_up(instance).take_while(|at| *at != meeting).last()?;
                let (host, slot) = topology.instances[below].above?;
                Some(topology.slots[topology.instances[host].component][slot].socket)
            };
            return if socket(from) == socket(to) { Distance::HostBridge } else { Distance::System };
        }
        let switches = |instance: usize| topology.path_up(instance).take_while(|at| *at != meeting).count();
        match switches(from) + switches(to) {
            2 => Distance::Switch,
            _ => Distance::Switches,
        }
    }

    /// The adapters that rings cross the network by, of each host: those that are nearest to a rank of it and lead to the next host.
    /// None of a host where one has none, which is reported where the way of its ranks is looked for.
    ///
    /// Source: `ncclTopoSelectNets` and `ncclTopoSearchRecNet`, src/graph/search.cc of NVIDIA/nccl 2.30.7: a search over several hosts tries the
    /// nearest adapters of every GPU, and begins a ring at one of the GPUs that are nearest to the adapter.
    /// Leaves out: which of several ranks an adapter is nearest to NCCL begins with, beyond that they are different ones.
    pub(super) fn adapters(&self, reading: &mut Reading<'_, '_>) -> Vec<Vec<Adapter>> {
        let reported = std::mem::take(reading.output);
        let nodes = self.ranks.iter().map(|rank| rank.node + 1).max().unwrap_or(0);
        let of_node = |node: u32| self.ranks.iter().zip(0..).filter(move |(rank, _)| rank.node == node);
        let host = |node: u32| {
            let (first, _) = of_node(node).next()?;
            self.inputs.topology.path_up(first.device.0 as usize).last()
        };
        let mut adapters = Vec::new();
        for node in 0..nodes {
            let hosts = [host(node), host((node + 1) % nodes)];
            let wires = self.wires(hosts, reading).unwrap_or_default();
            let ports = order::set(wires.iter().map(|ends| ends[0]));
            let mut found: Vec<Adapter> = Vec::new();
            for (rank, number) in of_node(node) {
                let distance = |port: &NicPort| {
                    let device = reading.networks.config.nics[port.nic].device.0 as usize;
                    self.distance(rank.device.0 as usize, device)
                };
                let nearest = ports.iter().map(distance).min();
                for port in ports.iter().filter(|port| Some(distance(port)) == nearest) {
                    match found.iter_mut().find(|adapter| adapter.port == *port) {
                        Some(adapter) => adapter.ranks.push(number),
                        None => {
                            let Some(rate) = adapter_rate(*port, reading) else { continue };
                            found.push(Adapter { port: *port, rate, ranks: vec![number] });
                        }
                    }
                }
            }
            adapters.push(found);
        }
        *reading.output = reported;
        adapters
    }

    /// The nearest wires between the hosts of two ranks.
    fn between_hosts(&self, from: &Rank, to: &Rank, reading: &mut Reading<'_, '_>) -> Option<NetworkPath> {
        let (from, to) = (from.device.0 as usize, to.device.0 as usize);
        let hosts = [from, to].map(|device| self.inputs.topology.path_up(device).last());
        let mut wires = Vec::new();
        for ends in self.wires(hosts, reading)? {
            let device = |end: NicPort| reading.networks.config.nics[end.nic].device.0 as usize;
            let away = [self.distance(from, device(ends[0])), self.distance(to, device(ends[1]))];
            wires.push((away, ends));
        }
        let nearest = wires.iter().map(|(away, _)| away[0].max(away[1])).min();
        let Some(nearest) = nearest else {
            if reading.networks.is_partial {
                return None;
            }
            let name = &self.inputs.topology.instances[to].name;
            let expected = format!(
                "it is below another host than {}, and no network of InfiniBand or RoCE joins the two",
                self.inputs.topology.instances[from].name
            );
            unknown(self.inputs, self.workload, "devices", name, expected, reading.output);
            return None;
        };
        wires.retain(|(away, _)| away[0].max(away[1]) == nearest);
        let level = Distance::of(self.parameters.gdr_level);
        let reaches = |end: usize, device: usize| {
            wires.iter().all(|(away, ends)| {
                let adapter = reading.networks.config.nics[ends[end].nic].device.0 as usize;
                away[end] <= level && self.may_be_peers(adapter, device)
            })
        };
        let direct = [reaches(0, from), reaches(1, to)];
        Some(NetworkPath { ports: wires.into_iter().map(|(_, ends)| ends).collect(), direct })
    }

    /// The ports of two hosts that networks join which it may use; nothing for a name that is none.
    fn wires(&self, hosts: [Option<usize>; 2], reading: &mut Reading<'_, '_>) -> Option<Vec<[NicPort; 2]>> {
        let mut components = Vec::new();
        for name in &self.parameters.networks {
            let component = reading.networks.named(self.inputs, self.workload, name, reading.output)?;
            if !self.is_rdma(component) {
                let expected = "it is plain Ethernet, and RDMA needs InfiniBand or RoCE".to_owned();
                unknown(self.inputs, self.workload, "networks", name, expected, reading.output);
                return None;
            }
            components.push(component);
        }
        if self.parameters.networks.is_empty() {
            components.extend((0..self.inputs.settings.len()).filter(|component| self.is_rdma(*component)));
        }
        let networks = &reading.networks;
        let pairs = |component: usize| {
            let [from, to] = hosts.map(|host| self.ports_at(networks, component, host));
            from.into_iter().flat_map(move |first| to.clone().into_iter().map(move |second| [first, second]))
        };
        Some(components.into_iter().flat_map(pairs).filter(|ends| networks.are_joined(*ends)).collect())
    }

    /// The ports at a host that a network joins: ends of its wire, or those that are at its switches.
    fn ports_at(&self, networks: &Networks, component: usize, host: Option<usize>) -> Vec<NicPort> {
        let wire = networks.link(component).map(|link| networks.config.links[link].ends);
        let members = networks.members(component).unwrap_or(&[]);
        let ports = wire.into_iter().flatten().chain(members.iter().copied());
        ports.filter(|port| networks.host_instance(self.inputs, port.nic) == host).collect()
    }

    fn is_rdma(&self, component: usize) -> bool {
        match &self.inputs.settings[component] {
            Some(Settings::Network(network)) => network.kind != NetworkKindChoice::Ethernet,
            _ => false,
        }
    }
}

/// Bytes a second of an adapter's port, or of the link above the adapter, whichever is slower.
fn adapter_rate(port: NicPort, reading: &Reading<'_, '_>) -> Option<f64> {
    let config = &reading.networks.config;
    let of_link = config.links.iter().filter(|link| link.ends.contains(&port)).map(|link| link.wire);
    let at = CableEnd::Adapter(port);
    let of_cable = config.cables.iter().filter(|cable| cable.ends.contains(&at)).map(|cable| cable.wire);
    let wire = of_link.chain(of_cable).next()?;
    let second = 1e9 / wire.byte_span(Bytes::new(1_000_000_000)).as_seconds();
    let slot = of_link_above(reading, config.nics[port.nic].device.0 as usize)?;
    Some(second.min(slot))
}
