//! The transmitter of a link: its wire in time, its credits, and what it keeps until it is acknowledged.
//!
//! The time of the wire is accounted for up to [`Transmitter::busy_until`]. Whatever goes out is put behind that; silence before it
//! and the ordered sets that were due in it are accounted for by [`Transmitter::settle`]. It has no clock and chooses nothing: whoever
//! drives it asks [`Transmitter::gate`] of those that wait, and gives one to [`Transmitter::send`]. Leaves out: flits, which are kept
//! apart (`flit.rs`) and only share the wire; credits of channels beyond VC0 (`channels.rs`).

use super::dllp_set::DllpSet;
use super::effect::{Effect, Effects};
use super::initialisation::LinkState;
use super::timer::Timer;
use crate::wire::WireTiming;
use lanewise_observe::Use;
use lanewise_pcie::ack_nak::{RetryBuffer, Sequence};
use lanewise_pcie::flow_control::{Blocked, Credits, Scale, TransmitCredits};
use lanewise_pcie::tlp::{FRAMING_NON_FLIT, FlowClass, SEQUENCE_AND_LCRC};
use lanewise_units::{Bytes, Span, Time};

#[cfg(test)]
mod tests;
mod wire;

/// The transmitter of one direction. `T` names a packet, for whoever drives the link.
///
/// Fields lie as a port wants them: what is counted with; a line of what is kept; times that every event looks at.
#[repr(C)]
pub(crate) struct Transmitter<T: Copy> {
    /// A packet may be committed from then on, behind DLLPs of that very instant or behind ordered sets: see `last`.
    decided_from: Time,
    /// CREDITS_CONSUMED and CREDIT_LIMIT of VC0, by class.
    pub(crate) credits: [TransmitCredits; 3],
    /// What silence since `busy_until` is put down to.
    pub(crate) idle_cause: Use,
    /// DLLPs of the receiver that may let something go.
    pub(crate) waiting_for: DllpSet,
    last: Last,
    /// Its driver looks at the replay timer in time, or it can never run out.
    pub(crate) replay_timer_watched: bool,
    pub(crate) state: LinkState,
    /// Classes of VC0 that the peer has advertised, a bit each.
    pub(super) initialised: u8,

    /// TLPs that are not acknowledged.
    pub(crate) retry: RetryBuffer<T>,
    /// While the link comes up, when InitFCs go out next; then, when the replay timer runs out.
    pub(super) deadline: Time,

    /// The wire's time is spoken for, and accounted for, up to here.
    pub(crate) busy_until: Time,
    /// The last symbol or flit boundary at which a packet started after silence, or the end of an ordered set that others count from.
    pub(crate) boundary: Time,
    pub(crate) next_skip: Time,
}

/// What the time of the wire was last spoken for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Last {
    /// Silence: the next packet starts on a symbol boundary.
    Silence,
    /// A TLP or flit, or time that the link is down.
    Packet,
    /// DLLPs, committed at `decided_from`.
    Dllps,
    /// Ordered sets, behind a packet that ended at `decided_from`.
    OrderedSets,
}

/// Time that the parts of a TLP take on the wire.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct TlpSpans {
    pub(crate) payload: Span,
    pub(crate) header: Span,
    pub(crate) framing: Span,
}

impl TlpSpans {
    #[inline(always)]
    fn total(self) -> Span {
        self.payload + self.header + self.framing
    }
}

/// A TLP that is on the wire.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Departure {
    pub(crate) sequence: Sequence,
    /// Its first byte, and its last, at the pins of the receiver.
    pub(crate) head: Time,
    pub(crate) tail: Time,
}

/// What holds up a TLP that has come to its turn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Hold {
    /// It lacks credits of its class.
    Credits(Blocked),
    /// The retry buffer has no room for it.
    RetryBuffer,
}

