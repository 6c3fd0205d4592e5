//! Commands on their way into a drive: announced by a doorbell, then read from their queue, a batch at a time.
//!
//! Assumed: one fetch engine for all queues, with one read of commands under way.

use lanewise_fabric::Book;
use lanewise_units::{Few, SpanSum, Time};
use std::collections::VecDeque;

/// Queues, and what of them is under way.
#[derive(Debug, Default)]
pub(super) struct Fetches {
    /// Commands of each queue whose doorbell has arrived, in order, and since when.
    announced: Few<u32, VecDeque<(u32, Time)>>,
    /// Queues with such commands: round robin, the arbitration that every controller has (NVMe Base 2.0 §3.4.4.1).
    turns: VecDeque<u32>,
    /// Commands that are being fetched, in order.
    under_way: VecDeque<u32>,
    /// How many began to be fetched together, and when; none when they are here.
    begun: Option<(u32, Time)>,
    /// Of fetches that are over: each command of a batch takes one place.
    book: Book,
}

impl Fetches {
    /// A doorbell told of a command.
    pub(super) fn announce(&mut self, queue: u32, slot: u32, now: Time) {
        let commands = self.announced.or_insert_with(queue, VecDeque::new);
        if commands.is_empty() {
            self.turns.push_back(queue);
        }
        commands.push_back((slot, now));
    }

    /// Begins to fetch the next commands: of one queue, where they are neighbours, as many as fit a batch. Their queue, the first,
    /// and how many. None while a fetch is under way.
    pub(super) fn begin(&mut self, batch: u32, now: Time) -> Option<(u32, u32, u32)> {
        if !self.under_way.is_empty() {
            return None;
        }
        let queue = self.turns.pop_front()?;
        let commands = self.announced.get_mut(queue).expect("queues that have a turn have commands");
        let count = (batch as usize).min(commands.len());
        for (slot, since) in commands.drain(..count) {
            self.under_way.push_back(slot);
            self.book.waited += now - since;
        }
        if !commands.is_empty() {
            self.turns.push_back(queue);
        }
        self.book.served += count as u64;
        self.begun = Some((count as u32, now));
        Some((queue, self.under_way[0], count as u32))
    }

    /// The commands of a fetch are in the drive.
    pub(super) fn end(&mut self, now: Time) {
        self.book = self.book_at(now);
        self.begun = None;
    }

    /// The next of the commands that were fetched.
    pub(super) fn take(&mut self) -> Option<u32> {
        self.under_way.pop_front()
    }

    /// What was done up to `at`.
    pub(super) fn book_at(&self, at: Time) -> Book {
        let mut book = self.book;
        if let Some((count, since)) = self.begun {
            book.busy += SpanSum::from(at.saturating_since(since)) * u64::from(count);
        }
        book
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lanewise_units::Span;

    fn at(ns: u64) -> Time {
        Time::ZERO + Span::from_ns(ns)
    }

    fn taken(fetches: &mut Fetches) -> Vec<u32> {
        std::iter::from_fn(|| fetches.take()).collect()
    }

    #[test]
    fn a_batch_is_of_one_queue_and_one_fetch_runs_at_a_time() {
        let mut fetches = Fetches::default();
        for (queue, slot) in [(0, 1), (0, 2), (1, 3), (1, 4), (1, 5), (1, 6), (1, 7)] {
            fetches.announce(queue, slot, at(0));
        }
        assert_eq!(fetches.begin(4, at(0)), Some((0, 1, 2)), "two of the first queue");
        assert_eq!(fetches.begin(4, at(0)), None, "one at a time");
        fetches.end(at(10));
        assert_eq!(taken(&mut fetches), [1, 2]);
        fetches.announce(0, 8, at(10));
        assert_eq!(fetches.begin(4, at(10)), Some((1, 3, 4)), "a full batch of the second queue");
        fetches.end(at(20));
        assert_eq!(taken(&mut fetches), [3, 4, 5, 6]);
        fetches.announce(0, 9, at(20));
        assert_eq!(fetches.begin(4, at(20)), Some((0, 8, 2)), "and the first has its turn, with both");
    }

    #[test]
    fn a_place_is_in_use_for_each_command_of_a_batch() {
        let mut fetches = Fetches::default();
        (0..3).for_each(|slot| fetches.announce(0, slot, at(0)));
        assert!(fetches.begin(2, at(5)).is_some());
        let book = |busy, waited, served| Book {
            busy: Span::from_ns(busy).into(),
            waited: Span::from_ns(waited).into(),
            served,
        };
        assert_eq!(fetches.book_at(at(8)), book(6, 10, 2), "two for 3 ns so far, each of which waited for 5");
        fetches.end(at(15));
        assert_eq!(taken(&mut fetches), [0, 1]);
        assert_eq!(fetches.book_at(at(100)), book(20, 10, 2));
        assert_eq!(fetches.begin(2, at(100)), Some((0, 2, 1)));
        assert_eq!(fetches.book_at(at(110)), book(30, 110, 3), "one, and the other place is free");
    }
}
