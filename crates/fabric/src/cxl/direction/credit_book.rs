//! How many credits of a class are out over time, and how long messages waited for one.

use crate::server::{Book, Level};
use lanewise_units::{Span, Time};

/// The credits of one class of a direction, and their book.
#[derive(Clone, Copy, Debug)]
pub(in crate::cxl) struct CreditBook {
    pub(in crate::cxl) places: u32,
    out: Level,
    spent: u64,
    waited: Span,
    blocked_since: Option<Time>,
}

impl CreditBook {
    pub(super) fn new(places: u32) -> Self {
        Self { places, out: Level::default(), spent: 0, waited: Span::ZERO, blocked_since: None }
    }

    /// Credits that are not out.
    pub(super) fn free(&self) -> u32 {
        self.places - self.out()
    }

    pub(super) fn spend(&mut self, credits: u32, now: Time) {
        assert!(credits <= self.free(), "a message goes with a credit");
        self.out.set(self.out.number() + u64::from(credits), now);
        self.spent += u64::from(credits);
    }

    pub(super) fn give_back(&mut self, credits: u32, now: Time) {
        assert!(credits <= self.out(), "what comes back has been spent");
        self.out.set(self.out.number() - u64::from(credits), now);
        if credits > 0 {
            self.blocked(false, now);
        }
    }

    /// Whether the first message waits for a credit from now on.
    pub(super) fn blocked(&mut self, is_blocked: bool, now: Time) {
        match (is_blocked, self.blocked_since) {
            (true, None) => self.blocked_since = Some(now),
            (false, Some(since)) => {
                self.waited += now - since;
                self.blocked_since = None;
            }
            _ => {}
        }
    }

    /// Credits that have been spent.
    pub(in crate::cxl) fn spent(&self) -> u64 {
        self.spent
    }

    /// Credits that are out.
    pub(in crate::cxl) fn out(&self) -> u32 {
        self.out.number() as u32
    }

    /// What has happened up to `at`.
    pub(in crate::cxl) fn book_at(&self, at: Time) -> Book {
        let waits = self.blocked_since.map_or(Span::ZERO, |since| at.saturating_since(since));
        let waited = (self.waited + waits).into();
        Book { busy: self.out.area_at(at), waited, served: self.spent }
    }
}
