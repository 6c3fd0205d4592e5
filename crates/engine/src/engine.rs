//! The clock and the pending events: what a run loop pulls from.

use crate::{DefaultQueue, Event, EventQueue};
use core::marker::PhantomData;
use lanewise_units::Time;

/// Pending events, the time of the one being handled, and how many were handled.
///
/// Events of one time are handled in order of their [rank](Event::rank), and those of one rank as they were scheduled. The clock only moves when an event is
/// pulled, and never backwards.
///
/// ```
/// use lanewise_engine::Engine;
/// use lanewise_units::{Span, Time};
///
/// let mut engine: Engine<&str> = Engine::new();
/// engine.schedule(Time::ZERO + Span::from_ns(2), "second");
/// engine.schedule(Time::ZERO + Span::from_ns(1), "first");
/// assert_eq!(engine.next_event(), Some((Time::ZERO + Span::from_ns(1), "first")));
/// assert_eq!(engine.next_before(Time::ZERO + Span::from_ns(1)), None);
/// assert_eq!(engine.pending(), 1);
/// ```
#[derive(Clone, Debug)]
pub struct Engine<E: Event, Q: EventQueue<E> = DefaultQueue<E>> {
    queue: Q,
    now: Time,
    events_handled: u64,
    event: PhantomData<E>,
}

impl<E: Event, Q: EventQueue<E>> Engine<E, Q> {
    /// An engine at [`Time::ZERO`] with nothing to do.
    pub fn new() -> Self {
        Self { queue: Q::default(), now: Time::ZERO, events_handled: 0, event: PhantomData }
    }

    /// Time of the last event pulled, or [`Time::ZERO`] before the first.
    #[inline]
    pub fn now(&self) -> Time {
        self.now
    }

    /// Number of events pulled so far.
    #[inline]
    pub fn events_handled(&self) -> u64 {
        self.events_handled
    }

    /// Number of events scheduled and not yet pulled.
    #[inline]
    pub fn pending(&self) -> usize {
        self.queue.len()
    }

    /// Time of the event that [`Self::next_event`] would pull.
    #[inline]
    pub fn next_time(&mut self) -> Option<Time> {
        self.queue.next_time()
    }

    /// The event that would be pulled next, if it is of this very time.
    #[inline]
    pub fn next_now(&self) -> Option<E> {
        self.queue.next_at(self.now)
    }

    /// Puts `event` at `at`, after every event of its rank already there.
    ///
    /// # Panics
    /// When `at` is earlier than [`Self::now`].
    #[inline]
    pub fn schedule(&mut self, at: Time, event: E) {
        self.queue.push(at, event);
    }

    /// Pulls the next event and moves the clock to it.
    #[inline]
    pub fn next_event(&mut self) -> Option<(Time, E)> {
        let next = self.queue.pop();
        self.advance(next)
    }

    /// Pulls the next event unless it is later than `limit`; then it stays, and the clock stands still.
    ///
    /// `None` means that nothing is pending up to and including `limit`.
    #[inline]
    pub fn next_before(&mut self, limit: Time) -> Option<(Time, E)> {
        let next = self.queue.pop_before(limit);
        self.advance(next)
    }

    /// Moves the clock to `at`, up to which nothing is pending: what is scheduled now is scheduled then.
    ///
    /// # Panics
    /// When that is in the past, or an event is pending before it.
    pub fn wait_until(&mut self, at: Time) {
        assert!(at >= self.now, "{at:?} is before now, {:?}", self.now);
        assert!(self.next_time().is_none_or(|next| next >= at), "an event is pending before {at:?}");
        self.now = at;
    }

    #[inline]
    fn advance(&mut self, next: Option<(Time, E)>) -> Option<(Time, E)> {
        if let Some((time, _)) = next {
            self.now = time;
            self.events_handled += 1;
        }
        next
    }
}

impl<E: Event, Q: EventQueue<E>> Default for Engine<E, Q> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ns(ns: u64) -> Time {
        Time::ZERO + lanewise_units::Span::from_ns(ns)
    }

    #[test]
    fn the_limit_itself_is_still_handled_and_later_events_stay() {
        let mut engine: Engine<u32> = Engine::new();
        engine.schedule(ns(5), 1);
        engine.schedule(ns(6), 2);
        assert_eq!(engine.next_before(ns(5)), Some((ns(5), 1)));
        assert_eq!(engine.next_before(ns(5)), None);
        assert_eq!((engine.now(), engine.pending(), engine.events_handled()), (ns(5), 1, 1));
        assert_eq!(engine.next_time(), Some(ns(6)));
    }

    #[test]
    fn an_event_may_be_put_between_now_and_one_that_was_looked_at() {
        let mut engine: Engine<u32> = Engine::new();
        engine.schedule(ns(1_000_000), 2);
        assert_eq!(engine.next_before(ns(10)), None);
        engine.schedule(ns(20), 1);
        assert_eq!(engine.next_event(), Some((ns(20), 1)));
        assert_eq!(engine.next_event(), Some((ns(1_000_000), 2)));
        assert_eq!(engine.next_event(), None);
    }

    #[test]
    fn an_event_scheduled_for_now_follows_those_already_there() {
        let mut engine: Engine<u32> = Engine::new();
        engine.schedule(ns(1), 1);
        engine.schedule(ns(1), 2);
        assert_eq!(engine.next_event(), Some((ns(1), 1)));
        engine.schedule(ns(1), 3);
        assert_eq!(engine.next_event(), Some((ns(1), 2)));
        assert_eq!(engine.next_event(), Some((ns(1), 3)));
    }

    #[test]
    #[should_panic(expected = "event at 1 ns is before now, 2 ns")]
    fn the_past_is_closed() {
        let mut engine: Engine<u32> = Engine::new();
        engine.schedule(ns(2), 1);
        engine.next_event();
        engine.schedule(ns(1), 2);
    }
}
