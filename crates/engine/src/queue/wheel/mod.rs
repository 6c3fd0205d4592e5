//! A hierarchical wheel that refines itself only where events crowd.
//!
//! An event waits in a slot of [`slots`], narrow when near and wide when far, as [`level`] lays them out; there is no
//! horizon, and nothing to resize. When the next slots come up, a few events are sorted into a short list, `soon`, and
//! popped from there; a crowd is spread over the slots of a finer level first. A near event is thus written twice and
//! sorted among a handful, however many are pending.
//!
//! Ties need no numbers: each step keeps the order of insertion, and events of one time are always in one place. There they are
//! sorted by rank, too.

mod level;
mod slots;

use super::{Event, EventQueue, refuse_past};
use lanewise_units::Time;
use level::Level;
use slots::Slots;

/// A slot with more events than this is spread rather than sorted.
const SORT_AT_MOST: usize = 24;
/// Slots are taken until there are so many events in `soon`, so that a sparse wheel is not turned for every pop.
const ENOUGH: usize = 16;
/// Length at which `soon` is tidied, so that an insertion into it stays cheap.
const SOON_AT_MOST: usize = 64;

/// A self-refining wheel. Push and pop are O(1) amortised; it takes 38 KiB when empty.
#[derive(Clone, Debug)]
pub struct WheelQueue<E> {
    /// Every event up to `soon_end`, earliest first, from `soon_first` on.
    soon: Vec<(Time, E)>,
    soon_first: usize,
    /// Last time that belongs to `soon`; never before `now`.
    soon_end: Time,
    /// Length at which `soon` is tidied next; longer than usual when it holds many ties.
    soon_limit: usize,
    /// Every event after `soon_end`.
    slots: Slots<E>,
    now: Time,
    len: usize,
}

impl<E: Event> WheelQueue<E> {
    /// Adds an event that belongs to `soon`.
    #[inline(never)]
    fn push_soon(&mut self, time: Time, event: E) {
        if time < self.now {
            refuse_past(time, self.now);
        }
        if self.soon.len() >= self.soon_limit {
            self.tidy_soon();
        }
        match time <= self.soon_end {
            true => self.insert_soon(time, event),
            false => self.place(time, event),
        }
    }

    #[inline(always)]
    fn place(&mut self, time: Time, event: E) {
        let level = Level::of_difference(time.ticks() ^ self.now.ticks());
        self.slots.push(level.slot(time), time, event);
    }

    /// Fills the empty `soon` from the wheel, one slot after another until there is enough to do for a while.
    ///
    /// The caller pops from it at once, which brings now into the window of `soon`.
    #[inline(never)]
    fn refill(&mut self) {
        self.soon.clear();
        self.soon_first = 0;
        let Some(mut slot) = self.slots.first() else { return };
        let level = Level::of_slot(slot);
        if self.slots.events(slot) > SORT_AT_MOST {
            self.slots.take_first(slot, &mut self.soon);
            return self.refine();
        }
        loop {
            self.slots.take_first(slot, &mut self.soon);
            let Some(next) = self.slots.first() else { break };
            let goes_on = Level::of_slot(next) == level && self.slots.events(next) <= SORT_AT_MOST;
            if self.soon.len() >= ENOUGH || !goes_on {
                break;
            }
            slot = next;
        }
        let (in_last_slot, _) = self.soon[self.soon.len() - 1];
        self.soon_end = level.end_of_slot(in_last_slot);
        sort_nearly_sorted(&mut self.soon);
    }

    /// Spreads a crowd, which is all of `soon` and not sorted, over a finer level, and takes the first of it.
    #[inline(never)]
    fn refine(&mut self) {
        let (first, _) = self.soon[0];
        let differing = self.soon.iter().fold(0, |bits, (time, _)| bits | (time.ticks() ^ first.ticks()));
        if differing == 0 {
            self.soon_end = first;
            self.soon.sort_by_key(|(_, event)| event.rank());
            return;
        }
        let level = Level::of_difference(differing);
        for &(time, event) in &self.soon {
            self.slots.push(level.slot(time), time, event);
        }
        self.refill();
    }

