//! What makes adapters and their wires larger, for `--why`, which asks what limits a load.

use super::config::{NicPort, RdmaNetworkConfig};
use crate::load::Larger;
use lanewise_fabric::workload::DeviceId;
use lanewise_network::NetworkWire;

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
