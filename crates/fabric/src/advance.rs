//! What a port does without being asked to, done when the run looks at it.
//!
//! A receiver owes Acks and UpdateFCs at times that are known beforehand, and on a link where nothing can go wrong it is
//! known when a TLP arrives. None of that is worth an event while no component waits for it. So it is left undone until the
//! port is looked at: by its own transmitter, by its peer's, by an egress that takes a packet out of its buffer, or at
//! the end of a run. Then it is done as it would have been, in order of time: at one instant, DLLPs that are due leave
//! before TLPs that arrive.

use crate::fabric::Fabric;
use crate::link::{DllpSet, LinkState, Timer};
use crate::port::{Port, PortId};
use lanewise_units::Time;

impl Fabric {
    /// Brings the receiver half of a port up to date, `now` included.
    #[inline]
    pub(crate) fn advance_to(&mut self, id: PortId, now: Time) {
        if self.ports[id.index()].receiver.acts_at() <= now {
            self.advance_port(id, now);
        }
    }

    /// The same for the `peer` of a port that is up, and need not be woken for what it waits for: it plans anew.
    #[inline(always)]
    pub(crate) fn advance_peer_of_awake(&mut self, peer: PortId, now: Time) {
        if self.ports[peer.index()].receiver.acts_at() <= now {
            self.advance_receiver(peer, now);
            let port = &self.ports[peer.index()];
            if !port.error_free_non_flit || port.sleeps {
                self.schedule_peer_wake(peer); // It wakes itself for that.
            }
        }
    }

    /// The same for everything before `now`.
    #[inline]
    pub(crate) fn advance_before(&mut self, id: PortId, now: Time) {
        if self.ports[id.index()].receiver.acts_at() < now {
            self.advance_port(id, Time::from_ticks(now.ticks() - 1));
        }
    }

    fn advance_port(&mut self, id: PortId, limit: Time) {
        self.advance_receiver(id, limit);
        self.schedule_peer_wake(id);
    }

    /// Brings the receiver half of a port up to date. What its peer waits for may be sooner then: the caller sees to it.
    #[inline(never)]
    pub(crate) fn advance_receiver(&mut self, id: PortId, limit: Time) {
        loop {
            let port = &self.ports[id.index()];
            match port.receiver.next_deadline(|| port.dllps_from()) {
                (at, _) if at > limit => break,
                (at, Timer::Arrival) => self.take_delivered_ahead(id, at),
                (at, _) => {
                    if self.ports[id.index()].sleeps && !self.may_send_dllps(id, at) {
                        continue;
                    }
                    self.ports[id.index()].settle(id, at, &mut self.observers);
                    self.send_due_dllps(id, at);
                }
            }
        }
    }

    /// Brings every port up to date. Its transmitter reads what came where the time of reading does not matter: credits and Acks of a
    /// link that is up and where nothing can go wrong.
    pub(crate) fn advance_all(&mut self, now: Time) {
        let ports = (0..self.ports.len() as u32).map(PortId);
        ports.clone().for_each(|id| self.advance_to(id, now));
        while ports.clone().filter(|id| self.advance_woken(*id, now)).count() > 0 {}
        for id in ports {
            let port = &self.ports[id.index()];
            if port.error_free_non_flit && port.transmitter.state == LinkState::Active {
                self.take_in_dllps(id, now);
            }
        }
    }

    /// The end of a link that may sleep is brought up to date once more, where that has something to do: its peer, which was brought up to
    /// date after it, may have woken the link a while ago, and so its periods started anew. Whether it had.
    fn advance_woken(&mut self, id: PortId, now: Time) -> bool {
        let port = &self.ports[id.index()];
        if !port.sleeps || port.receiver.next_deadline(|| port.dllps_from()).0 > now {
            return false;
        }
        self.advance_to(id, now);
        true
    }
}

impl Port {
    /// From when on what the receiver owes can go out.
    #[inline(always)]
    pub(crate) fn dllps_from(&self) -> Time {
        match self.transmitter.state {
            LinkState::Active => self.free_for_dllps_at(),
            LinkState::InitFlowControl1 | LinkState::InitFlowControl2 => Time::NEVER,
        }
    }

    /// From when on the wire has room for a DLLP: in Flit Mode, a flit that carries none yet.
    #[inline(always)]
    pub(crate) fn free_for_dllps_at(&self) -> Time {
        if self.flit_mode() {
            self.free_for_dllps_in_flits_at()
        } else {
            self.transmitter.free_for_dllps_at()
        }
    }

    /// Earliest time at which this port acts on something that its peer waits for.
    pub(crate) fn next_awaited_at(&self) -> Time {
        match self.transmitter.state {
            LinkState::Active => self.receiver.next_of(self.peer_waits_for, !self.error_free_non_flit),
            LinkState::InitFlowControl1 | LinkState::InitFlowControl2 => Time::NEVER, // It owes, but may not send yet.
        }
    }

    /// When a DLLP that the peer waits for, and that is due at `at`, reaches the pins of the peer; not later than that.
    #[inline]
    pub(crate) fn awaited_at_pins(&self, at: Time) -> Time {
        let wire = &self.settings.wire;
        let mut start = at.max(self.transmitter.busy_until);
        // What goes out or arrives before may end the silence: then no symbol boundary is waited for.
        if self.receiver.acts_at() >= at
            && (self.transmitter.is_silent() || start > self.transmitter.busy_until)
        {
            let aligned = wire.next_boundary(self.transmitter.boundary, start);
            // Behind an ordered set that is due by then, packets start on other boundaries.
            start = if self.transmitter.next_skip <= aligned { start } else { aligned };
        }
        if self.receiver.ack_at() <= at && !self.peer_waits_for.include(DllpSet::ACK) {
            // An Ack goes first, which the next TLP may bring forward.
            start = start.max(self.receiver.ack_at_latest().max(self.transmitter.busy_until) + wire.dllp);
        }
        start + wire.dllp + wire.propagation
    }
}
