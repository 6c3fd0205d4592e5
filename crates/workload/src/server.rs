//! What serves one piece of work after another, first come, first served: arithmetic instead of events. Each keeps a book of
//! how busy it was and how long work waited for it.
//!
//! ```text
//!  work arrives ──► waits ──► starts ──► the server is free for the next ──► (latency) ──► leaves
//!                             └─ busy: the reciprocal of its throughput ─┘
//! ```
//!
//! Where one piece is dealt with at a time (a core, a thread, a die), it stays for as long as the server is busy with it:
//! [`Server::occupy`]. Where several are under way at once (a pipeline), a piece starts when the one before has made room,
//! and how long it stays is a latency of its own that nobody else waits for: [`Server::enter`]. A limit of throughput is
//! then no latency for a piece alone.

use lanewise_fabric::{Book, ResourceKind, ResourceReading};
use lanewise_units::{Bytes, Rate, Span, Time};

/// Busy for as long as each piece of work says: a core, a thread that polls, a processor of an adapter, a die.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Server {
    free_at: Time,
    book: Book,
}

impl Server {
    /// Works for `span`, from `at` on or as soon as it is free; returns the end.
    #[inline]
    pub(crate) fn occupy(&mut self, at: Time, span: Span) -> Time {
        self.occupy_since(at, at, span)
    }

    /// The same for work that has waited since `asked`, somewhere else.
    #[inline]
    pub(crate) fn occupy_since(&mut self, asked: Time, at: Time, span: Span) -> Time {
        let start = self.free_at.max(at);
        self.book.enter(asked, start, span);
        self.free_at = start + span;
        self.free_at
    }

    /// Lets work in at `at` or as soon as it can; the next may follow `span` later. Returns when it is let in.
    #[inline]
    pub(crate) fn enter(&mut self, at: Time, span: Span) -> Time {
        self.occupy(at, span) - span
    }

    /// When it has done all that it was given.
    pub(crate) fn free_at(&self) -> Time {
        self.free_at
    }

    /// What it has done up to `at`: what is booked, less what is still to be done then.
    pub(crate) fn book_at(&self, at: Time) -> Book {
        let ahead = self.free_at.saturating_since(at);
        Book { busy: self.book.busy.saturating_sub(ahead), ..self.book }
    }

    /// Whether it has something to do at `at`, which is not before now.
    #[inline]
    pub(crate) fn is_busy(&self, at: Time) -> bool {
        self.free_at > at
    }
}

/// A path that bytes cross at a given rate; or no limit at all.
#[derive(Clone, Debug)]
pub(crate) struct RateServer {
    rate: Option<Rate>,
    server: Server,
}

impl RateServer {
    /// A path of this rate; without one it takes no time.
    pub(crate) fn new(rate: Option<Rate>) -> Self {
        Self { rate, server: Server::default() }
    }

    /// Takes `bytes` that arrive now; returns when the last of them has crossed.
    #[inline]
    pub(crate) fn reserve(&mut self, now: Time, bytes: Bytes) -> Time {
        match self.rate {
            None => now,
            Some(rate) => self.server.occupy(now, rate.span_ceil(bytes)),
        }
    }

    /// What it has done up to `at`, under this name; none for a path without a limit.
    pub(crate) fn reading(&self, name: String, at: Time) -> Option<ResourceReading> {
        let book = self.server.book_at(at);
        self.rate.map(|rate| ResourceReading::of_rate(name, ResourceKind::Pipeline, rate, book))
    }

    /// Whether something is crossing, or waits to.
    pub(crate) fn is_busy(&self, now: Time) -> bool {
        self.server.is_busy(now)
    }
}

/// What several that serve side by side have done up to `at`, together: cores, dies. `limit` says how much there is of them.
pub(crate) fn reading(
    name: String,
    kind: ResourceKind,
    limit: String,
    servers: &[Server],
    at: Time,
) -> ResourceReading {
    let book = servers.iter().map(|server| server.book_at(at)).sum();
    ResourceReading { name, kind, places: servers.len() as u32, limit, book }
}

/// Whether anybody ever asked for it.
pub(crate) fn asked_for(reading: &ResourceReading) -> bool {
    reading.book.served > 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ns: u64) -> Time {
        Time::ZERO + Span::from_ns(ns)
    }

    #[test]
    fn work_waits_for_work_and_idle_time_is_lost() {
        let mut server = Server::default();
        assert_eq!(server.occupy(at(10), Span::from_ns(5)), at(15));
        assert_eq!(server.occupy(at(12), Span::from_ns(5)), at(20));
        assert!(server.is_busy(at(19)) && !server.is_busy(at(20)));
        assert_eq!(server.occupy(at(50), Span::from_ns(5)), at(55));
        let book = |busy, waited, served| Book {
            busy: Span::from_ns(busy).into(),
            waited: Span::from_ns(waited).into(),
            served,
        };
        assert_eq!(server.book_at(at(55)), book(15, 3, 3));
        assert_eq!(server.book_at(at(52)), book(12, 3, 3), "what is still to be done is not done");
    }

    #[test]
    fn a_pipeline_lets_work_in_at_its_rate_and_alone_at_once() {
        let mut server = Server::default();
        assert_eq!(server.enter(at(10), Span::from_ns(5)), at(10));
        assert_eq!(server.enter(at(10), Span::from_ns(5)), at(15));
        assert_eq!(server.enter(at(40), Span::from_ns(5)), at(40));
        assert_eq!(server.free_at(), at(45));
    }

    #[test]
    fn work_that_waited_elsewhere_says_since_when() {
        let mut server = Server::default();
        assert_eq!(server.occupy_since(at(3), at(10), Span::from_ns(5)), at(15));
        assert_eq!(server.book_at(at(20)).waited, Span::from_ns(7).into());
    }

    #[test]
    fn bytes_queue_at_the_rate() {
        let mut path = RateServer::new(Some(Rate::from_bytes_per_second(1_000_000_000)));
        assert_eq!(path.reserve(at(0), Bytes::new(100)), at(100));
        assert_eq!(path.reserve(at(50), Bytes::new(100)), at(200));
        assert_eq!(path.reserve(at(500), Bytes::new(100)), at(600));
    }

    #[test]
    fn no_rate_is_no_time() {
        let mut path = RateServer::new(None);
        assert_eq!(path.reserve(at(7), Bytes::from_kib(1024)), at(7));
        assert!(!path.is_busy(at(7)));
    }
}
