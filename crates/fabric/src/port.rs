//! One port: the transmitter of one link direction and the receiver of the other.
//!
//! State and the small rules on it; its two halves are objects of their own, in `link/`. What happens between ports is in
//! `transmit.rs`, `dllp.rs`, `replay.rs` and `receive.rs`.

use crate::books::Books;
use crate::channels::{PortChannels, VC0};
use crate::config::{LinkPower, PortConfig};
use crate::link::{DllpSet, Flits, InFlight, Receiver, ReceiverPolicy, Sleep, Transmitter};
use crate::packet::{ClassQueues, Packet, PacketRef};
use crate::ring::Ring;
use crate::wait::Wait;
use crate::wire::{Faults, WireTiming};
use lanewise_observe::{Observers, Use};
use lanewise_pcie::dllp::Dllp;
use lanewise_pcie::flow_control::{Blocked, Credits};
use lanewise_pcie::tlp::FlowClass;
use lanewise_units::{Bytes, Span, Time};
use std::sync::Arc;

/// Index of a port. A link direction is named by its transmitting port.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct PortId(pub(crate) u32);

impl PortId {
    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Which device a port belongs to: kind, and index in the arena of that kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Owner {
    RootComplex(u32),
    Switch(u32),
    Endpoint(u32),
}

/// A TLP on its way to a port.
pub(crate) type Flying = InFlight<PacketRef>;

/// What a link carries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Carries {
    /// Packets on VC0.
    Packets,
    /// Packets on several virtual channels: there are `channels`.
    Channels,
    /// Flits: there are `flits`.
    Flits,
    /// What another thread simulates: this is the far end of a link to it (`parts.rs`).
    Messages,
}

/// One port.
///
/// Fields lie in cache lines by what uses them: what the transmitter counts with; the retry buffer; times that every event looks at,
/// the transmitter's last and the receiver's first; what is coming; one line per ingress buffer; what else every event looks at;
/// what waits at an endpoint or a root port. In a large fabric a hop costs what it touches, not what it computes.
#[repr(C, align(64))]
pub(crate) struct Port {
    /// Nothing that waits here may leave before, unless a DLLP or a packet comes that changes this.
    pub(crate) blocked_until: Time,

    /// The transmitter of this direction.
    pub(crate) transmitter: Transmitter<PacketRef>,
    /// Earliest wake-up in the event queue.
    pub(crate) wake_at: Time,
    /// The receiver of the other direction.
    pub(crate) receiver: Receiver<PacketRef>,

    pub(crate) owner: Owner,
    pub(crate) peer: PortId,
    /// Index among the ports of its device.
    pub(crate) index: u16,
    /// DLLPs of this port that the peer's transmitter waits for: only for these does it wake.
    pub(crate) peer_waits_for: DllpSet,
    /// Nothing can go wrong on this link, and it carries no flits: when a TLP is sent, its arrival is known.
    pub(crate) error_free_non_flit: bool,
    /// TLPs wait in the queues of this port's switch from the moment they are sent; their arrival is no event.
    pub(crate) delivers_ahead: bool,
    /// There is a `sleep`.
    pub(crate) sleeps: bool,
    pub(crate) carries: Carries,
    /// After so many of the TLPs to come it looks ahead whether anything may follow.
    pub(crate) looks_ahead: u8,
    /// Of a root port that shares no queue with others: a completion has left last, so that it is a request's turn.
    pub(crate) requests_turn: bool,
    /// DLLPs sent by the peer that this transmitter has not looked at yet, with their times of arrival.
    pub(crate) mailbox: Ring<(Time, Dllp)>,
    pub(crate) settings: Arc<PortSettings>,

    /// A wake-up that is in the event queue too, later than `wake_at`, which took its place; or one that has passed.
    pub(crate) displaced_wake_at: Time,
    /// None on a link that is always awake.
    pub(crate) sleep: Option<Box<Sleep>>,
    /// Virtual channels beyond VC0.
    pub(crate) channels: Option<Box<PortChannels>>,
    /// None on an error-free link.
    pub(crate) faults: Option<Box<Faults>>,
    /// Flit Mode, once there is a DLLP or TLP for a flit: in place of `retry` and the receiver's sequence numbers.
    pub(crate) flits: Option<Box<Flits<PacketRef, Packet>>>,
    /// TLPs of an endpoint or root port that wait here; a switch keeps its own.
    pub(crate) queues: ClassQueues,
}

