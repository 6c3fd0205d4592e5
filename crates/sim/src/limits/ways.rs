//! By which parts of their hosts devices come to memory: what others come by limits them no more than another host does.

use crate::results::Resource;
use lanewise_fabric::PartOfHost;
use lanewise_fabric::config::{DeviceKind, FabricConfig};
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

/// The same of all hosts, by name.
pub(super) struct Ways<'a>(HashMap<&'a str, Parts>);

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
    pub(super) fn ways(&self, devices: &[usize], above: &[Option<usize>]) -> Ways<'a> {
        let mut ways: HashMap<&str, Parts> = HashMap::new();
        for device in devices {
            let DeviceKind::Endpoint(endpoint) = &self.fabric.devices[*device].kind else { continue };
            let (mut root, mut port) = (*device, 0);
            while let Some(link) = above[root] {
                (root, port) = self.fabric.links[link].upper;
            }
            let host = &self.fabric.devices[root];
            let DeviceKind::RootComplex(config) = &host.kind else { continue };
            let parts = ways.entry(host.name.as_str()).or_default();
            let near = config.socket(port);
            let home = endpoint.memory_socket.unwrap_or(near);
            parts.stacks.insert(self.stacks[&root][port]);
            parts.sockets.extend([near, home]);
            parts.homes.insert(home);
        }
        Ways(ways)
    }
}

impl Ways<'_> {
    /// Whether what these devices do comes by a resource.
    pub(super) fn meet(&self, resource: &Resource) -> bool {
        let owner = resource.name.split('.').next().unwrap_or_default();
        let Some(parts) = self.0.get(owner) else { return true };
        match PartOfHost::of(&resource.name) {
            PartOfHost::Everywhere => true,
            PartOfHost::Stack(stack) => parts.stacks.contains(&stack),
            PartOfHost::Socket(socket) => parts.homes.contains(&socket),
            PartOfHost::Between(from, to) => parts.sockets.contains(&from) && parts.sockets.contains(&to),
        }
    }
}
