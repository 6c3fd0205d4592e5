//! What a port does without being asked to, done when somebody looks.
//!
//! A receiver owes Acks and UpdateFCs at times that are known beforehand, and on a link where nothing can go wrong it is
//! known when a TLP arrives. None of that is worth an event while nobody waits for it. So it is left undone until the
//! port is looked at: by its own transmitter, by its peer's, by an egress that takes a packet out of its buffer, or at
//! the end of a run. Then it is done as it would have been, in order of time: at one instant, DLLPs that are due leave
//! before TLPs that arrive.

use crate::fabric::Fabric;
use crate::port::{LinkState, PortId};
use lanewise_units::Time;

impl Fabric {
    /// Brings the receiver half of a port up to date, `now` included.
    #[inline]
    pub(crate) fn advance_to(&mut self, id: PortId, now: Time) {
        if self.ports[id.index()].acts_at() <= now {
            self.advance_port(id, now);
        }
    }

    /// The same for everything before `now`.
    #[inline]
    pub(crate) fn advance_before(&mut self, id: PortId, now: Time) {
        if self.ports[id.index()].acts_at() < now {
            self.advance_port(id, Time::from_ticks(now.ticks() - 1));
        }
    }

    #[inline(never)]
    fn advance_port(&mut self, id: PortId, limit: Time) {
        loop {
            let port = &self.ports[id.index()];
            let (dllp_at, arrival_at) = (port.next_dllp_at(), port.next_arrival);
            if dllp_at <= limit && dllp_at <= arrival_at {
                if port.sleeps && !self.may_send_dllps(id, dllp_at) {
                    continue;
                }
                self.ports[id.index()].settle(id, dllp_at, &mut self.observers);
                self.send_due_dllps(id, dllp_at);
            } else if arrival_at <= limit {
                self.take_delivered_ahead(id, arrival_at);
            } else {
                break;
            }
        }
        self.schedule_peer_wake(id);
    }

    /// Brings every port up to date. Its transmitter reads what came where it matters to nobody when: credits and Acks of a
    /// link that is up and where nothing can go wrong.
    pub(crate) fn advance_all(&mut self, now: Time) {
        let ports = (0..self.ports.len() as u32).map(PortId);
        ports.clone().for_each(|id| self.advance_to(id, now));
        for id in ports {
            let port = &self.ports[id.index()];
            if port.error_free_non_flit && port.state == LinkState::Active {
                self.take_in_dllps(id, now);
            }
        }
    }
}
