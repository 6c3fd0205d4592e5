//! What serves one piece of work after the other, and the book that it keeps: how long it was busy, how long others waited.
//!
//! A book holds plain sums and no mean: a reader takes the difference of two readings.

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

/// A number of things, and what it comes to over time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Level {
    number: u64,
    changed_at: Time,
    area: SpanSum,
}

impl Level {
    /// So many from now on.
    #[inline]
    pub fn set(&mut self, number: u64, now: Time) {
        self.area = self.area_at(now);
        (self.number, self.changed_at) = (number, now);
    }

    /// How many there are.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Number times time, up to `at`.
    pub fn area_at(&self, at: Time) -> SpanSum {
        self.area + SpanSum::from(at.saturating_since(self.changed_at)) * self.number
    }
}

/// What serves one piece of work after another, first come, first served: arithmetic instead of events.
///
/// ```text
///  work arrives ──► waits ──► starts ──► the station is free for the next ──► (latency) ──► leaves
///                             └─ busy: the reciprocal of its throughput ─┘
/// ```
///
/// Where one piece is dealt with at a time (a core, a thread, a die), it stays for as long as the station is busy with it:
/// [`Self::occupy`]. Where several are under way at once (a pipeline), a piece starts when the one before has made room,
/// and how long it stays is a latency of its own that nothing else waits for: [`Self::enter`]. A limit of throughput is
/// then no latency for a piece alone.
#[derive(Clone, Copy, Default, Debug)]
pub struct Station {
    free_at: Time,
    pub(crate) book: Book,
}

impl Station {
    /// Works for `span`, from `at` on or as soon as it is free; returns the end.
    #[inline]
    pub fn occupy(&mut self, at: Time, span: Span) -> Time {
        self.occupy_since(at, at, span)
    }

    /// The same for work that has waited since `asked`, somewhere else.
    #[inline]
    pub fn occupy_since(&mut self, asked: Time, at: Time, span: Span) -> Time {
        let start = self.free_at.max(at);
        self.book.enter(asked, start, span);
        self.free_at = start + span;
        self.free_at
    }

    /// Works `count` times in turn for `span`, at least once, from `at` on or as soon as it is free; returns the end of the first.
    #[inline]
    pub(crate) fn occupy_in_turn(&mut self, at: Time, span: Span, count: u64) -> Time {
        let start = self.free_at.max(at);
        let for_others = count * (count - 1) / 2;
        self.book.waited += SpanSum::from(start - at) * count + SpanSum::from(span) * for_others;
        self.book.busy += SpanSum::from(span) * count;
        self.book.served += count;
        self.free_at = start + span * count;
        start + span
    }

    /// Lets work in at `at` or as soon as it can; the next may follow `span` later. Returns when it is let in.
    #[inline]
    pub fn enter(&mut self, at: Time, span: Span) -> Time {
        self.occupy(at, span) - span
    }

    /// When it has done all that it was given.
    pub fn free_at(&self) -> Time {
        self.free_at
    }

    /// What it has done up to `at`: what is booked, less what is still to be done then.
    pub fn book_at(&self, at: Time) -> Book {
        let ahead = self.free_at.saturating_since(at);
        Book { busy: self.book.busy.saturating_sub(ahead), ..self.book }
    }

    /// Whether it has something to do at `at`, which is not before now.
    #[inline]
    pub fn is_busy(&self, at: Time) -> bool {
        self.free_at > at
    }
}

/// A station whose work is bytes, at a rate that is shared.
#[derive(Clone, Copy, Debug)]
pub struct Server {
    rate: Rate,
    pub(crate) station: Station,
}

impl Server {
    /// One that has served nothing.
    pub fn new(rate: Rate) -> Self {
        Self { rate, station: Station::default() }
    }

    /// What it serves at.
    pub fn rate(&self) -> Rate {
        self.rate
    }

