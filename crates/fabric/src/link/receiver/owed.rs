//! What a receiver owes the transmitter: Acks, Naks and UpdateFCs, and when.

use super::super::buffer::IngressBuffer;
use super::super::{DllpSet, Effect, Effects, Timer};
use super::Receiver;
use crate::config::{AckPolicy, UpdatePolicy};
use lanewise_pcie::ack_nak::{Sequence, SequenceSpace};
use lanewise_pcie::dllp::Dllp;
use lanewise_pcie::tlp::FlowClass;
use lanewise_units::Time;

impl<T: Copy> Receiver<T> {
    /// When it must act next, and why, if no DLLP can leave before `dllps_from`, which is asked for only where that matters. DLLPs
    /// that are due at one instant leave together, and before a TLP of that instant arrives.
    #[inline(always)]
    pub(crate) fn next_deadline(&self, dllps_from: impl FnOnce() -> Time) -> (Time, Timer) {
        let owed_at = self.owed_at();
        let dllps_at = if owed_at > self.next_arrival { Time::NEVER } else { owed_at.max(dllps_from()) };
        if dllps_at > self.next_arrival {
            return (self.next_arrival, Timer::Arrival);
        }
        let first = if self.nak_at() == owed_at {
            Timer::Nak
        } else if self.ack_at == owed_at {
            Timer::Ack
        } else {
            Timer::UpdateFlowControl
        };
        (dllps_at, first)
    }

    /// Earliest time at which it acts on anything, if DLLPs can leave.
    #[inline(always)]
    pub(crate) fn acts_at(&self) -> Time {
        self.owed_at().min(self.next_arrival)
    }

    /// Earliest time at which it owes an Ack, Nak or UpdateFC.
    #[inline(always)]
    pub(crate) fn owed_at(&self) -> Time {
        self.owed_at
    }

    /// An Ack is owed at this time at the latest.
    #[inline(always)]
    pub(super) fn owe_ack(&mut self, at: Time) {
        self.ack_at = self.ack_at.min(at);
        self.owed_at = self.owed_at.min(at);
    }

    /// A duplicate has been checked at `at`, and is dropped: an Ack is owed at once (PCIe Base 6.3 §3.6.3.1).
    pub(crate) fn drop_duplicate(&mut self, at: Time) {
        self.owe_ack(at);
    }

    /// An UpdateFC is owed at this time at the latest.
    #[inline(always)]
    pub(super) fn owe_update(&mut self, at: Time) {
        self.update_due_at = self.update_due_at.min(at);
        self.owed_at = self.owed_at.min(at);
    }

    /// A Nak is owed at this time, or none is.
    #[cold]
    pub(super) fn owe_nak(&mut self, at: Time) {
        self.rare.get_or_insert_default().nak_at = at;
        self.find_owed();
    }

    /// When a Nak is owed.
    #[inline(always)]
    pub(super) fn nak_at(&self) -> Time {
        self.rare.as_ref().map_or(Time::NEVER, |rare| rare.nak_at)
    }

    /// Something is not owed any more, or later: finds what is.
    #[inline(always)]
    pub(super) fn find_owed(&mut self) {
        self.owed_at = self.ack_at.min(self.update_due_at).min(self.nak_at());
    }

    /// Sequence number of the Nak that is due by now, if one is. It says what has come by now, as the Ack would that it replaces.
    #[inline(always)]
    pub(crate) fn take_nak(
        &mut self,
        now: Time,
        policy: &AckPolicy,
        effects: &mut impl Effects,
    ) -> Option<Sequence> {
        if self.nak_at() > now {
            return None;
        }
        self.owe_nak(Time::NEVER);
        effects.push(now, Effect::NakSent);
        Some(self.acknowledge(now, policy))
    }

    /// Whether an UpdateFC of any class and channel is due by now.
    #[inline(always)]
    pub(crate) fn owes_update(&self, now: Time) -> bool {
        self.update_due_at <= now
    }

    /// UpdateFCs of VC0 that are due by now.
    #[inline(always)]
    pub(crate) fn updates_due(&self, now: Time) -> DllpSet {
        let due = |class: FlowClass| {
            if self.update_at[class.index()] <= now { DllpSet::update_of(0, class) } else { DllpSet::NONE }
        };
        let [posted, non_posted, completion] = FlowClass::ALL.map(due);
        posted.and(non_posted).and(completion)
    }

    /// The UpdateFC of a class on a channel that is due by now, if it is; plans the next.
    #[inline(always)]
    pub(crate) fn take_update(
        &mut self,
        channel: u8,
        class: FlowClass,
        now: Time,
        policy: &UpdatePolicy,
        effects: &mut impl Effects,
    ) -> Option<Dllp> {
        let due = self.update_at(channel)[class as usize] <= now;
        due.then(|| self.update(channel, class, now, policy, effects))
    }

    /// The UpdateFC that has been due for longest, if any is: a flit carries one DLLP, and the others wait for their turn.
    pub(crate) fn longest_due_update(
        &mut self,
        now: Time,
        policy: &UpdatePolicy,
        effects: &mut impl Effects,
    ) -> Option<Dllp> {
        if self.update_due_at > now {
            return None;
        }
        let class = FlowClass::ALL.into_iter().min_by_key(|class| self.update_at[class.index()])?;
        Some(self.update(0, class, now, policy, effects))
    }

