//! By which parts of hosts and switches devices come to memory and to each other: what others come by limits them no more than another
//! host does.

use crate::results::Resource;
use lanewise_fabric::config::{DeviceKind, FabricConfig};
use lanewise_fabric::workload::DeviceId;
use lanewise_fabric::{Meets, Part, ResourceOwner, SwitchPart};
use std::collections::{HashMap, HashSet};

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

    /// Of the endpoints among these devices. `above` has the link above each device.
    pub(super) fn ways(&self, devices: &[usize], above: &[Option<usize>]) -> Ways {
        let links = devices.iter().filter_map(|device| above[*device]).map(|link| &self.fabric.links[link]);
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
