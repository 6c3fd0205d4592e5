//! Something that serves bytes one after the other, and the book that it keeps: how long it was busy, how long others waited.
//!
//! A book holds plain sums and no mean: who reads it takes the difference of two readings.

use lanewise_units::{Bytes, Rate, Span, SpanSum, Time};

/// What a shared resource has done since the start of the run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Book {
    /// Time that it served, added up over its places.
    pub busy: SpanSum,
    /// Time that what it served had to wait for it, added up.
    pub waited: SpanSum,
    /// How often it was asked.
    pub served: u64,
}

impl std::iter::Sum for Book {
    fn sum<I: Iterator<Item = Self>>(books: I) -> Self {
        books.fold(Self::default(), |a, b| Self {
            busy: a.busy + b.busy,
            waited: a.waited + b.waited,
            served: a.served + b.served,
        })
    }
}

impl Book {
    /// Enters one request that came at `at`, was served from `start` on and took `busy`.
    #[inline(always)]
    pub fn enter(&mut self, at: Time, start: Time, busy: Span) {
        self.waited += start - at;
        self.busy += busy;
        self.served += 1;
    }

    /// What has happened since an earlier reading.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            busy: self.busy.saturating_sub(earlier.busy),
            waited: self.waited.saturating_sub(earlier.waited),
            served: self.served - earlier.served,
        }
    }
}

/// A rate that is shared.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Server {
    rate: Rate,
    free_at: Time,
    pub(crate) book: Book,
}

impl Server {
    pub(crate) fn new(rate: Rate) -> Self {
        Self { rate, free_at: Time::ZERO, book: Book::default() }
    }

    /// What it serves at.
    pub(crate) fn rate(&self) -> Rate {
        self.rate
    }

    /// Serves at another rate from now on; what it has booked stays.
    pub(crate) fn set_rate(&mut self, rate: Rate) {
        self.rate = rate;
    }

    /// The book at `at`: what is booked, less what is still to be served then.
    pub(crate) fn book_at(&self, at: Time) -> Book {
        let ahead = self.free_at.saturating_since(at);
        Book { busy: self.book.busy.saturating_sub(ahead), ..self.book }
    }

    /// When `bytes` that are ready at `at` have been served.
    #[inline]
    pub(crate) fn serve(&mut self, at: Time, bytes: Bytes) -> Time {
        self.serve_for(at, self.rate.span_ceil(bytes))
    }

    /// When something that is ready at `at` and takes `span` has been served.
    #[inline]
    pub(crate) fn serve_for(&mut self, at: Time, span: Span) -> Time {
        let start = self.free_at.max(at);
        self.book.enter(at, start, span);
        self.free_at = start + span;
        self.free_at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_book_says_who_waited_for_how_long() {
        let mut server = Server::new(Rate::from_bytes_per_second(1_000_000_000));
        let at = Time::ZERO + Span::from_ns(10);
        assert_eq!(server.serve(at, Bytes::new(100)), at + Span::from_ns(100));
        assert_eq!(server.serve(at, Bytes::new(50)), at + Span::from_ns(150));
        let expected = Book { busy: Span::from_ns(150).into(), waited: Span::from_ns(100).into(), served: 2 };
        assert_eq!(server.book, expected);
    }
}
