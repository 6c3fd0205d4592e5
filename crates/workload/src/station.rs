//! Stations: what serves one piece of work after another, first come, first served, by arithmetic instead of events.
//!
//! ```text
//!  work arrives ──► waits ──► starts ──► the station is free for the next ──► (latency) ──► leaves
//!                             └─ busy: the reciprocal of its throughput ─┘
//! ```
//!
//! A station is busy with a piece of work for as long as its throughput says. Where one piece is dealt with at a time
//! (a core, a thread, a die), that is also how long the piece stays: [`Station::occupy`]. Where several are under way
//! at once (a pipeline), a piece starts when the one before has made room, and how long it stays is a latency of its
//! own that nobody else waits for: [`Station::enter`]. A limit of throughput is then no latency at a queue of one.
//!
//! Each station adds up what it did, for whoever reads it: [`Station::usage`].

use lanewise_units::{Bytes, Rate, Span, Time};

/// What a station did in a window of time.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Usage {
    /// Time in which it was busy.
    pub busy: Span,
    /// Time that pieces of work waited for it, added up over all of them, in ticks: many may wait at once.
    pub waited_ticks: u128,
    /// Pieces of work that it began.
    pub served: u64,
}

impl std::ops::Add for Usage {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            busy: self.busy + other.busy,
            waited_ticks: self.waited_ticks + other.waited_ticks,
            served: self.served + other.served,
        }
    }
}

impl std::iter::Sum for Usage {
    fn sum<I: Iterator<Item = Self>>(each: I) -> Self {
        each.fold(Self::default(), std::ops::Add::add)
    }
}

/// What a station, or several of a kind together, did in a window of time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StationUsage {
    /// Whose it is and what it is: "ssd0 dies".
    pub name: String,
    /// How many there are: all of them are busy for as many times the window.
    pub servers: u32,
    /// What they did.
    pub usage: Usage,
}

/// Busy for as long as each piece of work says: a core, a thread that polls, a pipeline of an adapter, a die.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Station {
    free_at: Time,
    /// Since when it has been busy without a break, up to `free_at`.
    busy_from: Time,
    /// Of all work taken on since measuring began, however long it will take.
    usage: Usage,
}

impl Station {
    /// Works for `span`, from `at` on or as soon as it is free; returns the end.
    #[inline]
    pub(crate) fn occupy(&mut self, at: Time, span: Span) -> Time {
        self.occupy_since(at, at, span)
    }

    /// The same for work that has waited since `asked`, somewhere else.
    #[inline]
    pub(crate) fn occupy_since(&mut self, asked: Time, at: Time, span: Span) -> Time {
        let start = self.free_at.max(at);
        if start > self.free_at {
            self.busy_from = start;
        }
        self.free_at = start + span;
        self.usage.busy += span;
        self.usage.waited_ticks += u128::from((start - asked).ticks());
        self.usage.served += 1;
        self.free_at
    }

    /// Lets work in at `at` or as soon as it can; the next may follow `span` later. Returns when it is let in.
    #[inline]
    pub(crate) fn enter(&mut self, at: Time, span: Span) -> Time {
        self.occupy(at, span) - span
    }

    /// Whether it has something to do at `at`, which is not before now.
    #[inline]
    pub(crate) fn is_busy(&self, at: Time) -> bool {
        self.free_at > at
    }

    /// When it has done all that it was given.
    pub(crate) fn free_at(&self) -> Time {
        self.free_at
    }

    /// What it did since measuring began, until `now`.
    pub(crate) fn usage(&self, now: Time) -> Usage {
        Usage { busy: self.usage.busy.saturating_sub(self.ahead(now)), ..self.usage }
    }

    /// Measuring begins: what it has still to do counts for what comes.
    pub(crate) fn start_measuring(&mut self, now: Time) {
        self.usage = Usage { busy: self.ahead(now), ..Usage::default() };
    }

    /// Work that it was given and that lies in the future. Assumed: without a break, as where work is given when it
    /// arrives; a break before work that is announced ahead of its time is counted right only when it is the last.
    fn ahead(&self, now: Time) -> Span {
        self.free_at.saturating_since(self.busy_from.max(now))
    }
}

/// A path that bytes cross at a given rate; or no limit at all.
#[derive(Clone, Debug)]
pub(crate) struct Path {
    rate: Option<Rate>,
    station: Station,
}

impl Path {
    /// A path of this rate; without one it takes no time.
    pub(crate) fn new(rate: Option<Rate>) -> Self {
        Self { rate, station: Station::default() }
    }

    /// Takes `bytes` that arrive now; returns when the last of them has crossed.
    #[inline]
    pub(crate) fn reserve(&mut self, now: Time, bytes: Bytes) -> Time {
        match self.rate {
            None => now,
            Some(rate) => self.station.occupy(now, rate.span_ceil(bytes)),
        }
    }

