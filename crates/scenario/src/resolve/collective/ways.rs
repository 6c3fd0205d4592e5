//! How data come from one rank to another: how far apart they are, and who reaches whose memory.

use super::super::kinds::Reading;
use super::super::networks::Networks;
use super::super::workload::unknown;
use super::super::{Inputs, Settings, side_link};
use super::passes::of_link_above;
use crate::file::WrittenWorkload;
use crate::parameters::{CollectiveParameters, DistanceChoice, NetworkKindChoice, ProcessorChoice};
use crate::value::Auto;
use lanewise_units::{Bytes, Generation, order};
use lanewise_workload::device::rdma::{CableEnd, NicPort};
use lanewise_workload::load::collective::search::Processor;
use lanewise_workload::load::collective::{Hardware, NetworkPath, Path, Rank, Way, search};
use std::collections::{BTreeMap, BTreeSet};

/// A workload and its ranks.
pub(super) struct Around<'a, 'f> {
    pub inputs: &'a Inputs<'f>,
    pub workload: &'a WrittenWorkload,
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

/// A socket, and a NUMA node of it.
type NumaNode = (u32, u32);

/// One direction of a link that a ring uses within a host.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum LinkUse {
    /// Of a device, out of it or into it.
    SideLink(usize, bool),
    /// Above an instance, upstream or downstream.
    Pci(usize, bool),
    /// From one socket of a host, or one node of it, to another.
    Sockets(usize, NumaNode, NumaNode),
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
    /// Ranks that have none nearer.
    nearest_of: Vec<u32>,
    /// Ranks of its host that it has none nearer than.
    ranks: Vec<u32>,
}