/// What does not change, kept once for all ports that are alike: of thousands of ports few differ.
#[derive(PartialEq, Debug)]
pub(crate) struct PortSettings {
    pub(crate) wire: WireTiming,
    pub(crate) receive_latency: Span,
    pub(crate) receiver: ReceiverPolicy,
    pub(crate) replay_timer: Span,
    pub(crate) mps: Bytes,
    pub(crate) power: LinkPower,
}

impl PortSettings {
    pub(crate) fn new(config: &PortConfig, wire: WireTiming, power: LinkPower) -> Self {
        Self {
            wire,
            receive_latency: config.receive_latency,
            receiver: ReceiverPolicy { ack: config.ack, update: config.update_flow_control },
            replay_timer: config.replay_timer,
            mps: config.mps,
            power,
        }
    }
}

impl Port {
    pub(crate) fn new(
        owner: Owner,
        index: u16,
        peer: PortId,
        (config, peers): (&PortConfig, &PortConfig),
        settings: Arc<PortSettings>,
    ) -> Self {
        let wire = &settings.wire;
        Self {
            blocked_until: Time::ZERO,
            displaced_wake_at: Time::NEVER,
            transmitter: Transmitter::new(peers.scale, config.retry_buffer, wire),
            wake_at: Time::NEVER,
            receiver: Receiver::new(config),
            owner,
            peer,
            index,
            peer_waits_for: DllpSet::ALL,
            error_free_non_flit: false,
            delivers_ahead: false,
            sleeps: false,
            carries: if wire.flit.is_some() { Carries::Flits } else { Carries::Packets },
            mailbox: Ring::default(),
            looks_ahead: 0,
            requests_turn: false,
            queues: ClassQueues::default(),
            sleep: None,
            channels: None,
            faults: None,
            flits: None,
            settings,
        }
    }

    #[inline(always)]
    pub(crate) fn is_plain(&self) -> bool {
        self.carries == Carries::Packets
    }

    #[inline(always)]
    pub(crate) fn more_channels(&self) -> bool {
        self.carries == Carries::Channels
    }

    #[inline(always)]
    pub(crate) fn flit_mode(&self) -> bool {
        self.carries == Carries::Flits
    }

    /// Accounts for the time since the wire fell silent: ordered sets when they were due, the rest to what it was silent for.
    #[inline(always)]
    pub(crate) fn settle(&mut self, id: PortId, now: Time, observers: &mut Observers) {
        let mut books = Books { port: id, observers };
        self.transmitter.settle(now, &self.settings.wire, &mut books);
    }

    /// Moves the start of the next packet to a symbol or flit boundary if the wire has been silent.
    #[inline(always)]
    pub(crate) fn align(&mut self, id: PortId, now: Time, observers: &mut Observers) {
        let mut books = Books { port: id, observers };
        self.transmitter.align(now, &self.settings.wire, &mut books);
    }

    /// Notes that this port wakes at `at`, which is earlier than before. Whether that needs a new event.
    #[inline(always)]
    pub(crate) fn wake_earlier(&mut self, at: Time, now: Time) -> bool {
        let before = std::mem::replace(&mut self.wake_at, at);
        let is_queued = at == self.displaced_wake_at && at > now;
        if is_queued || before != Time::NEVER {
            self.displaced_wake_at = before;
        }
        !is_queued
    }

    /// Whether a packet that joins those waiting here is held up by what nothing leaves for already: then a look at it
    /// would find nothing new.
    #[inline(always)]
    pub(crate) fn is_held_up_alike(&self, traffic_class: u8, class: FlowClass, credits: Credits) -> bool {
        self.transmitter.waiting_for.include(DllpSet::update_of(VC0, class))
            && self.transmitter.credits[class as usize].gate(credits).is_err_and(|pool| {
                self.transmitter.idle_cause == Use::blocked_on(class, pool == Blocked::Data)
            })
            && self.channel_of(traffic_class) == VC0
    }

    /// A TLP or flit went out: the replay timer runs from its end if nothing older waits for an Ack. When it is to be looked at, if
    /// nobody does already.
    #[inline(always)]
    pub(crate) fn arm_replay_timer(&mut self) -> Option<Time> {
        let (unacknowledged, period) = (self.unacknowledged(), self.settings.replay_timer);
        self.transmitter.arm_replay_timer(unacknowledged, period)
    }

