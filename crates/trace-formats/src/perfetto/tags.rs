//! Tags in use, over time: of each requester the reads that were issued and are not complete.
//!
//! A read has its tag from its issue on, which is known when it goes onto the wire. Requests of a requester leave in the order of their
//! issue, so that up to the issue of the one that left last, everything is known: so far the counter is written.
//!
//! Leaves out requesters whose link is in Flit Mode or has faults: it is not known from the rows when a completion has arrived there.
//! A read whose last completion is on the wire at the start has no row in the trace, and stays counted.

use super::packets::{Packets, Track};
use lanewise_units::Few;

/// Tags of one requester.
pub(super) struct Tags {
    track: Track,
    /// Start of the trace.
    from: u64,
    in_use: i64,
    /// Whether `in_use` is all there are, or those only whose request is in the trace.
    is_all: bool,
    /// Requests of the trace that are not complete: tag and issue.
    open: Few<(u16, u64), ()>,
    /// What is not written.
    changes: Few<u64, i64>,
    written_until: u64,
}

impl Tags {
    /// `at_start` is how many there are, where that is known.
    pub(super) fn new(track: Track, from: u64, at_start: Option<u32>) -> Self {
        Self {
            track,
            from,
            in_use: at_start.map_or(0, i64::from),
            is_all: at_start.is_some(),
            open: Few::default(),
            changes: Few::default(),
            written_until: from,
        }
    }

    /// Writes the number at the start.
    pub(super) fn begin(&self, packets: &mut Packets) {
        packets.count(self.track, self.from, self.in_use)
    }

    /// A request has left its requester for the first time.
    pub(super) fn left(&mut self, packets: &mut Packets, tag: u16, issued_at: u64) {
        self.open.insert((tag, issued_at), ());
        // What was issued before the start is counted there.
        if issued_at > self.from || !self.is_all {
            *self.changes.or_insert_with(issued_at.max(self.written_until), || 0) += 1;
        }
        self.write_before(packets, issued_at)
    }

    /// The last completion of a request arrives.
    pub(super) fn completes(&mut self, tag: u16, issued_at: u64, arrives_at: u64) {
        if self.open.remove((tag, issued_at)).is_some() || self.is_all {
            *self.changes.or_insert_with(arrives_at.max(self.written_until), || 0) -= 1;
        }
    }

    /// Writes what is known: all, if it comes to what there is at the end.
    pub(super) fn end(&mut self, packets: &mut Packets, until: u64, at_end: Option<u32>) {
        let counted = self.in_use
            + self.changes.iter().take_while(|(at, _)| *at <= until).map(|(_, change)| change).sum::<i64>();
        let is_whole = at_end.is_none_or(|at_end| i64::from(at_end) == counted);
        if is_whole {
            self.write_before(packets, until + 1);
        }
    }

    fn write_before(&mut self, packets: &mut Packets, tick: u64) {
        while let Some((at, change)) = self.changes.take_first(|at| at < tick) {
            self.in_use += change;
            self.written_until = at;
            if change != 0 {
                packets.count(self.track, at, self.in_use);
            }
        }
        self.written_until = self.written_until.max(tick.saturating_sub(1));
    }
}
