//! Stacks of a root complex: what a group of root ports shares on the way to memory, apart from all others.
//!
//! A stack (a quadrant of an AMD I/O die, an IIO stack of a Xeon, a PHB of POWER) tracks the reads that it has under way: a
//! read takes one entry when it starts, and gives it back when the last of its data is queued at the root port. From then on
//! the wire may keep the data waiting, but not the entry. Reads that find no entry wait in the order of arrival, in the
//! buffers of their root ports; those of other stacks do not notice. Left out: entries that count lines instead of requests.

use crate::config::StackConfig;
use crate::packet::PacketId;
use crate::ring::Ring;
use crate::server::{Book, Server};
use lanewise_units::{Bytes, SpanSum, Time};
use std::collections::VecDeque;

/// A read that waits for an entry, or for room in a queue that root ports share.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WaitingRead {
    pub(crate) request: PacketId,
    /// Counts up with each read of the root complex.
    pub(crate) order: u64,
    pub(crate) since: Time,
}

/// Entries that keep track of reads.
pub(crate) struct Trackers {
    places: u32,
    /// When each entry in use is free again, in order of time.
    in_use: Ring<Time>,
    pub(crate) waiting: VecDeque<WaitingRead>,
    /// When the root complex looks next whether an entry is free.
    pub(crate) looks_at: Time,
    book: Book,
}

impl Trackers {
    fn new(places: u32) -> Self {
        Self {
            places,
            in_use: Ring::default(),
            waiting: VecDeque::new(),
            looks_at: Time::NEVER,
            book: Book::default(),
        }
    }

    /// Whether an entry is free.
    #[inline]
    pub(crate) fn has_room(&mut self, now: Time) -> bool {
        while self.in_use.front().is_some_and(|free_at| *free_at <= now) {
            self.in_use.drop_front();
        }
        self.in_use.len() < self.places as usize
    }

    /// When the next entry is free, if any is in use.
    pub(crate) fn next_free(&self) -> Option<Time> {
        self.in_use.front().copied()
    }

    /// A read that came at `since` takes an entry from `now` until `free_at`.
    #[inline]
    pub(crate) fn take(&mut self, since: Time, now: Time, free_at: Time) {
        self.book.enter(since, now, free_at - now);
        self.in_use.push_before(free_at, |other| *other > free_at);
    }

    /// Entries.
    pub(crate) fn places(&self) -> u32 {
        self.places
    }

    /// What the entries have done up to `at`.
    pub(crate) fn book_at(&self, at: Time) -> Book {
        let ahead: SpanSum = self.in_use.iter().map(|free_at| free_at.saturating_since(at)).sum();
        Book { busy: self.book.busy.saturating_sub(ahead), ..self.book }
    }

    /// Whether no read is under way at `now`, and none waits.
    pub(crate) fn is_quiet(&self, now: Time) -> bool {
        self.waiting.is_empty() && self.in_use.iter().all(|free_at| *free_at <= now)
    }
}

/// One stack.
pub(crate) struct Stack {
    pub(crate) trackers: Trackers,
    /// Rates of its own; none where only what all stacks share is the limit.
    pub(crate) reads: Option<Server>,
    pub(crate) writes: Option<Server>,
    /// What its own devices send to those of other root ports.
    pub(crate) peers_in: Option<Server>,
    /// What those send to its own: a way of its own, because peers move nearly twice as much both ways as one way
    /// (7.05 and 12 GB/s on an EPYC 7261, 8.17 and 14.97 on a Haswell; ROCm/ROCmValidationSuite issue 427).
    pub(crate) peers_out: Option<Server>,
}

impl Stack {
    pub(crate) fn new(config: &StackConfig) -> Self {
        Self {
            trackers: Trackers::new(config.read_trackers),
            reads: config.read_bandwidth.map(Server::new),
            writes: config.write_bandwidth.map(Server::new),
            peers_in: config.peer_rate.map(Server::new),
            peers_out: config.peer_rate.map(Server::new),
        }
    }

    /// When its own path has moved `bytes` of reads that start at `now`.
    #[inline(always)]
    pub(crate) fn read(&mut self, now: Time, bytes: Bytes) -> Time {
        self.reads.as_mut().map_or(now, |server| server.serve(now, bytes))
    }

    /// When its own path has moved `bytes` of writes that come at `now`.
    #[inline(always)]
    pub(crate) fn write(&mut self, now: Time, bytes: Bytes) -> Time {
        self.writes.as_mut().map_or(now, |server| server.serve(now, bytes))
    }

    /// When it has taken over a packet for another root port.
    pub(crate) fn take_over(&mut self, now: Time, bytes: Bytes) -> Time {
        self.peers_in.as_mut().map_or(now, |server| server.serve(now, bytes))
    }

    /// When it has handed a packet of another root port on.
    pub(crate) fn hand_on(&mut self, now: Time, bytes: Bytes) -> Time {
        self.peers_out.as_mut().map_or(now, |server| server.serve(now, bytes))
    }
}
