//! Which adapters an event may have changed, so that a thousand others need not be looked at: those that it is about, and those
//! at which something has ended in the meantime.

use super::network::RdmaNetwork;
use super::port::Port;
use super::token::{Kind, Needs, Ports};
use super::wiring::WireEnd;
use lanewise_observe::RequesterState;
use lanewise_units::{Time, order};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What is to be looked at.
#[derive(Debug, Default)]
pub(super) struct Touched {
    /// In order.
    nics: Vec<usize>,
    /// When an adapter may wait for something else without an event, and which.
    due: BinaryHeap<Reverse<(Time, usize)>>,
}

impl Touched {
    pub(super) fn add(&mut self, nic: usize) {
        order::add(&mut self.nics, nic);
    }

    /// Those to look at now, each once and in order.
    fn take(&mut self, now: Time) -> Vec<usize> {
        while let Some(Reverse((at, nic))) = self.due.peek().copied()
            && at <= now
        {
            self.due.pop();
            self.add(nic);
        }
        std::mem::take(&mut self.nics)
    }
}

impl RdmaNetwork {
    /// Notes the adapters that an event is about, before it is dealt with: a message may be over afterwards.
    pub(super) fn touch(&mut self, kind: Kind, subject: u32) {
        match kind {
            Kind::PushedPart
            | Kind::Posted
            | Kind::Doorbell
            | Kind::RequestFetched
            | Kind::Started
            | Kind::Processed
            | Kind::ReadAccepted
            | Kind::LastPlaced
            | Kind::ReceiveCompleted
            | Kind::Completed => {
                let end = self.messages.get(subject).end;
                for end in [end, end ^ 1] {
                    self.touch_port(self.ends[end as usize].port);
                }
            }
            Kind::PayloadFetched
            | Kind::CrossedOutbound
            | Kind::LaneFree
            | Kind::Arrived
            | Kind::CrossedInbound
            | Kind::Placed => self.touch_port(subject),
            Kind::CreditsBack | Kind::Paused => {
                if let WireEnd::Adapter(port) = WireEnd::of(subject) {
                    self.touch_port(port);
                }
            }
            // No adapter changes: one that a packet reaches later is touched by its `Arrived`.
            Kind::AtSwitch | Kind::EgressFree | Kind::ReceiveFetched => {}
        }
    }

    /// The adapter of a port, and the one at the other end of its wire.
    fn touch_port(&mut self, port: u32) {
        let port = &self.ports[port as usize];
        self.touched.add(port.nic);
        if let WireEnd::Adapter(other) = port.far {
            self.touched.add(self.ports[other as usize].nic);
        }
    }

    /// Says what each adapter waits for when it has nothing to ask for: its inside if that is at work, else the wire if anything uses it, else software.
    pub(super) fn say_what_holds_back<M: Needs>(&mut self, ports: &mut Ports<'_, M>) {
        let now = ports.now();
        for index in self.touched.take(now) {
            let nic = &mut self.nics[index];
            let mut mine = nic.ports.iter().map(|port| &self.ports[*port as usize]);
            let stations = [&nic.pipeline, &nic.receiver];
            let ends = stations.iter().map(|station| station.free_at());
            let ends = ends.chain(mine.clone().map(Port::lane_free_at)).filter(|end| *end > now);
            if let Some(next) =
                ends.min().filter(|next| nic.looked_at_next <= now || *next < nic.looked_at_next)
            {
                nic.looked_at_next = next;
                self.touched.due.push(Reverse((next, index)));
            }
            let inside = stations.iter().any(|station| station.is_busy(now));
            let state = if inside || mine.clone().any(Port::crosses) {
                RequesterState::Device
            } else if mine.any(|port| port.uses_wire(now)) {
                RequesterState::Wire
            } else {
                RequesterState::Cpu
            };
            nic.waiting.say(state, nic.config.device, ports);
        }
    }
}