    /// What it waits for since it last looked in vain.
    #[inline]
    pub(crate) fn still_waits(&self) -> Wait {
        Wait {
            on: self.transmitter.idle_cause,
            dllps: self.transmitter.waiting_for,
            until: self.blocked_until,
        }
    }

    /// Whether a DLLP from the peer may let a TLP go that could not go before.
    #[inline]
    pub(crate) fn may_unblock(&self, dllp: &Dllp) -> bool {
        match dllp {
            Dllp::UpdateFlowControl { channel, class, .. } => {
                self.transmitter.waiting_for.include(DllpSet::update_of(*channel, *class))
            }
            Dllp::Ack(_) => self.transmitter.waiting_for.include(DllpSet::ACK),
            _ => true,
        }
    }

    /// A port without a link: its own peer, never up.
    pub(crate) fn unconnected(
        owner: Owner,
        index: u16,
        id: PortId,
        config: &PortConfig,
        settings: Arc<PortSettings>,
    ) -> Self {
        let mut port = Self::new(owner, index, id, (config, config), settings);
        port.transmitter.reset();
        port
    }

    /// The link goes down, with nothing under way: everything starts anew when it comes up.
    pub(crate) fn go_down(&mut self) {
        self.wake_at = Time::NEVER;
        self.transmitter.reset();
        self.receiver.reset();
        self.blocked_until = Time::ZERO;
        self.peer_waits_for = DllpSet::ALL;
        while self.mailbox.pop_front().is_some() {}
        if let Some(channels) = &mut self.channels {
            channels.credits.reset();
        }
    }

    /// The link comes up after [`Self::go_down`]: flow control is initialised from `now` on.
    pub(crate) fn come_up(&mut self, now: Time) {
        self.transmitter.start_initialisation(now);
        self.transmitter.next_skip = self.transmitter.busy_until.max(now) + self.settings.wire.skip_interval;
    }

    /// Heap memory behind this port, in bytes.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.receiver.heap_bytes()
            + self.channels.as_ref().map_or(0, |channels| channels.heap_bytes())
            + self.mailbox.heap_bytes()
            + self.sleep.as_ref().map_or(0, |sleep| size_of_val(&**sleep))
            + self.faults.as_ref().map_or(0, |faults| size_of_val(&**faults))
            + self.flits.as_ref().map_or(0, |flits| flits.heap_bytes())
    }

    /// Whether all that was sent has been acknowledged and nothing is on its way.
    pub(crate) fn is_quiet(&self) -> bool {
        self.nothing_to_replay()
            && self.receiver.in_flight().len() == 0
            && self.nothing_queued()
            && self.flits.as_ref().is_none_or(|flits| flits.is_quiet())
    }

    /// Whether all that was sent has been acknowledged.
    pub(crate) fn nothing_to_replay(&self) -> bool {
        self.unacknowledged() == 0
    }

    /// TLPs, or flits, that were sent and are not acknowledged.
    #[inline(always)]
    pub(crate) fn unacknowledged(&self) -> usize {
        if self.flit_mode() { self.unacknowledged_flits() } else { self.transmitter.retry.unacknowledged() }
    }

    #[inline(never)]
    fn unacknowledged_flits(&self) -> usize {
        self.flits.as_ref().map_or(0, |flits| flits.transmitter.retry.unacknowledged())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::buffer::IngressBuffer;
    use std::mem::offset_of;

    #[test]
    fn a_port_is_nine_cache_lines_with_each_group_in_its_own() {
        let receiver = offset_of!(Port, receiver);
        let starts = [
            offset_of!(Port, blocked_until),
            offset_of!(Port, transmitter) + offset_of!(Transmitter<PacketRef>, retry),
            offset_of!(Port, transmitter) + offset_of!(Transmitter<PacketRef>, busy_until),
            receiver + Receiver::<PacketRef>::FIRST_LINE,
            receiver + Receiver::<PacketRef>::BUFFERS,
            receiver + size_of::<Receiver<PacketRef>>() - 8,
            offset_of!(Port, displaced_wake_at),
            size_of::<Port>(),
        ];
        assert_eq!(starts.map(|bytes| bytes / 64), [0, 1, 2, 3, 4, 7, 8, 9]);
        assert_eq!(starts.map(|bytes| bytes % 64), [0; 8]);
        assert_eq!(size_of::<IngressBuffer>(), 64);
    }

    #[test]
    fn a_tlp_in_flight_is_half_a_cache_line() {
        assert_eq!(size_of::<Flying>(), 32);
    }
}
