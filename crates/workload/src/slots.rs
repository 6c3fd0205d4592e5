//! A table whose rows are used again: what is under way, by a small number that fits in a token.

use lanewise_fabric::bytes_when_grown;

/// Rows that are in use or free.
#[derive(Clone, Debug)]
pub(crate) struct Slots<T> {
    rows: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Default for Slots<T> {
    fn default() -> Self {
        Self { rows: Vec::new(), free: Vec::new() }
    }
}

impl<T> Slots<T> {
    /// Puts an item into a free row.
    pub(crate) fn insert(&mut self, item: T) -> u32 {
        match self.free.pop() {
            Some(row) => {
                self.rows[row as usize] = Some(item);
                row
            }
            None => {
                self.rows.push(Some(item));
                self.rows.len() as u32 - 1
            }
        }
    }

    /// The item of a row that is in use.
    pub(crate) fn get(&mut self, row: u32) -> &mut T {
        self.rows[row as usize].as_mut().expect("the row is in use")
    }

    /// Takes the item out of a row that is in use.
    pub(crate) fn take(&mut self, row: u32) -> T {
        self.free.push(row);
        self.rows[row as usize].take().expect("the row is in use")
    }

    /// Memory that it takes when it grows next, in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        bytes_when_grown(&self.rows) + bytes_when_grown(&self.free)
    }

    /// Rows in use.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.rows.len() - self.free.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_used_again() {
        let mut slots = Slots::default();
        let (first, second) = (slots.insert('a'), slots.insert('b'));
        assert_eq!(slots.take(first), 'a');
        assert_eq!(slots.insert('c'), first);
        *slots.get(second) = 'd';
        assert_eq!((slots.take(second), slots.len()), ('d', 1));
    }
}
