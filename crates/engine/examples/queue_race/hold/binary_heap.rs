//! The yardstick: the standard library's binary heap, which anybody would begin with, as a queue of events.

use core::cmp::Reverse;
use lanewise_engine::{Event, EventQueue};
use lanewise_units::Time;
use std::collections::BinaryHeap;

/// A binary heap. It is not stable, so an entry carries the number of its insertion.
#[derive(Clone, Debug)]
pub struct BinaryHeapQueue<E> {
    heap: BinaryHeap<Reverse<(Time, u32, u64, E)>>,
    inserted: u64,
    now: Time,
}

impl<E: Ord> Default for BinaryHeapQueue<E> {
    fn default() -> Self {
        Self { heap: BinaryHeap::new(), inserted: 0, now: Time::ZERO }
    }
}

impl<E: Event + Ord> EventQueue<E> for BinaryHeapQueue<E> {
    #[inline]
    fn push(&mut self, time: Time, event: E) {
        assert!(time >= self.now, "event at {time:?} is before now, {:?}", self.now);
        self.heap.push(Reverse((time, event.rank(), self.inserted, event)));
        self.inserted += 1;
    }

    #[inline]
    fn pop(&mut self) -> Option<(Time, E)> {
        let Reverse((time, _, _, event)) = self.heap.pop()?;
        self.now = time;
        Some((time, event))
    }

    fn next_at(&self, at: Time) -> Option<E> {
        self.heap.peek().filter(|Reverse((time, ..))| *time == at).map(|Reverse((.., event))| *event)
    }

    #[inline]
    fn next_time(&mut self) -> Option<Time> {
        self.heap.peek().map(|Reverse((time, ..))| *time)
    }

    #[inline]
    fn len(&self) -> usize {
        self.heap.len()
    }

    fn clear(&mut self) {
        *self = Self::default();
    }
}