/// Bytes a second of the adapters of a rank, of the one that has least: those that are nearest to it, shared with the ranks that are nearest to the
/// first of them.
///
/// Source: `ncclTopoGetLocalNet`, src/graph/topo.cc of NVIDIA/nccl 2.30.7.
pub(super) fn of_rank(adapters: &[Vec<Adapter>], ranks: u32) -> Vec<f64> {
    let of_rank = |rank: u32| {
        let near = || adapters.iter().flatten().filter(|adapter| adapter.nearest_of.contains(&rank));
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
    if of_nodes.iter().any(|enters| enters.is_empty()) {
        return Vec::new(); // Its ranks have no way to the next host, which is reported.
    }
    if of_nodes.iter().all(|enters| enters.iter().all(|rank| *rank == enters[0])) {
        return Vec::new();
    }
    let of_ring = |ring: usize| of_nodes.iter().map(|enters| enters[ring % enters.len()]).collect();
    (0..rings as usize).map(of_ring).collect()
}

impl Around<'_, '_> {
    /// Each rank and the next of the ring, where both are of one host.
    fn neighbours(&self) -> impl Iterator<Item = (&Rank, &Rank)> {
        let next = self.ranks.iter().cycle().skip(1);
        self.ranks.iter().zip(next).filter(|(one, other)| one.node == other.node)
    }

    /// Whether side links join all neighbours of each host, and there are any.
    pub(super) fn have_side_links(&self) -> bool {
        let mut neighbours = self.neighbours().peekable();
        let joined = |one: &Rank, other: &Rank| {
            side_link::joins(self.inputs, one.device.0 as usize, other.device.0 as usize)
        };
        neighbours.peek().is_some() && neighbours.all(|(one, other)| joined(one, other))
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
        if of_host <= 2 && self.processor(node) == Processor::Amd {
            Distance::System
        } else {
            Distance::Switches
        }
    }

    /// Whether every host is AMD's: of mixed makers NCCL counts as with neither (src/init.cc).
    pub(super) fn are_all_amd(&self) -> bool {
        self.ranks.iter().all(|rank| self.processor(rank.node) == Processor::Amd)
    }

    /// What NCCL takes the processors of a host for.
    fn processor(&self, node: u32) -> Processor {
        let first = self.ranks.iter().find(|rank| rank.node == node);
        let host = first.and_then(|rank| self.inputs.topology.path_up(rank.device.0 as usize).last());
        let Some(host) = host else { return Processor::Other };
        if let Some(settings) = self.inputs.host(host)
            && let Auto::Given(choice) = settings.processor
        {
            return match choice {
                ProcessorChoice::Amd => Processor::Amd,
                ProcessorChoice::IntelBroadwell => Processor::IntelBroadwell,
                ProcessorChoice::IntelSkylake => Processor::IntelSkylake,
                ProcessorChoice::IntelSapphireRapids => Processor::IntelSapphireRapids,
                ProcessorChoice::IntelEmeraldRapids => Processor::IntelEmeraldRapids,
                ProcessorChoice::Power => Processor::Power,
                ProcessorChoice::Arm => Processor::Arm,
                ProcessorChoice::Other => Processor::Other,
            };
        }
        let maker = self.inputs.component_of(host).structural::<String>("maker", &mut Vec::new());
        match maker.as_ref().map(|(maker, _)| maker.as_str()) {
            Some("amd") => Processor::Amd,
            Some("intel") => Processor::IntelSkylake,
            Some("ibm") => Processor::Power,
            Some("arm") => Processor::Arm,
            _ => Processor::Other,
        }
    }

    /// Least compute capability of the devices.
    pub(super) fn compute_capability(&self) -> u32 {
        let of_rank = |rank: &Rank| match self.inputs.settings_of(rank.device.0 as usize) {
            Some(Settings::Endpoint(endpoint)) => Some(match endpoint.kernel.compute_capability {
                Auto::Given(given) => given,
                Auto::Auto if endpoint.generation < Generation::Gen5 => 80,
                Auto::Auto => 90,
            }),
            _ => None,
        };
        self.ranks.iter().filter_map(of_rank).min().unwrap_or(0)
    }

    /// Bytes a second of one ring within each host, as NCCL counts links: what the ring uses more than once it has a part of.
    ///
    /// Source: `followPath`, src/graph/search.cc of NVIDIA/nccl 2.30.7. Over several hosts the ring is open: from the first device of a host to the
    /// last.
    pub(super) fn rate_within(&self, reading: &Reading<'_, '_>) -> f64 {
        let mut uses: BTreeMap<LinkUse, (f64, f64)> = BTreeMap::new();
        for (from, to) in self.neighbours() {
            for (link, rate, weight) in self.links_between(from, to, reading) {
                uses.entry(link).or_insert((rate, 0.0)).1 += weight;
            }
        }
        if uses.is_empty() {
            // Hosts of one device each have nothing within but the way to an adapter.
            let of_links =
                self.ranks.iter().filter_map(|rank| of_link_above(reading, rank.device.0 as usize));
            return of_links.fold(f64::MAX, f64::min);
        }
        uses.into_values().map(|(rate, weight)| rate / weight).fold(f64::MAX, f64::min)
    }

    /// Links from one device of a host to another, each with its bytes a second and how often a byte counts there.
    fn links_between(&self, from: &Rank, to: &Rank, reading: &Reading<'_, '_>) -> Vec<(LinkUse, f64, f64)> {
        let [one, other] = [from, to].map(|rank| rank.device.0 as usize);
        if let Some(rate) = self.side_link_between(one, other) {
            return vec![
                (LinkUse::SideLink(one, true), rate, 1.0),
                (LinkUse::SideLink(other, false), rate, 1.0),
            ];
        }
        let topology = &self.inputs.topology;
        // What is no peer goes through the processor, even below one switch.
        let meeting = match self.within_host(from, to) {
            Path::HostMemory => topology.path_up(one).last(),
            _ => self.meeting(one, other),
        };
        let Some(meeting) = meeting else { return Vec::new() };
        let processor = self.processor(from.node);
        let is_host = self.inputs.host(meeting).is_some();
        let sockets = [one, other].map(|device| self.socket(device, meeting));
        let crosses = is_host && sockets[0] != sockets[1];
        let weight = if is_host && !crosses { processor.weight_of_peers() } else { 1.0 };
        let mut links = Vec::new();
        for (device, is_up) in [(one, true), (other, false)] {
            for instance in topology.path_up(device).take_while(|at| *at != meeting) {
                if let Some(rate) = of_link_above(reading, instance) {
                    links.push((LinkUse::Pci(instance, is_up), rate, weight));
                }
            }
        }
        if let ([Some(first), Some(second)], true) = (sockets, crosses) {
            let between = LinkUse::Sockets(meeting, first, second);
            links.push((between, processor.between_sockets(), 1.0));
        }
        links
    }

    /// Bytes a second of the side link that joins two devices, as NCCL counts it.
    fn side_link_between(&self, one: usize, other: usize) -> Option<f64> {
        let link =
            side_link::joins(self.inputs, one, other).then(|| side_link::of_device(self.inputs, one))??;
        Some(search::of_side_link(link.rate.bytes_per_second() as f64, self.compute_capability()))
    }

    /// Bytes a second of all links of the device that has most.
    pub(super) fn most(&self, reading: &Reading<'_, '_>) -> f64 {
        let of_rank = |rank: &Rank| {
            let device = rank.device.0 as usize;
            let side_link = side_link::of_device(self.inputs, device).map_or(0.0, |link| {
                search::of_side_link(link.rate.bytes_per_second() as f64, self.compute_capability())
            });
            of_link_above(reading, device).unwrap_or(0.0).max(side_link)
        };
        self.ranks.iter().map(of_rank).fold(0.0, f64::max)
    }

    /// Socket of a host at which a device is, and its NUMA node: NCCL tells apart what operating systems call a node.
    fn socket(&self, device: usize, host: usize) -> Option<NumaNode> {
        let topology = &self.inputs.topology;
        let below = topology.path_up(device).take_while(|at| *at != host).last()?;
        let (host, slot) = topology.instances[below].above?;
        let slot = &topology.slots[topology.instances[host].component][slot];
        // Where nothing is said, firmware has one node for each socket, and numbers them alike.
        Some((slot.socket, slot.numa_node.unwrap_or(slot.socket)))
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
        let host = self.meeting(from, to).and_then(|instance| self.inputs.host(instance));
        host.is_none_or(|host| host.peer_to_peer)
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
        if self.inputs.host(meeting).is_some() {
            return if self.socket(from, meeting) == self.socket(to, meeting) {
                Distance::HostBridge
            } else {
                Distance::System
            };
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
                        Some(adapter) => adapter.nearest_of.push(number),
                        None => {
                            let Some(rate) = adapter_rate(*port, reading) else { continue };
                            found.push(Adapter {
                                port: *port,
                                rate,
                                nearest_of: vec![number],
                                ranks: Vec::new(),
                            });
                        }
                    }
                }
            }
            for adapter in &mut found {
                let device = reading.networks.config.nics[adapter.port.nic].device.0 as usize;
                let away = |rank: &Rank| self.distance(rank.device.0 as usize, device);
                let least = of_node(node).map(|(rank, _)| away(rank)).min();
                let near = of_node(node).filter(|(rank, _)| Some(away(rank)) == least);
                adapter.ranks = near.map(|(_, number)| number).collect();
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
