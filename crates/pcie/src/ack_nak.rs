//! The data link layer's promise that no TLP is lost, doubled or reordered. PCIe Base §3.6, §4.2.3.4.2.1.
//!
//! [`RetryBuffer`] is the transmitter's half, [`ReceiveSequence`] the receiver's; latency limits say how long
//! a receiver may wait with an Ack and a transmitter for one. Both halves serve Flit Mode too, where whole
//! flits are numbered ([`SequenceSpace::Flit`]). Leaves out: the L0s adjustment of the timers, and selective
//! Nak of a single flit.

mod latency;
mod receive;
mod retry_buffer;

pub use latency::{
    FLIT_REPLAY_TIMEOUT_FLITS, ReplayRule, SIMPLIFIED_REPLAY_TIMER, ack_latency_limit, flit_ack_latency,
    replay_timer_limit,
};
pub use receive::{ReceiveSequence, Verdict};
pub use retry_buffer::{ReplayOutcome, RetryBuffer};

/// A TLP's sequence number (12 bits), or in Flit Mode a flit's (10 bits).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Sequence(u16);

impl Sequence {
    /// The first number of a link outside Flit Mode.
    pub const ZERO: Self = Self(0);

    /// A sequence number from its field, reduced to 12 bits.
    #[inline]
    pub const fn new(value: u16) -> Self {
        Self(value % 4096)
    }

    /// The field's value.
    #[inline]
    pub const fn get(self) -> u16 {
        self.0
    }

    /// The next number outside Flit Mode.
    #[inline]
    #[must_use]
    pub const fn next(self) -> Self {
        SequenceSpace::NonFlit.next(self)
    }

    /// How far this number is after `earlier` outside Flit Mode, modulo 4096.
    #[inline]
    pub const fn distance_from(self, earlier: Self) -> u16 {
        SequenceSpace::NonFlit.distance(earlier, self)
    }
}

/// Which numbers there are and how many may be unacknowledged.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum SequenceSpace {
    /// TLPs, 0 to 4095; the transmitter stalls when 2048 lie between the next number and the last
    /// acknowledged.
    ///
    /// Source: PCIe Base §3.6.2.1.
    #[default]
    NonFlit,
    /// Payload flits, 1 to 1023; at most 511 unacknowledged. Source: PCIe Base §4.2.3.4.2.1.
    Flit,
}

impl SequenceSpace {
    /// The first number used after a link comes up.
    #[inline]
    pub const fn first(self) -> Sequence {
        match self {
            Self::NonFlit => Sequence(0),
            Self::Flit => Sequence(1),
        }
    }

    /// How many numbers there are.
    #[inline]
    pub const fn modulus(self) -> u16 {
        match self {
            Self::NonFlit => 4096,
            Self::Flit => 1023,
        }
    }

    /// Most packets that may be unacknowledged.
    #[inline]
    pub const fn window(self) -> u16 {
        match self {
            Self::NonFlit => 2047,
            Self::Flit => 511,
        }
    }

    /// The number after `sequence`.
    #[inline]
    pub const fn next(self, sequence: Sequence) -> Sequence {
        self.advance(sequence, 1)
    }

    /// The number before `sequence`.
    #[inline]
    pub const fn previous(self, sequence: Sequence) -> Sequence {
        self.advance(sequence, self.modulus() - 1)
    }

    /// The number `steps` after `sequence`; `steps` is less than the modulus.
    #[inline]
    pub const fn advance(self, sequence: Sequence, steps: u16) -> Sequence {
        debug_assert!(steps < self.modulus());
        let after = sequence.0 + steps;
        match self {
            Self::NonFlit => Sequence(after % 4096),
            Self::Flit if after <= 1023 => Sequence(after),
            Self::Flit => Sequence(after - 1023),
        }
    }

    /// Steps from `earlier` forwards to `later`.
    #[inline]
    pub const fn distance(self, earlier: Sequence, later: Sequence) -> u16 {
        match self {
            Self::NonFlit => later.0.wrapping_sub(earlier.0) % 4096,
            Self::Flit if later.0 >= earlier.0 => later.0 - earlier.0,
            Self::Flit => later.0 + 1023 - earlier.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tlp_numbers_wrap_after_4095() {
        assert_eq!(Sequence::new(4095).next(), Sequence::ZERO);
        assert_eq!(Sequence::new(2).distance_from(Sequence::new(4090)), 8);
    }

    #[test]
    fn flit_numbers_skip_zero() {
        let flit = SequenceSpace::Flit;
        assert_eq!(flit.next(Sequence::new(1023)), Sequence::new(1));
        assert_eq!(flit.previous(Sequence::new(1)), Sequence::new(1023));
        assert_eq!(flit.distance(Sequence::new(1022), Sequence::new(2)), 3);
    }
}
