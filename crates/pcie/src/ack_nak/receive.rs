//! The receiver's half: what to do with a packet that arrived. PCIe Base §3.6.3.1.

use super::{Sequence, SequenceSpace};

/// What becomes of a packet that arrived.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Verdict {
    /// Good and expected: pass it on, acknowledge it in due time.
    Accept,
    /// Seen before: drop it and acknowledge again.
    DiscardDuplicate,
    /// Bad, or something before it is missing: drop it and send a Nak with this number.
    DiscardNak(Sequence),
    /// Drop it; a Nak is already on its way.
    DiscardSilently,
}

/// NEXT_RCV_SEQ and NAK_SCHEDULED.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ReceiveSequence {
    next_expected: Sequence,
    nak_scheduled: bool,
    space: SequenceSpace,
}

impl Default for ReceiveSequence {
    fn default() -> Self {
        Self::new()
    }
}

impl ReceiveSequence {
    /// A receiver of TLPs that has seen nothing yet.
    pub const fn new() -> Self {
        Self::in_space(SequenceSpace::NonFlit)
    }

    /// A receiver of flits that has seen nothing yet.
    pub const fn for_flits() -> Self {
        Self::in_space(SequenceSpace::Flit)
    }

    const fn in_space(space: SequenceSpace) -> Self {
        Self { next_expected: space.first(), nak_scheduled: false, space }
    }

    /// Judges a packet; `good` is whether its CRC was right and the receiver saw no error.
    #[inline]
    pub const fn receive(&mut self, sequence: Sequence, good: bool) -> Verdict {
        if !good {
            // Of flits the one that is waited for can only be bad again in a replay, and is refused again: PCIe Base §4.2.3.4.2.1.
            if matches!(self.space, SequenceSpace::Flit) && sequence.get() == self.next_expected.get() {
                self.nak_scheduled = false;
            }
            return self.nak();
        }
        if sequence.get() == self.next_expected.get() {
            self.next_expected = self.space.next(sequence);
            self.nak_scheduled = false;
            return Verdict::Accept;
        }
        let behind = self.space.distance(sequence, self.next_expected);
        if behind <= self.space.window() + 1 { Verdict::DiscardDuplicate } else { self.nak() }
    }

    /// The number an Ack or Nak carries now: the last one accepted.
    #[inline]
    pub const fn last_accepted(&self) -> Sequence {
        self.space.previous(self.next_expected)
    }

    /// NEXT_RCV_SEQ.
    #[inline]
    pub const fn next_expected(&self) -> Sequence {
        self.next_expected
    }

    /// Whether a Nak was sent that nothing has answered yet; no further Nak goes out until then.
    #[inline]
    pub const fn nak_scheduled(&self) -> bool {
        self.nak_scheduled
    }

    const fn nak(&mut self) -> Verdict {
        if self.nak_scheduled {
            return Verdict::DiscardSilently;
        }
        self.nak_scheduled = true;
        Verdict::DiscardNak(self.last_accepted())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ack_nak::RetryBuffer;
    use lanewise_units::Bytes;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    #[test]
    fn one_bad_tlp_gives_one_nak_until_it_arrives_again() {
        let mut receiver = ReceiveSequence::new();
        assert_eq!(receiver.receive(Sequence::new(0), true), Verdict::Accept);
        assert_eq!(receiver.receive(Sequence::new(1), false), Verdict::DiscardNak(Sequence::new(0)));
        assert!(receiver.nak_scheduled());
        assert_eq!(receiver.receive(Sequence::new(2), true), Verdict::DiscardSilently);
        assert_eq!(receiver.receive(Sequence::new(1), true), Verdict::Accept);
        assert!(!receiver.nak_scheduled());
        assert_eq!(receiver.receive(Sequence::new(1), true), Verdict::DiscardDuplicate);
    }

    #[test]
    fn the_first_tlp_bad_is_reported_with_the_number_before_zero() {
        let verdict = ReceiveSequence::new().receive(Sequence::new(0), false);
        assert_eq!(verdict, Verdict::DiscardNak(Sequence::new(4095)));
    }

    #[test]
    fn a_lost_tlp_shows_as_a_gap() {
        let mut receiver = ReceiveSequence::new();
        assert_eq!(receiver.receive(Sequence::new(1), true), Verdict::DiscardNak(Sequence::new(4095)));
    }

    /// PCIe Base §3.6.3.1: up to 2048 behind NEXT_RCV_SEQ a number is old, further behind it is from ahead.
    #[test]
    fn half_of_the_numbers_are_old_and_the_rest_is_to_come() {
        let of = |sequence: u16| ReceiveSequence::new().receive(Sequence::new(sequence), true);
        assert_eq!([4095, 2048].map(of), [Verdict::DiscardDuplicate; 2]);
        assert_eq!([2047, 1].map(of), [Verdict::DiscardNak(Sequence::new(4095)); 2]);
    }

    #[test]
    fn a_flit_that_is_bad_again_in_its_replay_is_refused_again() {
        let mut receiver = ReceiveSequence::for_flits();
        let [first, second] = [1, 2].map(Sequence::new);
        assert_eq!(receiver.receive(first, false), Verdict::DiscardNak(Sequence::new(1023)));
        assert_eq!(receiver.receive(second, true), Verdict::DiscardSilently);
        assert_eq!(receiver.receive(first, false), Verdict::DiscardNak(Sequence::new(1023)));
        assert_eq!(receiver.receive(second, false), Verdict::DiscardSilently);
        assert_eq!(receiver.receive(first, true), Verdict::Accept);
    }

    #[test]
    fn flits_count_from_one() {
        let mut receiver = ReceiveSequence::for_flits();
        assert_eq!(receiver.receive(Sequence::new(1), true), Verdict::Accept);
        assert_eq!(receiver.last_accepted(), Sequence::new(1));
    }

    proptest! {
        /// Whatever is corrupted, whatever Acks are skipped: everything arrives once and in order.
        #[test]
        fn nothing_is_lost_doubled_or_reordered(
            bad in prop::collection::vec(prop::bool::weighted(0.2), 1..400),
            ack_every in 1usize..8,
        ) {
            let mut buffer = RetryBuffer::new(Bytes::new(400));
            let mut receiver = ReceiveSequence::new();
            let mut wire: VecDeque<(Sequence, u32)> = VecDeque::new();
            let mut delivered: Vec<u32> = Vec::new();
            let mut sent = 0;
            let mut faults = bad.into_iter();
            while delivered.len() < 5000 {
                if let Some((sequence, item, _)) = buffer.next_replay() {
                    wire.push_back((sequence, item));
                } else if buffer.fits(Bytes::new(20)) {
                    wire.push_back((buffer.push(sent, Bytes::new(20)), sent));
                    sent += 1;
                    continue;
                }
                let Some((sequence, item)) = wire.pop_front() else {
                    buffer.start_replay();
                    continue;
                };
                match receiver.receive(sequence, !faults.next().unwrap_or(false)) {
                    Verdict::Accept => {
                        delivered.push(item);
                        if delivered.len().is_multiple_of(ack_every) {
                            buffer.acknowledge(receiver.last_accepted());
                        }
                    }
                    Verdict::DiscardDuplicate => {
                        buffer.acknowledge(receiver.last_accepted());
                    }
                    Verdict::DiscardNak(last) => {
                        buffer.acknowledge(last);
                        buffer.start_replay();
                    }
                    Verdict::DiscardSilently => {}
                }
            }
            prop_assert!(delivered.iter().enumerate().all(|(at, &item)| at as u32 == item));
        }
    }
}
