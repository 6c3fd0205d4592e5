//! Numbers of bytes.

use core::fmt;
use core::ops::{Add, AddAssign, Mul, Sub, SubAssign};

/// A number of bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Bytes(u64);

impl Bytes {
    /// No bytes.
    pub const ZERO: Self = Self(0);

    /// So many bytes.
    pub const fn new(bytes: u64) -> Self {
        Self(bytes)
    }

    /// So many KiB of 1,024 bytes.
    pub const fn from_kib(kib: u64) -> Self {
        Self(kib * 1024)
    }

    /// The count as a plain integer.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// How many `unit` are needed to hold these bytes.
    ///
    /// # Panics
    /// When `unit` is zero.
    pub const fn div_ceil(self, unit: Self) -> u64 {
        self.0.div_ceil(unit.0)
    }

    /// How many whole `unit` fit in these bytes.
    ///
    /// # Panics
    /// When `unit` is zero.
    pub const fn div_floor(self, unit: Self) -> u64 {
        self.0 / unit.0
    }

    /// Rounded up to a whole number of `unit`.
    pub const fn round_up_to(self, unit: Self) -> Self {
        Self(self.0.div_ceil(unit.0) * unit.0)
    }

    /// These bytes less `other`, or none.
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Add for Bytes {
    type Output = Bytes;
    fn add(self, other: Bytes) -> Bytes {
        Bytes(self.0 + other.0)
    }
}

impl AddAssign for Bytes {
    fn add_assign(&mut self, other: Bytes) {
        self.0 += other.0;
    }
}

impl Sub for Bytes {
    type Output = Bytes;
    fn sub(self, other: Bytes) -> Bytes {
        Bytes(self.0 - other.0)
    }
}

impl SubAssign for Bytes {
    fn sub_assign(&mut self, other: Bytes) {
        self.0 -= other.0;
    }
}

impl Mul<u64> for Bytes {
    type Output = Bytes;
    fn mul(self, times: u64) -> Bytes {
        Bytes(self.0 * times)
    }
}

impl core::iter::Sum for Bytes {
    fn sum<I: Iterator<Item = Bytes>>(counts: I) -> Bytes {
        counts.fold(Bytes::ZERO, Add::add)
    }
}

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} B", self.0)
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The largest that divides it. Powers of ten are for capacities; frames of 9,000 B stay bytes.
        const UNITS: [(u64, &str); 7] = [
            (1 << 40, "TiB"),
            (1_000_000_000_000, "TB"),
            (1 << 30, "GiB"),
            (1_000_000_000, "GB"),
            (1 << 20, "MiB"),
            (1_000_000, "MB"),
            (1 << 10, "KiB"),
        ];
        let whole = UNITS.iter().find(|(size, _)| self.0 >= *size && self.0.is_multiple_of(*size));
        match whole {
            Some((size, name)) => write!(f, "{} {name}", self.0 / size),
            None => write!(f, "{} B", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_is_written_out() {
        assert_eq!(Bytes::new(257).div_ceil(Bytes::new(256)), 2);
        assert_eq!(Bytes::new(257).div_floor(Bytes::new(256)), 1);
        assert_eq!(Bytes::new(5).round_up_to(Bytes::new(4)), Bytes::new(8));
    }

    #[test]
    fn units_are_used_only_when_exact() {
        assert_eq!(Bytes::from_kib(4).to_string(), "4 KiB");
        assert_eq!(Bytes::new(310_000).to_string(), "310000 B");
        assert_eq!(Bytes::new(1_600_000_000_000).to_string(), "1600 GB");
        assert_eq!(Bytes::new(1 << 40).to_string(), "1 TiB");
    }
}
