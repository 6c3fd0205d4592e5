//! By which parts of hosts and switches devices come to memory and to each other: what others come by limits them no more than another
//! host does.

use crate::results::Resource;
use lanewise_fabric::config::{DeviceKind, FabricConfig};
use lanewise_fabric::workload::DeviceId;
use lanewise_fabric::{EndpointPart, HostPart, Meets, Part, ResourceId, ResourceOwner, SwitchPart};
use std::collections::{HashMap, HashSet};

/// The way of data that devices read or write by DMA, of memory and of each other.
pub(super) struct Way<'a> {
    fabric: &'a FabricConfig,
    above: &'a [Option<usize>],
    /// Whether they read; else they write.
    reads: bool,
    /// Whether they do so with memory, and with peers.
    memory: bool,
    peers: bool,
    /// Those that ask.
    askers: HashSet<usize>,
    /// Endpoints, switches and hosts on the way.
    pub(super) devices: Vec<usize>,
    /// Links on the way, with whether it goes upstream there, and downstream.
    pub(super) links: HashMap<usize, [bool; 2]>,
}

impl<'a> Way<'a> {
    pub(super) fn new(fabric: &'a FabricConfig, above: &'a [Option<usize>], reads: bool) -> Self {
        let (devices, links) = (Vec::new(), HashMap::new());
        Self { fabric, above, reads, memory: false, peers: false, askers: HashSet::new(), devices, links }
    }

    /// A device asks memory of the host above it.
    pub(super) fn add_memory(&mut self, own: usize) {
        self.memory = true;
        self.askers.insert(own);
        self.add(own, None, true);
    }

    /// A device asks another. None where they have a link of their own beside PCI Express.
    pub(super) fn add_peer(&mut self, own: usize, other: usize) -> Option<()> {
        let has_side_link = |device: usize| matches!(&self.fabric.devices[device].kind, DeviceKind::Endpoint(endpoint) if endpoint.side_link.is_some());
        if has_side_link(own) && has_side_link(other) {
            return None;
        }
        self.peers = true;
        self.askers.insert(own);
        let others: Vec<usize> = self.upwards(other).collect();
        // Below the switch where both ways meet, unless that sends peers up to the root complex.
        let meet = self.upwards(own).find(|device| others.contains(device));
        let turn = meet.filter(|at| match &self.fabric.devices[*at].kind {
            DeviceKind::Switch(switch) => !switch.acs_redirect,
            DeviceKind::RootComplex(_) | DeviceKind::Endpoint(_) => true,
        });
        self.add(own, turn, true);
        self.add(other, turn, false);
        if let DeviceKind::Endpoint(endpoint) = &self.fabric.devices[other].kind
            && let Some(bridge) = endpoint.bridge
        {
            self.memory = true;
            self.add(bridge.other, None, true);
        }
        Some(())
    }

    /// A device and all above it.
    fn upwards(&self, device: usize) -> impl Iterator<Item = usize> + use<'a> {
        let (fabric, above) = (self.fabric, self.above);
        std::iter::successors(Some(device), move |at| above[*at].map(|link| fabric.links[link].upper.0))
    }

    /// What lies between a device and another above it, or the root complex: requests go up there, or else down. Completions go the other
    /// way.
    fn add(&mut self, device: usize, turn: Option<usize>, up: bool) {
        for at in self.upwards(device) {
            if !self.devices.contains(&at) {
                self.devices.push(at);
            }
            let Some(link) = self.above[at].filter(|_| Some(at) != turn) else { break };
            let [upstream, downstream] = self.links.entry(link).or_default();
            *upstream |= up || self.reads;
            *downstream |= !up || self.reads;
        }
    }

    /// Whether such data come by a resource of a device on the way.
    pub(super) fn uses(&self, resource: &ResourceId) -> bool {
        let asks = |owner: &ResourceOwner| {
            owner.device().is_some_and(|DeviceId(at)| self.askers.contains(&(at as usize)))
        };
        match resource.part {
            Part::Host(part) => match part {
                HostPart::Reads | HostPart::StackReads { .. } | HostPart::ReadTrackers { .. } => {
                    self.memory && self.reads
                }
                HostPart::Writes | HostPart::StackWrites { .. } => self.memory && !self.reads,
                HostPart::Memory { .. } | HostPart::Banks { .. } | HostPart::Cache { .. } => self.memory,
                HostPart::WalkTurns | HostPart::Walkers | HostPart::Translations => true,
                HostPart::PeersIn { .. } | HostPart::PeersOut { .. } | HostPart::SocketLinkOfPeers { .. } => {
                    self.peers
                }
                HostPart::OutboundQueue => self.peers || self.reads,
                HostPart::SocketLink { .. } | HostPart::Core { .. } | HostPart::BridgeCore { .. } => true,
            },
            Part::Switch(SwitchPart::Metering { .. }) => self.reads,
            Part::Endpoint(part) => match part {
                EndpointPart::ReadPath => self.reads && asks(&resource.owner),
                EndpointPart::WritePath => !self.reads && asks(&resource.owner),
                EndpointPart::WriteDrain => self.peers && !self.reads,
                EndpointPart::Memory => self.peers && self.reads,
                EndpointPart::Translations
                | EndpointPart::TranslationRequests
                | EndpointPart::SideLinkOut
                | EndpointPart::SideLinkIn => true,
            },
            _ => true,
        }
    }
}

