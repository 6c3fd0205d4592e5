//! Places that serve one request each, for as long as somebody else decides: read engines, tracking entries. And who waits
//! for one.
//!
//! Its book is an area under two levels, so it needs no time of arrival for each request.

use crate::server::Book;
use lanewise_units::Time;

/// How many places are taken and how many requests wait, and their areas so far.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Places {
    taken: u32,
    waiting: u32,
    changed_at: Time,
    book: Book,
}

impl Places {
    /// A request has come, and waits.
    pub(crate) fn wait(&mut self, now: Time) {
        self.account(now);
        self.waiting += 1;
    }

    /// One that waited has a place.
    pub(crate) fn take(&mut self, now: Time) {
        self.account(now);
        self.waiting -= 1;
        self.taken += 1;
        self.book.served += 1;
    }

    /// A place is free again.
    pub(crate) fn give(&mut self, now: Time) {
        self.account(now);
        self.taken -= 1;
    }

    fn account(&mut self, now: Time) {
        let span = now - self.changed_at;
        self.book.busy += span * u64::from(self.taken);
        self.book.waited += span * u64::from(self.waiting);
        self.changed_at = now;
    }

    /// The book at `at`, which is not before its last change.
    pub(crate) fn book_at(mut self, at: Time) -> Book {
        self.account(at.max(self.changed_at));
        self.book
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lanewise_units::Span;

    #[test]
    fn a_book_is_the_area_under_what_is_taken_and_what_waits() {
        let at = |ns| Time::ZERO + Span::from_ns(ns);
        let mut places = Places::default();
        places.wait(at(10));
        places.take(at(10));
        places.wait(at(20));
        places.give(at(50));
        places.take(at(50));
        let book = places.book_at(at(60));
        assert_eq!(book, Book { busy: Span::from_ns(40 + 10), waited: Span::from_ns(30), served: 2 });
    }
}
