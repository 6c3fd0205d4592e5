//! How many credits of a class are out over time, and how long messages waited for one.

use crate::server::Book;
use lanewise_units::{Span, Time};

/// The book of one class of a direction.
#[derive(Clone, Copy, Debug)]
pub(in crate::cxl) struct CreditBook {
    pub(in crate::cxl) places: u32,
    out: u32,
    since: Time,
    book: Book,
    blocked_since: Option<Time>,
}

impl CreditBook {
    pub(super) fn new(places: u32) -> Self {
        Self { places, out: 0, since: Time::ZERO, book: Book::default(), blocked_since: None }
    }

    fn advance(&mut self, now: Time) {
        self.book.busy += (now - self.since) * u64::from(self.out);
        self.since = now;
    }

    pub(super) fn spend(&mut self, credits: u32, now: Time) {
        self.advance(now);
        self.out += credits;
        self.book.served += u64::from(credits);
    }

    pub(super) fn give_back(&mut self, credits: u32, now: Time) {
        self.advance(now);
        self.out -= credits;
        if credits > 0 {
            self.blocked(false, now);
        }
    }

    /// Whether the first message waits for a credit from now on.
    pub(super) fn blocked(&mut self, is_blocked: bool, now: Time) {
        match (is_blocked, self.blocked_since) {
            (true, None) => self.blocked_since = Some(now),
            (false, Some(since)) => {
                self.book.waited += now - since;
                self.blocked_since = None;
            }
            _ => {}
        }
    }

    /// Credits that have been spent.
    pub(in crate::cxl) fn spent(&self) -> u64 {
        self.book.served
    }

    /// Credits that are out.
    pub(in crate::cxl) fn out(&self) -> u32 {
        self.out
    }

    /// What has happened up to `at`.
    pub(in crate::cxl) fn book_at(&self, at: Time) -> Book {
        let mut book = self.book;
        let passed: Span = at.saturating_since(self.since);
        book.busy += passed * u64::from(self.out);
        book.waited += self.blocked_since.map_or(Span::ZERO, |since| at.saturating_since(since));
        book
    }
}
