//! Side links: what joins devices beside PCI Express, such as NVLink, as a rate of each device and direction and a latency, and no more.
//!
//! Data between two devices of a group, whoever of the two asks, leave the one and enter the other at the rates of the two, which all of a
//! device's transfers share in the order in which they are asked for, and arrive after the slower of the two and the latency; what a read asks
//! for takes the latency before. Of packets, credits, lanes and the chips between nothing is modelled, nor is a transfer cut: those of one
//! device follow each other whole.

use crate::config::SideLinkConfig;
use crate::fabric::Fabric;
use crate::resources::{ResourceKind, ResourceReading};
use crate::server::Server;
use crate::workload::{DeviceId, Direction, Notify, Target, Transfer, WorkloadEvent};
use lanewise_observe::FlowId;
use lanewise_units::{Bytes, Span, Time};

/// Both directions of a device's.
#[derive(Clone, Debug)]
pub(crate) struct SideLink {
    pub(crate) config: SideLinkConfig,
    outward: Server,
    inward: Server,
}

/// Data that have come over one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SideDelivery {
    pub flow: FlowId,
    pub payload: Bytes,
}

impl SideLink {
    pub(crate) fn new(config: SideLinkConfig) -> Self {
        Self { config, outward: Server::new(config.rate), inward: Server::new(config.rate) }
    }

    /// Adds both directions to the resources of a device of this name.
    pub(crate) fn resources(&self, name: &str, at: Time, found: &mut Vec<ResourceReading>) {
        for (part, server) in [("out", &self.outward), ("in", &self.inward)] {
            let name = format!("{name}.side_link.{part}");
            let (kind, rate) = (ResourceKind::SideLink, server.rate());
            found.push(ResourceReading::of_rate(name, kind, rate, server.book_at(at)));
        }
    }
}

impl Fabric {
    /// Whether a side link joins two devices.
    fn are_joined(&self, one: DeviceId, other: DeviceId) -> bool {
        let group = |device| {
            let link = self.endpoints[self.endpoint_index(device) as usize].side_link.as_ref();
            link.map(|link| link.config.group)
        };
        one != other && group(one).is_some() && group(one) == group(other)
    }

    /// Moves a transfer over a side link, if one joins the two devices; whether it does.
    pub(crate) fn goes_beside(&mut self, device: DeviceId, transfer: &Transfer) -> bool {
        let Target::Endpoint(peer) = transfer.target else { return false };
        if !self.are_joined(device, peer) {
            return false;
        }
        let now = self.now();
        let (from, to, asked) = match transfer.direction {
            Direction::Write => (device, peer, now),
            Direction::Read => (peer, device, now + self.latency_between(device, peer)),
        };
        let latency = self.latency_between(from, to);
        let sent = self.side_link_of(from).outward.serve(asked, transfer.length);
        let span = self.side_link_of(from).config.rate.span_ceil(transfer.length);
        let taken = self.side_link_of(to).inward.serve(sent - span + latency, transfer.length);
        let arrived = taken.max(sent + latency);
        let token = transfer.token;
        let delivery = SideDelivery { flow: transfer.flow, payload: transfer.length };
        let is_wanted = transfer.notify == Notify::Done;
        self.deliver_at(arrived, delivery, is_wanted.then_some(WorkloadEvent::TransferDone { token }));
        if transfer.notify == Notify::Sent {
            self.notify(self.current, WorkloadEvent::TransferSent { token }, sent - now);
        }
        true
    }

    /// The larger of what the two say.
    fn latency_between(&mut self, one: DeviceId, other: DeviceId) -> Span {
        self.side_link_of(one).config.latency.max(self.side_link_of(other).config.latency)
    }

    fn side_link_of(&mut self, device: DeviceId) -> &mut SideLink {
        let index = self.endpoint_index(device) as usize;
        self.endpoints[index].side_link.as_mut().expect("devices of a group have side links")
    }
}
