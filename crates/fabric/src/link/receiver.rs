//! The receiver of a link: what arrives, what is owed to the transmitter for it, and when.
//!
//! It checks sequence numbers, keeps the buffers with their credits, and coalesces Acks and UpdateFCs by count and by time (PCIe
//! Base 6.3 §2.6.1.2, §3.6.3.1). It has no clock: whoever drives it says when a TLP is on its way, looks at
//! [`Receiver::next_deadline`], and takes DLLPs that are due when the wire of the other direction has room for them.
//!
//! A TLP that is there is taken and given to [`Receiver::receive`]. If the driver announced it with [`Receiver::expect_ahead`], the time for that is a
//! deadline of the receiver; if with [`Receiver::expect`], the driver knows the time itself. Leaves out: flits, which have sequence
//! numbers of their own (`flit.rs`) and only the buffers from here.

use super::buffer::{IngressBuffer, buffer_bytes};
use super::effect::{Effect, Effects};
use super::in_flight::{Fate, InFlight, Space};
use crate::config::{AckPolicy, PortConfig, UpdatePolicy};
use crate::ring::Ring;
use channels::buffers;
use lanewise_pcie::ack_nak::{ReceiveSequence, Verdict};
use lanewise_pcie::flow_control::Overflow;
use lanewise_pcie::tlp::FlowClass;
use lanewise_units::Time;
use std::collections::VecDeque;

mod channels;
mod owed;
#[cfg(test)]
mod tests;

/// When a receiver sends Acks and UpdateFCs: handed in with each call, because thousands of receivers share few of these.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ReceiverPolicy {
    pub(crate) ack: AckPolicy,
    pub(crate) update: UpdatePolicy,
}

/// What became of a TLP that arrived.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Outcome {
    /// It is in the buffer, for the device. An Ack is owed in time.
    Accepted,
    /// The receiver had it already. When it has been checked, it is dropped: [`Receiver::drop_duplicate`].
    Duplicate,
    /// The transmitter took it back: it is dropped.
    Nullified,
    /// Damaged, or one before it is missing: it is dropped, and a Nak is owed.
    Refused,
    /// The same, and the Nak is owed or on its way already.
    RefusedAgain,
    /// It was sent without credits: a bug of the transmitter.
    Overflow(Overflow),
}

/// The receiver of one direction.
///
/// Fields lie as a port wants them, which puts the first four into a cache line with the times of its transmitter: then come a
/// line of what arrives, one line for each buffer, and what few have.
#[repr(C)]
pub(crate) struct Receiver<T> {
    ack_at: Time,
    /// The earliest UpdateFC of any class and channel.
    update_due_at: Time,
    /// The earliest Ack, Nak or UpdateFC.
    owed_at: Time,
    /// When the oldest TLP on its way is taken into account, if that is a deadline of the receiver.
    next_arrival: Time,

    in_flight: Ring<InFlight<T>>,
    /// When the last accepted TLP's LCRC is checked: a cut-through switch accepts on credit, as it were.
    last_checked: Time,
    /// By class of VC0, when the next UpdateFC is due: together, for the earliest of them is asked for each time.
    update_at: [Time; 3],
    sequence: ReceiveSequence,
    /// TLPs accepted since the last Ack.
    unacknowledged: u16,

    buffers: [IngressBuffer; 3],

    rare: Option<Box<Rare>>,
}

/// What few receivers have.
struct Rare {
    /// When a Nak is owed.
    nak_at: Time,
    /// Buffers of VC1, VC2 and so on.
    beyond: Vec<ChannelBuffers>,
    /// When the accepted TLPs before the last one are checked, if that may be later than now: at a cut-through switch.
    unchecked: VecDeque<Time>,
}

impl Default for Rare {
    fn default() -> Self {
        Self { nak_at: Time::NEVER, beyond: Vec::new(), unchecked: VecDeque::new() }
    }
}

