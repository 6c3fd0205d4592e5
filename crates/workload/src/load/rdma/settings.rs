//! RDMA as a load: what its tools may have open, and what makes adapters, wires and drivers larger.

use super::osu::OsuTool;
use super::{RdmaConfig, RdmaToolConfig, RdmaWorkload};
use crate::host::VerbsHostConfig;
use crate::load::{Demand, Draft, Enlarge, LoadConfig, Reached, Tool};
use lanewise_fabric::workload::{DeviceId, Target, Workload};
use lanewise_fabric::{LoadPart, Part, ResourceId, ResourceOwner};
use lanewise_units::Bytes;

impl LoadConfig for RdmaConfig {
    fn build(&self) -> Box<dyn Workload> {
        Box::new(RdmaWorkload::new(self.clone()))
    }

    fn boxed(&self) -> Box<dyn LoadConfig> {
        Box::new(self.clone())
    }

    fn tools(&self) -> Vec<Tool> {
        self.tools.iter().map(|tool| Tool::of(tool.name(), tool.kind())).collect()
    }

    fn demands(&self) -> Vec<Demand> {
        self.tools.iter().map(demand).collect()
    }

    fn targets(&self) -> Vec<Reached<'_>> {
        let each = |tool: &RdmaToolConfig| peer_memory(tool).into_iter().map(|(device, _)| device);
        let named = self.tools.iter().flat_map(|tool| each(tool).map(|device| (tool.name(), device)));
        named.map(|(flow, device)| Reached { flow, by: None, device }).collect()
    }

    fn peer_memory(&self) -> Vec<(DeviceId, Bytes)> {
        self.tools.iter().flat_map(peer_memory).collect()
    }

    fn more_outstanding(&mut self, device: DeviceId, larger: &mut Enlarge) -> Option<()> {
        let nics = &self.network.nics;
        let is_at = |tool: &RdmaToolConfig| tool.ports().iter().any(|port| nics[port.nic].device == device);
        let mine = self.tools.iter_mut().filter(|tool| is_at(tool));
        let depths = mine.filter_map(|tool| match tool {
            RdmaToolConfig::Perftest(test) if !test.tool.is_latency() => Some(&mut test.tx_depth),
            RdmaToolConfig::Osu(osu) if osu.tool != OsuTool::Latency => Some(&mut osu.window),
            // A connection more is one more thread at either side; the rest is one message at a time.
            _ => None,
        });
        depths.map(|depth| larger.count(depth)).reduce(|(), ()| ())
    }

    fn idle_keys(&self, name: &str) -> &'static [&'static str] {
        let mine = self.tools.iter().find(|tool| &**tool.name() == name);
        match mine {
            Some(RdmaToolConfig::Perftest(test)) if test.tool.is_latency() => &["tx_depth", "queue_pairs"],
            Some(RdmaToolConfig::Osu(osu)) if osu.tool == OsuTool::Latency => &["window"],
            _ => &[],
        }
    }

    fn faster_wires(&mut self, device: DeviceId, larger: &mut Enlarge) -> Option<()> {
        self.network.faster_wires(device, larger)
    }

    fn quicker_adapters(&mut self, device: DeviceId, larger: &mut Enlarge) -> Option<()> {
        self.network.quicker_adapters(device, larger)
    }

    fn network_of(&self, resource: &ResourceId) -> Option<(&str, bool)> {
        self.network.network_of(resource)
    }

    fn ways(&self) -> Vec<(String, Vec<ResourceId>)> {
        let names = self.tools.iter().map(|tool| tool.name().to_string());
        let pairs: Vec<_> = self.tools.iter().map(RdmaToolConfig::ports).collect();
        names.zip(self.network.resources_between(&pairs)).filter(|(_, used)| !used.is_empty()).collect()
    }

    fn in_turn(&self) -> Vec<&str> {
        let one_at_a_time = |tool: &&RdmaToolConfig| match tool {
            RdmaToolConfig::Perftest(test) => test.tool.is_latency(),
            RdmaToolConfig::Osu(osu) => osu.tool == OsuTool::Latency,
            RdmaToolConfig::Transactions(transactions) => transactions.connections == 1,
        };
        self.tools.iter().filter(one_at_a_time).map(|tool| &**tool.name()).collect()
    }

    fn transfers(&self) -> Vec<Vec<String>> {
        self.tools.iter().map(|tool| vec![tool.name().to_string()]).collect()
    }

    fn enlarge(&mut self, resource: &ResourceId, larger: &mut Enlarge) -> Option<()> {
        let ResourceOwner::Load(owner) = &resource.owner else {
            return self.network.enlarge(resource, larger);
        };
        let side = match resource.part {
            Part::Load(LoadPart::FirstThread) => 0,
            Part::Load(LoadPart::SecondThread) => 1,
            _ => return None,
        };
        let tool = self.tools.iter_mut().find(|tool| **tool.name() == **owner)?;
        enlarge_software(tool, side, larger);
        Some(())
    }

    fn edits(&self, resource: &ResourceId) -> Vec<Draft> {
        self.network.edits(resource)
    }
}

/// Software at one end of a tool.
fn enlarge_software(tool: &mut RdmaToolConfig, side: usize, larger: &mut Enlarge) {
    let faster_driver = |host: &mut VerbsHostConfig, larger: &mut Enlarge| {
        let costs =
            [&mut host.post_cost, &mut host.doorbell_cost, &mut host.poll_cost, &mut host.receive_cost];
        larger.shorten_all(costs);
    };
    match tool {
        RdmaToolConfig::Perftest(perftest) => faster_driver(&mut perftest.hosts[side], larger),
        RdmaToolConfig::Osu(osu) => {
            let (driver, mpi) = &mut osu.hosts[side];
            faster_driver(driver, larger);
            larger.shorten_all([&mut mpi.send_cost, &mut mpi.receive_cost]);
            larger.rate(&mut mpi.copy_bandwidth);
        }
        RdmaToolConfig::Transactions(transactions) => {
            let stack = &mut transactions.stacks[side];
            larger.shorten_all([&mut stack.send_cost, &mut stack.receive_cost]);
            if side == 1 {
                larger.shorten(&mut transactions.service_time);
            }
        }
    }
}

/// Devices in whose memory a tool has buffers, and how long a message is.
fn peer_memory(tool: &RdmaToolConfig) -> Vec<(DeviceId, Bytes)> {
    let RdmaToolConfig::Perftest(config) = tool else { return Vec::new() };
    let device = |memory: &Target| match memory {
        Target::Endpoint(device) => Some((*device, config.size)),
        Target::HostMemory | Target::Nobody => None,
    };
    config.memory.iter().filter_map(device).collect()
}

fn demand(tool: &RdmaToolConfig) -> Demand {
    let name = tool.name();
    match tool {
        RdmaToolConfig::Perftest(config) if config.tool.is_latency() => {
            Demand { operations: 1, of: name.to_string() }
        }
        RdmaToolConfig::Osu(config) if config.tool == OsuTool::Latency => {
            Demand { operations: 1, of: name.to_string() }
        }
        RdmaToolConfig::Perftest(config) => {
            let ways = if config.bidirectional { 2 } else { 1 };
            let operations = u64::from(config.queue_pairs) * u64::from(config.tx_depth) * ways;
            Demand { operations, of: format!("{name}.queue_pairs × {name}.tx_depth") }
        }
        RdmaToolConfig::Osu(config) => {
            Demand { operations: u64::from(config.window) * 2, of: format!("{name}.window") }
        }
        RdmaToolConfig::Transactions(config) => {
            Demand { operations: u64::from(config.connections), of: format!("{name}.connections") }
        }
    }
}
