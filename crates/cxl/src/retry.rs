//! Link-layer retry of 68 B flits: what is kept until it is acknowledged, and when acknowledgements go out. CXL 3.1 §4.2.8.

use std::collections::VecDeque;

/// Flits that one set bit in a header acknowledges. CXL 3.1 §4.2.8.1.
pub const ACKS_OF_A_HEADER: u32 = 8;
/// Acknowledgements owed at which a control flit (LLCRD) carries them, if nothing else has: the recommended Ack Force Threshold,
/// CXL 3.1 §8.2.4.19.6.
pub const FORCED_AT: u32 = 16;
/// Most flits of a retry buffer: its counters have 8 bits. CXL 3.1 §4.2.8.1.
pub const MOST_KEPT: u32 = 255;
/// Least: a forced acknowledgement (16), the longest run of all-data flits (4), and 2.
pub const LEAST_KEPT: u32 = 22;
/// Entries that stay free, so that a flit with an acknowledgement can always go; and before a message begins, those for the
/// all-data flits that must follow it.
const RESERVED: u32 = 2;
const ALL_DATA_RUN: u32 = 4;
/// Control flits of a RETRY.Req or RETRY.Ack sequence: five RETRY.Frame before it. CXL 3.1 §4.2.8.4.
pub const RETRY_SEQUENCE: u32 = 6;

/// What a sender keeps until it is acknowledged.
#[derive(Clone, Debug)]
pub struct RetryBuffer<T> {
    size: u32,
    kept: VecDeque<T>,
    /// How many of the kept are still to be sent again, from the back.
    again: usize,
}

impl<T: Copy> RetryBuffer<T> {
    /// An empty one.
    pub fn new(size: u32) -> Self {
        Self { size, kept: VecDeque::new(), again: 0 }
    }

    /// Whether a flit with a new message may go.
    pub fn may_begin(&self) -> bool {
        self.free() > RESERVED + ALL_DATA_RUN
    }

    /// Whether the all-data flits of messages that have begun may go, or a flit that acknowledges something.
    pub fn may_go_on(&self) -> bool {
        self.free() > 1
    }

    /// Entries that hold nothing.
    pub fn free(&self) -> u32 {
        self.size - self.kept.len() as u32
    }

    /// Entries that it has.
    pub fn size(&self) -> u32 {
        self.size
    }

    /// Flits that it holds.
    pub fn kept(&self) -> u64 {
        self.kept.len() as u64
    }

    /// Keeps a flit that is being sent.
    pub fn keep(&mut self, flit: T) {
        assert!(self.free() > 0, "a retry buffer is never overfull");
        self.kept.push_back(flit);
    }

    /// So many of the oldest have arrived.
    pub fn acknowledge(&mut self, count: u32) {
        self.kept.drain(..count as usize);
        assert!(self.again <= self.kept.len(), "what is sent again has not been acknowledged");
    }

    /// What is not acknowledged is to be sent again, but for the oldest `arrived`.
    pub fn replay(&mut self, arrived: usize) {
        self.again = self.kept.len() - arrived;
    }

    /// The oldest flit that is kept.
    pub fn oldest(&self) -> Option<&T> {
        self.kept.front()
    }

    /// The next flit to be sent again.
    pub fn next_again(&mut self) -> Option<T> {
        let flit = *self.kept.get(self.kept.len() - self.again)?;
        self.again -= 1;
        Some(flit)
    }

    /// Whether something is to be sent again.
    pub fn is_replaying(&self) -> bool {
        self.again > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replay_is_everything_that_has_not_arrived_in_order() {
        let mut buffer = RetryBuffer::new(LEAST_KEPT);
        (0..15).for_each(|flit| buffer.keep(flit));
        assert!(buffer.free() == 7 && buffer.may_begin());
        buffer.keep(15);
        assert!(!buffer.may_begin() && buffer.may_go_on());
        buffer.acknowledge(ACKS_OF_A_HEADER);
        buffer.replay(1);
        let again: Vec<i32> = std::iter::from_fn(|| buffer.next_again()).collect();
        assert_eq!(again, (9..16).collect::<Vec<_>>());
        assert!(!buffer.is_replaying() && buffer.next_again().is_none());
    }
}
