//! What makes adapters, switches and their wires larger, for `--why`, which asks what limits a load.

use super::config::{CableConfig, CableEnd, NicPort, RdmaNetworkConfig};
use crate::load::Step::{Double, Halve};
use crate::load::{DATA_PATH, Draft, Enlarge};
use lanewise_fabric::workload::DeviceId;
use lanewise_fabric::{NetworkSwitchPart, Part, RdmaPart, ResourceId, ResourceOwner};
use lanewise_network::NetworkWire;
use lanewise_network::switch::FlowControl;
use lanewise_units::Bytes;

impl RdmaNetworkConfig {
    /// The wires of an adapter: more rate, or more lanes, and less between its packets.
    pub(crate) fn faster_wires(&mut self, device: DeviceId, larger: &mut Enlarge) -> Option<()> {
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
        let any = wires.map(|wire| faster(wire, larger)).reduce(|(), ()| ());
        self.keep_headroom();
        any
    }

    /// What an adapter takes for a message, out and in.
    pub(crate) fn quicker_adapters(&mut self, device: DeviceId, larger: &mut Enlarge) -> Option<()> {
        let mine = self.nics.iter_mut().filter(|nic| nic.device == device);
        let quicker = mine.map(|nic| larger.shorten_all([&mut nic.send_latency, &mut nic.receive_latency]));
        quicker.reduce(|(), ()| ())
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

    /// The cable that a resource of a switch is a wire of, or comes in by.
    fn cable_of(&self, resource: &ResourceId) -> Option<usize> {
        let ResourceId { owner: ResourceOwner::NetworkSwitch(name), part: Part::NetworkSwitch(part) } =
            resource
        else {
            return None;
        };
        let (NetworkSwitchPart::Wire { port } | NetworkSwitchPart::Buffer { port }) = *part;
        let switch = self.switches.iter().position(|switch| switch.name == *name)?;
        let end = CableEnd::Switch(switch, port);
        self.cables.iter().position(|cable| cable.ends.contains(&end))
    }

    /// Name of the network of that cable, and whether it joins switches.
    pub(crate) fn network_of(&self, resource: &ResourceId) -> Option<(&str, bool)> {
        let cable = &self.cables[self.cable_of(resource)?];
        Some((cable.name.as_str(), cable.joins_switches()))
    }

    /// A resource of a switch: a wire to an adapter becomes faster, or all wires between switches of the same network, among which routes
    /// choose; or all ports' buffers of the same switch larger.
    fn enlarge_switch(&mut self, resource: &ResourceId, larger: &mut Enlarge) -> Option<()> {
        let own = self.cable_of(resource)?;
        let ResourceOwner::NetworkSwitch(owner) = &resource.owner else { return None };
        if let Part::NetworkSwitch(NetworkSwitchPart::Wire { .. }) = resource.part {
            match self.cables[own].joins_switches() {
                false => faster(&mut self.cables[own].wire, larger),
                true => {
                    let name = self.cables[own].name.clone();
                    let alike = |cable: &&mut CableConfig| cable.name == name && cable.joins_switches();
                    self.cables.iter_mut().filter(alike).for_each(|cable| faster(&mut cable.wire, larger));
                }
            }
            self.keep_headroom();
            return Some(());
        }
        let switch = self.switches.iter_mut().find(|switch| switch.name == *owner)?;
        let before = switch.buffer;
        larger.bytes(&mut switch.buffer);
        if let FlowControl::Pause { xoff, xon } = &mut switch.flow_control {
            // The headroom stays as it is.
            for threshold in [xoff, xon] {
                *threshold += Bytes::new(switch.buffer.get() - before.get());
            }
        }
        Some(())
    }

    /// A resource of an adapter or a switch.
    pub(crate) fn enlarge(&mut self, resource: &ResourceId, larger: &mut Enlarge) -> Option<()> {
        let Part::Rdma(part) = resource.part else { return self.enlarge_switch(resource, larger) };
        let device = resource.owner.device()?;
        let nic = self.nics.iter_mut().find(|nic| nic.device == device)?;
        match part {
            RdmaPart::Wire { .. } => return self.faster_wires(device, larger),
            RdmaPart::Pipeline | RdmaPart::ReceivePipeline => larger.shorten(&mut nic.message_interval),
            RdmaPart::QueuePairs => {
                larger.shorten(&mut nic.queue_pair_interval);
                if let Some(rate) = nic.queue_pair_read_bandwidth.as_mut() {
                    larger.rate(rate);
                }
            }
            RdmaPart::SendBuffer { .. } => larger.bytes(&mut nic.send_buffer),
            RdmaPart::ReceiveBuffer { .. } => larger.bytes(&mut nic.receive_buffer),
            RdmaPart::OutstandingReads => larger.count(&mut nic.outstanding_reads),
            RdmaPart::SharedPath => larger.rate(nic.shared_bandwidth.as_mut()?),
            RdmaPart::SendPath { .. } => larger.rate(nic.send_bandwidth.as_mut()?),
            RdmaPart::ReceivePath { .. } => larger.rate(nic.receive_bandwidth.as_mut()?),
        }
        Some(())
    }

    /// Edits for the same, but for wires.
    pub(crate) fn edits(&self, resource: &ResourceId) -> Vec<Draft> {
        let twice = |what, key| vec![Draft::own(what, &[key], Double)];
        match resource.part {
            Part::Rdma(part) => match part {
                RdmaPart::Pipeline | RdmaPart::ReceivePipeline => {
                    vec![Draft::own("half the time of a message", &["rdma.message_interval"], Halve)]
                }
                RdmaPart::QueuePairs => {
                    let (each, interval) =
                        ("half the time of a message of one queue pair", "rdma.queue_pair_interval");
                    let reads = "twice the rate at which a queue pair reads";
                    vec![
                        Draft::own(each, &[interval], Halve),
                        Draft::own(reads, &["rdma.queue_pair_read_bandwidth"], Double),
                    ]
                }
                RdmaPart::OutstandingReads => twice("twice the outstanding reads", "rdma.outstanding_reads"),
                RdmaPart::SendBuffer { .. } => twice("twice the send buffer", "rdma.send_buffer"),
                RdmaPart::ReceiveBuffer { .. } => twice("twice the receive buffer", "rdma.receive_buffer"),
                RdmaPart::SharedPath => twice(DATA_PATH, "rdma.shared_bandwidth"),
                RdmaPart::SendPath { .. } => twice(DATA_PATH, "rdma.send_bandwidth"),
                RdmaPart::ReceivePath { .. } => twice(DATA_PATH, "rdma.receive_bandwidth"),
                RdmaPart::Wire { .. } => Vec::new(),
            },
            Part::NetworkSwitch(NetworkSwitchPart::Buffer { .. }) => {
                let keys = ["buffer", "xoff", "xon"];
                vec![Draft::own("twice the buffer of each port of the switch", &keys, Double)]
            }
            _ => Vec::new(),
        }
    }
}

fn faster(wire: &mut NetworkWire, larger: &mut Enlarge) {
    match wire {
        NetworkWire::Infiniband { lanes, .. } => larger.count(lanes),
        NetworkWire::Roce { rate } | NetworkWire::Ethernet { rate } => larger.rate(rate),
    }
}