    /// Serves at another rate from now on; what it has booked stays.
    pub(crate) fn set_rate(&mut self, rate: Rate) {
        self.rate = rate;
    }

    /// The book at `at`: what is booked, less what is still to be served then.
    pub fn book_at(&self, at: Time) -> Book {
        self.station.book_at(at)
    }

    /// Whether it has something to serve at `at`, which is not before now.
    #[inline]
    pub fn is_busy(&self, at: Time) -> bool {
        self.station.is_busy(at)
    }

    /// When `bytes` that are ready at `at` have been served.
    #[inline]
    pub fn serve(&mut self, at: Time, bytes: Bytes) -> Time {
        self.station.occupy(at, self.rate.span_ceil(bytes))
    }

    /// When something that is ready at `at` and takes `span` has been served.
    #[inline]
    pub(crate) fn serve_for(&mut self, at: Time, span: Span) -> Time {
        self.station.occupy(at, span)
    }

    /// When the first of `count` things that are ready at `at` and take `span` each has been served.
    #[inline]
    pub(crate) fn serve_in_turn(&mut self, at: Time, span: Span, count: u64) -> Time {
        self.station.occupy_in_turn(at, span, count)
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
        assert_eq!(server.station.book, expected);
    }

    fn at(ns: u64) -> Time {
        Time::ZERO + Span::from_ns(ns)
    }

    #[test]
    fn work_waits_for_work_and_idle_time_is_lost() {
        let mut station = Station::default();
        assert_eq!(station.occupy(at(10), Span::from_ns(5)), at(15));
        assert_eq!(station.occupy(at(12), Span::from_ns(5)), at(20));
        assert!(station.is_busy(at(19)) && !station.is_busy(at(20)));
        assert_eq!(station.occupy(at(50), Span::from_ns(5)), at(55));
        let book = |busy, waited, served| Book {
            busy: Span::from_ns(busy).into(),
            waited: Span::from_ns(waited).into(),
            served,
        };
        assert_eq!(station.book_at(at(55)), book(15, 3, 3));
        assert_eq!(station.book_at(at(52)), book(12, 3, 3), "what is still to be done is not done");
    }

    #[test]
    fn work_in_turn_is_booked_like_each_by_itself() {
        for (free_at, count) in [(0, 1), (3, 1), (0, 7), (12, 7)] {
            let [mut one_by_one, mut in_turn] = [Station::default(); 2];
            one_by_one.occupy(at(0), Span::from_ns(free_at));
            in_turn.occupy(at(0), Span::from_ns(free_at));
            let ends: Vec<Time> = (0..count).map(|_| one_by_one.occupy(at(5), Span::from_ns(4))).collect();
            assert_eq!(in_turn.occupy_in_turn(at(5), Span::from_ns(4), count), ends[0]);
            assert_eq!((in_turn.book, in_turn.free_at), (one_by_one.book, one_by_one.free_at));
        }
    }

    #[test]
    fn a_pipeline_lets_work_in_at_its_rate_and_alone_at_once() {
        let mut station = Station::default();
        assert_eq!(station.enter(at(10), Span::from_ns(5)), at(10));
        assert_eq!(station.enter(at(10), Span::from_ns(5)), at(15));
        assert_eq!(station.enter(at(40), Span::from_ns(5)), at(40));
        assert_eq!(station.free_at(), at(45));
    }

    #[test]
    fn a_level_is_added_up_over_time() {
        let mut level = Level::default();
        level.set(2, at(10));
        level.set(5, at(30));
        assert_eq!((level.number(), level.area_at(at(31))), (5, Span::from_ns(45).into()));
    }

    #[test]
    fn work_that_waited_elsewhere_says_since_when() {
        let mut station = Station::default();
        assert_eq!(station.occupy_since(at(3), at(10), Span::from_ns(5)), at(15));
        assert_eq!(station.book_at(at(20)).waited, Span::from_ns(7).into());
    }
}
