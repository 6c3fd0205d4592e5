//! A four-way heap: half the levels of a binary heap, and the four children of a node side by side.

use super::order::{Entry, Numbers};
use super::{EventQueue, refuse_past};
use lanewise_units::Time;

/// Children of a node. Four entries of 16 bytes span 64.
const WAYS: usize = 4;

/// A four-way heap of 16-byte entries. Push and pop are O(log n).
#[derive(Clone, Debug)]
pub struct QuaternaryHeapQueue<E> {
    heap: Vec<Entry<E>>,
    numbers: Numbers,
    now: Time,
}

impl<E> Default for QuaternaryHeapQueue<E> {
    fn default() -> Self {
        Self { heap: Vec::new(), numbers: Numbers::default(), now: Time::ZERO }
    }
}

impl<E: Copy> EventQueue<E> for QuaternaryHeapQueue<E> {
    #[inline]
    fn push(&mut self, time: Time, event: E) {
        if time < self.now {
            refuse_past(time, self.now);
        }
        let number = self.numbers.take_or_renumber(&mut self.heap);
        let entry = Entry { time, number, event };
        self.heap.push(entry);
        sift_up(&mut self.heap, entry);
    }

    #[inline]
    fn pop(&mut self) -> Option<(Time, E)> {
        let last = self.heap.pop()?;
        let first = match self.heap.first() {
            Some(&first) => {
                sift_down(&mut self.heap, last);
                first
            }
            None => last,
        };
        self.now = first.time;
        Some((first.time, first.event))
    }

    #[inline]
    fn next_time(&mut self) -> Option<Time> {
        self.heap.first().map(|entry| entry.time)
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

/// Moves `entry` up from the last place to where its parent is earlier.
#[inline]
fn sift_up<E: Copy>(heap: &mut [Entry<E>], entry: Entry<E>) {
    let mut hole = heap.len() - 1;
    while hole > 0 {
        let parent = (hole - 1) / WAYS;
        if heap[parent].key() <= entry.key() {
            break;
        }
        heap[hole] = heap[parent];
        hole = parent;
    }
    heap[hole] = entry;
}

/// Fills the hole at the top with `entry`, moved down to where its children are later.
#[inline]
fn sift_down<E: Copy>(heap: &mut [Entry<E>], entry: Entry<E>) {
    let mut hole = 0;
    while let Some(child) = earliest_child(heap, hole) {
        if heap[child].key() >= entry.key() {
            break;
        }
        heap[hole] = heap[child];
        hole = child;
    }
    heap[hole] = entry;
}

#[inline]
fn earliest_child<E: Copy>(heap: &[Entry<E>], parent: usize) -> Option<usize> {
    let first = WAYS * parent + 1;
    if let Some(four) = heap.get(first..first + WAYS) {
        let left = usize::from(four[1].key() < four[0].key());
        let right = 2 + usize::from(four[3].key() < four[2].key());
        let best = if four[right].key() < four[left].key() { right } else { left };
        return Some(first + best);
    }
    (first..heap.len()).min_by_key(|&child| heap[child].key())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_survive_running_out_of_numbers() {
        let mut queue = QuaternaryHeapQueue { numbers: Numbers::nearly_used_up(), ..Default::default() };
        let times = [5, 7, 5, 7, 5, 7, 5, 7, 5, 7];
        for (event, ticks) in (0..).zip(times) {
            queue.push(Time::from_ticks(ticks), event);
        }
        let popped: Vec<u32> = core::iter::from_fn(|| queue.pop()).map(|(_, event)| event).collect();
        assert_eq!(popped, [0, 2, 4, 6, 8, 1, 3, 5, 7, 9]);
    }
}
