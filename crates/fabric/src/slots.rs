//! Small things under way, in slots that are used again.

/// Memory that a table takes when it grows next, in bytes. One that is nearly full will be copied to twice the room, and both lie
/// beside each other meanwhile.
pub fn bytes_when_grown<T>(items: &Vec<T>) -> u64 {
    let bytes = (items.capacity() * size_of::<T>()) as u64;
    if items.len() > items.capacity() / 8 * 7 { 3 * bytes } else { bytes }
}

/// Copies of `T`, each found again by the index of its slot: a small number that fits in an event or a token.
#[derive(Debug)]
pub struct Slots<T> {
    items: Vec<T>,
    free: Vec<u32>,
}

impl<T> Default for Slots<T> {
    fn default() -> Self {
        Self { items: Vec::new(), free: Vec::new() }
    }
}

impl<T: Copy> Slots<T> {
    /// Puts `item` into a free slot.
    pub fn insert(&mut self, item: T) -> u32 {
        match self.free.pop() {
            Some(index) => {
                self.items[index as usize] = item;
                index
            }
            None => {
                self.items.push(item);
                self.items.len() as u32 - 1
            }
        }
    }

    /// What lies in a slot.
    #[inline]
    pub fn get(&self, index: u32) -> &T {
        &self.items[index as usize]
    }

    /// What lies in a slot, to be changed.
    #[inline]
    pub fn get_mut(&mut self, index: u32) -> &mut T {
        &mut self.items[index as usize]
    }

    /// Takes out what lies in a slot.
    #[inline]
    pub fn take(&mut self, index: u32) -> T {
        self.free.push(index);
        self.items[index as usize]
    }

    /// Every slot, in use or not: what was last in it.
    pub(crate) fn places(&self) -> &[T] {
        &self.items
    }

    /// Memory that it takes when it grows next, in bytes.
    pub fn bytes(&self) -> u64 {
        bytes_when_grown(&self.items) + bytes_when_grown(&self.free)
    }

    /// How many slots hold something.
    pub fn taken(&self) -> usize {
        self.items.len() - self.free.len()
    }
}

#[cfg(test)]
mod tests {
    use super::Slots;

    #[test]
    fn a_slot_is_used_again() {
        let mut slots = Slots::default();
        assert_eq!((slots.insert('a'), slots.insert('b')), (0, 1));
        assert_eq!(slots.take(0), 'a');
        assert_eq!((slots.insert('c'), slots.taken()), (0, 2));
        assert_eq!((slots.take(1), slots.take(0), slots.taken()), ('b', 'c', 0));
    }
}
