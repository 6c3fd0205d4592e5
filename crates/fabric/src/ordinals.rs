//! Which of the things of one kind are to go wrong: listed by their numbers.

use lanewise_units::order;

/// Which of the things that are counted from 0 are listed.
#[derive(Debug)]
pub(crate) struct Ordinals {
    listed: Vec<u64>,
    next: usize,
    count: u64,
}

impl Ordinals {
    pub(crate) fn new(listed: &[u64]) -> Self {
        let mut listed = listed.to_vec();
        order::sort(&mut listed);
        listed.dedup();
        Self { listed, next: 0, count: 0 }
    }

    /// Counts one more; whether it is listed.
    pub(crate) fn should_inject(&mut self) -> bool {
        let is_listed = self.listed.get(self.next) == Some(&self.count);
        self.next += usize::from(is_listed);
        self.count += 1;
        is_listed
    }
}

#[cfg(test)]
mod tests {
    use super::Ordinals;

    #[test]
    fn what_is_listed_is_injected_once_each() {
        let mut ordinals = Ordinals::new(&[4, 0, 4, 2]);
        let injected: Vec<bool> = (0..6).map(|_| ordinals.should_inject()).collect();
        assert_eq!(injected, [true, false, true, false, true, false]);
    }
}
