//! Side links: what joins devices beside PCI Express, such as NVLink, as a rate of each device and direction and a latency, and no more.
//!
//! Data between two devices of a group, whoever of the two asks, leave the one and enter the other at the rates of the two, and arrive after
//! the slower of the two and the latency; what a read asks for takes the latency before. All transfers of a device share its rates: the
//! sender's in the order in which they are asked of it, the receiver's in the order in which their first data come. Of packets, credits,
//! lanes and the chips between nothing is modelled, nor is a transfer cut: those of one device follow each other whole, and a receiver that
//! is slower than its senders holds none of them up.

use crate::config::SideLinkConfig;
use crate::fabric::Fabric;
use crate::resources::{EndpointPart, Listed, ResourceReading};
use crate::server::Server;
use crate::workload::{DeviceId, Direction, Notify, Target, Transfer, WorkloadEvent, WorkloadId};
use lanewise_observe::Fact;
use lanewise_units::{Span, Time};

/// Both directions of a device's.
#[derive(Clone, Debug)]
pub(crate) struct SideLink {
    pub(crate) config: SideLinkConfig,
    outward: Server,
    inward: Server,
}

/// A transfer on its way over side links.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Beside {
    workload: WorkloadId,
    from: DeviceId,
    to: DeviceId,
    transfer: Transfer,
    next: Step,
}

/// What comes next of a transfer.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// It waits for its turn at the sender, which has been asked for it.
    Leave,
    /// Its first data come to the receiver; the last of them do so at this time.
    Enter(Time),
    /// All of it is there.
    Arrive,
}

impl SideLink {
    pub(crate) fn new(config: SideLinkConfig) -> Self {
        Self { config, outward: Server::new(config.rate), inward: Server::new(config.rate) }
    }

    /// Adds both directions to the resources of a device.
    pub(crate) fn resources(&self, listed: Listed<'_>, found: &mut Vec<ResourceReading>) {
        found.push(listed.rate(EndpointPart::SideLinkOut, "side_link.out", &self.outward));
        found.push(listed.rate(EndpointPart::SideLinkIn, "side_link.in", &self.inward));
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
        let (from, to) = match transfer.direction {
            Direction::Write => (device, peer),
            Direction::Read => (peer, device),
        };
        let beside = Beside { workload: self.current, from, to, transfer: *transfer, next: Step::Leave };
        match transfer.direction {
            Direction::Write => self.goes_on_beside(beside),
            Direction::Read => {
                let asked = self.now() + self.latency_between(from, to);
                self.beside_at(asked, beside);
            }
        }
        true
    }

    /// Takes the next step of a transfer over side links.
    pub(crate) fn goes_on_beside(&mut self, mut beside: Beside) {
        let now = self.now();
        let Beside { workload, from, to, transfer, next } = beside;
        let Transfer { flow, length: payload, token, .. } = transfer;
        let at = match next {
            Step::Leave => {
                let latency = self.latency_between(from, to);
                let outward = &mut self.side_link_of(from).outward;
                let sent = outward.serve(now, payload);
                let first = sent - outward.rate().span_ceil(payload);
                if transfer.notify == Notify::Sent {
                    self.notify(workload, WorkloadEvent::TransferSent { token }, sent - now);
                }
                beside.next = Step::Enter(sent + latency);
                first + latency
            }
            Step::Enter(last) => {
                let taken = self.side_link_of(to).inward.serve(now, payload);
                beside.next = Step::Arrive;
                taken.max(last)
            }
            Step::Arrive => {
                self.came_beside(flow, payload);
                self.observers.observe(now, Fact::Delivered { flow, payload });
                if transfer.notify == Notify::Done {
                    self.notify(workload, WorkloadEvent::TransferDone { token }, Span::ZERO);
                }
                return;
            }
        };
        self.beside_at(at, beside);
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
