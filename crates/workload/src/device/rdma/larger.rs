//! What makes adapters, switches and their wires larger, for `--why`, which asks what limits a load.

use super::config::{CableConfig, CableEnd, NicPort, RdmaNetworkConfig};
use crate::load::Larger;
use lanewise_fabric::workload::DeviceId;
use lanewise_network::NetworkWire;
use lanewise_network::switch::FlowControl;
use lanewise_units::Bytes;

impl RdmaNetworkConfig {
    /// The wires of an adapter: more rate, or more lanes, and less between its packets.
    pub(crate) fn widen(&mut self, device: DeviceId, larger: &mut Larger) -> Option<()> {
        let mine = self.nics.iter_mut().filter(|nic| nic.device == device);
        mine.for_each(|nic| larger.shorten(&mut nic.packet_gap));
        let nics = &self.nics;
        let of_device = |end: &NicPort| nics[end.nic].device == device;
        let of_cable = |cable: &CableConfig| {
            cable.ends.iter().any(|end| matches!(end, CableEnd::Adapter(end) if of_device(end)))
        };
        let links = self.links.iter_mut().filter(|link| link.ends.iter().any(of_device));
        let cables = self.cables.iter_mut().filter(|cable| of_cable(cable));
        let wires = links.map(|link| &mut link.wire).chain(cables.map(|cable| &mut cable.wire));
        let any = wires.map(|wire| quicken(wire, larger)).reduce(|(), ()| ());
        self.keep_headroom();
        any
    }

    /// Faster wires need more headroom in the buffers of switches that pause.
    fn keep_headroom(&mut self) {
        for (index, switch) in self.switches.iter_mut().enumerate() {
            let FlowControl::Pause { xoff, .. } = switch.flow_control else { continue };
            let here = |end: &CableEnd| matches!(end, CableEnd::Switch(other, _) if *other == index);
            let mine = self.cables.iter().filter(|cable| cable.ends.iter().any(here));
            let needed = mine.map(|cable| cable.headroom(switch.pause_response)).max().unwrap_or(Bytes::ZERO);
            switch.buffer = switch.buffer.max(xoff + needed);
        }
    }

    /// The cable that a resource of a switch is a wire of, or comes in by: `leaf[0].port3.wire`.
    fn cable_of(&self, resource: &str) -> Option<usize> {
        let (port, _) = resource.rsplit_once('.')?;
        let (name, number) = port.rsplit_once(".port")?;
        let switch = self.switches.iter().position(|switch| switch.name == name)?;
        let end = CableEnd::Switch(switch, number.parse::<u32>().ok()?.checked_sub(1)?);
        self.cables.iter().position(|cable| cable.ends.contains(&end))
    }

    /// Name of the network of that cable, and whether it joins switches.
    pub(crate) fn network_of(&self, resource: &str) -> Option<(&str, bool)> {
        let cable = &self.cables[self.cable_of(resource)?];
        let joins_switches = cable.ends.iter().all(|end| matches!(end, CableEnd::Switch(..)));
        Some((cable.name.as_str(), joins_switches))
    }

    /// A resource of a switch: all wires of the same network become faster, or all ports' buffers of the same switch larger.
    fn enlarge_switch(&mut self, resource: &str, larger: &mut Larger) -> Option<()> {
        let name = self.network_of(resource)?.0.to_owned();
        if resource.ends_with(".wire") {
            let alike = self.cables.iter_mut().filter(|cable| cable.name == name);
            let any = alike.map(|cable| quicken(&mut cable.wire, larger)).reduce(|(), ()| ());
            self.keep_headroom();
            return any;
        }
        let owner = resource.split('.').next()?;
        let switch = self.switches.iter_mut().find(|switch| switch.name == owner)?;
        let before = switch.buffer;
        larger.widen(&mut switch.buffer);
        if let FlowControl::Pause { xoff, xon } = &mut switch.flow_control {
            // The headroom stays as it is.
            for threshold in [xoff, xon] {
                *threshold += Bytes::new(switch.buffer.get() - before.get());
            }
        }
        Some(())
    }

    /// A resource of an adapter.
    pub(crate) fn enlarge(&mut self, resource: &str, larger: &mut Larger) -> Option<()> {
        let owner = resource.split('.').next()?;
        if self.switches.iter().any(|switch| switch.name == owner) {
            return self.enlarge_switch(resource, larger);
        }
        let nic = self.nics.iter_mut().find(|nic| nic.name == owner)?;
        match resource.rsplit_once('.')?.1 {
            "wire" => {
                let device = nic.device;
                return self.widen(device, larger);
            }
            "pipeline" | "receive_pipeline" => larger.shorten(&mut nic.message_interval),
            "queue_pairs" => {
                larger.shorten(&mut nic.queue_pair_interval);
                if let Some(rate) = nic.queue_pair_read_bandwidth.as_mut() {
                    larger.quicken(rate);
                }
            }
            "send_buffer" => larger.widen(&mut nic.send_buffer),
            "receive_buffer" => larger.widen(&mut nic.receive_buffer),
            "outstanding_reads" => larger.more(&mut nic.outstanding_reads),
            "shared_path" => larger.quicken(nic.shared_bandwidth.as_mut()?),
            "send_path" => larger.quicken(nic.send_bandwidth.as_mut()?),
            "receive_path" => larger.quicken(nic.receive_bandwidth.as_mut()?),
            _ => return None,
        }
        Some(())
    }
}

fn quicken(wire: &mut NetworkWire, larger: &mut Larger) {
    match wire {
        NetworkWire::Infiniband { lanes, .. } => larger.more(lanes),
        NetworkWire::Roce { rate } | NetworkWire::Ethernet { rate } => larger.quicken(rate),
    }
}