    /// Puts an event into its place in `soon`, behind those of the same time and rank.
    ///
    /// The nearer end makes room: in front the last pop has left some.
    #[inline(always)]
    fn insert_soon(&mut self, time: Time, event: E) {
        match self.soon.last() {
            // What lies before `soon_first` has been popped.
            Some(last) if is_after(last, time, event) && self.soon_first < self.soon.len() => {}
            _ => return self.soon.push((time, event)),
        }
        let middle = (self.soon_first + self.soon.len()) / 2;
        if !is_after(&self.soon[middle], time, event) {
            return self.insert_from_the_back(time, event);
        }
        if self.soon_first == 0 {
            let place = self.soon.partition_point(|earlier| !is_after(earlier, time, event));
            return self.soon.insert(place, (time, event));
        }
        self.soon_first -= 1;
        let room_first = &mut self.soon[self.soon_first..];
        let mut place = 0;
        for next in 1..room_first.len() {
            if room_first[next].0 >= time {
                break;
            }
            room_first[next - 1] = room_first[next];
            place = next;
        }
        // Ties, which are few.
        while place + 1 < room_first.len() && !is_after(&room_first[place + 1], time, event) {
            room_first[place] = room_first[place + 1];
            place += 1;
        }
        room_first[place] = (time, event);
    }

    #[inline(always)]
    fn insert_from_the_back(&mut self, time: Time, event: E) {
        let mut place = self.soon.len();
        self.soon.push((time, event));
        while place > 0 && self.soon[place - 1].0 > time {
            self.soon[place] = self.soon[place - 1];
            place -= 1;
        }
        // Ties, which are few; what lies before `soon_first` has been popped.
        while place > self.soon_first && is_after(&self.soon[place - 1], time, event) {
            self.soon[place] = self.soon[place - 1];
            place -= 1;
        }
        self.soon[place] = (time, event);
    }

    /// Drops what was popped from `soon`; when much is left, moves the later half back to the wheel.
    #[cold]
    #[inline(never)]
    fn tidy_soon(&mut self) {
        self.soon.drain(..self.soon_first);
        self.soon_first = 0;
        if self.soon.len() > SOON_AT_MOST / 2 {
            self.narrow_soon();
        }
        self.soon_limit = SOON_AT_MOST.max(2 * self.soon.len());
    }

    /// Ends the window of `soon` before its middle event, or at now when half of it is of now.
    fn narrow_soon(&mut self) {
        let (middle, _) = self.soon[self.soon.len() / 2];
        let differing = middle.ticks() ^ self.now.ticks();
        self.soon_end = match differing {
            0 => self.now,
            _ => Level::of_difference(differing).end_of_slot(self.now),
        };
        let kept = self.soon.partition_point(|&(time, _)| time <= self.soon_end);
        for index in kept..self.soon.len() {
            let (time, event) = self.soon[index];
            self.place(time, event);
        }
        self.soon.truncate(kept);
    }

    #[inline(always)]
    fn take_soon(&mut self) -> Option<(Time, E)> {
        let &first = self.soon.get(self.soon_first)?;
        self.soon_first += 1;
        self.now = first.0;
        self.len -= 1;
        Some(first)
    }

    /// Whether the empty `soon` may be filled for an event up to `limit`.
    #[inline]
    fn comes_before(&self, limit: Time) -> bool {
        let Some(slot) = self.slots.first() else { return false };
        let level = Level::of_slot(slot);
        let start = level.start_of_slot(slot, self.now);
        start <= limit && (level.end_of_slot(start) <= limit || self.slots.earliest(slot) <= limit)
    }
}

/// Whether an event comes after a new one.
#[inline(always)]
fn is_after<E: Event>(&(at, other): &(Time, E), time: Time, event: E) -> bool {
    at > time || at == time && other.rank() > event.rank()
}

/// A stable sort for a short list of which only neighbours are out of order.
#[inline(always)]
fn sort_nearly_sorted<E: Event>(events: &mut [(Time, E)]) {
    for end in 1..events.len() {
        let inserted = events[end];
        let mut place = end;
        while place > 0 && is_after(&events[place - 1], inserted.0, inserted.1) {
            events[place] = events[place - 1];
            place -= 1;
        }
        events[place] = inserted;
    }
}