impl<T: Copy> Transmitter<T> {
    /// A transmitter at rest on a link that comes up at the start. The peer tells of its credits in steps of `scale`, by class.
    pub(crate) fn new(scale: [Scale; 3], retry_buffer: Bytes, wire: &WireTiming) -> Self {
        Self {
            decided_from: Time::ZERO,
            credits: scale.map(TransmitCredits::new),
            idle_cause: Use::Down,
            waiting_for: DllpSet::ALL,
            last: Last::Silence,
            replay_timer_watched: false,
            state: LinkState::InitFlowControl1,
            initialised: 0,
            retry: RetryBuffer::new(retry_buffer),
            deadline: Time::ZERO,
            busy_until: Time::ZERO,
            boundary: Time::ZERO,
            next_skip: Time::ZERO + wire.skip_interval,
        }
    }

    /// The link goes down with nothing under way: everything starts anew when it comes up.
    pub(crate) fn reset(&mut self) {
        self.next_skip = Time::NEVER;
        self.idle_cause = Use::Down;
        self.waiting_for = DllpSet::ALL;
        self.retry.reset_with(|_| {});
        (self.state, self.initialised, self.deadline) = (LinkState::InitFlowControl1, 0, Time::NEVER);
        self.credits = self.credits.map(|credits| TransmitCredits::new(credits.scale()));
    }

    // --- what goes out -----------------------------------------------------------------------------------------

    /// What holds up a TLP of a class with this many credits, `kept` bytes in the retry buffer, given the `credits` of its channel.
    ///
    /// # Errors
    /// The first that does.
    #[inline(always)]
    pub(crate) fn gate(
        &self,
        credits: &[TransmitCredits; 3],
        class: FlowClass,
        need: Credits,
        kept: Bytes,
    ) -> Result<(), Hold> {
        credits[class.index()].gate(need).map_err(Hold::Credits)?;
        if self.retry.fits(kept) { Ok(()) } else { Err(Hold::RetryBuffer) }
    }

    /// Puts a TLP on the wire for the first time, and keeps `packet`, with so many bytes, until it is acknowledged.
    ///
    /// The caller has [settled](Self::settle) the time before, [asked](Self::gate) and taken the credits.
    #[inline(always)]
    pub(crate) fn send(
        &mut self,
        packet: T,
        kept: Bytes,
        spans: TlpSpans,
        now: Time,
        wire: &WireTiming,
        effects: &mut impl Effects,
    ) -> Departure {
        let sequence = self.retry.push(packet, kept);
        effects.push(now, Effect::TlpSent { sequence, spans });
        self.begin(sequence, spans.total(), wire)
    }

    /// Puts a nullified TLP on the wire: it is not kept, and has the number that the next one will have.
    #[inline(always)]
    pub(crate) fn send_nullified(
        &mut self,
        spans: TlpSpans,
        now: Time,
        wire: &WireTiming,
        effects: &mut impl Effects,
    ) -> Departure {
        effects.push(now, Effect::Spent { on: Use::Replay, span: spans.total() });
        self.begin(self.retry.next_sequence(), spans.total(), wire)
    }

    /// Puts the next TLP of a replay on the wire, with its bytes there: none when the replay is over.
    pub(crate) fn send_again(
        &mut self,
        now: Time,
        wire: &WireTiming,
        effects: &mut impl Effects,
    ) -> Option<(T, Bytes, Departure)> {
        let (sequence, packet, kept) = self.retry.next_replay()?;
        self.align(now, wire, effects);
        let on_wire = kept + (FRAMING_NON_FLIT - SEQUENCE_AND_LCRC);
        let span = wire.span(on_wire);
        effects.push(now, Effect::Spent { on: Use::Replay, span });
        Some((packet, on_wire, self.begin(sequence, span, wire)))
    }

    /// Puts a DLLP on the wire: when its last byte is at the pins of the receiver.
    #[inline(always)]
    pub(crate) fn send_dllp(&mut self, now: Time, wire: &WireTiming, effects: &mut impl Effects) -> Time {
        self.align(now, wire, effects);
        effects.push(now, Effect::Spent { on: Use::Dllp, span: wire.dllp });
        effects.push(now, Effect::DllpSent);
        self.busy_until += wire.dllp;
        (self.last, self.decided_from) = (Last::Dllps, now);
        self.busy_until + wire.propagation
    }

