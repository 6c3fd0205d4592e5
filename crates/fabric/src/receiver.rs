//! The receiver half of a port: what arrived, what it owes the peer for it, and when.
//!
//! State lies in [`Port`]; what devices do with a TLP is in `receive.rs`. Acks and UpdateFCs are coalesced by count and
//! by time (PCIe Base 6.3 §2.6.1.2, §3.6.3.1).

use crate::ingress::buffer_bytes;
use crate::packet::Packet;
use crate::port::{Answers, InFlight, LinkState, Port, PortId};
use lanewise_observe::{Fact, Observers};
use lanewise_pcie::ack_nak::{Sequence, SequenceSpace};
use lanewise_pcie::tlp::FlowClass;
use lanewise_units::Time;

impl Port {
    /// A good TLP: plans the Ack.
    #[inline(always)]
    pub(crate) fn accept(&mut self, arrived: &InFlight) {
        self.unacknowledged += 1;
        self.last_checked = arrived.checked;
        let due = if self.unacknowledged >= self.settings.ack.every_tlps {
            arrived.checked
        } else {
            arrived.checked + self.settings.ack.latency
        };
        self.ack_at = self.ack_at.min(due);
    }

    /// Accounts the credits of a TLP that arrived at `at`.
    #[inline(always)]
    pub(crate) fn fill_buffer(
        &mut self,
        id: PortId,
        arrived: &InFlight,
        at: Time,
        observers: &mut Observers,
    ) {
        let class = arrived.class;
        self.release_drained(id, class, at, observers);
        let buffer = &mut self.buffers[class as usize];
        if !buffer.credits.is_infinite() {
            if let Err(overflow) = buffer.credits.receive(arrived.credits()) {
                panic!("{at:?}: port {} overflows its {class} {overflow:?} buffer", id.0);
            }
            // What was freed but not yet said may now be all that the peer is waiting for.
            if buffer.freed_tlps > 0 {
                let free_at = buffer.draining.front().map_or(at, |(free_at, _)| *free_at);
                self.plan_update(class, free_at.max(at));
            }
        }
        let bytes = buffer_bytes(arrived.credits());
        observers.observe(at, Fact::BufferFilled { port: id.0, class, bytes });
    }

    /// A TLP's ingress buffer space will be free at `free_at`.
    #[inline(always)]
    pub(crate) fn drain(
        &mut self,
        id: PortId,
        packet: &Packet,
        free_at: Time,
        now: Time,
        observers: &mut Observers,
    ) {
        let (class, credits) = (packet.class(), packet.credits());
        let buffer = &mut self.buffers[class as usize];
        if buffer.credits.is_infinite() {
            let bytes = buffer_bytes(credits);
            observers.observe(now, Fact::BufferFreed { port: id.0, class, bytes });
        } else {
            buffer.will_drain(credits, free_at);
            self.plan_update(class, free_at);
        }
    }

    /// Buffer space that devices have drained by now is allocated again.
    #[inline(always)]
    pub(crate) fn release_drained(
        &mut self,
        id: PortId,
        class: FlowClass,
        now: Time,
        observers: &mut Observers,
    ) {
        let buffer = &mut self.buffers[class as usize];
        while let Some((at, credits)) = buffer.take_drained(now) {
            let bytes = buffer_bytes(credits);
            observers.observe(at, Fact::BufferFreed { port: id.0, class, bytes });
        }
    }

    /// Earliest time at which this port acts without being asked to: a DLLP is due, or a foreseen TLP is there.
    #[inline]
    pub(crate) fn acts_at(&self) -> Time {
        self.dllp_due_at().min(self.next_arrival)
    }

    /// When the next DLLP can go out.
    #[inline]
    pub(crate) fn next_dllp_at(&self) -> Time {
        match self.state {
            LinkState::Active => self.dllp_due_at().max(self.busy_until),
            LinkState::InitFlowControl1 | LinkState::InitFlowControl2 => Time::NEVER,
        }
    }