    /// Whether something is crossing, or waits to.
    pub(crate) fn is_busy(&self, now: Time) -> bool {
        self.station.is_busy(now)
    }

    /// What it did since measuring began, until `now`; nothing without a rate.
    pub(crate) fn usage(&self, now: Time) -> Usage {
        self.station.usage(now)
    }

    /// Measuring begins.
    pub(crate) fn start_measuring(&mut self, now: Time) {
        self.station.start_measuring(now);
    }
}

/// Several stations side by side: dies by address, cores by number.
#[derive(Clone, Debug)]
pub(crate) struct Bank {
    stations: Vec<Station>,
}

impl Bank {
    /// So many idle stations, at least one.
    pub(crate) fn new(count: u32) -> Self {
        Self { stations: vec![Station::default(); count.max(1) as usize] }
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.stations.len()
    }

    /// The station of this number, counted round, so that any number names one.
    #[inline]
    pub(crate) fn of(&mut self, number: usize) -> &mut Station {
        let count = self.stations.len();
        &mut self.stations[number % count]
    }

    /// Whether the station of this number has something to do.
    #[inline]
    pub(crate) fn is_busy(&self, number: usize, at: Time) -> bool {
        self.stations[number % self.stations.len()].is_busy(at)
    }

    /// What all of them did together since measuring began, until `now`.
    pub(crate) fn usage(&self, now: Time) -> Usage {
        self.stations.iter().map(|station| station.usage(now)).sum()
    }

    /// Measuring begins.
    pub(crate) fn start_measuring(&mut self, now: Time) {
        self.stations.iter_mut().for_each(|station| station.start_measuring(now));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
    }

    #[test]
    fn a_pipeline_lets_work_in_at_its_rate_and_alone_at_once() {
        let mut station = Station::default();
        assert_eq!(station.enter(at(10), Span::from_ns(5)), at(10));
        assert_eq!(station.enter(at(10), Span::from_ns(5)), at(15));
        assert_eq!(station.enter(at(40), Span::from_ns(5)), at(40));
    }

    #[test]
    fn what_it_did_is_what_lies_in_the_window() {
        let mut station = Station::default();
        station.occupy(at(0), Span::from_ns(100));
        station.start_measuring(at(60));
        station.occupy(at(70), Span::from_ns(100));
        station.occupy(at(300), Span::from_ns(50));
        let usage = station.usage(at(310));
        // 40 of the first, 100 of the second, 10 of the third so far; the second waited from 70 to 100.
        assert_eq!(usage.busy, Span::from_ns(150));
        assert_eq!((usage.waited_ticks, usage.served), (u128::from(Span::from_ns(30).ticks()), 2));
        assert_eq!(station.usage(at(1000)).busy, Span::from_ns(190));
        assert_eq!(Station::default().usage(at(5)), Usage::default());
    }

    #[test]
    fn work_that_waited_elsewhere_says_since_when() {
        let mut station = Station::default();
        assert_eq!(station.occupy_since(at(3), at(10), Span::from_ns(5)), at(15));
        assert_eq!(station.usage(at(20)).waited_ticks, u128::from(Span::from_ns(7).ticks()));
    }

    #[test]
    fn several_stations_are_named_by_number_and_counted_together() {
        let mut bank = Bank::new(2);
        let ends = [(0, 5), (1, 9), (2, 2)].map(|(of, span)| bank.of(of).occupy(at(0), Span::from_ns(span)));
        assert_eq!(ends, [at(5), at(9), at(7)], "number 2 is number 0");
        assert!(bank.is_busy(3, at(8)) && !bank.is_busy(2, at(8)));
        assert_eq!(bank.usage(at(9)).busy, Span::from_ns(16));
        bank.start_measuring(at(9));
        assert_eq!((bank.usage(at(20)), bank.count()), (Usage::default(), 2));
    }

    #[test]
    fn bytes_queue_at_the_rate() {
        let mut path = Path::new(Some(Rate::from_bytes_per_second(1_000_000_000)));
        assert_eq!(path.reserve(at(0), Bytes::new(100)), at(100));
        assert_eq!(path.reserve(at(50), Bytes::new(100)), at(200));
        assert_eq!(path.reserve(at(500), Bytes::new(100)), at(600));
        path.start_measuring(at(550));
        assert_eq!(path.usage(at(700)).busy, Span::from_ns(50));
    }

    #[test]
    fn no_rate_is_no_time() {
        let mut path = Path::new(None);
        assert_eq!(path.reserve(at(7), Bytes::from_kib(1024)), at(7));
        assert!(!path.is_busy(at(7)));
    }
}