struct ChannelBuffers {
    buffers: [IngressBuffer; 3],
    update_at: [Time; 3],
}

impl<T: Copy> Receiver<T> {
    /// Where the line of what arrives begins, and that of the first buffer, in bytes: see [`crate::port::Port`].
    #[cfg(test)]
    pub(crate) const FIRST_LINE: usize = std::mem::offset_of!(Self, in_flight);
    #[cfg(test)]
    pub(crate) const BUFFERS: usize = std::mem::offset_of!(Self, buffers);

    /// A receiver of VC0 at rest, with the buffers of `config`.
    pub(crate) fn new(config: &PortConfig) -> Self {
        Self {
            ack_at: Time::NEVER,
            update_due_at: Time::NEVER,
            owed_at: Time::NEVER,
            next_arrival: Time::NEVER,
            in_flight: Ring::default(),
            last_checked: Time::ZERO,
            update_at: [Time::NEVER; 3],
            sequence: ReceiveSequence::default(),
            unacknowledged: 0,
            buffers: buffers(&config.credits, config),
            rare: None,
        }
    }

    /// Gives it the buffers of the virtual channels beyond VC0 that `config` has.
    pub(crate) fn add_channels(&mut self, config: &PortConfig) {
        let channel = |pools| ChannelBuffers { buffers: buffers(pools, config), update_at: [Time::NEVER; 3] };
        let beyond: Vec<ChannelBuffers> = config.more_credits.iter().map(channel).collect();
        if !beyond.is_empty() {
            self.rare.get_or_insert_default().beyond = beyond;
        }
    }

    // --- what arrives ------------------------------------------------------------------------------------------

    /// A TLP is on its way; the driver knows when it is there.
    #[inline(always)]
    pub(crate) fn expect(&mut self, in_flight: InFlight<T>) {
        self.in_flight.push_back(in_flight);
    }