    /// Earliest time at which this port acts on something that its peer waits for.
    pub(crate) fn answers_at(&self) -> Time {
        if self.state != LinkState::Active {
            return Time::NEVER; // It owes, but may not send yet.
        }
        let mut at = self.nak_due_at();
        let mut arrivals_matter = false;
        if self.awaited.include(Answers::ACK) {
            at = at.min(self.ack_at);
            arrivals_matter = true;
        }
        for class in FlowClass::ALL {
            if self.awaited.include(Answers::update_of(class)) {
                let buffer = &self.buffers[class.index()];
                at = at.min(buffer.update_at);
                // A TLP that takes the last credits makes haste with an UpdateFC that was not urgent.
                arrivals_matter |= buffer.freed_tlps > 0;
            }
        }
        if arrivals_matter { at.min(self.next_arrival) } else { at }
    }

    /// A TLP is on its way that is taken into account at `in_flight.eligible_at`, without an event.
    #[inline]
    pub(crate) fn foresee(&mut self, in_flight: InFlight) {
        self.last_arrival = in_flight.eligible_at;
        if self.in_flight.is_empty() {
            self.next_arrival = in_flight.eligible_at;
        }
        self.in_flight.push_back(in_flight);
    }

    /// The oldest foreseen TLP is there.
    #[inline]
    pub(crate) fn take_foreseen(&mut self) -> InFlight {
        let arrived = *self.in_flight.front().expect("an arrival was foreseen for each TLP sent");
        self.in_flight.drop_front();
        self.next_arrival = self.in_flight.front().map_or(Time::NEVER, |next| next.eligible_at);
        arrived
    }

    /// Earliest time at which this port owes the peer an Ack, Nak or UpdateFC.
    #[inline]
    pub(crate) fn dllp_due_at(&self) -> Time {
        self.ack_at.min(self.nak_due_at()).min(self.update_due_at)
    }

    /// When a Nak is owed. On a reliable link that is not even looked up.
    #[inline]
    pub(crate) fn nak_due_at(&self) -> Time {
        if self.reliable { Time::NEVER } else { self.nak_at }
    }

    /// Sequence number for an Ack that goes out now. A TLP whose LCRC is not checked yet waits for the next one.
    #[inline]
    pub(crate) fn take_ack(&mut self, now: Time) -> Sequence {
        let last = self.sequence.last_accepted();
        if self.last_checked <= now {
            self.unacknowledged = 0;
            self.ack_at = Time::NEVER;
            return last;
        }
        self.unacknowledged = 1;
        self.ack_at = self.last_checked + self.settings.ack.latency;
        SequenceSpace::NonFlit.previous(last)
    }

    /// Decides when the next UpdateFC of a class goes out, given that credits are free from `free_at` on.
    #[inline(always)]
    fn plan_update(&mut self, class: FlowClass, free_at: Time) {
        let buffer = &mut self.buffers[class as usize];
        buffer.plan_update(&self.settings.update, free_at);
        self.update_due_at = self.update_due_at.min(buffer.update_at);
    }

    /// An UpdateFC of this class went out at `now`: plans the next.
    pub(crate) fn update_sent(&mut self, class: FlowClass, now: Time) {
        let period = self.settings.update.period;
        let buffer = &mut self.buffers[class.index()];
        buffer.credits.mark_reported();
        buffer.freed_tlps = buffer.draining.len() as u32;
        buffer.update_at = now + period;
        if let Some((free_at, _)) = buffer.draining.front().copied() {
            buffer.plan_update(&self.settings.update, free_at);
        }
        self.find_update_due();
    }

    /// Starts the periodic UpdateFC of every class that counts credits.
    pub(crate) fn start_updates(&mut self, now: Time) {
        for buffer in &mut self.buffers {
            if !buffer.credits.is_infinite() {
                buffer.update_at = now + self.settings.update.period;
            }
        }
        self.find_update_due();
    }

    #[inline]
    pub(crate) fn find_update_due(&mut self) {
        let [posted, non_posted, completion] = &self.buffers;
        self.update_due_at = posted.update_at.min(non_posted.update_at).min(completion.update_at);
    }
}
