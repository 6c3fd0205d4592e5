//! Data rates of things that are not PCIe lanes: memories, drives, wires, engines.
//!
//! A PCIe link does not use this type: `lanewise-pcie` times it exactly from its symbols.

use crate::{Bytes, Span, TICKS_PER_SECOND};
use core::fmt;

/// A data rate.
///
/// Kept as bytes per second and as ticks per byte with 16 binary places, so that a division is paid once.
/// The rounding of the reciprocal is below 2⁻¹⁶ ticks a byte: under 10⁻⁶ of the span for any rate up to 10 TB/s.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate {
    bytes_per_second: u64,
    ticks_per_byte_q16: u64,
}

impl Rate {
    /// A rate in bytes per second.
    ///
    /// # Panics
    /// When `bytes_per_second` is zero.
    pub const fn from_bytes_per_second(bytes_per_second: u64) -> Self {
        assert!(bytes_per_second > 0, "a rate is never zero");
        let ticks = (TICKS_PER_SECOND as u128) << 16;
        let rounded = (ticks + bytes_per_second as u128 / 2) / bytes_per_second as u128;
        Self { bytes_per_second, ticks_per_byte_q16: rounded as u64 }
    }

    /// Bytes per second.
    pub const fn bytes_per_second(self) -> u64 {
        self.bytes_per_second
    }

    /// One of `parts` equal parts of it, rounded down, but at least a byte a second.
    ///
    /// # Panics
    /// When `parts` is zero.
    pub const fn div_floor(self, parts: u64) -> Self {
        let part = self.bytes_per_second / parts;
        Self::from_bytes_per_second(if part == 0 { 1 } else { part })
    }

    /// Time that `bytes` take at this rate, rounded up to a tick.
    pub const fn span_ceil(self, bytes: Bytes) -> Span {
        let ticks_q16 = crate::wide::product(bytes.get(), self.ticks_per_byte_q16);
        Span::from_ticks(((ticks_q16 + 0xffff) >> 16) as u64)
    }
}

impl fmt::Debug for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.bytes_per_second as f64 {
            rate if rate >= 1e9 => write!(f, "{} GB/s", rate / 1e9),
            rate if rate >= 1e6 => write!(f, "{} MB/s", rate / 1e6),
            rate => write!(f, "{rate} B/s"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_over_rate_is_a_span() {
        let rate = Rate::from_bytes_per_second(2_000_000_000);
        assert_eq!(rate.span_ceil(Bytes::new(4096)), Span::from_ns(2048));
        assert_eq!(rate.to_string(), "2 GB/s");
    }
}