impl<E> Default for WheelQueue<E> {
    fn default() -> Self {
        Self {
            soon: Vec::new(),
            soon_first: 0,
            soon_end: Time::ZERO,
            soon_limit: SOON_AT_MOST,
            slots: Slots::default(),
            now: Time::ZERO,
            len: 0,
        }
    }
}

impl<E: Event> EventQueue<E> for WheelQueue<E> {
    #[inline]
    fn push(&mut self, time: Time, event: E) {
        self.len += 1;
        match time <= self.soon_end {
            true => self.push_soon(time, event),
            false => self.place(time, event),
        }
    }

    #[inline]
    fn pop(&mut self) -> Option<(Time, E)> {
        if self.soon_first == self.soon.len() {
            self.refill();
        }
        self.take_soon()
    }

    #[inline]
    fn pop_before(&mut self, limit: Time) -> Option<(Time, E)> {
        match self.soon.get(self.soon_first) {
            Some(&(time, _)) if time <= limit => {}
            None if self.comes_before(limit) => self.refill(),
            _ => return None,
        }
        self.take_soon()
    }

    #[inline(always)]
    fn next_at(&self, at: Time) -> Option<E> {
        match self.soon.get(self.soon_first) {
            Some(&(time, event)) if time == at => Some(event),
            _ => None,
        }
    }

    fn next_time(&mut self) -> Option<Time> {
        match self.soon.get(self.soon_first) {
            Some(&(time, _)) => Some(time),
            None => self.slots.first().map(|slot| self.slots.earliest(slot)),
        }
    }

    #[inline]
    fn len(&self) -> usize {
        self.len
    }

    fn clear(&mut self) {
        self.soon.clear();
        self.soon_first = 0;
        self.soon_end = Time::ZERO;
        self.soon_limit = SOON_AT_MOST;
        self.slots.clear();
        self.now = Time::ZERO;
        self.len = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_of_four_bytes_waits_in_sixteen() {
        assert_eq!(size_of::<(Time, u32)>(), 16);
    }

    #[test]
    fn a_crowd_at_one_tick_is_not_spread_and_does_not_slow_insertion_at_now() {
        let mut queue = WheelQueue::default();
        let at = Time::from_ticks(1_024_000_000);
        for event in 0..5_000 {
            queue.push(at, event);
        }
        assert_eq!(queue.pop(), Some((at, 0)));
        assert_eq!(queue.soon_end, at);
        for event in 5_000..10_000 {
            queue.push(at, event);
        }
        assert_eq!(queue.soon.len() - queue.soon_first, 9_999);
        for event in 1..10_000 {
            assert_eq!(queue.pop(), Some((at, event)));
        }
    }

    #[test]
    fn a_burst_into_the_window_narrows_it() {
        let mut queue = WheelQueue::default();
        queue.push(Time::from_ticks(100_000), 0);
        queue.pop();
        for event in 1..1_000 {
            queue.push(Time::from_ticks(100_000 + 100 * (event % 500)), event);
        }
        assert!(queue.soon.len() <= SOON_AT_MOST, "{} events in the short list", queue.soon.len());
        let popped: Vec<u64> = core::iter::from_fn(|| queue.pop()).map(|(_, event)| event).collect();
        let mut expected: Vec<u64> = (1..1_000).collect();
        expected.sort_by_key(|event| event % 500);
        assert_eq!(popped, expected);
    }

    #[test]
    fn what_was_popped_does_not_pile_up() {
        let mut queue = WheelQueue::default();
        queue.push(Time::from_ticks(1 << 40), 0);
        queue.pop();
        let mut now = Time::from_ticks(1 << 40);
        for event in 0..10_000 {
            queue.push(now + lanewise_units::Span::from_ticks(3), event);
            now = queue.pop().map_or(now, |(time, _)| time);
        }
        assert!(queue.soon.capacity() <= 2 * SOON_AT_MOST);
    }
}
