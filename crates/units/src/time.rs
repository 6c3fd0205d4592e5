//! Points in time and differences between them, in whole ticks.
//!
//! One tick is 2⁻¹⁰ ps, so that one byte takes a whole number of ticks at every rate from 2.5 to 128 GT/s,
//! with 8b/10b, 128b/130b or flit coding, on x1 to x32. A `u64` of ticks lasts five hours.

use core::fmt;
use core::ops::{Add, AddAssign, Mul, Sub, SubAssign};

/// Ticks in one nanosecond.
pub const TICKS_PER_NS: u64 = 1_024_000;
/// Ticks in one second.
pub const TICKS_PER_SECOND: u64 = 1_024_000_000_000_000;

/// A point in simulated time, in ticks since the start of the run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Time(u64);

/// A difference between two points in time, in ticks; never negative.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Span(u64);

/// Spans of many, added up: more than a span holds, because thousands wait at the same time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct SpanSum(u128);

impl Time {
    /// The start of every run.
    pub const ZERO: Self = Self(0);
    /// Later than any event: "not scheduled".
    pub const NEVER: Self = Self(u64::MAX);

    /// The point `ticks` after the start.
    pub const fn from_ticks(ticks: u64) -> Self {
        Self(ticks)
    }

    /// Ticks since the start.
    pub const fn ticks(self) -> u64 {
        self.0
    }

    /// Span since an earlier point, or zero when `earlier` is later.
    pub const fn saturating_since(self, earlier: Self) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }

    /// Seconds since the start, for a reader.
    pub fn as_seconds(self) -> f64 {
        self.0 as f64 / TICKS_PER_SECOND as f64
    }
}

impl Span {
    /// No time at all.
    pub const ZERO: Self = Self(0);

    /// A span of whole ticks.
    pub const fn from_ticks(ticks: u64) -> Self {
        Self(ticks)
    }

    /// A span of whole nanoseconds.
    pub const fn from_ns(ns: u64) -> Self {
        Self(ns * TICKS_PER_NS)
    }

    /// A span of whole microseconds.
    pub const fn from_us(us: u64) -> Self {
        Self(us * TICKS_PER_NS * 1_000)
    }

    /// A span of whole milliseconds.
    pub const fn from_ms(ms: u64) -> Self {
        Self(ms * TICKS_PER_NS * 1_000_000)
    }

    /// Ticks in this span.
    pub const fn ticks(self) -> u64 {
        self.0
    }

    /// Whether the span is empty.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// This span less another, or zero.
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// How many whole `other` fit in this span.
    ///
    /// # Panics
    /// When `other` is zero.
    pub const fn div_floor(self, other: Self) -> u64 {
        self.0 / other.0
    }

    /// How many `other` are needed to cover this span.
    ///
    /// # Panics
    /// When `other` is zero.
    pub const fn div_ceil(self, other: Self) -> u64 {
        self.0.div_ceil(other.0)
    }

    /// Nanoseconds, for a reader.
    pub fn as_ns(self) -> f64 {
        self.0 as f64 / TICKS_PER_NS as f64
    }

    /// Seconds, for a reader.
    pub fn as_seconds(self) -> f64 {
        self.0 as f64 / TICKS_PER_SECOND as f64
    }
}

impl Add<Span> for Time {
    type Output = Time;
    fn add(self, span: Span) -> Time {
        Time(self.0 + span.0)
    }
}

impl AddAssign<Span> for Time {
    fn add_assign(&mut self, span: Span) {
        self.0 += span.0;
    }
}

impl Sub<Span> for Time {
    type Output = Time;
    fn sub(self, span: Span) -> Time {
        Time(self.0 - span.0)
    }
}

impl Sub for Time {
    type Output = Span;
    /// # Panics
    /// In debug builds, when `earlier` is later.
    fn sub(self, earlier: Time) -> Span {
        debug_assert!(self.0 >= earlier.0, "time runs forwards");
        Span(self.0 - earlier.0)
    }
}