/// The hosts of a fabric.
pub(super) struct Hosts<'a> {
    fabric: &'a FabricConfig,
    /// By host, the stack of each of its root ports.
    stacks: HashMap<usize, Vec<u16>>,
}

/// Stacks and sockets of one host that some devices use, and sockets whose memory they do.
#[derive(Default)]
struct Parts {
    stacks: HashSet<u16>,
    sockets: HashSet<u16>,
    homes: HashSet<u16>,
}

/// The same of all hosts, by their index, and ports of switches on the way.
pub(super) struct Ways {
    hosts: HashMap<usize, Parts>,
    ports: HashSet<(usize, usize)>,
}

impl<'a> Hosts<'a> {
    pub(super) fn of(fabric: &'a FabricConfig) -> Self {
        let devices = fabric.devices.iter().enumerate();
        let stacks = devices.filter_map(|(index, device)| match &device.kind {
            DeviceKind::RootComplex(host) => Some((index, host.stacks(device.ports.len()))),
            DeviceKind::Switch(_) | DeviceKind::Endpoint(_) => None,
        });
        Self { fabric, stacks: stacks.collect() }
    }

    /// Of the endpoints among these devices, over these links. `above` has the link above each device.
    pub(super) fn ways(&self, devices: &[usize], above: &[Option<usize>], links: &[usize]) -> Ways {
        let links = links.iter().map(|link| &self.fabric.links[*link]);
        let ports = links.flat_map(|link| [link.lower, link.upper]).collect();
        let mut ways: HashMap<usize, Parts> = HashMap::new();
        for device in devices {
            let DeviceKind::Endpoint(endpoint) = &self.fabric.devices[*device].kind else { continue };
            let (mut root, mut port) = (*device, 0);
            while let Some(link) = above[root] {
                (root, port) = self.fabric.links[link].upper;
            }
            let DeviceKind::RootComplex(config) = &self.fabric.devices[root].kind else { continue };
            let parts = ways.entry(root).or_default();
            let near = config.socket(port);
            let home = endpoint.memory_socket.unwrap_or(near);
            parts.stacks.insert(self.stacks[&root][port]);
            parts.sockets.extend([near, home]);
            parts.homes.insert(home);
        }
        Ways { hosts: ways, ports }
    }
}

impl Ways {
    /// Whether what these devices do comes by a resource.
    pub(super) fn meet(&self, resource: &Resource) -> bool {
        let ResourceOwner::Device(DeviceId(device)) = resource.id.owner else { return true };
        let part = match resource.id.part {
            Part::Host(part) => part,
            Part::Switch(part) => {
                return match part {
                    SwitchPart::Input { port }
                    | SwitchPart::Storage { port, .. }
                    | SwitchPart::Metering { port } => {
                        self.ports.contains(&(device as usize, usize::from(port)))
                    }
                    SwitchPart::Bus { .. } | SwitchPart::Memory => true,
                };
            }
            _ => return true,
        };
        let Some(parts) = self.hosts.get(&(device as usize)) else { return true };
        match part.meets() {
            Meets::All => true,
            Meets::Stack(stack) => parts.stacks.contains(&stack),
            Meets::Socket(socket) => parts.homes.contains(&socket),
            Meets::Between(from, to) => parts.sockets.contains(&from) && parts.sockets.contains(&to),
        }
    }
}
