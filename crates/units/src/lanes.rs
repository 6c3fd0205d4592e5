//! What a lane runs at and how many lanes there are.

use crate::{Bytes, Span, TICKS_PER_NS};
use core::fmt;

/// Generation of the signalling rate, PCIe Base chapter 4.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Generation {
    /// 2.5 GT/s.
    Gen1,
    /// 5 GT/s.
    Gen2,
    /// 8 GT/s.
    Gen3,
    /// 16 GT/s.
    Gen4,
    /// 32 GT/s.
    Gen5,
    /// 64 GT/s, PAM4.
    Gen6,
    /// 128 GT/s, PAM4.
    Gen7,
}

impl Generation {
    /// Every generation, slowest first.
    pub const ALL: [Self; 7] =
        [Self::Gen1, Self::Gen2, Self::Gen3, Self::Gen4, Self::Gen5, Self::Gen6, Self::Gen7];

    /// The generation with this number, 1 to 7.
    pub const fn from_number(number: u8) -> Option<Self> {
        match number {
            1..=7 => Some(Self::ALL[number as usize - 1]),
            _ => None,
        }
    }

    /// 1 to 7.
    pub const fn number(self) -> u8 {
        self as u8 + 1
    }

    /// Transfers per second on one lane, in units of 10⁸ (2.5 GT/s is 25).
    pub const fn transfers_e8_per_second(self) -> u64 {
        match self {
            Self::Gen1 => 25,
            Self::Gen2 => 50,
            later => 80 << (later as u64 - Self::Gen3 as u64),
        }
    }

    /// Nominal time of one symbol, the slot of one byte on one lane, sync headers not counted.
    ///
    /// 4 ns, 2 ns, 1 ns, then halving. Source: PCIe Base 6.3 §4.2.
    pub const fn symbol_time(self) -> Span {
        match self {
            Self::Gen1 => Span::from_ns(4),
            Self::Gen2 => Span::from_ns(2),
            later => Span::from_ticks(TICKS_PER_NS >> (later as u64 - Self::Gen3 as u64)),
        }
    }
}

impl fmt::Display for Generation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "gen{}", self.number())
    }
}

/// Number of lanes of a link. x12 and x32 are legacy widths that only Base up to 5.0 names.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Width(u8);

impl Width {
    /// One lane.
    pub const X1: Self = Self(1);
    /// Two lanes.
    pub const X2: Self = Self(2);
    /// Four lanes.
    pub const X4: Self = Self(4);
    /// Eight lanes.
    pub const X8: Self = Self(8);
    /// Twelve lanes (legacy).
    pub const X12: Self = Self(12);
    /// Sixteen lanes.
    pub const X16: Self = Self(16);
    /// Thirty-two lanes (legacy).
    pub const X32: Self = Self(32);
    /// Every width, narrowest first.
    pub const ALL: [Self; 7] = [Self::X1, Self::X2, Self::X4, Self::X8, Self::X12, Self::X16, Self::X32];

    /// The width of so many lanes, when the specification knows it.
    pub const fn from_lanes(lanes: u64) -> Option<Self> {
        match lanes {
            1 | 2 | 4 | 8 | 12 | 16 | 32 => Some(Self(lanes as u8)),
            _ => None,
        }
    }

    /// Number of lanes.
    pub const fn lanes(self) -> u64 {
        self.0 as u64
    }
}

impl fmt::Display for Width {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "x{}", self.0)
    }
}

impl fmt::Debug for Width {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "x{}", self.0)
    }
}

/// Symbol times: one byte slot on *each* lane. Per lane, so bytes only come out with a [`Width`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct SymbolTimes(u64);

impl SymbolTimes {
    /// So many symbol times.
    pub const fn new(symbols: u64) -> Self {
        Self(symbols)
    }

    /// The count as a plain integer.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Bytes that fit in these symbol times on `width` lanes.
    pub const fn bytes(self, width: Width) -> Bytes {
        Bytes::new(self.0 * width.lanes())
    }

    /// Nominal duration at a generation's symbol time.
    pub const fn span(self, generation: Generation) -> Span {
        Span::from_ticks(self.0 * generation.symbol_time().ticks())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbol_times_halve_from_gen3_on() {
        let ns: Vec<f64> = Generation::ALL.iter().map(|g| g.symbol_time().as_ns()).collect();
        assert_eq!(ns, [4.0, 2.0, 1.0, 0.5, 0.25, 0.125, 0.0625]);
    }

    #[test]
    fn a_symbol_time_carries_a_byte_per_lane() {
        assert_eq!(SymbolTimes::new(203).bytes(Width::X8), Bytes::new(1624));
    }

    #[test]
    fn transfers_follow_the_generations() {
        let rates: Vec<u64> = Generation::ALL.iter().map(|g| g.transfers_e8_per_second()).collect();
        assert_eq!(rates, [25, 50, 80, 160, 320, 640, 1280]);
    }
}
