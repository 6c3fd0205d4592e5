//! A map of few entries: a sorted list. A tree for each pair of types adds some three thousand bytes to the program where entries come and
//! go, and this a few hundred; up to some hundred entries it is as fast.

/// A map, in the order of its keys. To add or remove an entry moves those behind it.
#[derive(Clone, Debug)]
pub struct Few<K, V>(Vec<(K, V)>);

impl<K, V> Default for Few<K, V> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<K: Ord + Copy, V> Few<K, V> {
    fn place(&self, key: K) -> Result<usize, usize> {
        self.0.binary_search_by_key(&key, |(key, _)| *key)
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether there is an entry of this key.
    pub fn has(&self, key: K) -> bool {
        self.place(key).is_ok()
    }

    /// The value of a key.
    pub fn get(&self, key: K) -> Option<&V> {
        self.place(key).ok().map(|place| &self.0[place].1)
    }

    /// The value of a key, to change.
    pub fn get_mut(&mut self, key: K) -> Option<&mut V> {
        self.place(key).ok().map(|place| &mut self.0[place].1)
    }

    /// The value of a key, which is made if there is none.
    pub fn or_insert_with(&mut self, key: K, make: impl FnOnce() -> V) -> &mut V {
        let place = self.place(key).unwrap_or_else(|place| {
            self.0.insert(place, (key, make()));
            place
        });
        &mut self.0[place].1
    }

    /// Sets the value of a key.
    pub fn insert(&mut self, key: K, value: V) {
        match self.place(key) {
            Ok(place) => self.0[place].1 = value,
            Err(place) => self.0.insert(place, (key, value)),
        }
    }

    /// Takes the entry of a key out.
    pub fn remove(&mut self, key: K) -> Option<V> {
        self.place(key).ok().map(|place| self.0.remove(place).1)
    }

    /// Takes the entry of the least key out, if that key is as wanted.
    pub fn take_first(&mut self, is_wanted: impl FnOnce(K) -> bool) -> Option<(K, V)> {
        let is_there = self.0.first().is_some_and(|(key, _)| is_wanted(*key));
        is_there.then(|| self.0.remove(0))
    }

    /// All values, by key, to change.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut V> {
        self.0.iter_mut().map(|(_, value)| value)
    }

    /// All entries, by key.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (K, &V)> {
        self.0.iter().map(|(key, value)| (*key, value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_in_the_order_of_their_keys() {
        let mut few = Few::default();
        for (key, value) in [(5, 'e'), (1, 'a'), (3, 'c'), (5, 'f')] {
            few.insert(key, value);
        }
        assert_eq!(
            few.iter().map(|(key, value)| (key, *value)).collect::<Vec<_>>(),
            [(1, 'a'), (3, 'c'), (5, 'f')]
        );
    }

    #[test]
    fn an_entry_that_is_taken_out_is_gone() {
        let mut few = Few::default();
        *few.or_insert_with(2, || 10) += 1;
        *few.or_insert_with(2, || 10) += 1;
        assert_eq!((few.get(2), few.len(), few.has(1)), (Some(&12), 1, false));
        assert_eq!((few.remove(2), few.remove(2), few.is_empty()), (Some(12), None, true));
        few.insert(3, 30);
        assert_eq!((few.take_first(|key| key < 3), few.take_first(|key| key < 4)), (None, Some((3, 30))));
        assert_eq!(few.take_first(|_| true), None);
    }
}
