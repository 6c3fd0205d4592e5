//! Percentages, dealt instead of drawn.
//!
//! IOmeter draws a number below 100 for every choice. Its runs of many seconds make some hundred thousand choices, so
//! that the shares come out right within a fraction of a percent. A simulated window has a few hundred, and
//! independent draws would make its result differ by several percent from seed to seed. A deck has each number once,
//! in random order, and is shuffled again when it is used up: shares are exact in every hundred, order stays random.

use lanewise_engine::random::RandomStream;

/// The numbers 0 to 99 in random order, again and again.
#[derive(Clone, Debug)]
pub(crate) struct Deck {
    cards: [u8; 100],
    dealt: usize,
    random: RandomStream,
}

impl Deck {
    /// A deck that is shuffled by this stream.
    pub(crate) fn new(random: RandomStream) -> Self {
        Self { cards: core::array::from_fn(|card| card as u8), dealt: 100, random }
    }

    /// The next number.
    pub(crate) fn deal(&mut self) -> u32 {
        if self.dealt == self.cards.len() {
            self.shuffle();
        }
        self.dealt += 1;
        self.cards[self.dealt - 1].into()
    }

    /// Fisher and Yates.
    fn shuffle(&mut self) {
        self.dealt = 0;
        for last in (1..self.cards.len()).rev() {
            self.cards.swap(last, self.random.below(last as u64 + 1) as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_hundred_has_every_number_once_in_another_order() {
        let mut deck = Deck::new(RandomStream::new(1, "mix", "lines"));
        let mut hand = || (0..100).map(|_| deck.deal()).collect::<Vec<_>>();
        let (first, second) = (hand(), hand());
        assert_ne!(first, second);
        for mut numbers in [first, second] {
            numbers.sort_unstable();
            assert_eq!(numbers, (0..100).collect::<Vec<_>>());
        }
    }

    #[test]
    fn neighbours_are_not_alike() {
        let mut deck = Deck::new(RandomStream::new(2, "mix", "lines"));
        let below: Vec<bool> = (0..10_000).map(|_| deck.deal() < 67).collect();
        let changes = below.windows(2).filter(|pair| pair[0] != pair[1]).count() as f64 / 9999.0;
        assert!((changes - 2.0 * 0.67 * 0.33).abs() < 0.02, "share of changes: {changes}");
    }
}
