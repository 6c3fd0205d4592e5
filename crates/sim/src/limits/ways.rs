//! By which parts of their hosts devices come to memory: what others come by limits them no more than another host does.

use crate::results::Resource;
use lanewise_fabric::config::{DeviceKind, FabricConfig};
use lanewise_fabric::workload::DeviceId;
use lanewise_fabric::{Meets, Part, ResourceOwner};
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

/// The same of all hosts, by their index.
pub(super) struct Ways(HashMap<usize, Parts>);

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
        Ways(ways)
    }
}

impl Ways {
    /// Whether what these devices do comes by a resource.
    pub(super) fn meet(&self, resource: &Resource) -> bool {
        let (ResourceOwner::Device(DeviceId(host)), Part::Host(part)) =
            (&resource.id.owner, resource.id.part)
        else {
            return true;
        };
        let Some(parts) = self.0.get(&(*host as usize)) else { return true };
        match part.meets() {
            Meets::All => true,
            Meets::Stack(stack) => parts.stacks.contains(&stack),
            Meets::Socket(socket) => parts.homes.contains(&socket),
            Meets::Between(from, to) => parts.sockets.contains(&from) && parts.sockets.contains(&to),
        }
    }
}
