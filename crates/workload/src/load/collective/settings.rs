//! A collective as a load: what it may have open, and what makes its adapters and threads larger.

use super::{CollectiveConfig, CollectiveWorkload, Path};
use crate::load::{Demand, Draft, Enlarge, LoadConfig, Reached, Tool};
use lanewise_fabric::workload::{DeviceId, Workload};
use lanewise_fabric::{LoadPart, Part, ResourceId, ResourceOwner};
use lanewise_units::Bytes;

impl LoadConfig for CollectiveConfig {
    fn build(&self) -> Box<dyn Workload> {
        Box::new(CollectiveWorkload::new(self.clone()))
    }

    fn boxed(&self) -> Box<dyn LoadConfig> {
        Box::new(self.clone())
    }

    fn tools(&self) -> Vec<Tool> {
        vec![Tool::of(&self.name, "collective")]
    }

    /// Slices of all ways and channels.
    fn demands(&self) -> Vec<Demand> {
        let open = |pass: &super::Pass| u64::from(pass.channels) * u64::from(pass.window);
        let most = self.passes.iter().map(open).max().unwrap_or(0);
        let operations = most * self.ways.len() as u64;
        vec![Demand { operations, of: format!("{0}.devices × {0}.channels × {0}.window", self.name) }]
    }

    fn targets(&self) -> Vec<Reached<'_>> {
        let devices = self.ranks.iter().map(|rank| rank.device);
        devices.map(|device| Reached { flow: &self.name, by: None, device }).collect()
    }

    fn peer_memory(&self) -> Vec<(DeviceId, Bytes)> {
        let slice = |pass: &super::Pass| {
            let slice = pass.chunk.div_ceil(Bytes::new(pass.slices.into()));
            pass.protocol.wire(Bytes::new(slice.next_multiple_of(16)).max(pass.least_slice.min(pass.chunk)))
        };
        let longest = self.passes.iter().map(slice).max().unwrap_or(Bytes::ZERO);
        let is_written = |rank: u32| {
            self.ways.iter().any(|way| match &way.path {
                Path::HostMemory => false,
                Path::Peer(_) => way.pair.1 == rank,
                Path::Network(path) => {
                    (path.direct[0] && way.pair.0 == rank) || (path.direct[1] && way.pair.1 == rank)
                }
            })
        };
        let ranks = (0..).zip(&self.ranks).filter(|(number, _)| is_written(*number));
        ranks.map(|(_, rank)| (rank.device, longest)).collect()
    }

    fn faster_wires(&mut self, device: DeviceId, larger: &mut Enlarge) -> Option<()> {
        self.network.faster_wires(device, larger)
    }

    fn enlarge(&mut self, resource: &ResourceId, larger: &mut Enlarge) -> Option<()> {
        let Part::Load(LoadPart::Proxy { node }) = resource.part else {
            return self.network.enlarge(resource, larger);
        };
        if resource.owner != ResourceOwner::Load(self.name.to_string()) {
            return None;
        }
        let proxy = self.proxies.get_mut(node as usize)?;
        larger.shorten_all([&mut proxy.post_cost, &mut proxy.doorbell_cost, &mut proxy.poll_cost]);
        Some(())
    }

    fn edits(&self, resource: &ResourceId) -> Vec<Draft> {
        self.network.edits(resource)
    }
}
