//! The wire of a transmitter in time: what silence is accounted for, ordered sets and when they begin, where the next packet may start.

use super::{Last, Transmitter};
use crate::link::effect::{Effect, Effects};
use crate::wire::WireTiming;
use lanewise_observe::Use;
use lanewise_units::{Span, Time};

impl<T: Copy> Transmitter<T> {
    /// Accounts for the time since the wire fell silent: ordered sets when they were due, the rest to `idle_cause`.
    #[inline]
    pub(crate) fn settle(&mut self, now: Time, wire: &WireTiming, effects: &mut impl Effects) {
        if self.next_skip <= now {
            self.settle_skips(now, wire, effects);
        } else if self.busy_until < now {
            let span = now - self.busy_until;
            (self.busy_until, self.last) = (now, Last::Silence);
            effects.push(now, Effect::Spent { on: self.idle_cause, span });
        }
    }

    /// The same when an ordered set is due.
    #[inline(never)]
    fn settle_skips(&mut self, now: Time, wire: &WireTiming, effects: &mut impl Effects) {
        let started = self.busy_until;
        let mut ordered_sets = Span::ZERO;
        while self.next_skip <= now {
            self.skip_whole_periods(now, wire, &mut ordered_sets, effects);
            self.send_skip(now, wire, &mut ordered_sets, effects);
        }
        if self.busy_until < now {
            self.busy_until = now;
            self.last = Last::Silence;
        }
        let silence = self.busy_until - started - ordered_sets;
        if !ordered_sets.is_zero() {
            effects.push(now, Effect::Spent { on: Use::OrderedSet, span: ordered_sets });
        }
        if !silence.is_zero() {
            effects.push(now, Effect::Spent { on: self.idle_cause, span: silence });
        }
    }

    /// An ordered set goes out behind what ended at `busy_until`, or behind others.
    fn ordered_sets_begin(&mut self) {
        if self.last != Last::OrderedSets {
            (self.last, self.decided_from) = (Last::OrderedSets, self.busy_until);
        }
    }

    /// The SKP ordered set that is due goes out: at once if the wire is silent, else when the packet or ordered set on it ends.
    fn send_skip(
        &mut self,
        now: Time,
        wire: &WireTiming,
        ordered_sets: &mut Span,
        effects: &mut impl Effects,
    ) {
        let due = self.next_skip;
        let behind_another = wire.skips_are_blocks() && self.busy_until == self.boundary;
        let start = if self.is_silent_at(due) || behind_another {
            self.busy_until.max(due)
        } else {
            wire.skip_behind(due, self.busy_until)
        };
        let end = start + wire.skip;
        self.ordered_sets_begin();
        let (begins, every) = (self.busy_until.max(due), wire.skip_interval);
        let span = end - begins;
        *ordered_sets += span;
        effects.push(now, Effect::OrderedSets { start: begins, span, count: 1, every });
        self.busy_until = end;
        if wire.skips_set_the_grid() {
            self.boundary = end;
        }
        self.next_skip = due + wire.skip_interval;
    }

    /// Nothing is committed before `now`, though no packet but ordered sets may have been on the wire for longer.
    pub(in crate::link) fn decide_not_before(&mut self, now: Time) {
        if self.last == Last::OrderedSets {
            self.decided_from = self.decided_from.max(now);
        }
    }

    /// When a packet may be committed, not before `at`: when the wire is free; or while ordered sets are on it behind the last packet,
    /// or at the very instant at which DLLPs are put there, and then it follows them.
    #[inline(always)]
    pub(crate) fn decides_at(&self, at: Time) -> Time {
        if self.busy_until <= at { at } else { self.decides_behind(at) }
    }

    /// From when on a DLLP may be committed: when no packet is on the wire.
    #[inline(always)]
    pub(crate) fn free_for_dllps_at(&self) -> Time {
        if self.last == Last::OrderedSets { self.decided_from } else { self.busy_until }
    }

    #[inline(always)]
    fn decides_behind(&self, at: Time) -> Time {
        if self.last < Last::Dllps { self.busy_until } else { self.decides_behind_others(at) }
    }

    #[inline]
    fn decides_behind_others(&self, at: Time) -> Time {
        match self.last {
            Last::OrderedSets => at.max(self.decided_from),
            _ if at == self.decided_from => at,
            _ => self.busy_until,
        }
    }

    /// Whether nothing is on the wire at `due` nor ends then: the data stream can end in time for an ordered set.
    fn is_silent_at(&self, due: Time) -> bool {
        self.last == Last::Silence || self.busy_until < due
    }

    /// Long silence in one step: as many SKP periods as end before the last one due by `now`, which says until when the wire is busy.
    fn skip_whole_periods(
        &mut self,
        now: Time,
        wire: &WireTiming,
        ordered_sets: &mut Span,
        effects: &mut impl Effects,
    ) {
        let periods = (now - self.next_skip).div_floor(wire.skip_interval).saturating_sub(1);
        if periods > 0 && self.busy_until <= self.next_skip && self.is_silent_at(self.next_skip) {
            let (start, span, every) = (self.next_skip, wire.skip * periods, wire.skip_interval);
            *ordered_sets += span;
            effects.push(now, Effect::OrderedSets { start, span, count: periods, every });
            self.ordered_sets_begin();
            self.next_skip += wire.skip_interval * periods;
        }
    }

    /// The wire is not used until then, and accounted for.
    pub(crate) fn rest_until(&mut self, until: Time, wire: &WireTiming) {
        (self.busy_until, self.last) = (until, Last::Silence);
        self.postpone_skips(until, wire);
    }

    /// The link is down until then, which its driver accounts for.
    pub(crate) fn go_down_until(&mut self, until: Time, wire: &WireTiming) {
        // The next packet follows as it would have followed what was there before.
        let last = if self.last == Last::Silence { Last::Silence } else { Last::Packet };
        (self.busy_until, self.last) = (until, last);
        self.postpone_skips(until, wire);
        if wire.flit.is_some() {
            self.boundary = until;
        }
    }

    /// The link is down, or asleep, until then: no ordered sets fall due meanwhile.
    pub(crate) fn postpone_skips(&mut self, until: Time, wire: &WireTiming) {
        self.next_skip = self.next_skip.max(until + wire.skip_interval);
    }

    /// Moves the start of the next packet to a symbol or flit boundary if the wire has been silent.
    #[inline(always)]
    pub(crate) fn align(&mut self, now: Time, wire: &WireTiming, effects: &mut impl Effects) {
        if self.last == Last::Silence {
            self.align_after_silence(now, wire, effects);
        }
    }

    #[inline(never)]
    fn align_after_silence(&mut self, now: Time, wire: &WireTiming, effects: &mut impl Effects) {
        self.last = Last::Packet;
        let start = wire.next_boundary(self.boundary, self.busy_until);
        self.boundary = start;
        let span = start - self.busy_until;
        if !span.is_zero() {
            effects.push(now, Effect::Spent { on: self.idle_cause, span });
            self.busy_until = start;
        }
    }
}