impl Add for Span {
    type Output = Span;
    fn add(self, other: Span) -> Span {
        Span(self.0 + other.0)
    }
}

impl AddAssign for Span {
    fn add_assign(&mut self, other: Span) {
        self.0 += other.0;
    }
}

impl Sub for Span {
    type Output = Span;
    fn sub(self, other: Span) -> Span {
        Span(self.0 - other.0)
    }
}

impl SubAssign for Span {
    fn sub_assign(&mut self, other: Span) {
        self.0 -= other.0;
    }
}

impl Mul<u64> for Span {
    type Output = Span;
    fn mul(self, times: u64) -> Span {
        Span(self.0 * times)
    }
}

impl core::iter::Sum for Span {
    fn sum<I: Iterator<Item = Span>>(spans: I) -> Span {
        spans.fold(Span::ZERO, Add::add)
    }
}

impl SpanSum {
    /// No time at all.
    pub const ZERO: Self = Self(0);

    /// Without another; zero where that is more.
    #[must_use]
    pub fn saturating_sub(self, other: impl Into<Self>) -> Self {
        Self(self.0.saturating_sub(other.into().0))
    }

    /// Seconds, for a reader.
    pub fn as_seconds(self) -> f64 {
        self.0 as f64 / TICKS_PER_SECOND as f64
    }

    /// Nanoseconds, for a reader.
    pub fn as_ns(self) -> f64 {
        self.0 as f64 / TICKS_PER_NS as f64
    }
}

impl From<Span> for SpanSum {
    fn from(span: Span) -> Self {
        Self(u128::from(span.0))
    }
}

impl<T: Into<SpanSum>> Add<T> for SpanSum {
    type Output = Self;
    fn add(self, other: T) -> Self {
        Self(self.0 + other.into().0)
    }
}

impl<T: Into<SpanSum>> AddAssign<T> for SpanSum {
    fn add_assign(&mut self, other: T) {
        self.0 += other.into().0;
    }
}

impl Mul<u64> for SpanSum {
    type Output = Self;
    fn mul(self, times: u64) -> Self {
        Self(self.0 * u128::from(times))
    }
}

impl<T: Into<SpanSum>> core::iter::Sum<T> for SpanSum {
    fn sum<I: Iterator<Item = T>>(spans: I) -> Self {
        spans.fold(Self::ZERO, Add::add)
    }
}

impl fmt::Debug for SpanSum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ns", self.as_ns())
    }
}

impl fmt::Debug for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ns", self.0 as f64 / TICKS_PER_NS as f64)
    }
}

impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ns", self.as_ns())
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.as_ns() {
            ns if ns >= 1e9 => write!(f, "{} s", ns / 1e9),
            ns if ns >= 1e6 => write!(f, "{} ms", ns / 1e6),
            ns if ns >= 1e3 => write!(f, "{} us", ns / 1e3),
            ns => write!(f, "{ns} ns"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_and_spans_do_not_mix_up() {
        let start = Time::ZERO + Span::from_ns(3);
        assert_eq!(start + Span::from_ns(4) - start, Span::from_ns(4));
        assert_eq!(Span::from_us(2).div_floor(Span::from_ns(300)), 6);
        assert_eq!(Span::from_us(2).div_ceil(Span::from_ns(300)), 7);
    }

    #[test]
    fn spans_of_thousands_that_wait_for_hours_add_up() {
        let hours = Span::from_ms(4 * 3600 * 1000);
        let sum: SpanSum = (0..4096).map(|_| hours).sum();
        assert_eq!(sum, SpanSum::from(hours) * 4096);
        assert_eq!(sum.as_seconds(), 4096.0 * 14_400.0);
    }

    #[test]
    fn a_span_reads_in_the_unit_that_suits_it() {
        assert_eq!(Span::from_ns(150).to_string(), "150 ns");
        assert_eq!(Span::from_us(30).to_string(), "30 us");
    }
}