    /// A TLP is on its way that is taken into account at `in_flight.eligible_at`, which is a deadline of this receiver.
    #[inline]
    pub(crate) fn expect_ahead(&mut self, in_flight: InFlight<T>) {
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

    /// The oldest TLP on its way is there: it is no longer on its way.
    ///
    /// # Panics
    /// When none is on its way.
    #[inline(always)]
    pub(crate) fn take_next(&mut self) -> InFlight<T> {
        let arrived = *self.in_flight.front().expect("what arrives was on its way");
        self.in_flight.drop_front();
        arrived
    }

    /// The same for one given with [`Self::expect_ahead`].
    ///
    /// # Panics
    /// When none is on its way.
    #[inline(always)]
    pub(crate) fn take_next_ahead(&mut self) -> InFlight<T> {
        let arrived = self.take_next();
        self.next_arrival = self.in_flight.front().map_or(Time::NEVER, |next| next.eligible_at);
        arrived
    }

    /// A TLP is there at `at`: judges it, puts it into its buffer, and plans what is owed for it.
    #[inline(always)]
    pub(crate) fn receive(
        &mut self,
        arrived: &InFlight<T>,
        at: Time,
        policy: &AckPolicy,
        effects: &mut impl Effects,
    ) -> Outcome {
        if arrived.fate == Fate::Nullified {
            effects.push(at, Effect::Nullified);
            return Outcome::Nullified;
        }
        match self.sequence.receive(arrived.sequence, arrived.fate == Fate::Good) {
            Verdict::Accept => {
                self.plan_ack(arrived.checked, at, policy);
                match self.fill(arrived, at, effects) {
                    Ok(()) => Outcome::Accepted,
                    Err(overflow) => Outcome::Overflow(overflow),
                }
            }
            Verdict::DiscardDuplicate => {
                effects.push(at, Effect::Duplicate { sequence: arrived.sequence });
                Outcome::Duplicate
            }
            Verdict::DiscardNak(_) => {
                self.owe_nak(arrived.checked);
                effects.push(at, Effect::BadTlp { sequence: arrived.sequence });
                Outcome::Refused
            }
            Verdict::DiscardSilently => {
                if arrived.fate != Fate::Good {
                    effects.push(at, Effect::BadTlp { sequence: arrived.sequence });
                }
                Outcome::RefusedAgain
            }
        }
    }

    /// A good TLP is accepted at `at` and will be checked by then: an Ack is owed by count or by time.
    #[inline(always)]
    fn plan_ack(&mut self, checked: Time, at: Time, policy: &AckPolicy) {
        self.unacknowledged += 1;
        if self.last_checked > at {
            self.note_unchecked(at);
        }
        self.last_checked = checked;
        let by_count = u32::from(self.unacknowledged) >= policy.every_tlps;
        let due = if by_count { checked } else { checked + policy.latency };
        self.owe_ack(due);
    }

    /// Accounts the credits of a TLP that arrived at `at`.
    ///
    /// # Errors
    /// When there is no room for it.
    #[inline(always)]
    pub(crate) fn fill(
        &mut self,
        arrived: &InFlight<T>,
        at: Time,
        effects: &mut impl Effects,
    ) -> Result<(), Overflow> {
        let class = arrived.class;
        if self.rare.is_some() {
            self.release_of_all_channels(class, at, effects);
        }
        let (buffer, update_at) = self.buffer_mut(arrived.channel, class);
        buffer.release_drained(class, at, effects);
        if !buffer.credits.is_infinite() {
            buffer.credits.receive(arrived.credits())?;
            // What was freed but not yet said may now be all that the transmitter is waiting for.
            if buffer.freed_tlps > 0 && buffer.credits_are_low() {
                let due = (*update_at).min(buffer.first_untold(at).max(at));
                *update_at = due;
                self.owe_update(due);
            }
        }
        let (bytes, sequence) = (buffer_bytes(arrived.credits()), arrived.sequence);
        effects.push(at, Effect::BufferFilled { class, bytes, sequence });
        Ok(())
    }

    // --- what leaves the buffers -------------------------------------------------------------------------------

    /// The space of a TLP will be free at `free_at`: plans the UpdateFC. Space without a limit is free at once.
    #[inline(always)]
    pub(crate) fn drain(
        &mut self,
        space: Space,
        free_at: Time,
        now: Time,
        policy: &UpdatePolicy,
        effects: &mut impl Effects,
    ) {
        let Space { channel, class, credits } = space;
        let (buffer, update_at) = self.buffer_mut(channel, class);
        if !buffer.credits.is_infinite() {
            buffer.will_drain(credits, free_at);
            *update_at = buffer.schedule_update_fc(*update_at, policy, free_at);
            let update_at = *update_at;
            return self.owe_update(update_at);
        }
        if self.rare.is_some() {
            self.release_of_all_channels(class, now, effects);
        }
        effects.push(now, Effect::BufferFreed { class, bytes: buffer_bytes(credits) });
    }

    /// Space of a class that devices have drained by now is allocated again, whatever the channel.
    #[inline(always)]
    pub(crate) fn release_drained(&mut self, class: FlowClass, now: Time, effects: &mut impl Effects) {
        match self.rare {
            None => self.buffers[class as usize].release_drained(class, now, effects),
            Some(_) => self.release_of_all_channels(class, now, effects),
        }
    }

    /// The same of all channels in order of time: what is said of a class is the sum of its buffers.
    #[cold]
    fn release_of_all_channels(&mut self, class: FlowClass, now: Time, effects: &mut impl Effects) {
        loop {
            let front = |channel: &u8| {
                let front = self.buffer(*channel, class).draining.front();
                front.map_or(Time::NEVER, |(at, _)| *at)
            };
            let Some(first) = (0..self.channels()).min_by_key(front) else { return };
            let at = front(&first);
            if at > now {
                return;
            }
            self.buffer_mut(first, class).0.release_drained(class, at, effects);
        }
    }
}
