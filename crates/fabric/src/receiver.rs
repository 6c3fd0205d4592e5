//! The receiver half of a port: what arrived, what it owes the peer for it, and when.
//!
//! State lies in [`Port`]; what devices do with a TLP is in `receive.rs`. Acks and UpdateFCs are coalesced by count and
//! by time (PCIe Base 6.3 §2.6.1.2, §3.6.3.1).

use crate::channels::buffer_of;
use crate::ingress::buffer_bytes;
use crate::packet::Packet;
use crate::port::{DllpSet, InFlight, LinkState, Port, PortId};
use lanewise_observe::{Fact, Observers};
use lanewise_pcie::ack_nak::{Sequence, SequenceSpace};
use lanewise_pcie::tlp::FlowClass;
use lanewise_units::{Span, Time};

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
        let (buffer, update_at) = match self.more_channels() {
            false => (&mut self.buffers[class as usize], &mut self.update_at[class as usize]),
            true => {
                self.release_drained(id, class, at, observers);
                let vc0 = (&mut self.buffers, &mut self.update_at);
                buffer_of(vc0, &mut self.channels, arrived.channel, class)
            }
        };
        buffer.release_drained(id, class, at, observers);
        if !buffer.credits.is_infinite() {
            if let Err(overflow) = buffer.credits.receive(arrived.credits()) {
                panic!("{at:?}: port {} overflows its {class} {overflow:?} buffer", id.0);
            }
            // What was freed but not yet said may now be all that the peer is waiting for.
            if buffer.freed_tlps > 0 {
                *update_at = buffer.schedule_if_credits_low(*update_at, buffer.first_untold(at).max(at));
                self.update_due_at = self.update_due_at.min(*update_at);
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
        let (buffer, update_at) = match self.more_channels() {
            false => (&mut self.buffers[class as usize], &mut self.update_at[class as usize]),
            true => {
                let channel = self.channel_of(packet.traffic_class);
                buffer_of((&mut self.buffers, &mut self.update_at), &mut self.channels, channel, class)
            }
        };
        if buffer.credits.is_infinite() {
            let bytes = buffer_bytes(credits);
            if self.more_channels() {
                self.release_drained(id, class, now, observers);
            }
            observers.observe(now, Fact::BufferFreed { port: id.0, class, bytes });
        } else {
            buffer.will_drain(credits, free_at);
            *update_at = buffer.schedule_update_fc(*update_at, &self.settings.update, free_at);
            self.update_due_at = self.update_due_at.min(*update_at);
        }
    }

    /// Earliest time at which this port acts without being asked to: a DLLP is due, or a TLP delivered ahead is there.
    #[inline]
    pub(crate) fn acts_at(&self) -> Time {
        self.dllp_due_at().min(self.next_arrival)
    }

    /// When the next DLLP can go out.
    #[inline]
    pub(crate) fn next_dllp_at(&self) -> Time {
        match self.state {
            LinkState::Active => self.dllp_due_at().max(self.free_for_dllps_at()),
            LinkState::InitFlowControl1 | LinkState::InitFlowControl2 => Time::NEVER,
        }
    }

    /// From when on the wire has room for a DLLP: in Flit Mode, a flit that carries none yet.
    #[inline(always)]
    pub(crate) fn free_for_dllps_at(&self) -> Time {
        if self.flit_mode() { self.free_for_dllps_in_flits_at() } else { self.busy_until }
    }

    /// Earliest time at which this port acts on something that its peer waits for.
    pub(crate) fn next_awaited_at(&self) -> Time {
        if self.state != LinkState::Active {
            return Time::NEVER; // It owes, but may not send yet.
        }
        let mut at = self.nak_due_at();
        // A TLP that arrives after that may bring an answer forward.
        let mut hastened_after = Time::NEVER;
        if self.peer_waits_for.include(DllpSet::ACK) {
            at = at.min(self.ack_at);
            hastened_after = Time::ZERO;
        }
        for class in self.peer_waits_for.classes() {
            let buffer = &self.buffers[class];
            // An UpdateFC that only repeats what the peer knows lets nothing go, unless the last one was lost.
            if buffer.freed_tlps > 0 || !self.error_free_non_flit {
                at = at.min(self.update_at[class]);
                // A TLP that takes the last credits makes haste with an UpdateFC that was not urgent.
                hastened_after = hastened_after.min(buffer.first_untold(Time::ZERO));
            }
        }
        if self.more_channels() && self.peer_waits_for.include(DllpSet::OTHER_CHANNELS) {
            return self.awaited_beyond_vc0_at(at, hastened_after != Time::NEVER);
        }
        at.min(self.next_arrival.max(hastened_after))
    }

    /// When an answer that is due at `at` reaches the pins of the peer; not later than that.
    #[inline]
    pub(crate) fn awaited_at_pins(&self, at: Time) -> Time {
        let wire = &self.settings.wire;
        let mut start = at.max(self.busy_until);
        // What goes out or arrives before may end the silence: then no symbol boundary is waited for.
        if self.acts_at() >= at && (self.silent || start > self.busy_until) {
            let aligned = wire.next_boundary(self.boundary, start);
            // Behind an ordered set that is due by then, packets start on other boundaries.
            start = if self.next_skip <= aligned { start } else { aligned };
        }
        if self.ack_at <= at && !self.peer_waits_for.include(DllpSet::ACK) {
            // An Ack goes first, which the next TLP may hasten.
            let ack_at = match self.in_flight.front() {
                Some(next) if self.next_arrival <= self.ack_at => next.checked.min(self.ack_at),
                _ => self.ack_at,
            };
            start = start.max(ack_at.max(self.busy_until) + wire.dllp);
        }
        start + wire.dllp + wire.propagation
    }

    /// [`Self::next_awaited_at`], given what it is for VC0, with UpdateFCs of the other channels.
    #[cold]
    fn awaited_beyond_vc0_at(&self, on_vc0: Time, arrivals_matter: bool) -> Time {
        let Some(channels) = &self.channels else { return on_vc0 };
        let mut buffers = channels.beyond.iter().flat_map(|channel| &channel.buffers);
        let arrivals_matter = arrivals_matter || buffers.any(|buffer| buffer.freed_tlps > 0);
        let at = on_vc0.min(channels.update_due_at());
        if arrivals_matter { at.min(self.next_arrival) } else { at }
    }

    /// A TLP is on its way that is taken into account at `in_flight.eligible_at`, without an event.
    #[inline]
    pub(crate) fn deliver_ahead(&mut self, in_flight: InFlight) {
        if self.in_flight.is_empty() {
            self.next_arrival = in_flight.eligible_at;
        }
        self.in_flight.push_back(in_flight);
    }

    /// When the youngest TLP on its way here is taken into account, if any is.
    #[inline(always)]
    pub(crate) fn last_arrival(&self) -> Time {
        self.in_flight.back().map_or(Time::ZERO, |last| last.eligible_at)
    }

    /// The oldest TLP delivered ahead is there.
    #[inline]
    pub(crate) fn take_delivered_ahead(&mut self) -> InFlight {
        let arrived = *self.in_flight.front().expect("each TLP sent was delivered ahead");
        self.in_flight.drop_front();
        self.next_arrival = self.in_flight.front().map_or(Time::NEVER, |next| next.eligible_at);
        arrived
    }

    /// Earliest time at which this port owes the peer an Ack, Nak or UpdateFC.
    #[inline]
    pub(crate) fn dllp_due_at(&self) -> Time {
        self.ack_at.min(self.nak_due_at()).min(self.update_due_at)
    }

    /// When a Nak is owed. On a error-free link that is not even looked up.
    #[inline]
    pub(crate) fn nak_due_at(&self) -> Time {
        if self.error_free_non_flit { Time::NEVER } else { self.nak_at }
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
        let by_count = self.settings.ack.every_tlps <= 1;
        self.ack_at = self.last_checked + if by_count { Span::ZERO } else { self.settings.ack.latency };
        SequenceSpace::NonFlit.previous(last)
    }

    /// An UpdateFC of this class went out at `now`: plans the next.
    #[inline(always)]
    pub(crate) fn update_sent(&mut self, channel: u8, class: FlowClass, now: Time) {
        let policy = &self.settings.update;
        let vc0 = (&mut self.buffers, &mut self.update_at);
        let (buffer, update_at) = buffer_of(vc0, &mut self.channels, channel, class);
        buffer.credits.mark_reported();
        buffer.freed_tlps = buffer.draining.len() as u32;
        *update_at = buffer.update_after_update(now + policy.period, policy);
        self.find_update_due();
    }

    /// Starts the periodic UpdateFC of every class that counts credits.
    pub(crate) fn start_updates(&mut self, now: Time) {
        let period = self.settings.update.period;
        for channel in self.channel_numbers() {
            for class in FlowClass::ALL {
                if !self.buffers_of(channel)[class.index()].credits.is_infinite() {
                    self.updates_of_mut(channel)[class.index()] = now + period;
                }
            }
        }
        self.find_update_due();
    }

    #[inline]
    pub(crate) fn find_update_due(&mut self) {
        let [posted, non_posted, completion] = self.update_at;
        self.update_due_at = posted.min(non_posted).min(completion);
        if self.more_channels()
            && let Some(channels) = &self.channels
        {
            self.update_due_at = self.update_due_at.min(channels.update_due_at());
        }
    }
}
