//! Tags, and the reads that are out with them.

use super::Endpoint;
use crate::packet::{Flags, Packet};
use crate::workload::Direction;
use lanewise_pcie::tag::{Tag, TagPool};
use lanewise_units::{Span, Time};

/// A read request whose completions have not all come back.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct OutstandingRead {
    /// When it got its tag.
    pub(super) since: Time,
    pub(super) left: u16,
    pub(super) tag: Option<Tag>,
}

/// Tags, and the read that each is out with.
#[repr(align(64))]
pub(super) struct Reads {
    pub(super) tags: TagPool,
    pub(super) out: Vec<OutstandingRead>,
    pub(super) times: ReadTimes,
}

/// Sums for Little's law, in ticks modulo 2⁶⁴: what is added up to more than that still balances.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ReadTimes {
    /// Instants at which reads gave their tag back, less those at which they took it.
    pub(super) left_less_entered: u64,
    /// How long reads had their tag, of those that gave it back.
    pub(super) with_tag: u64,
    /// The same of those whose latency was stated when they did, with what the device adds.
    pub(super) stated: u64,
}

impl ReadTimes {
    /// How long the latencies should be that were stated of these reads, added up.
    pub(crate) fn stated(&self) -> u64 {
        self.stated
    }
}

impl Reads {
    /// Enters a read of so many bytes. Returns its slot.
    #[inline(always)]
    pub(super) fn enter(&mut self, tag: Tag, bytes: u16, now: Time) -> u16 {
        let slot = tag.index(self.tags.width());
        if self.out.len() <= slot {
            self.out.resize(slot + 1, OutstandingRead::default());
        }
        self.out[slot] = OutstandingRead { since: now, left: bytes, tag: Some(tag) };
        self.times.left_less_entered = self.times.left_less_entered.wrapping_sub(now.ticks());
        slot as u16
    }

    /// The read of a slot is over: its tag is free again. Returns how long it had it, and the bytes that did not come.
    #[inline]
    pub(super) fn end(&mut self, slot: u16, now: Time) -> (Span, u16) {
        let read = &mut self.out[usize::from(slot)];
        self.tags.give(read.tag.take().expect("an outstanding read has a tag"));
        let with_tag = now - read.since;
        self.times.with_tag = self.times.with_tag.wrapping_add(with_tag.ticks());
        self.times.left_less_entered = self.times.left_less_entered.wrapping_add(now.ticks());
        (with_tag, std::mem::take(&mut read.left))
    }

    /// Little's law: reads that have a tag, over all time, and the time that each had it, added up, are the same. The first
    /// comes from the number of tags and the instants at which it changed, the second from the entries.
    pub(super) fn number_and_time(&self, now: Time) -> [u64; 2] {
        let out = u64::from(self.tags.in_flight());
        let number = out.wrapping_mul(now.ticks()).wrapping_add(self.times.left_less_entered);
        let still_out =
            self.out.iter().filter(|read| read.tag.is_some()).map(|read| (now - read.since).ticks());
        [number, still_out.fold(self.times.with_tag, u64::wrapping_add)]
    }
}

impl Endpoint {
    /// Read requests in flight.
    pub(crate) fn outstanding_reads(&self) -> u32 {
        u32::from(self.reads.tags.in_flight())
    }

    /// Whether it has something to ask for, and no tag.
    pub(crate) fn lacks_tags(&self) -> bool {
        self.wants(Direction::Read) && !self.reads.tags.has_free()
    }

    /// Reads with a tag, added up over time: their number, and the time of each. What each was stated to take.
    pub(crate) fn reads_over_time(&self, now: Time) -> ([u64; 2], &ReadTimes) {
        (self.reads.number_and_time(now), &self.reads.times)
    }

    /// A read is taken for older than it is, for a test of who notices.
    #[cfg(test)]
    pub(crate) fn age_a_read(&mut self, by: Span) {
        let read = self.reads.out.iter_mut().find(|read| read.tag.is_some()).expect("a read is out");
        read.since = read.since - by;
    }

    /// A tag goes astray, for a test of who notices.
    #[cfg(test)]
    pub(crate) fn leak_tag(&mut self) {
        self.reads.tags.take().expect("a tag is free");
    }

    /// Entries in the table of reads that are out: as many as there are [`Self::outstanding_reads`].
    pub(crate) fn reads_entered(&self) -> usize {
        self.reads.out.iter().filter(|read| read.tag.is_some()).count()
    }

    /// Bytes of a read that have not come.
    pub(crate) fn left_of(&self, slot: u16) -> u16 {
        self.reads.out[usize::from(slot)].left
    }

    /// Gives a read up: its tag is free again. Returns the bytes that did not come.
    pub(crate) fn abandon(&mut self, slot: u16, now: Time) -> u16 {
        let (_, missing) = self.reads.end(slot, now);
        if let Some(queues) = self.dma.as_mut().map(|dma| dma.ended(slot)) {
            queues.into_iter().flatten().for_each(|queue| self.takes_turns(queue, Direction::Read));
        }
        missing
    }

    /// Takes in part of a read's data. True when the request is complete and its tag free again: its latency, with what the
    /// device adds, is to be stated.
    #[inline]
    pub(crate) fn completion(&mut self, packet: &Packet, now: Time) -> bool {
        let done = self.count_completion(packet);
        if done {
            let (with_tag, _) = self.reads.end(packet.read, now);
            let latency = with_tag + self.config.completion_latency;
            self.reads.times.stated = self.reads.times.stated.wrapping_add(latency.ticks());
        }
        done
    }

    /// Takes in part of a read's data. True when the request is complete: its tag is still to be given back.
    #[inline]
    pub(crate) fn count_completion(&mut self, packet: &Packet) -> bool {
        let slot = packet.read;
        let read = &mut self.reads.out[usize::from(slot)];
        assert!(
            read.left >= packet.length,
            "read {}: {} B arrive, {} B were outstanding",
            slot,
            packet.length,
            read.left
        );
        read.left -= packet.length;
        let done = read.left == 0;
        assert_eq!(done, packet.flags.has(Flags::LAST), "read {slot}: last completion out of order");
        done
    }
}