    /// Sequence number of the Ack that is due by now, if one is.
    #[inline(always)]
    pub(crate) fn take_ack(&mut self, now: Time, policy: &AckPolicy) -> Option<Sequence> {
        (self.ack_at <= now).then(|| self.acknowledge(now, policy))
    }

    /// The last sequence number that has been checked by now. What is accepted and not checked waits for the next Ack.
    #[inline(always)]
    fn acknowledge(&mut self, now: Time, policy: &AckPolicy) -> Sequence {
        if self.last_checked > now {
            return self.acknowledge_checked(now, policy);
        }
        self.unacknowledged = 0;
        self.ack_at = Time::NEVER;
        self.find_owed();
        self.sequence.last_accepted()
    }

    #[cold]
    fn acknowledge_checked(&mut self, now: Time, policy: &AckPolicy) -> Sequence {
        let earlier = self.rare.iter().flat_map(|rare| &rare.unchecked);
        let unchecked = earlier.chain([&self.last_checked]).filter(|checked| **checked > now);
        let due = unchecked.clone().zip(1..).map(|(checked, count)| {
            if count < policy.every_tlps { *checked + policy.latency } else { *checked }
        });
        self.ack_at = due.min().unwrap_or(Time::NEVER);
        self.unacknowledged = unchecked.count() as u16;
        self.find_owed();
        let before = |sequence, _| SequenceSpace::NonFlit.previous(sequence);
        (0..self.unacknowledged).fold(self.sequence.last_accepted(), before)
    }

    /// A TLP is accepted at `at` before the last one has been checked.
    #[cold]
    pub(super) fn note_unchecked(&mut self, at: Time) {
        let unchecked = &mut self.rare.get_or_insert_default().unchecked;
        while unchecked.front().is_some_and(|checked| *checked <= at) {
            unchecked.pop_front();
        }
        unchecked.push_back(self.last_checked);
    }

    /// An UpdateFC goes out at `now`: what it says; plans the next.
    #[inline(always)]
    fn update(
        &mut self,
        channel: u8,
        class: FlowClass,
        now: Time,
        policy: &UpdatePolicy,
        effects: &mut impl Effects,
    ) -> Dllp {
        self.release_drained(class, now, effects);
        let (buffer, update_at) = self.buffer_mut(channel, class);
        let (header, data) = buffer.credits.limit();
        buffer.credits.mark_reported();
        buffer.freed_tlps = buffer.draining.len() as u32;
        *update_at = buffer.update_after_update(now + policy.period, policy);
        self.find_update_due();
        Dllp::UpdateFlowControl { channel, class, header, data }
    }

    /// Earliest time at which it owes one of these DLLPs, or a Nak, or takes in a TLP that may bring one of them forward. An UpdateFC
    /// that only repeats what the transmitter knows is among them where DLLPs `may_be_lost`.
    pub(crate) fn next_of(&self, dllps: DllpSet, may_be_lost: bool) -> Time {
        let mut at = self.nak_at();
        // A TLP that arrives after that may bring one forward.
        let mut sooner_after = Time::NEVER;
        if dllps.include(DllpSet::ACK) {
            at = at.min(self.ack_at);
            sooner_after = Time::ZERO;
        }
        for class in dllps.classes() {
            let buffer = &self.buffers[class];
            if buffer.freed_tlps > 0 || may_be_lost {
                at = at.min(self.update_at[class]);
                // A TLP that takes the last credits makes haste with an UpdateFC that was not urgent.
                sooner_after = sooner_after.min(buffer.first_untold(Time::ZERO));
            }
        }
        match &self.rare {
            Some(rare) if dllps.include(DllpSet::OTHER_CHANNELS) => {
                let mut buffers = rare.beyond.iter().flat_map(|channel| &channel.buffers);
                let untold = sooner_after != Time::NEVER || buffers.any(|buffer| buffer.freed_tlps > 0);
                let at = at.min(rare.update_due_at());
                if untold { at.min(self.next_arrival) } else { at }
            }
            _ => at.min(self.next_arrival.max(sooner_after)),
        }
    }

    /// When the Ack that is owed goes out at the latest, given the TLP that arrives next.
    #[inline]
    pub(crate) fn ack_at_latest(&self) -> Time {
        match self.in_flight.front() {
            Some(next) if self.next_arrival <= self.ack_at => next.checked.min(self.ack_at),
            _ => self.ack_at,
        }
    }

    /// When an Ack is owed.
    #[inline]
    pub(crate) fn ack_at(&self) -> Time {
        self.ack_at
    }

    /// Whether all that is owed at `at` are UpdateFCs that repeat what the transmitter knows.
    pub(crate) fn only_repeats(&self, at: Time) -> bool {
        let repeats = |(buffer, update_at): (&IngressBuffer, Time)| update_at > at || buffer.would_repeat(at);
        self.ack_at > at && self.nak_at() > at && self.all_buffers().all(repeats)
    }
}
