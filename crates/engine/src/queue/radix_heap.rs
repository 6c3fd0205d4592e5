//! A radix heap: 65 buckets by the highest bit in which a time differs from now.
//!
//! An event moves to lower buckets as now approaches it, at most 64 times and in practice a few. Buckets keep the
//! order of insertion, so ties need no numbers: events of one time are always in the same bucket.

use super::{EventQueue, refuse_past};
use lanewise_units::Time;

/// Bucket 0 holds the events of now, bucket n those that differ from it in bit n − 1 and in none above.
const BUCKETS: usize = 65;

/// A radix heap. Push is O(1); pop is O(1) amortised over the bits of a time.
#[derive(Clone, Debug)]
pub struct RadixHeapQueue<E> {
    buckets: [Vec<(Time, E)>; BUCKETS],
    /// Bit n is set when bucket n + 1 holds something.
    occupied: u64,
    /// How many of bucket 0 have been popped.
    popped: usize,
    now: Time,
    len: usize,
}

impl<E: Copy> RadixHeapQueue<E> {
    #[inline]
    fn place(&mut self, time: Time, event: E) {
        let bucket = (u64::BITS - (time.ticks() ^ self.now.ticks()).leading_zeros()) as usize;
        if bucket > 0 {
            self.occupied |= 1 << (bucket - 1);
        }
        self.buckets[bucket].push((time, event));
    }

    /// The first bucket that is not of now, and its earliest time.
    #[inline]
    fn earliest_later(&self) -> Option<(usize, Time)> {
        if self.occupied == 0 {
            return None;
        }
        let bucket = self.occupied.trailing_zeros() as usize + 1;
        self.buckets[bucket].iter().map(|&(time, _)| time).min().map(|time| (bucket, time))
    }

    /// Moves now to `time`, the earliest in `bucket`, and its events to the buckets below.
    #[inline]
    fn advance(&mut self, bucket: usize, time: Time) {
        self.now = time;
        self.occupied &= !(1 << (bucket - 1));
        let mut moving = core::mem::take(&mut self.buckets[bucket]);
        for &(time, event) in &moving {
            self.place(time, event);
        }
        moving.clear();
        self.buckets[bucket] = moving;
    }

    /// Takes the first event of now.
    #[inline]
    fn pop_now(&mut self) -> Option<(Time, E)> {
        let &first = self.buckets[0].get(self.popped)?;
        self.popped += 1;
        if self.popped == self.buckets[0].len() {
            self.buckets[0].clear();
            self.popped = 0;
        }
        self.len -= 1;
        Some(first)
    }
}

impl<E> Default for RadixHeapQueue<E> {
    fn default() -> Self {
        Self { buckets: [const { Vec::new() }; BUCKETS], occupied: 0, popped: 0, now: Time::ZERO, len: 0 }
    }
}

impl<E: Copy> EventQueue<E> for RadixHeapQueue<E> {
    #[inline]
    fn push(&mut self, time: Time, event: E) {
        if time < self.now {
            refuse_past(time, self.now);
        }
        self.len += 1;
        self.place(time, event);
    }

    #[inline]
    fn pop(&mut self) -> Option<(Time, E)> {
        self.pop_before(Time::NEVER)
    }

    #[inline]
    fn pop_before(&mut self, limit: Time) -> Option<(Time, E)> {
        if self.buckets[0].is_empty() {
            let (bucket, time) = self.earliest_later()?;
            if time > limit {
                return None;
            }
            self.advance(bucket, time);
        } else if self.now > limit {
            return None;
        }
        self.pop_now()
    }

    #[inline]
    fn next_time(&mut self) -> Option<Time> {
        if self.buckets[0].is_empty() { self.earliest_later().map(|(_, time)| time) } else { Some(self.now) }
    }

    #[inline]
    fn len(&self) -> usize {
        self.len
    }

    fn clear(&mut self) {
        self.buckets.iter_mut().for_each(Vec::clear);
        self.occupied = 0;
        self.popped = 0;
        self.now = Time::ZERO;
        self.len = 0;
    }
}
