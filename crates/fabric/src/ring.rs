//! First in, first out, of small plain values: what a port remembers of TLPs and DLLPs under way.
//!
//! Three words without an allocation until the first value comes; slots are a power of two, so that an index wraps with
//! a mask. An empty queue starts again at its first slot, so that one which is never long stays in a cache line or two. A
//! `VecDeque` takes four words, more instructions, and all of its memory in turn.

/// A queue of plain values.
#[derive(Clone, Debug)]
pub(crate) struct Ring<T> {
    slots: Box<[T]>,
    first: u32,
    len: u32,
}

impl<T> Default for Ring<T> {
    fn default() -> Self {
        Self { slots: Box::default(), first: 0, len: 0 }
    }
}

impl<T: Copy> Ring<T> {
    /// Slot of the value that is `position`th from the front; any slot beyond the end.
    #[inline]
    fn slot(&self, position: u32) -> usize {
        (self.first.wrapping_add(position) as usize) & (self.slots.len().wrapping_sub(1))
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.len as usize
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The oldest value.
    #[inline]
    pub(crate) fn front(&self) -> Option<&T> {
        if self.len == 0 { None } else { Some(&self.slots[self.slot(0)]) }
    }

    /// The oldest value, to be changed.
    #[inline]
    pub(crate) fn front_mut(&mut self) -> Option<&mut T> {
        if self.len == 0 {
            return None;
        }
        let slot = self.slot(0);
        Some(&mut self.slots[slot])
    }

    /// The newest value.
    #[inline]
    pub(crate) fn back(&self) -> Option<&T> {
        if self.len == 0 { None } else { Some(&self.slots[self.slot(self.len - 1)]) }
    }

    #[inline(always)]
    pub(crate) fn push_back(&mut self, value: T) {
        if self.len() == self.slots.len() {
            self.grow(value);
        }
        self.first = if self.len == 0 { 0 } else { self.first };
        let slot = self.slot(self.len);
        self.slots[slot] = value;
        self.len += 1;
    }

    /// Puts a value in front of those that are `later` than it; they are few, at the end. Returns the one before it.
    #[inline(always)]
    pub(crate) fn push_before(&mut self, value: T, later: impl Fn(&T) -> bool) -> Option<&T> {
        self.push_back(value);
        let mut position = self.len - 1;
        while position > 0 {
            let (here, before) = (self.slot(position), self.slot(position - 1));
            if !later(&self.slots[before]) {
                break;
            }
            self.slots.swap(here, before);
            position -= 1;
        }
        (position > 0).then(|| &self.slots[self.slot(position - 1)])
    }

    #[inline]
    pub(crate) fn pop_front(&mut self) -> Option<T> {
        let value = *self.front()?;
        self.drop_front();
        Some(value)
    }

    /// Forgets the oldest value; there is one.
    #[inline]
    pub(crate) fn drop_front(&mut self) {
        self.first = self.first.wrapping_add(1);
        self.len -= 1;
    }

    /// From the oldest to the newest.
    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = &T> {
        (0..self.len).map(|position| &self.slots[self.slot(position)])
    }

    /// Heap memory, in bytes.
    pub(crate) fn heap_bytes(&self) -> usize {
        size_of_val(&*self.slots)
    }

    /// Doubles the slots; `filler` stands in those that hold nothing yet.
    #[cold]
    #[inline(never)]
    fn grow(&mut self, filler: T) {
        let capacity = (2 * self.len()).max(4);
        let mut slots = Vec::with_capacity(capacity);
        slots.extend(self.iter().copied());
        slots.resize(capacity, filler);
        self.slots = slots.into_boxed_slice();
        self.first = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    #[test]
    fn an_empty_ring_owns_nothing() {
        let ring = Ring::<u64>::default();
        assert_eq!((ring.heap_bytes(), size_of::<Ring<u64>>()), (0, 24));
        assert_eq!(ring.front(), None);
    }

    #[test]
    fn a_value_goes_before_later_ones_only() {
        let mut ring = Ring::default();
        for value in [(3, 'a'), (5, 'b'), (4, 'c'), (5, 'd'), (1, 'e')] {
            ring.push_before(value, |(at, _)| *at > value.0);
        }
        let order: String = ring.iter().map(|(_, name)| *name).collect();
        assert_eq!(order, "eacbd");
    }

    proptest! {
        /// Whatever is pushed and popped, it does what a `VecDeque` does.
        #[test]
        fn it_behaves_like_a_deque(steps in prop::collection::vec(any::<Option<u16>>(), 0..300)) {
            let (mut ring, mut deque) = (Ring::default(), VecDeque::new());
            for step in steps {
                match step {
                    Some(value) => {
                        ring.push_back(value);
                        deque.push_back(value);
                    }
                    None => prop_assert_eq!(ring.pop_front(), deque.pop_front()),
                }
                prop_assert_eq!(ring.front(), deque.front());
                prop_assert_eq!(ring.is_empty(), deque.is_empty());
                prop_assert!(ring.iter().eq(deque.iter()));
            }
        }
    }
}
