//! RDMA as a load: what its tools may have open, and what makes adapters, wires and drivers larger.

use super::{NicPort, RdmaConfig, RdmaNetworkConfig, RdmaToolConfig, RdmaWorkload, VerbsHostConfig};
use crate::load::{Demand, Larger, LoadConfig, Tool};
use lanewise_fabric::ResourceKind;
use lanewise_fabric::workload::{DeviceId, Workload};
use lanewise_network::NetworkWire;

impl LoadConfig for RdmaConfig {
    fn build(&self) -> Box<dyn Workload> {
        Box::new(RdmaWorkload::new(self.clone()))
    }

    fn boxed(&self) -> Box<dyn LoadConfig> {
        Box::new(self.clone())
    }

    fn tools(&self) -> Vec<Tool> {
        self.tools.iter().map(|tool| Tool { name: tool.name().to_owned(), kind: tool.kind() }).collect()
    }

    fn demands(&self) -> Vec<Demand> {
        self.tools.iter().map(demand).collect()
    }

    fn widen(&mut self, device: DeviceId, larger: &mut Larger) -> Option<()> {
        self.network.widen(device, larger)
    }

    fn enlarge(&mut self, resource: &str, _: ResourceKind, larger: &mut Larger) -> Option<()> {
        let (owner, part) = resource.rsplit_once('.')?;
        match self.tools.iter_mut().find(|tool| tool.name() == owner) {
            Some(tool) => enlarge_software(tool, usize::from(part == "second_thread"), larger),
            None => self.network.enlarge(resource, larger)?,
        }
        Some(())
    }
}

impl RdmaNetworkConfig {
    /// The wires of an adapter: more rate, or more lanes.
    pub(crate) fn widen(&mut self, device: DeviceId, larger: &mut Larger) -> Option<()> {
        let nics = &self.nics;
        let of_device = |end: &NicPort| nics[end.nic].device == device;
        let mut any = None;
        for link in self.links.iter_mut().filter(|link| link.ends.iter().any(of_device)) {
            match &mut link.wire {
                NetworkWire::Infiniband { lanes, .. } => larger.more(lanes),
                NetworkWire::Roce { rate } | NetworkWire::Ethernet { rate } => larger.quicken(rate),
            }
            any = Some(());
        }
        any
    }

    /// A resource of an adapter.
    pub(crate) fn enlarge(&mut self, resource: &str, larger: &mut Larger) -> Option<()> {
        let owner = resource.split('.').next()?;
        let nic = self.nics.iter_mut().find(|nic| nic.name == owner)?;
        match resource.rsplit_once('.')?.1 {
            "wire" => {
                let device = nic.device;
                return self.widen(device, larger);
            }
            "pipeline" | "receive_pipeline" => larger.shorten(&mut nic.message_interval),
            "queue_pairs" => larger.shorten(&mut nic.queue_pair_interval),
            "shared_path" => larger.quicken(nic.shared_bandwidth.as_mut()?),
            "send_path" => larger.quicken(nic.send_bandwidth.as_mut()?),
            "receive_path" => larger.quicken(nic.receive_bandwidth.as_mut()?),
            _ => return None,
        }
        Some(())
    }
}

/// Software at one end of a tool.
fn enlarge_software(tool: &mut RdmaToolConfig, side: usize, larger: &mut Larger) {
    let quicken_driver = |host: &mut VerbsHostConfig, larger: &mut Larger| {
        larger.shorten_all([&mut host.post_cost, &mut host.doorbell_cost, &mut host.poll_cost]);
    };
    match tool {
        RdmaToolConfig::Perftest(perftest) => quicken_driver(&mut perftest.hosts[side], larger),
        RdmaToolConfig::Osu(osu) => {
            let (driver, mpi) = &mut osu.hosts[side];
            quicken_driver(driver, larger);
            larger.shorten_all([&mut mpi.send_cost, &mut mpi.receive_cost]);
            larger.quicken(&mut mpi.copy_bandwidth);
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

fn demand(tool: &RdmaToolConfig) -> Demand {
    let name = tool.name();
    match tool {
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
