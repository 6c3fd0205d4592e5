//! What the heaps sort by. A heap is not stable, so each entry carries the number of its insertion.

use core::cmp::Ordering;
use lanewise_units::Time;

/// A pending event of a heap: 16 bytes for an event of four.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry<E> {
    pub time: Time,
    /// Counts insertions; [`Numbers`] keeps it in 32 bits.
    pub number: u32,
    pub event: E,
}

impl<E> Entry<E> {
    /// Time and number as one integer, which compares without a branch.
    #[inline]
    pub fn key(&self) -> u128 {
        (u128::from(self.time.ticks()) << 32) | u128::from(self.number)
    }
}

impl<E> PartialEq for Entry<E> {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl<E> Eq for Entry<E> {}

impl<E> PartialOrd for Entry<E> {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<E> Ord for Entry<E> {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

/// Hands out insertion numbers. They are 32 bits wide to keep entries small, and run out after four thousand million
/// insertions; the heap then sorts what is pending and numbers it afresh, so that ties stay exact for ever.
#[derive(Clone, Debug, Default)]
pub(super) struct Numbers {
    next: u32,
}

impl Numbers {
    /// The next number, for a heap that is a plain list.
    #[inline]
    pub fn take_or_renumber<E>(&mut self, heap: &mut [Entry<E>]) -> u32 {
        loop {
            match self.take() {
                Some(number) => return number,
                None => self.renumber(heap),
            }
        }
    }

    /// The next number, or `None` when [`Self::renumber`] is due.
    #[inline]
    pub fn take(&mut self) -> Option<u32> {
        let number = self.next;
        self.next = number.checked_add(1)?;
        Some(number)
    }

    /// Sorts the pending entries, earliest first, and numbers them from zero. A sorted list is also a heap.
    #[cold]
    pub fn renumber<E>(&mut self, pending: &mut [Entry<E>]) {
        assert!(pending.len() < u32::MAX as usize, "too many pending events to number");
        pending.sort_unstable();
        for (number, entry) in (0..).zip(pending.iter_mut()) {
            entry.number = number;
        }
        self.next = pending.len() as u32;
    }

    #[cfg(test)]
    pub fn nearly_used_up() -> Self {
        Self { next: u32::MAX - 3 }
    }
}
