//! The standard library's binary heap: the yardstick, and the reference for the others.

use super::order::{Entry, Numbers};
use super::{EventQueue, refuse_past};
use core::cmp::Reverse;
use lanewise_units::Time;
use std::collections::BinaryHeap;

/// A binary heap of 16-byte entries. Push and pop are O(log n).
#[derive(Clone, Debug)]
pub struct BinaryHeapQueue<E> {
    heap: BinaryHeap<Reverse<Entry<E>>>,
    numbers: Numbers,
    now: Time,
}

impl<E> BinaryHeapQueue<E> {
    #[cold]
    fn renumber(&mut self) {
        let mut pending: Vec<Entry<E>> =
            core::mem::take(&mut self.heap).into_iter().map(|Reverse(entry)| entry).collect();
        self.numbers.renumber(&mut pending);
        self.heap = pending.into_iter().map(Reverse).collect();
    }
}

impl<E> Default for BinaryHeapQueue<E> {
    fn default() -> Self {
        Self { heap: BinaryHeap::new(), numbers: Numbers::default(), now: Time::ZERO }
    }
}

impl<E: Copy> EventQueue<E> for BinaryHeapQueue<E> {
    #[inline]
    fn push(&mut self, time: Time, event: E) {
        if time < self.now {
            refuse_past(time, self.now);
        }
        let number = loop {
            match self.numbers.take() {
                Some(number) => break number,
                None => self.renumber(),
            }
        };
        self.heap.push(Reverse(Entry { time, number, event }));
    }

    #[inline]
    fn pop(&mut self) -> Option<(Time, E)> {
        let Reverse(entry) = self.heap.pop()?;
        self.now = entry.time;
        Some((entry.time, entry.event))
    }

    #[inline]
    fn next_time(&mut self) -> Option<Time> {
        self.heap.peek().map(|Reverse(entry)| entry.time)
    }

    #[inline]
    fn len(&self) -> usize {
        self.heap.len()
    }

    fn clear(&mut self) {
        self.heap.clear();
        self.numbers = Numbers::default();
        self.now = Time::ZERO;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_survive_running_out_of_numbers() {
        let mut queue = BinaryHeapQueue { numbers: Numbers::nearly_used_up(), ..Default::default() };
        let times = [5, 7, 5, 7, 5, 7, 5, 7, 5, 7];
        for (event, ticks) in (0..).zip(times) {
            queue.push(Time::from_ticks(ticks), event);
        }
        let popped: Vec<u32> = core::iter::from_fn(|| queue.pop()).map(|(_, event)| event).collect();
        assert_eq!(popped, [0, 2, 4, 6, 8, 1, 3, 5, 7, 9]);
    }

    #[test]
    fn an_entry_of_a_small_event_takes_sixteen_bytes() {
        assert_eq!(size_of::<Entry<u32>>(), 16);
    }
}
