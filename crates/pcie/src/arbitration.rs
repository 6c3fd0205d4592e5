//! Whose turn it is among takers with numbers: round robin, plain or weighted.
//!
//! Used for the virtual channels of a link and for the ingress ports of a switch. A taker that has nothing, or that may not
//! go, loses its turn to the next. Source: PCIe Base 6.3 §6.3.3.4, with weights in place of the phases of a table.

/// How takers compete.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Arbitration {
    /// The same order every time: the lowest ingress port first, the highest virtual channel first.
    Strict,
    /// One packet each in turn.
    RoundRobin,
    /// As many packets in turn as the taker's weight.
    WeightedRoundRobin {
        /// One weight for each taker, by number; none is 0.
        weights: Vec<u8>,
    },
}

impl Arbitration {
    /// One for each taker, where there are any.
    #[inline(always)]
    pub fn weights(&self) -> Option<&[u8]> {
        match self {
            Self::WeightedRoundRobin { weights } => Some(weights),
            Self::Strict | Self::RoundRobin => None,
        }
    }
}

/// The turn, and how much is left of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arbiter {
    whose: u8,
    /// Packets that it is still good for; 1 without weights.
    left: u8,
}

impl Arbiter {
    /// The first taker's, before anything was sent.
    pub fn first(weights: Option<&[u8]>) -> Self {
        Self { whose: 0, left: weights.map_or(1, |weights| weights[0]) }
    }

    /// Which one is asked first.
    #[inline(always)]
    pub const fn whose(self) -> u8 {
        self.whose
    }

    /// `taker`, one of `count`, has sent a packet: passes the turn on when it is used up.
    #[inline(always)]
    pub fn served(&mut self, taker: u8, count: usize, weights: Option<&[u8]>) {
        let next = if usize::from(taker) + 1 < count { taker + 1 } else { 0 };
        let Some(weights) = weights else {
            *self = Self { whose: next, left: 1 };
            return;
        };
        // One out of turn was served because the others had nothing: its turn starts afresh.
        let left = if self.whose == taker { self.left } else { weights[usize::from(taker)] };
        *self = match left {
            0 | 1 => Self { whose: next, left: weights[usize::from(next)] },
            _ => Self { whose: taker, left: left - 1 },
        };
    }
}

#[cfg(test)]
mod tests {
    use super::Arbiter;

    /// Which one sends so many packets, when all have some.
    fn sent(weights: Option<&[u8]>, count: usize, packets: usize) -> Vec<u8> {
        let mut turn = Arbiter::first(weights);
        let mut send = |_| {
            let taker = turn.whose();
            turn.served(taker, count, weights);
            taker
        };
        (0..packets).map(&mut send).collect()
    }

    #[test]
    fn a_turn_is_as_many_packets_as_the_weight() {
        assert_eq!(sent(None, 3, 4), [0, 1, 2, 0]);
        assert_eq!(sent(Some(&[2, 1, 3]), 3, 9), [0, 0, 1, 2, 2, 2, 0, 0, 1]);
    }

    #[test]
    fn one_out_of_turn_has_a_whole_turn() {
        let weights = Some([3u8, 2].as_slice());
        let mut turn = Arbiter::first(weights);
        turn.served(1, 2, weights);
        assert_eq!(turn.whose(), 1);
        turn.served(1, 2, weights);
        assert_eq!(turn.whose(), 0);
    }
}