    #[inline(always)]
    fn begin(&mut self, sequence: Sequence, span: Span, wire: &WireTiming) -> Departure {
        let head = self.busy_until + wire.propagation;
        self.take(span);
        Departure { sequence, head, tail: head + span }
    }

    /// An Ack or Nak that came at `at` says that the receiver has everything up to `sequence`: progress starts the replay timer again.
    #[inline(always)]
    pub(crate) fn acknowledge(&mut self, sequence: Sequence, at: Time, replay_timer: Span) {
        if self.retry.acknowledge(sequence) > 0 {
            self.progress_at(at, replay_timer);
        }
    }

    /// A TLP, or a flit, takes so much of the wire's time.
    #[inline(always)]
    pub(super) fn take(&mut self, span: Span) {
        self.busy_until += span;
        self.last = Last::Packet;
    }

    /// The wire has been silent: the next packet starts on a symbol boundary.
    pub(crate) fn is_silent(&self) -> bool {
        self.last == Last::Silence
    }

    /// Its time is spoken for up to `at`, where a flit that has begun goes on, or where it is silent.
    pub(super) fn set_back(&mut self, at: Time, silent: bool) {
        (self.busy_until, self.last) = (at, if silent { Last::Silence } else { Last::Packet });
    }

    // --- the replay timer --------------------------------------------------------------------------------------

    /// A TLP or flit went out, and so many are not acknowledged now: the timer runs from its end if nothing older waits for an
    /// Ack (PCIe Base 6.3 §3.6.2.1). When the driver is to look at it, if it does not already.
    #[inline(always)]
    pub(crate) fn arm_replay_timer(&mut self, unacknowledged: usize, period: Span) -> Option<Time> {
        if unacknowledged == 1 {
            self.deadline = self.busy_until + period;
        }
        if self.replay_timer_watched {
            return None;
        }
        self.replay_timer_watched = true;
        Some(self.deadline)
    }

    /// Progress, or a replay: the timer starts again from `from`; not before the end of a TLP that is on the wire, or of Recovery, from which
    /// on it runs already. The next look finds out.
    #[inline(always)]
    pub(crate) fn restart_replay_timer(&mut self, from: Time, period: Span) {
        if self.state == LinkState::Active {
            self.progress_at(from, period);
        }
    }

    /// An Ack that came at `at` was progress: the timer starts again, unless it is held until later because the link retrains.
    #[inline(always)]
    pub(crate) fn progress_at(&mut self, at: Time, period: Span) {
        self.deadline = self.deadline.max(at + period);
    }

    /// When the replay timer runs out; none if it has never run.
    pub(crate) fn replay_deadline(&self) -> Option<Time> {
        (self.state == LinkState::Active && self.deadline != Time::NEVER).then_some(self.deadline)
    }

    /// The driver looks at the timer, with so many that are not acknowledged. When it is to look again, and whether the timer has run
    /// out, which starts it anew.
    pub(crate) fn look_at_replay_timer(
        &mut self,
        unacknowledged: usize,
        now: Time,
        period: Span,
    ) -> (Time, bool) {
        if unacknowledged == 0 {
            self.replay_timer_watched = false;
            return (Time::NEVER, false);
        }
        let ran_out = self.deadline <= now;
        if ran_out {
            self.restart_replay_timer(now, period);
        }
        (self.deadline, ran_out)
    }

    /// When it must act by itself, and why, with so many that are not acknowledged.
    pub(crate) fn next_deadline(&self, unacknowledged: usize) -> (Time, Timer) {
        match self.state {
            LinkState::Active if unacknowledged == 0 => (Time::NEVER, Timer::Replay),
            LinkState::Active => (self.deadline, Timer::Replay),
            _ => (self.deadline, Timer::InitFlowControl),
        }
    }
}
