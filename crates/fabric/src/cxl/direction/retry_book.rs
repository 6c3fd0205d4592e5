//! How many flits a retry buffer keeps over time, and for how long what could go otherwise waited for room in it.

use crate::server::{Book, Level};
use lanewise_units::{Span, Time};

/// The book of a retry buffer.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RetryBook {
    kept: Level,
    waited: Span,
    blocked_since: Option<Time>,
}

impl RetryBook {
    /// It keeps so many flits from now on.
    pub(super) fn keeps(&mut self, flits: u64, now: Time) {
        self.kept.set(flits, now);
    }

    /// Whether the wire is free and something with a credit waits for room from now on.
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

    /// What has happened up to `at`, with so many flits sent.
    pub(super) fn book_at(&self, sent: u64, at: Time) -> Book {
        let waits = self.blocked_since.map_or(Span::ZERO, |since| at.saturating_since(since));
        Book { busy: self.kept.area_at(at), waited: (self.waited + waits).into(), served: sent }
    }
}
